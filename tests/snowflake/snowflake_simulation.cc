// SPDX-License-Identifier: Apache-2.0
#include "tests/snowflake/snowflake_simulation.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/worker/snowflake_word.h"

namespace locus {

using internal::DecideSnowflake;
using internal::SnowflakeAnswer;
using internal::SnowflakeShape;
using internal::SnowflakeStep;
using internal::SnowflakeWordOf;

namespace {

using enum SnowflakeAnswer;

SnowflakeCoverage coverage;

constexpr int64_t kFar = std::numeric_limits<int64_t>::max() / 4;
constexpr int64_t kTtl = 3000;
constexpr int64_t kMaxSkew = 500;
constexpr size_t kWorkers = 2;
constexpr int kDeepest = 2;

template <SnowflakeFault kFault>
struct BrokenTraits {
  static constexpr bool kClockBeforeWord = kFault == SnowflakeFault::kClockBeforeWord;
  static constexpr bool kPlainStore = kFault == SnowflakeFault::kPlainStore;

  static SnowflakeStep Decide(SnowflakeShape shape, uint64_t word, int64_t now, int64_t ceiling,
                              uint64_t wanted) {
    auto last = static_cast<int64_t>(word >> shape.sequence_bits);
    bool open = word != 0 && (word & SnowflakeStep::kClosed) == 0;
    bool used_up = (word & shape.max_sequence()) == shape.max_sequence();
    if (kFault == SnowflakeFault::kGoOnFromNow && open && now < last && now > 0) {
      word = static_cast<uint64_t>(now - 1) << shape.sequence_bits;
    }
    if (kFault == SnowflakeFault::kNeverRefuse && open) now = std::max(now, last);
    if (kFault == SnowflakeFault::kWaitAtOnce && open && now < last && last - now <= 1000) {
      return {kWait, last};
    }
    if (kFault == SnowflakeFault::kNoCarry && open && now <= last && last - now <= 5 && used_up) {
      return {kTake, last, static_cast<uint64_t>(last) << shape.sequence_bits, 1};
    }
    if (kFault == SnowflakeFault::kIgnoreCeiling) ceiling = kFar;
    if (kFault == SnowflakeFault::kTimePastItsField) shape.max_time = kFar;
    SnowflakeStep step = DecideSnowflake(shape, word, now, ceiling, wanted);
    if (kFault == SnowflakeFault::kCarryAhead && step.answer == kWait && step.time > last) {
      return DecideSnowflake(shape, word, step.time, ceiling, wanted);
    }
    if (kFault == SnowflakeFault::kAwaitAboveCeiling && step.answer == kAboveCeiling) {
      SnowflakeStep free = DecideSnowflake(shape, word, now, kFar, wanted);
      if (free.answer == kWait) return free;
    }
    if (kFault == SnowflakeFault::kRunPastTheEnd && step.answer == kTake) step.count = wanted;
    return step;
  }
};

// The slots that a process has used, kept naively.
struct Twin {
  int64_t last = 0;
  uint64_t used = 0;  // how many of the last millisecond
  bool closed = false;

  SnowflakeStep Next(uint64_t a_millisecond, int64_t max_time, int64_t now, int64_t ceiling,
                     uint64_t wanted) const {
    if (closed) return {kClosed};
    if (now < last - 1000) return {kClockBack, last};
    if (now < last - 5) return {kWait, last};
    int64_t time = now > last ? now : used < a_millisecond ? last : last + 1;
    uint64_t sequence = time == last ? used : 0;
    if (time > max_time) return {kTimeUsedUp, time};
    if (time > ceiling) return {kAboveCeiling, time};
    if (time == last + 1 && now <= last) return {kWait, time};
    return {kTake, time, static_cast<uint64_t>(time) * a_millisecond + sequence,
            std::min(wanted, a_millisecond - sequence)};
  }
};

template <SnowflakeFault kFault>
class Simulation {
 public:
  explicit Simulation(uint64_t seed) : random_(seed) {
    shape_.sequence_bits = 1 + static_cast<int>(Below(3));
    shape_.max_time = OneIn(8) ? now_ + Range(0, 20000) : kFar;
    for (Lease& lease : leases_) lease.ceiling = now_ - Range(1, 2000);
  }

  std::string Run() {
    for (int step = 0; step < 400 && violation_.empty(); ++step) Act(0);
    return violation_;
  }

