// SPDX-License-Identifier: Apache-2.0
#include "locus/snowflake.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/worker/snowflake_word.h"
#include "src/worker/snowflake_workers.h"

namespace locus {

using internal::kSnowflakeGoOnMillis;
using internal::kSnowflakeWaitMillis;
using internal::SnowflakeAnswer;
using internal::SnowflakeShape;
using internal::SnowflakeStep;
using internal::SnowflakeWord;
using internal::SnowflakeWorker;

namespace {

static_assert(AnySnowflake::kGoOnBehind == absl::Milliseconds(kSnowflakeGoOnMillis));
static_assert(AnySnowflake::kWaitBehind == absl::Milliseconds(kSnowflakeWaitMillis));

// Longer sleeps would notice too late that the generator was closed or the clock set forward.
constexpr absl::Duration kLongestSleep = absl::Milliseconds(10);

constexpr int64_t kFirstEpochMillis = -62135596800000;  // 0001-01-01T00:00:00Z
constexpr int64_t kLastEpochMillis = 253402300799999;   // 9999-12-31T23:59:59.999Z

std::string Shown(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

// Clamped far from an overflow, also for an infinite time.
int64_t MillisBetween(int64_t epoch, int64_t unix_millis) {
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max() / 4;
  return std::clamp(unix_millis, -kFar, kFar) - epoch;
}

uint64_t NodeOf(const SnowflakeWidths& widths, const SnowflakeOptions& options) {
  return options.datacenter << widths.worker | options.worker;
}

SnowflakeWorker WorkerOf(const SnowflakeWidths& widths, const SnowflakeOptions& options) {
  return {absl::ToUnixMillis(options.epoch), widths.time, widths.sequence, widths.total(),
          NodeOf(widths, options)};
}

SnowflakeShape ShapeOf(const SnowflakeWidths& widths) {
  return {widths.sequence, static_cast<int64_t>(widths.max_time())};
}

}  // namespace

std::string_view ToString(SnowflakeRollback::Action action) {
  switch (action) {
    case SnowflakeRollback::Action::kWentOn:
      return "went_on";
    case SnowflakeRollback::Action::kWaited:
      return "waited";
    case SnowflakeRollback::Action::kRefused:
      return "refused";
  }
  return "?";
}

absl::StatusOr<SnowflakeParts> DecomposeSnowflake(const SnowflakeWidths& widths, int64_t id,
                                                  absl::Time epoch) {
  auto bits = static_cast<uint64_t>(id);
  if (id < 0 || bits > widths.max_id()) {
    return absl::InvalidArgumentError(
        absl::StrCat(id, " is not a snowflake ID of this layout: it is ",
                     id < 0 ? "negative" : "above ", id < 0 ? "" : absl::StrCat(widths.max_id())));
  }
  SnowflakeParts parts;
  parts.sequence = bits & widths.max_sequence();
  bits >>= widths.sequence;
  parts.worker = bits & ((uint64_t{1} << widths.worker) - 1);
  bits >>= widths.worker;
  parts.datacenter = bits & widths.max_datacenter();
  bits >>= widths.datacenter;
  parts.time = epoch + absl::Milliseconds(bits);
  return parts;
}

class AnySnowflake::Rep {
 public:
  Rep(const SnowflakeWidths& widths, const SnowflakeOptions& options)
      : widths_(widths),
        options_(options),
        worker_(WorkerOf(widths, options)),
        node_(NodeOf(widths, options) << widths.sequence),
        max_sequence_(widths.max_sequence()),
        time_shift_(widths.total() - widths.time),
        word_(ShapeOf(widths), FirstFloor(), MillisOf(options.ceiling)) {}

  ~Rep() { EndClaim(); }

  // Takes up to `wanted` slots and waits if necessary. Returns kTake, or the reason why it got
  // none.
  SnowflakeStep Take(uint64_t wanted) {
    SnowflakeStep step = TryTake(wanted);
    if (step.behind > 0) [[unlikely]] {
      NoteRollback(step);
    }
    if (step.answer == SnowflakeAnswer::kWait) [[unlikely]] {
      return TakeLater(step, wanted);
    }
    return step;
  }

  // The ID of a step's first slot; the IDs of its other slots follow by adding 1.
  int64_t IdOf(const SnowflakeStep& step) const {
    return static_cast<int64_t>(static_cast<uint64_t>(step.time) << time_shift_ | node_ |
                                (step.first & max_sequence_));
  }

  absl::StatusOr<SnowflakeParts> Decompose(int64_t id) const {
    return DecomposeSnowflake(widths_, id, options_.epoch);
  }

