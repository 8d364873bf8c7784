// SPDX-License-Identifier: Apache-2.0
#include "tests/snowflake/leased_snowflake_simulation.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/worker/snowflake_word.h"
#include "tests/snowflake/lease_world.h"

namespace locus {

using internal::SnowflakeAnswer;
using internal::SnowflakeShape;
using internal::SnowflakeStep;
using internal::SnowflakeWord;

namespace {

LeaseCoverage coverage;

constexpr int64_t kBegin = 1'767'225'600'000;  // 2026-01-01, in milliseconds
constexpr int64_t kFar = std::numeric_limits<int64_t>::max() / 8;
constexpr int64_t kHour = 3'600'000;
constexpr size_t kMostProcesses = 4;
constexpr int kDeepest = 2;

absl::Time At(int64_t millis) { return absl::FromUnixMillis(millis); }

template <LeaseFault kFault>
class Simulation {
 public:
  explicit Simulation(uint64_t seed)
      : random_(seed),
        term_{absl::Seconds(10 + static_cast<int64_t>(random_() % 30)),
              absl::Milliseconds(std::array{1000, 2000, 5000}[random_() % 3])},
        skew_(absl::ToInt64Milliseconds(term_.max_skew)),
        memory_(OneIn(2)   ? Memory::kKeeps
                : OneIn(2) ? Memory::kLossDeclared
                           : Memory::kLossSilent),
        store_clock_jumps_(memory_ == Memory::kKeeps && OneIn(3)),
        store_(kFault, term_) {
    shape_.sequence_bits = 1 + static_cast<int>(Below(3));
    shape_.max_time = kFar;
    backups_.push_back(store_.state());
  }

  std::string Run() {
    for (int step = 0; step < 500 && violation_.empty(); ++step) {
      if (step % 250 == 220) BeginCalm();
      if (step % 250 == 0) calm_since_.reset();
      Act(0);
    }
    return violation_;
  }

 private:
  using Renewal = BrokenRenewal<kFault>;