 private:
  // The stored state of a worker.
  struct Lease {
    int64_t ceiling = 0;
    uint64_t token = 0;
    std::set<uint64_t> slots;  // that were taken, by whomever
  };
  struct Process {
    Process(const SnowflakeShape& shape, size_t worker_, int64_t floor_, int64_t ceiling)
        : worker(worker_), floor(floor_), stored(ceiling), word(shape, FirstFloor(), ceiling) {
      twin.last = floor;
      twin.used = shape.max_sequence() + 1;
    }
    int64_t FirstFloor() const {
      return kFault == SnowflakeFault::kFloorNotTaken ? floor - 1 : floor;
    }

    size_t worker;
    int64_t floor;
    int64_t stored;  // the highest ceiling that was stored for it
    uint64_t token = 0;
    int64_t offset = 0;  // of its clock
    int64_t highest_reading = -kFar;
    int calls = 0;  // under way
    Twin twin;
    SnowflakeWordOf<BrokenTraits<kFault>> word;
  };
  // The last clock reading of a call.
  struct Reading {
    Twin before;  // the word must have been read by then
    int64_t now = 0;
  };

  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  int64_t Range(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low + 1)));
  }
  void Violated(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  void Act(int depth) {
    if (!violation_.empty()) return;
    uint64_t what = Below(20);
    if (processes_.empty() || what == 0) return Start();
    std::shared_ptr<Process> process = processes_[Below(processes_.size())];
    if (what <= 3) return Advance();
    if (what == 4) return SetClock(*process);
    if (what == 5) return Renew(*process);
    if (what == 6 && OneIn(4)) return Release(*process, depth);
    if ((what == 7 && OneIn(4)) || (process->twin.closed && OneIn(2))) return Vanish(process);
    Call(*process, depth);
  }

  void Disturb(int depth) {
    if (depth >= kDeepest || !OneIn(3)) return;
    ++coverage.disturbed;
    for (uint64_t n = 1 + Below(3); n > 0; --n) Act(depth + 1);
  }

  void Advance() {
    constexpr std::array<int64_t, 8> kBy = {0, 1, 1, 2, 3, 10, 300, 4000};
    now_ += kBy[Below(OneIn(3) ? 8 : 5)];
  }

  void SetClock(Process& process) {
    constexpr std::array<int64_t, 12> kBy = {-1,    -3,    -5, -6, -50,  -999,
                                             -1001, -5000, 2,  20, 1500, 60000};
    process.offset += kBy[Below(kBy.size())];
    if (OneIn(2)) process.offset = Range(-300, 300);  // an operator repairs it
  }

  // The next process for a worker whose lease has run out.
  void Start() {
    size_t worker = Below(kWorkers);
    Lease& lease = leases_[worker];
    if (lease.ceiling >= now_ || processes_.size() >= 6) return;
    int64_t floor = lease.ceiling;
    lease.ceiling = now_ + kTtl + kMaxSkew;
    auto process = std::make_shared<Process>(shape_, worker, floor, lease.ceiling);
    process->token = ++lease.token;
    process->offset = Range(-kMaxSkew, kMaxSkew);
    processes_.push_back(process);
    coverage.handovers += lease.token > 1;
  }

  void Renew(Process& process) {
    Lease& lease = leases_[process.worker];
    if (lease.token != process.token || std::abs(process.offset) > kMaxSkew) return;
    int64_t ceiling = std::max(lease.ceiling, now_ + kTtl + kMaxSkew);
    bool lost = OneIn(3);
    if (kFault == SnowflakeFault::kRaiseBeforeStored) process.word.RaiseCeiling(ceiling);
    if (kFault == SnowflakeFault::kRaiseBeforeStored && lost) return;
    lease.ceiling = process.stored = ceiling;
    if (!lost) process.word.RaiseCeiling(ceiling);
  }

  void Release(Process& process, int depth) {
    Lease& lease = leases_[process.worker];
    bool held = lease.token == process.token;
    bool lower_first = kFault == SnowflakeFault::kLowerBeforeClose;
    if (lower_first && held) {
      lease.ceiling = process.word.last_time();
      Disturb(depth);
    }
    int64_t last = process.word.Close();
    process.twin.closed = true;
    if (last != process.twin.last) {
      Violated(absl::StrCat("Close answers ", last, ", the last time used is ", process.twin.last));
    }
    if (held && !lower_first && lease.token == process.token) lease.ceiling = last;
  }

  // Killed, or done after a release. Not while one of its calls is under way on this stack.
  void Vanish(const std::shared_ptr<Process>& process) {
    if (process->calls == 0) std::erase(processes_, process);
  }

  int64_t Read(Process& process, Reading& reading, int depth) {
    reading.before = process.twin;
    Disturb(depth);
    reading.now = now_ + process.offset;
    process.highest_reading = std::max(process.highest_reading, reading.now);
    Disturb(depth);
    return reading.now;
  }

  // One call of Next or NextBatch, until it has its run, is refused, or its thread is killed.
  void Call(Process& process, int depth) {
    ++process.calls;
    uint64_t wanted = OneIn(2) ? 1 : 1 + Below(20);
    for (int naps = 0; naps < 300 && violation_.empty(); ++naps) {
      Reading reading;
      SnowflakeStep step = process.word.Take(wanted, [&] { return Read(process, reading, depth); });
      Judge(process, reading, step, wanted);
      if (step.answer != kWait) break;
      ++coverage.waits;
      int64_t left = step.time - (now_ + process.offset);
      now_ += std::clamp<int64_t>(left, 0, 10) + (OneIn(4) ? Range(0, 3) : 0);
      Disturb(depth);
    }
    --process.calls;
  }

  void Judge(Process& process, const Reading& reading, const SnowflakeStep& step, uint64_t wanted) {
    SnowflakeStep expected = reading.before.Next(shape_.max_sequence() + 1, shape_.max_time,
                                                 reading.now, process.word.ceiling(), wanted);
    if (step.answer == kTake) Taken(process, reading, step);
    if (step.answer != expected.answer || step.time != expected.time ||
        step.first != expected.first || step.count != expected.count) {
      Violated(absl::StrCat("a clock at ", reading.now, " after ", reading.before.last, " (",
                            reading.before.used, " used), ceiling ", process.word.ceiling(),
                            ": answer ", step.answer, " of ", step.time, ", ", step.count, " from ",
                            step.first, "; not ", expected.answer, " of ", expected.time, ", ",
                            expected.count, " from ", expected.first));
    }
    coverage.clock_back += step.answer == kClockBack;
    coverage.above_ceiling += step.answer == kAboveCeiling;
    coverage.time_used_up += step.answer == kTimeUsedUp;
    coverage.closed += step.answer == kClosed;
  }

  void Taken(Process& process, const Reading& reading, const SnowflakeStep& step) {
    Lease& lease = leases_[process.worker];
    Twin& twin = process.twin;
    uint64_t a_millisecond = shape_.max_sequence() + 1;
    auto who = [&] { return absl::StrCat("worker ", process.worker, ", time ", step.time, ": "); };
    for (uint64_t i = 0; i < step.count; ++i) {
      if (!lease.slots.insert(step.first + i).second) Violated(who() + "an ID was made twice");
    }
    uint64_t next = static_cast<uint64_t>(twin.last) * a_millisecond + twin.used;
    if (step.first < next) Violated(who() + "IDs do not rise");
    if (twin.closed) Violated(who() + "an ID was made after Close");
    if (step.time <= process.floor) Violated(who() + "it is not above the floor");
    if (step.time > process.stored) Violated(who() + "it is above the ceiling stored");
    if (step.time > process.highest_reading) Violated(who() + "it is ahead of the clock");
    twin.last = step.time;
    twin.used = (step.first + step.count - 1) % a_millisecond + 1;
    coverage.ids += step.count;
    coverage.went_on += reading.now < step.time;
    coverage.late_holders += lease.token != process.token;
  }

  std::mt19937_64 random_;
  SnowflakeShape shape_;
  int64_t now_ = 1'000'000;  // of the store; milliseconds since the epoch
  std::array<Lease, kWorkers> leases_;
  std::vector<std::shared_ptr<Process>> processes_;
  std::string violation_;
};