  double YearsLeft() const {
    constexpr double kMillisPerYear = 365.2425 * 86400 * 1000;
    int64_t now = std::max(MillisOf(options_.clock->Now()), word_.last_time());
    int64_t left = ShapeOf(widths_).max_time - now;
    return std::max(0.0, static_cast<double>(left) / kMillisPerYear);
  }

  SnowflakeStats Stats() const {
    SnowflakeStats stats;
    if (word_.forked()) return stats;
    uint64_t before = ids_reported_.load(std::memory_order_relaxed);
    uint64_t ids = word_.taken();
    while (ids > before &&
           !ids_reported_.compare_exchange_weak(before, ids, std::memory_order_relaxed)) {
    }
    stats.ids = std::max(ids, before);
    stats.waits = waits_.load(std::memory_order_relaxed);
    stats.rollbacks_went_on = went_on_.load(std::memory_order_relaxed);
    stats.rollbacks_waited = waited_.load(std::memory_order_relaxed);
    stats.rollbacks_refused = refused_.load(std::memory_order_relaxed);
    stats.rollbacks = stats.rollbacks_went_on + stats.rollbacks_waited + stats.rollbacks_refused;
    stats.furthest_rollback = absl::Milliseconds(furthest_.load(std::memory_order_relaxed));
    stats.refusals = refusals_.load(std::memory_order_relaxed);
    stats.years_left = YearsLeft();
    return stats;
  }

  void RaiseCeiling(absl::Time ceiling) { word_.RaiseCeiling(MillisOf(ceiling)); }
  bool closed() const { return word_.closed(); }
  // The word first: the claim passes the last time used on to the next generator of the worker.
  absl::Time Close() {
    const int64_t last = word_.Close();
    EndClaim();
    return TimeOf(last);
  }

  [[gnu::cold]] absl::Status Refusal(const SnowflakeStep& step) {
    refusals_.fetch_add(1, std::memory_order_relaxed);
    std::string who = absl::StrCat("snowflake worker ", worker_.node, ": ");
    switch (step.answer) {
      case SnowflakeAnswer::kClockBack:
        return absl::FailedPreconditionError(absl::StrCat(
            who, "the clock is more than ", kSnowflakeWaitMillis, " ms behind ",
            Shown(TimeOf(step.time)),
            ", the last time used (or the floor or the epoch); there is no ID until then"));
      case SnowflakeAnswer::kTimeUsedUp:
        return absl::OutOfRangeError(absl::StrCat(who, "the ", widths_.time, " bits of time since ",
                                                  Shown(options_.epoch), " ended at ",
                                                  Shown(TimeOf(ShapeOf(widths_).max_time))));
      case SnowflakeAnswer::kAboveCeiling:
        return absl::UnavailableError(
            absl::StrCat(who, "the next ID's time ", Shown(TimeOf(step.time)), " is above ",
                         Shown(TimeOf(word_.ceiling())), ", the ceiling of its lease"));
      case SnowflakeAnswer::kClosed:
        return absl::FailedPreconditionError(absl::StrCat(who, "the generator was closed"));
      default:
        return internal::ForkGuard::Refusal("a snowflake generator");
    }
  }

 private:
  [[gnu::noinline]] SnowflakeStep TakeLater(SnowflakeStep step, uint64_t wanted) {
    waits_.fetch_add(1, std::memory_order_relaxed);
    while (step.answer == SnowflakeAnswer::kWait) {
      absl::Duration left = TimeOf(step.time) - options_.clock->Now();
      options_.clock->SleepFor(std::min(left, kLongestSleep));
      step = TryTake(wanted);
    }
    return step;
  }

  SnowflakeStep TryTake(uint64_t wanted) {
    return word_.Take(wanted, [this] {
      return MillisBetween(worker_.epoch_millis, options_.clock->UnixMillis());
    });
  }

  [[gnu::cold, gnu::noinline]] void NoteRollback(const SnowflakeStep& step) {
    using Action = SnowflakeRollback::Action;
    const Action action = step.answer == SnowflakeAnswer::kTake   ? Action::kWentOn
                          : step.answer == SnowflakeAnswer::kWait ? Action::kWaited
                                                                  : Action::kRefused;
    std::atomic<uint64_t>& count = action == Action::kWentOn   ? went_on_
                                   : action == Action::kWaited ? waited_
                                                               : refused_;
    count.fetch_add(1, std::memory_order_relaxed);
    int64_t before = furthest_.load(std::memory_order_relaxed);
    while (before < step.behind &&
           !furthest_.compare_exchange_weak(before, step.behind, std::memory_order_relaxed)) {
    }
    if (options_.on_rollback) options_.on_rollback({absl::Milliseconds(step.behind), action});
  }

