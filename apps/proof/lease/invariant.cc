// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/lease/invariant.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "locus/snowflake_layout.h"

namespace locus::proof {
namespace {

constexpr size_t kMostViolations = 20;
constexpr int kSequenceBits = SnowflakeDefaultLayout::kWidths.sequence;
constexpr int kWorkerBits =
    SnowflakeDefaultLayout::kWidths.datacenter + SnowflakeDefaultLayout::kWidths.worker;
constexpr int64_t kSequences = int64_t{1} << kSequenceBits;

int64_t Millis(absl::Time time) { return absl::ToUnixMillis(time); }
int64_t TimeOf(int64_t id) {
  return (id >> (kSequenceBits + kWorkerBits)) + Millis(kSnowflakeEpoch);
}
uint64_t WorkerOf(int64_t id) {
  return static_cast<uint64_t>(id >> kSequenceBits) & ((uint64_t{1} << kWorkerBits) - 1);
}
std::string TextOf(const IdRun& run, uint32_t client) {
  return absl::StrCat("ID ", run.first, " (worker ", WorkerOf(run.first), ", token ", run.token,
                      ", time ", TimeOf(run.first), ", client ", client, ")");
}

}  // namespace

class Invariant::Findings {
 public:
  template <typename... Words>
  void Add(const Words&... words) {
    if (found_.size() < kMostViolations) found_.push_back(absl::StrCat(words...));
  }
  std::vector<std::string> Take() { return std::move(found_); }

 private:
  std::vector<std::string> found_;
};

void Invariant::Add(uint32_t client, const std::vector<RecordedCall>& calls,
                    const std::string& space) {
  for (const RecordedCall& call : calls) {
    if (call.space != space) continue;
    if (call.kind == RecordedCall::Kind::kRelease) {
      const auto found = leases_.find({call.worker, call.token});
      if (found != leases_.end()) found->second.released = Millis(call.last_used);
    }
    if (!call.answer || !call.answer->grant) continue;
    const WorkerGrant& grant = *call.answer->grant;
    const Lease lease{client, Millis(grant.floor), Millis(grant.ceiling), std::nullopt};
    const auto [at, is_new] = leases_.try_emplace({grant.worker, grant.token}, lease);
    Lease& known = at->second;
    if (known.client != client) {
      wrong_.push_back(absl::StrCat("worker ", grant.worker, ", token ", grant.token,
                                    " was granted to client ", known.client, " and to client ",
                                    client));
    } else if (known.floor != lease.floor) {
      wrong_.push_back(absl::StrCat("worker ", grant.worker, ", token ", grant.token,
                                    " has two floors: ", known.floor, " and ", lease.floor));
    }
    known.ceiling = std::max(known.ceiling, lease.ceiling);
    if (grant.loss_noticed) {
      wrong_.push_back(absl::StrCat("worker ", grant.worker, ", token ", grant.token,
                                    ": the store says that it has lost leases"));
    }
  }
}

void Invariant::Add(uint32_t client, std::span<const IdRun> runs) {
  for (const IdRun& run : runs) {
    // Each ID of a run has its worker and time, so that a look at the first is one at all of them.
    if (run.first <= 0 || run.count == 0 || run.count > kSequences ||
        run.first % kSequences + static_cast<int64_t>(run.count) > kSequences) {
      wrong_.push_back(absl::StrCat("client ", client, " has a run that cannot be: ", run.count,
                                    " IDs from ", run.first));
      continue;
    }
    ids_ += run.count;
    runs_.push_back({run, client});
  }
}

std::vector<std::string> Invariant::Violations() const {
  Findings findings;
  for (const std::string& each : wrong_) findings.Add(each);
  std::vector<Run> sorted = runs_;
  std::sort(sorted.begin(), sorted.end(),
            [](const Run& one, const Run& other) { return one.run.first < other.run.first; });
  CheckLeases(findings);
  CheckRepetitions(sorted, findings);
  CheckTimes(sorted, findings);
  return findings.Take();
}

void Invariant::CheckLeases(Findings& findings) const {
  const std::pair<const Key, Lease>* before = nullptr;
  for (const auto& each : leases_) {
    const auto& [key, lease] = each;
    if (before != nullptr && before->first.first == key.first) {
      const Lease& last = before->second;
      const int64_t used =
          last.released ? std::clamp(*last.released, last.floor, last.ceiling) : last.ceiling;
      if (lease.floor < used) {
        findings.Add("worker ", key.first, ": token ", key.second, " has the floor ", lease.floor,
                     ", but token ", before->first.second, " could use times up to ", used);
      }
    }
    before = &each;
  }
}

void Invariant::CheckRepetitions(const std::vector<Run>& sorted, Findings& findings) const {
  const Run* furthest = nullptr;  // of those before, the one that ends last
  int64_t end = 0;
  for (const Run& each : sorted) {
    if (furthest != nullptr && each.run.first < end) {
      findings.Add(TextOf(each.run, each.client), " is among ", furthest->run.count, " from ",
                   TextOf(furthest->run, furthest->client));
    }
    const int64_t its_end = each.run.first + static_cast<int64_t>(each.run.count);
    if (furthest == nullptr || its_end > end) {
      furthest = &each;
      end = its_end;
    }
  }
}

// The lease under which the run was made. Without a token: that of the client which allows its
// time.
const std::pair<const Invariant::Key, Invariant::Lease>* Invariant::LeaseOf(const Run& run) const {
  const uint64_t worker = WorkerOf(run.run.first);
  if (run.run.token != 0) {
    const auto found = leases_.find({worker, run.run.token});
    return found == leases_.end() || found->second.client != run.client ? nullptr : &*found;
  }
  const int64_t time = TimeOf(run.run.first);
  for (auto at = leases_.lower_bound({worker, 0}); at != leases_.end() && at->first.first == worker;
       ++at) {
    const Lease& lease = at->second;
    if (lease.client == run.client && time > lease.floor && time <= lease.ceiling) return &*at;
  }
  return nullptr;
}

void Invariant::CheckTimes(const std::vector<Run>& sorted, Findings& findings) const {
  struct Span {
    const Run* first = nullptr;
    const Run* last = nullptr;
  };
  std::map<Key, Span> spans;
  for (const Run& each : sorted) {  // ascending by time
    const auto* lease = LeaseOf(each);
    const int64_t time = TimeOf(each.run.first);
    if (lease == nullptr) {
      findings.Add(TextOf(each.run, each.client), " was made without a lease");
      continue;
    }
    if (time <= lease->second.floor || time > lease->second.ceiling) {
      findings.Add(TextOf(each.run, each.client), " is not within its lease, ", lease->second.floor,
                   "..", lease->second.ceiling);
    }
    Span& span = spans[lease->first];
    if (span.first == nullptr) span.first = &each;
    span.last = &each;
  }
  // Of all tokens before of the same worker.
  const Run* last = nullptr;
  uint64_t worker = 0;
  for (const auto& [key, span] : spans) {
    if (last != nullptr && worker == key.first &&
        TimeOf(span.first->run.first) <= TimeOf(last->run.first)) {
      findings.Add(TextOf(span.first->run, span.first->client), " is not after ",
                   TextOf(last->run, last->client), ", of an earlier token");
    }
    if (last == nullptr || worker != key.first ||
        TimeOf(span.last->run.first) > TimeOf(last->run.first)) {
      last = span.last;
    }
    worker = key.first;
  }
}

}  // namespace locus::proof