  using Phase = LeasePhase;
  using Process = LeaseProcess<Renewal>;
  using Pointer = std::shared_ptr<Process>;
  using Message = LeaseMessage<Process>;

  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  int64_t Range(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low + 1)));
  }
  void Violated(const std::string& what) {
    if (violation_.empty()) violation_ = absl::StrCat("at ", now_ - kBegin, " ms: ", what);
  }
  bool calm() const { return calm_since_.has_value(); }
  int64_t Ttl() const { return absl::ToInt64Milliseconds(term_.ttl); }

  // Near enough to the store's.
  int64_t RightClock() { return store_offset_ + Range(-skew_, skew_) * 7 / 10; }
  absl::Time StoreNow() const { return At(now_ + store_offset_); }
  int64_t Wall(const Process& process) const { return now_ + process.offset; }
  absl::Duration Boot(const Process& process) const {
    return absl::Hours(1) + absl::Milliseconds(now_ - kBegin) * (1 + process.drift);
  }
  bool Stopped(const Process& process) const { return process.stopped_until > now_; }

  void Act(int depth) {
    if (!violation_.empty()) return;
    const uint64_t what = Below(32);
    if (what < 8) return Advance(depth);
    if (what < 12) return static_cast<void>(Deliver());
    if (what == 12 || processes_.empty()) return Start();
    Pointer process = processes_[Below(processes_.size())];
    if (what < 18) return Tick(process);
    if (what < 28) return MakeIds(*process, depth);
    if (what == 28 && OneIn(3)) return BeginRelease(*process, depth);
    if (calm()) return;
    if (what == 28 && OneIn(3)) return Crash(process);
    if (what == 29) return SetClock(*process);
    if (what == 30 && OneIn(3)) return Stop(*process);
    if (what == 31) return TroubleStore();
  }

  void Disturb(int depth) {
    if (depth >= kDeepest || !OneIn(3)) return;
    for (uint64_t n = 1 + Below(4); n > 0; --n) Act(depth + 1);
  }

  // The thread that makes an ID, and with it the process, does not run for a while.
  void Pause(Process& process, int depth) {
    if (calm() || depth >= kDeepest || !OneIn(12)) return Disturb(depth);
    const int64_t pause = Range(0, 2 * Ttl());
    process.stopped_until = std::max(process.stopped_until, now_ + pause);
    AdvanceBy(pause, depth + 1);
  }

  void Advance(int depth) {
    constexpr std::array<int64_t, 8> kBy = {0, 1, 2, 20, 150, 400, 900, 2500};
    int64_t by = kBy[Below(kBy.size())];
    if (calm() || OneIn(20)) by = Range(0, calm() ? Ttl() : 2 * Ttl());
    AdvanceBy(by, depth);
  }

  // In steps; processes that are not stopped act meanwhile.
  void AdvanceBy(int64_t by, int depth) {
    for (const int64_t end = now_ + by; now_ < end;) {
      now_ = std::min(end, now_ + (calm() ? 200 : 700));
      while (Deliver()) {
      }
      for (size_t i = 0; i < processes_.size(); ++i) Tick(processes_[i]);
      if (depth < kDeepest && OneIn(2) && !processes_.empty()) {
        Pointer process = processes_[Below(processes_.size())];
        MakeIds(*process, depth + 1);
      }
    }
  }

  void BeginCalm() {
    calm_since_ = now_;
    store_down_until_ = 0;
    for (const Pointer& process : processes_) {
      process->stopped_until = 0;
      process->offset = RightClock();
    }
    // A store that lost its state without noticing is not yet calm; declared, it notices.
    if (unnoticed_) DeclareLost();
  }

  // Processes.

  void Start() {
    if (processes_.size() >= kMostProcesses) return;
    auto process = std::make_shared<Process>();
    process->offset = RightClock();
    process->drift = static_cast<double>(Range(-900, 900)) * 1e-6;
    BeginAcquire(*process);
    processes_.push_back(process);
  }

  void BeginAcquire(Process& process) {
    process.phase = Phase::kAcquiring;
    process.acquire.range = {5, 6};
    process.acquire.start = 5 + Below(2);
    process.acquire.term = term_;
    process.acquire.nonce = absl::StrCat("n", ++nonces_);
    process.asked_before = false;
  }

  // The background work of a process: everything but making IDs.
  void Tick(const Pointer& pointer) {
    Process& process = *pointer;
    if (Stopped(process) || process.phase == Phase::kGone) return;
    if (process.waiting && now_ >= process.give_up) {
      Answered(process, absl::UnavailableError("no answer"));
    }
    if (process.renewal && process.phase == Phase::kHolding) Look(pointer);
    if (process.waiting) return;
    if (process.phase == Phase::kHolding && process.losses > 0 && OneIn(20)) BeginAgain(process);
    if (process.phase == Phase::kAcquiring && now_ >= process.not_before) {
      process.acquire.caller_now = At(Wall(process));
      process.sent = Boot(process);
      coverage.repeated += process.asked_before;
      process.asked_before = true;
      Message message;
      message.acquire = process.acquire;
      Send(pointer, std::move(message));
    } else if (process.phase == Phase::kReleasing) {
      Message message;
      message.release = process.release;
      message.entry = process.entry;
      Send(pointer, std::move(message));
    }
  }

  void Look(const Pointer& pointer) {
    Process& process = *pointer;
    const auto turn = process.renewal->Look(Boot(process));
    if (turn.act == Renewal::Act::kLost) {
      ++coverage.expired;
      return Lost(process);
    }
    if (kFault == LeaseFault::kLossNotRemembered && process.losses > 0 && OneIn(4)) Lost(process);
    if (turn.act != Renewal::Act::kRenew || process.waiting) return;
    process.renewal->Sent(Boot(process));
    const WorkerGrant& grant = process.renewal->grant();
    Message message;
    message.renew.emplace();
    message.renew->worker = grant.worker;
    message.renew->token = grant.token;
    message.renew->ceiling = grant.ceiling;
    message.renew->term = term_;
    message.renew->nonce = process.acquire.nonce;
    message.renew->caller_now = At(Wall(process));
    if (kFault == LeaseFault::kUseBeforeStored) {
      process.word->RaiseCeiling(
          absl::ToUnixMillis(message.renew->caller_now + term_.ttl + term_.max_skew));
    }
    Send(pointer, std::move(message));
  }

  void Lost(Process& process) {
    if (++process.losses > 1) Violated("a loss was reported twice");
    process.word->Close();
    process.closed = true;
    // As soon as the store can be reached again after a trouble, nothing is lost.
    if (calm() && now_ > *calm_since_ + 2 * Ttl() + 4000) {
      Violated(absl::StrCat("a lease was lost while everything worked: ",
                            process.renewal->loss().ToString()));
    }
  }

  void BeginRelease(Process& process, int depth) {
    if (process.phase != Phase::kHolding || process.waiting || Stopped(process) ||
        !process.renewal->End()) {
      return;
    }
    const WorkerGrant& grant = process.renewal->grant();
    process.release = {grant.worker, grant.token, At(process.word->last_time())};
    if (kFault == LeaseFault::kReleaseBeforeClose) {
      if (store_.Release(process.release).ok()) {
        ledger_.Released(process.entry, absl::ToUnixMillis(process.release.last_used));
      }
      AdvanceBy(20, depth);
      MakeIds(process, depth);
    }
    const int64_t last = process.word->Close();
    if (kFault != LeaseFault::kReleaseBeforeClose) process.release.last_used = At(last);
    process.closed = true;
    process.phase = Phase::kReleasing;
  }

  void Crash(const Pointer& process) {
    process->phase = Phase::kGone;
    process->waiting = false;
    if (process->calls == 0) std::erase(processes_, process);
  }

  void SetClock(Process& process) {
    constexpr std::array<int64_t, 8> kBy = {-kHour, -30'000, -900, -4, 3, 700, 30'000, kHour};
    process.offset += kBy[Below(kBy.size())];
    if (!OneIn(3)) process.offset = RightClock();  // an operator repairs it
  }

  void Stop(Process& process) {
    if (OneIn(3)) process.stopped_until = now_ + Range(0, OneIn(3) ? 3 * Ttl() : 3000);
  }

  // IDs.

  void MakeIds(Process& process, int depth) {
    if (process.word == nullptr || process.phase == Phase::kGone || Stopped(process)) return;
    ++process.calls;
    const bool was_closed = process.closed;
    SnowflakeStep step = process.word->Take(1 + Below(6), [&] {
      Disturb(depth);
      const int64_t reading = Wall(process);
      Pause(process, depth);
      return reading;
    });
    --process.calls;
    if (step.answer != SnowflakeAnswer::kTake) return;
    const bool passed = ledger_.Passed(process.entry);
    bool excepted = false;
    std::string violated =
        ledger_.Made(process.entry, step.time, step.first, step.first + step.count - 1, excepted);
    if (!violated.empty()) Violated(violated);
    if (was_closed) Violated("an ID was made after the generator was closed");
    if (step.time <= process.floor) Violated("an ID is not above the floor");
    if (step.time > process.stored) Violated("an ID is above the ceiling stored");
    coverage.ids += step.count;
    coverage.late_ids += passed;
    coverage.excepted += excepted;
  }

  // The network.

  void Send(const Pointer& process, Message message) {
    process->call = ++calls_;
    process->waiting = true;
    process->give_up = now_ + Range(1000, OneIn(3) ? 20'000 : 5000);
    message.process = process;
    message.call = process->call;
    Post(std::move(message));
  }

  void Post(Message message) {
    if (!calm() && OneIn(10)) return;  // lost
    int64_t delay = Range(0, 60);
    if (!calm() && OneIn(6)) delay = Range(0, OneIn(3) ? 2 * Ttl() : 6000);
    message.at = now_ + delay;
    messages_.push_back(std::move(message));
  }

  // Any one of the messages that are due; false: there is none.
  bool Deliver() {
    std::vector<size_t> due;
    for (size_t i = 0; i < messages_.size(); ++i) {
      const Message& each = messages_[i];
      const bool open = each.answer ? !Stopped(*each.process) : store_down_until_ <= now_;
      if (each.at <= now_ && open) due.push_back(i);
    }
    if (due.empty()) return false;
    const auto chosen = messages_.begin() + static_cast<std::ptrdiff_t>(due[Below(due.size())]);
    Message message = std::move(*chosen);
    messages_.erase(chosen);
    Process& process = *message.process;
    if (!message.answer) {
      AtStore(std::move(message));
    } else if (process.waiting && process.call == message.call) {  // it has not given up
      Answered(process, *message.answer);
    }
    return true;
  }

  void AtStore(Message message) {
    const uint64_t losses = store_.losses();
    if (message.acquire) {
      message.answer = store_.Acquire(*message.acquire, StoreNow());
      if (message.answer->ok()) Granted(**message.answer, *message.acquire);
    } else if (message.renew) {
      message.answer = store_.Renew(*message.renew, StoreNow());
    } else {
      absl::Status released = store_.Release(*message.release);
      if (released.ok())
        ledger_.Released(message.entry, absl::ToUnixMillis(message.release->last_used));
      message.answer = released.ok() ? absl::StatusOr<WorkerGrant>(WorkerGrant()) : released;
    }
    if (store_.losses() != losses) {
      if (memory_ == Memory::kKeeps) Violated("the store noticed a loss that never was");
      coverage.noticed += unnoticed_;
      unnoticed_ = false;
    }
    if (OneIn(4)) backups_.push_back(store_.state());
    Post(std::move(message));
  }

  void Granted(const WorkerGrant& grant, const WorkerAcquire& request) {
    bool made = false;
    const size_t entry = ledger_.Granted(grant, request.nonce, unnoticed_, made);
    if (!made) return;
    ++coverage.grants;
    coverage.handovers += !ledger_.First(entry);
    if (memory_ != Memory::kKeeps || store_clock_jumps_) return;
    for (const Pointer& other : processes_) {
      if (other->phase == Phase::kHolding && other->renewal->grant().worker == grant.worker &&
          other->acquire.nonce != request.nonce && other->renewal->held(Boot(*other))) {
        Violated(absl::StrCat("worker ", grant.worker, " was granted while its holder had ",
                              absl::FormatDuration(other->renewal->deadline() - Boot(*other)),
                              " until its deadline"));
      }
    }
  }

  void Answered(Process& process, const absl::StatusOr<WorkerGrant>& answer) {
    process.waiting = false;
    switch (process.phase) {
      case Phase::kAcquiring:
        return AcquireAnswered(process, answer);
      case Phase::kHolding:
        return RenewalAnswered(process, answer);
      case Phase::kReleasing:
        if (absl::IsUnavailable(answer.status()) && !OneIn(3)) return;  // asks again
        ++coverage.releases;
        return BeginAgain(process);
      case Phase::kGone:
        return;
    }
  }

  void AcquireAnswered(Process& process, const absl::StatusOr<WorkerGrant>& answer) {
    process.not_before = now_ + Range(50, 5000);
    if (absl::IsUnavailable(answer.status())) return;  // the same again
    if (!answer.ok()) return BeginAcquire(process);
    if (Boot(process) >= process.sent + worker::UsableFor(term_.ttl)) return;  // too late
    process.phase = Phase::kHolding;
    process.renewal.emplace(term_, *answer, process.sent, random_());
    process.floor = std::max(absl::ToUnixMillis(answer->floor), int64_t{0});
    process.stored = absl::ToUnixMillis(answer->ceiling);
    bool made = false;
    process.entry = ledger_.Granted(*answer, process.acquire.nonce, false, made);
    if (kFault == LeaseFault::kFloorIgnored) process.floor = 0;
    process.word = std::make_unique<SnowflakeWord>(shape_, process.floor, process.stored);
    process.losses = 0;
    process.closed = false;
  }

  void RenewalAnswered(Process& process, const absl::StatusOr<WorkerGrant>& answer) {
    using Answer = typename Renewal::Answer;
    const bool late = Boot(process) >= process.renewal->deadline();
    coverage.late_answers += late;
    switch (process.renewal->Answered(Boot(process), answer, random_())) {
      case Answer::kRenewed:
        ++coverage.renewals;
        coverage.calm += calm();
        process.stored = std::max(process.stored, absl::ToUnixMillis(answer->ceiling));
        process.word->RaiseCeiling(absl::ToUnixMillis(answer->ceiling));
        if (process.losses > 0) Violated("a lost lease was revived");
        return;
      case Answer::kLost:
        coverage.aborted += absl::IsAborted(answer.status()) && !late;
        return Lost(process);
      case Answer::kFailed:
      case Answer::kIgnored:
        return;
    }
  }

  // The program makes another generator.
  void BeginAgain(Process& process) {
    if (process.calls > 0) return;
    process.renewal.reset();
    process.word.reset();
    BeginAcquire(process);
  }

  // The store.

  void TroubleStore() {
    if (OneIn(4)) store_down_until_ = now_ + Range(0, OneIn(4) ? 2 * Ttl() : 3000);
    if (store_clock_jumps_ && OneIn(4)) {
      const int64_t by = std::array<int64_t, 4>{-kHour, -20'000, 20'000, kHour}[Below(4)];
      store_offset_ += by;
      // The others have their time from the same place.
      for (const Pointer& process : processes_) {
        if (!OneIn(4)) process->offset += by;
      }
    }
    if (memory_ == Memory::kKeeps || !OneIn(5)) return;
    ++coverage.rewinds;
    if (OneIn(3)) {
      store_.PutBack({});
    } else {
      store_.PutBack(backups_[Below(backups_.size())]);
    }
    unnoticed_ = true;
    if (memory_ == Memory::kLossDeclared || !store_.state().space) DeclareLost();
  }

  void DeclareLost() {
    store_.DeclareLost(StoreNow());
    unnoticed_ = false;
  }

  std::mt19937_64 random_;
  const WorkerLeaseTerm term_;
  const int64_t skew_;
  const Memory memory_;
  const bool store_clock_jumps_;
  SnowflakeShape shape_;
  int64_t now_ = kBegin;
  int64_t store_offset_ = 0;
  int64_t store_down_until_ = 0;
  std::optional<int64_t> calm_since_;
  bool unnoticed_ = false;  // the store was put back and does not know
  SimulatedStore store_;
  std::vector<SimulatedStore::State> backups_;
  std::vector<Message> messages_;
  std::vector<Pointer> processes_;
  LeaseLedger ledger_;
  uint64_t nonces_ = 0;
  uint64_t calls_ = 0;
  std::string violation_;
};

template <int kFirst = 0>
std::string Dispatch(uint64_t seed, LeaseFault fault) {
  constexpr auto kFault = static_cast<LeaseFault>(kFirst);
  if (fault == kFault) return Simulation<kFault>(seed).Run();
  if constexpr (kFault != kLastLeaseFault) return Dispatch<kFirst + 1>(seed, fault);
  return "no such fault";
}

}  // namespace

std::string SimulateLeases(uint64_t seed, LeaseFault fault) { return Dispatch(seed, fault); }

const LeaseCoverage& LeasesCovered() { return coverage; }

}  // namespace locus