  // Once. A forked child leaves the claim to its parent.
  void EndClaim() {
    if (word_.forked() || claim_ended_.exchange(true)) return;
    internal::snowflake_workers::Release(worker_, word_.last_time());
  }

  int64_t MillisOf(absl::Time time) const {
    return MillisBetween(worker_.epoch_millis, absl::ToUnixMillis(time));
  }
  absl::Time TimeOf(int64_t millis) const { return options_.epoch + absl::Milliseconds(millis); }

  int64_t FirstFloor() const {
    int64_t floor =
        std::max(MillisOf(options_.floor), internal::snowflake_workers::LastTime(worker_));
    return std::clamp(floor, int64_t{0}, ShapeOf(widths_).max_time);
  }

  const SnowflakeWidths widths_;
  const SnowflakeOptions options_;
  const SnowflakeWorker worker_;
  const uint64_t node_;  // datacenter and worker at their place in an ID
  const uint64_t max_sequence_;
  const int time_shift_;
  SnowflakeWord word_;
  std::atomic<uint64_t> waits_{0};
  std::atomic<uint64_t> went_on_{0};
  std::atomic<uint64_t> waited_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<int64_t> furthest_{0};
  std::atomic<uint64_t> refusals_{0};
  mutable std::atomic<uint64_t> ids_reported_{0};  // so that Stats() never goes back
  std::atomic<bool> claim_ended_{false};
};

AnySnowflake::AnySnowflake(const SnowflakeWidths& widths, const SnowflakeOptions& options)
    : rep_(std::make_unique<Rep>(widths, options)) {}
AnySnowflake::~AnySnowflake() = default;

absl::Status AnySnowflake::Check(const SnowflakeWidths& widths, const SnowflakeOptions& options) {
  if (options.clock == nullptr) {
    return absl::InvalidArgumentError("a snowflake generator needs a clock");
  }
  int64_t epoch = absl::ToUnixMillis(options.epoch);
  if (absl::FromUnixMillis(epoch) != options.epoch || epoch < kFirstEpochMillis ||
      epoch > kLastEpochMillis) {
    return absl::InvalidArgumentError(
        absl::StrCat("epoch ", absl::FormatTime(options.epoch, absl::UTCTimeZone()),
                     " is not a whole millisecond of the years 1 to 9999"));
  }
  if (options.datacenter > widths.max_datacenter()) {
    return absl::InvalidArgumentError(absl::StrCat("datacenter ", options.datacenter, " is above ",
                                                   widths.max_datacenter(),
                                                   ", the highest of this layout"));
  }
  uint64_t max_worker = widths.max_worker(options.datacenter);
  if (options.worker > max_worker) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker ", options.worker, " is above ", max_worker, ", the highest of this layout",
        widths.datacenter > 0 ? absl::StrCat(" beside datacenter ", options.datacenter) : ""));
  }
  return absl::OkStatus();
}

absl::Status AnySnowflake::Claim(const SnowflakeWidths& widths, const SnowflakeOptions& options) {
  LOCUS_RETURN_IF_ERROR(Check(widths, options));
  return internal::snowflake_workers::Claim(WorkerOf(widths, options));
}

absl::StatusOr<int64_t> AnySnowflake::Next() {
  SnowflakeStep step = rep_->Take(1);
  if (step.answer != SnowflakeAnswer::kTake) [[unlikely]] {
    return rep_->Refusal(step);
  }
  return rep_->IdOf(step);
}

absl::StatusOr<std::string> AnySnowflake::NextString() {
  LOCUS_ASSIGN_OR_RETURN(int64_t id, Next());
  return absl::StrCat(id);
}

absl::StatusOr<size_t> AnySnowflake::NextBatch(std::span<int64_t> ids) {
  size_t done = 0;
  while (done < ids.size()) {
    SnowflakeStep step = rep_->Take(ids.size() - done);
    if (step.answer != SnowflakeAnswer::kTake) {
      if (done > 0) return done;
      return rep_->Refusal(step);
    }
    int64_t id = rep_->IdOf(step);
    for (uint64_t i = 0; i < step.count; ++i) ids[done++] = id++;
  }
  return done;
}

absl::StatusOr<SnowflakeParts> AnySnowflake::Decompose(int64_t id) const {
  return rep_->Decompose(id);
}

double AnySnowflake::YearsLeft() const { return rep_->YearsLeft(); }
SnowflakeStats AnySnowflake::Stats() const { return rep_->Stats(); }

void AnySnowflake::RaiseCeiling(absl::Time ceiling) { rep_->RaiseCeiling(ceiling); }
absl::Time AnySnowflake::Close() { return rep_->Close(); }
bool AnySnowflake::closed() const { return rep_->closed(); }

}  // namespace locus