template <int kFirst = 0>
std::string Dispatch(uint64_t seed, SnowflakeFault fault) {
  constexpr auto kFault = static_cast<SnowflakeFault>(kFirst);
  if (fault == kFault) return Simulation<kFault>(seed).Run();
  if constexpr (kFault != kLastSnowflakeFault) return Dispatch<kFirst + 1>(seed, fault);
  return "no such fault";
}

}  // namespace

std::string SimulateSnowflakes(uint64_t seed, SnowflakeFault fault) {
  return Dispatch(seed, fault);
}

const SnowflakeCoverage& SnowflakesCovered() { return coverage; }

const char* NameOf(SnowflakeFault fault) {
  constexpr std::array kNames = {"None",
                                 "GoOnFromNow",
                                 "NeverRefuse",
                                 "WaitAtOnce",
                                 "NoCarry",
                                 "CarryAhead",
                                 "RunPastTheEnd",
                                 "IgnoreCeiling",
                                 "AwaitAboveCeiling",
                                 "TimePastItsField",
                                 "ClockBeforeWord",
                                 "PlainStore",
                                 "FloorNotTaken",
                                 "LowerBeforeClose",
                                 "RaiseBeforeStored"};
  static_assert(kNames.size() == static_cast<size_t>(kLastSnowflakeFault) + 1);
  return kNames[static_cast<size_t>(fault)];
}

}  // namespace locus
