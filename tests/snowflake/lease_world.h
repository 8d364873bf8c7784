// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SNOWFLAKE_LEASE_WORLD_H_
#define LOCUS_TESTS_SNOWFLAKE_LEASE_WORLD_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/worker/renewal.h"
#include "src/worker/snowflake_word.h"
#include "src/worker/worker_rules.h"
#include "tests/snowflake/leased_snowflake_simulation.h"

namespace locus {

// The events of the store's state.
enum class Memory { kKeeps, kLossDeclared, kLossSilent };

template <LeaseFault kFault>
struct BrokenRenewalTraits {
  static constexpr bool kLateAnswerRevives = kFault == LeaseFault::kLateAnswerRevives;
  static constexpr bool kDeadlineFromAnswer = kFault == LeaseFault::kDeadlineFromAnswer;
};
template <LeaseFault kFault>
using BrokenRenewal = worker::RenewalOf<BrokenRenewalTraits<kFault>>;

// The store of a simulated world: the real rules on a state that can be put back or forgotten.
class SimulatedStore {
 public:
  struct State {
    std::optional<worker::Space> space;
    std::map<uint64_t, WorkerRecord> records;
  };

  SimulatedStore(LeaseFault fault, WorkerLeaseTerm term) : fault_(fault), term_(term) {
    state_.space.emplace();
  }

  absl::StatusOr<WorkerGrant> Acquire(const WorkerAcquire& request, absl::Time now) {
    if (!state_.space) return worker::NoSuchSpace(SpaceName());
    absl::Status status = worker::Check(request);
    status.Update(worker::CheckClock(request.term, request.caller_now, now));
    if (!status.ok()) return status;
    std::map<uint64_t, WorkerRecord> seen = state_.records;
    if (fault_ == LeaseFault::kTakeAfterTtl) {
      for (auto& [id, record] : seen) {
        if (record.renewed_at + term_.ttl < now)
          record.ceiling = std::min(record.ceiling, now - absl::Milliseconds(1));
      }
    }
    auto scan = [&](uint64_t first, uint64_t last, const worker::Visit& visit) {
      for (auto it = seen.lower_bound(first); it != seen.end() && it->first <= last; ++it) {
        if (!visit(it->second)) break;
      }
      return absl::OkStatus();
    };
    absl::StatusOr<worker::FreeWorker> free = worker::FindFree(SpaceName(), request, now, scan);
    if (!free.ok()) return free.status();
    const WorkerRecord* record = free->record ? &*free->record : nullptr;
    return Stored(worker::PlanAcquire(*state_.space, record, free->worker, request, now));
  }

  absl::StatusOr<WorkerGrant> Renew(WorkerRenew request, absl::Time now) {
    absl::Status status = worker::Check(request);
    status.Update(worker::CheckClock(request.term, request.caller_now, now));
    if (!status.ok()) return status;
    const uint64_t token = request.token;
    const WorkerRecord* record = Find(request.worker);
    if (fault_ == LeaseFault::kExtendAnyToken && record != nullptr) {
      request.token = record->token;
      request.nonce = record->nonce;
      if (record->ceiling < now) return absl::AbortedError("it ended");
    }
    absl::StatusOr<WorkerGrant> answer =
        Stored(worker::PlanRenew(state_.space ? &*state_.space : nullptr, record, request, now));
    if (answer.ok()) answer->token = token;
    return answer;
  }

  absl::Status Release(WorkerRelease request) {
    const WorkerRecord* record = Find(request.worker);
    if (fault_ == LeaseFault::kReleaseAnyToken && record != nullptr) request.token = record->token;
    return Stored(worker::PlanRelease(record, request)).status();
  }

  const State& state() const { return state_; }
  uint64_t losses() const { return state_.space ? state_.space->losses : 0; }
  // Back to an older state, or to nothing.
  void PutBack(const State& state) { state_ = state; }
  // The operator says that it was lost.
  void DeclareLost(absl::Time now) {
    if (!state_.space) state_.space.emplace();
    worker::DeclareLoss(*state_.space, term_.ttl + term_.max_skew, now);
  }

 private:
  const WorkerRecord* Find(uint64_t id) const {
    auto found = state_.records.find(id);
    return found == state_.records.end() ? nullptr : &found->second;
  }
  absl::StatusOr<WorkerGrant> Stored(const worker::Outcome& outcome) {
    if (outcome.record) state_.records[outcome.record->worker] = *outcome.record;
    if (outcome.space) state_.space = *outcome.space;
    if (!outcome.status.ok()) return outcome.status;
    return outcome.grant;
  }

  const LeaseFault fault_;
  const WorkerLeaseTerm term_;
  State state_;
};

// Every grant of a worker ID in the order in which the store made them, with the times of its IDs.
class LeaseLedger {
 public:
  struct Entry {
    uint64_t worker = 0;
    uint64_t token = 0;
    std::string nonce;
    bool excepted = false;  // made after the store was put back, before it noticed
    int64_t lowest = std::numeric_limits<int64_t>::max();
    int64_t highest = std::numeric_limits<int64_t>::min();
    uint64_t next_slot = 0;
    int64_t released = std::numeric_limits<int64_t>::max();  // the last time, by the release
  };

  // The entry of a grant that was answered; `made`: it is new.
  size_t Granted(const WorkerGrant& grant, const std::string& nonce, bool excepted, bool& made) {
    std::vector<size_t>& of_worker = by_worker_[grant.worker];
    for (size_t i : of_worker) {
      if (entries_[i].token == grant.token && entries_[i].nonce == nonce) return i;
    }
    made = true;
    entries_.push_back({grant.worker, grant.token, nonce, excepted});
    of_worker.push_back(entries_.size() - 1);
    return entries_.size() - 1;
  }

  // IDs of the time `time`, the slots first..last. Returns what is violated, and in `excepted`
  // whether only an excepted grant was concerned.
  std::string Made(size_t entry, int64_t time, uint64_t first, uint64_t last, bool& excepted) {
    Entry& own = entries_[entry];
    std::string violated;
    if (first < own.next_slot) violated = "an ID was made twice under one grant";
    own.next_slot = std::max(own.next_slot, last + 1);
    if (time > own.released) violated = "its time is above that of the release";
    own.lowest = std::min(own.lowest, time);
    own.highest = std::max(own.highest, time);
    for (size_t i : by_worker_[own.worker]) {
      const Entry& other = entries_[i];
      if (i == entry || other.highest < other.lowest) continue;
      const bool fine = i < entry ? other.highest < time : time < other.lowest;
      if (fine) continue;
      if ((i < entry ? own : other).excepted) {  // the later one
        excepted = true;
      } else {
        violated = "its time is not between those of the grants before and after";
      }
    }
    return violated;
  }

  void Released(size_t entry, int64_t last_used) { entries_[entry].released = last_used; }

  // Whether the worker was granted again after `entry`.
  bool Passed(size_t entry) const { return by_worker_.at(entries_[entry].worker).back() != entry; }
  bool First(size_t entry) const { return by_worker_.at(entries_[entry].worker).front() == entry; }

 private:
  std::vector<Entry> entries_;
  std::map<uint64_t, std::vector<size_t>> by_worker_;
};

enum class LeasePhase { kAcquiring, kHolding, kReleasing, kGone };

template <typename Renewal>
struct LeaseProcess {
  LeasePhase phase = LeasePhase::kAcquiring;
  int64_t offset = 0;  // of its wall clock
  double drift = 0;    // of its clock since boot
  int64_t stopped_until = 0;
  int calls = 0;  // of Next, under way on this stack

  // The call of the store that is under way.
  uint64_t call = 0;
  bool waiting = false;
  absl::Duration sent;
  int64_t give_up = 0;
  int64_t not_before = 0;  // the next acquire

  WorkerAcquire acquire;
  bool asked_before = false;
  WorkerRelease release;
  std::optional<Renewal> renewal;
  std::unique_ptr<internal::SnowflakeWord> word;
  size_t entry = 0;  // of the ledger
  int64_t floor = 0;
  int64_t stored = 0;  // the highest ceiling that was answered
  int losses = 0;
  bool closed = false;
};

// A call of the store, or, once it has an answer, that.
template <typename Process>
struct LeaseMessage {
  int64_t at = 0;  // not delivered before
  std::shared_ptr<Process> process;
  uint64_t call = 0;
  std::optional<WorkerAcquire> acquire;
  std::optional<WorkerRenew> renew;
  std::optional<WorkerRelease> release;
  size_t entry = 0;  // of the ledger, with a release
  std::optional<absl::StatusOr<WorkerGrant>> answer;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SNOWFLAKE_LEASE_WORLD_H_
