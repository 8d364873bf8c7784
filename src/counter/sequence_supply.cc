// SPDX-License-Identifier: Apache-2.0
#include "src/counter/sequence_supply.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/text/text.h"
#include "src/counter/sequencer_rules.h"

namespace locus::internal {
namespace {

// The numbers that can be returned when `used` numbers of `current` and none of `next` were handed
// out. A counter takes back only the numbers of its last write: both batches together if `joined`
// (no other process took numbers in between), otherwise only the last one.
struct Unused {
  SequenceBatch batch;
  int64_t used = 0;

  static std::optional<Unused> Of(const std::optional<SequenceBatch>& current, int64_t used,
                                  const std::optional<SequenceBatch>& next, bool joined) {
    bool tail = current && used < current->count;
    if (!next) return tail ? std::optional(Unused{*current, used}) : std::nullopt;
    if (!tail || !joined) return Unused{*next, 0};
    SequenceBatch both = *current;
    both.count += next->count;
    both.version = next->version;
    return Unused{both, used};
  }
};

bool Wraps(const SequencerOptions& counter) {
  return counter.max_value != 0 && counter.at_max == SequencerOptions::AtMax::kWrap;
}

absl::Duration HoldOf(const SequencerOptions& counter) {
  return counter.ttl == absl::ZeroDuration() ? absl::InfiniteDuration() : counter.ttl / 2;
}

}  // namespace

SequenceSupply::SequenceSupply(std::shared_ptr<Sequencer> sequencer, std::string key,
                               const SegmentSequence::Options& options, ResultSignal& loaded)
    : sequencer_(std::move(sequencer)),
      key_(std::move(key)),
      options_(options),
      step_(sequencer_->options().step),
      limit_(sequencer_rules::Limit(sequencer_->options())),
      hold_(HoldOf(sequencer_->options())),
      repeats_(Wraps(sequencer_->options()) || sequencer_->options().ttl != absl::ZeroDuration()),
      cursor_(words_[0], step_),
      loaded_(loaded),
      loader_(Bounded(options.min_length), Bounded(options.max_length),
              std::min(options.horizon, std::max(hold_, absl::Seconds(1))),
              std::random_device()()) {
  auto job = [this] { return Load(); };
  driver_ = options_.executor == nullptr ? LoadDriver::OnThread(job)
                                         : LoadDriver::OnExecutor(*options_.executor, job);
}

uint64_t SequenceSupply::Bounded(int64_t length) const {
  return static_cast<uint64_t>(
      std::min(length, sequencer_rules::LongestBatch(sequencer_->options())));
}

bool SequenceSupply::MoveOn(uint64_t generation) {
  // First without the lock: callers that find no number come here again and again.
  if (closed_.load(std::memory_order_acquire)) return false;
  if (!has_next_.load(std::memory_order_acquire)) return cursor_.installed() != generation;
  {
    MutexLock lock(mutex_);
    if (closed_) return false;
    if (cursor_.generation() != generation) return true;
    if (!next_) return false;
    InstallNext(options_.clock->SinceBoot());
  }
  AskFor(kMore);
  loaded_.NotifyIfAwaited();
  return true;
}

void SequenceSupply::InstallNext(absl::Duration now) {
  if (current_) {
    rate_before_ = static_cast<double>(Used()) / SecondsInUse(now);
    given_ += Used();
  }
  given_up_ = 0;
  current_asked_at_ = asked_at_;
  installed_at_ = now;
  current_ = std::exchange(next_, std::nullopt);
  has_next_.store(false, std::memory_order_relaxed);
  cursor_.Install(current_->first, static_cast<uint64_t>(current_->count));
  if (expires()) {
    const Moment until = HeldUntil(current_asked_at_);
    held_until_.store(until.since_boot, std::memory_order_release);
    held_until_by_wall_.store(until.wall, std::memory_order_release);
  }
}

SequenceSupply::Moment SequenceSupply::HeldUntil(const Moment& asked_at) const {
  const int64_t hold = absl::ToInt64Nanoseconds(hold_);
  return {asked_at.since_boot + hold, asked_at.wall + hold};
}

void SequenceSupply::GiveUp() {
  MutexLock lock(mutex_);
  if (closed_ || !current_ || !IsPast(current_asked_at_)) return;
  if (given_up_ == 0) given_up_ = cursor_.length() - cursor_.Exhaust();
  if (next_ && IsPast(asked_at_)) {
    next_.reset();
    has_next_.store(false, std::memory_order_relaxed);
  }
}

void SequenceSupply::AskFor(Request request) {
  bool is_new = (asked_.fetch_or(request, std::memory_order_release) & request) == 0;
  if (is_new || !driver_->started()) driver_->Wake();
}

double SequenceSupply::SecondsInUse(absl::Duration now) const {
  return std::max(1.0, absl::ToDoubleSeconds(now - installed_at_));
}

SequenceUse SequenceSupply::Use(absl::Duration now) const {
  SequenceUse use;
  if (!current_) return use;
  uint64_t used = Used();
  use.any = true;
  use.has_next = next_.has_value();
  use.left = cursor_.length() - cursor_.used() + (next_ ? static_cast<uint64_t>(next_->count) : 0);
  use.seconds_in_use = SecondsInUse(now);
  use.rate_now = static_cast<double>(used) / use.seconds_in_use;
  use.rate_before = rate_before_;
  return use;
}

// One pass of the loader, on its thread.
absl::Duration SequenceSupply::Load() {
  // Read before the call: the numbers may be held from the beginning of the call that took them.
  const Moment asked_at = Now();
  int64_t count = 0;
  {
    MutexLock lock(mutex_);
    if (closed_) return absl::InfiniteDuration();
    count = Collect(absl::Nanoseconds(asked_at.since_boot));
    in_flight_ = count > 0;
  }
  if (count > 0) {
    absl::StatusOr<SequenceBatch> batch = Draw(count);
    if (batch.ok()) {
      const bool begun = !Wraps(sequencer_->options()) &&
                         batch->first == sequencer_rules::FirstNumber(sequencer_->options());
      Report(SegmentSequenceEvent::Kind::kTaken, {batch->first, batch->step, batch->count}, {},
             begun);
    } else if (!absl::IsOutOfRange(batch.status())) {
      Report(SegmentSequenceEvent::Kind::kStoreFailed, {}, batch.status());
    }
    Land(batch, count, asked_at);
    loaded_.Notify();
  }
  MutexLock lock(mutex_);
  if (closed_) return absl::InfiniteDuration();
  return std::max(absl::ZeroDuration(), loader_.NextDue() - options_.clock->SinceBoot());
}

// Numbers that this process did not take before.
absl::StatusOr<SequenceBatch> SequenceSupply::Draw(int64_t count) {
  int64_t last;
  {
    MutexLock lock(mutex_);
    last = last_;
  }
  if (went_back_) {
    // Takes nothing from it: each attempt would move it further, up to numbers that other processes
    // have.
    absl::StatusOr<int64_t> value = sequencer_->Get(key_);
    if (absl::IsNotFound(value.status())) value = 0;
    LOCUS_RETURN_IF_ERROR(value.status());
    if (*value < last || *value <= refused_) return WentBack(*value);
    went_back_ = false;
  }
  absl::StatusOr<SequenceBatch> batch = sequencer_->NextBatch(key_, count);
  if (!batch.ok()) return batch;
  if (!Good(*batch, count)) {
    return absl::DataLossError("the sequencer returned invalid numbers");
  }
  if (repeats_ || batch->first > last) return batch;
  went_back_ = true;
  // Sets the counter back to its old place; a counter that was lost becomes unknown again. If that
  // fails, the counter is above and needs no Set.
  const absl::StatusOr<bool> returned = sequencer_->Return(key_, *batch, 0);
  refused_ = returned.ok() && *returned ? 0 : batch->last();
  return WentBack(std::max<int64_t>(0, batch->first - step_));
}

absl::Status SequenceSupply::WentBack(int64_t value) const {
  MutexLock lock(mutex_);
  return absl::DataLossError(absl::StrCat(
      "counter ", Quoted(key_), " was at ", value, ", although ", last_,
      " was taken before: its store was emptied or put back, or the counter set lower; set it to "
      "the highest number that was given out, or above (`locus seq set`)"));
}

int64_t SequenceSupply::Collect(absl::Duration now) {
  SequenceUse use = Use(now);
  if (!loader_.stopped(now)) {
    uint8_t asked = asked_.exchange(kNothing, std::memory_order_acquire);
    if (asked != kNothing) loader_.Hear((asked & kStarved) != 0, use, now);
  }
  auto count = static_cast<int64_t>(loader_.Collect(use, now));
  // Up to the limit, not past it: a batch past the limit fails as a whole, or skips the numbers
  // before the limit.
  int64_t left = (limit_ - last_) / step_;
  return left > 0 ? std::min(count, left) : count;
}

// Engines may be the user's own.
bool SequenceSupply::Good(const SequenceBatch& batch, int64_t asked) const {
  return batch.step == step_ && batch.count >= 1 && batch.count <= asked && batch.first >= 1 &&
         batch.first <= limit_ && (limit_ - batch.first) / step_ >= batch.count - 1;
}

// Whether no other process took numbers between the last batch and this one, which has just come.
// Consecutive numbers do not prove it for a counter whose numbers repeat: others may have taken a
// whole round, or the first numbers of a counter that was forgotten in between.
bool SequenceSupply::Follows(const SequenceBatch& batch) const {
  const SequencerOptions& key = sequencer_->options();
  return batch.first - step_ == last_ && !Wraps(key) && !IsPast(asked_at_);
}

void SequenceSupply::Land(const absl::StatusOr<SequenceBatch>& batch, int64_t asked,
                          const Moment& asked_at) {
  MutexLock lock(mutex_);
  absl::Duration now = options_.clock->SinceBoot();
  in_flight_ = false;
  landed_.NotifyAll();
  store_latency_.Add(std::max(now - absl::Nanoseconds(asked_at.since_boot), absl::ZeroDuration()));
  absl::Status status = batch.status();
  if (batch.ok()) {
    ++segments_;
    joined_ = Follows(*batch);
    last_ = batch->last();
    asked_at_ = asked_at;
    next_ = *batch;
    // Callers that starved wait for this segment, so it goes into use at once.
    bool needed = !current_ || cursor_.used() == cursor_.length();
    if (needed && !closed_) {
      InstallNext(now);
    } else {
      has_next_.store(true, std::memory_order_release);
    }
    loader_.Granted(static_cast<uint64_t>(batch->count), Use(now), now);
  } else if (absl::IsOutOfRange(status)) {
    if (loader_.TooMany(static_cast<uint64_t>(asked), now)) status = absl::OkStatus();
  } else {
    loader_.Failed(now);
  }
  Count(status);
}

// Notes how a call to the sequencer ended.
void SequenceSupply::Count(absl::Status status) {
  ++store_calls_;
  store_failures_ += !status.ok();
  absl::StatusCode answer = absl::StatusCode::kUnavailable;
  if (absl::IsOutOfRange(status)) answer = status.code();
  // Data that contradicts itself needs repair just the same.
  if (absl::IsFailedPrecondition(status) || absl::IsDataLoss(status) || absl::IsNotFound(status) ||
      absl::IsInvalidArgument(status)) {
    answer = absl::StatusCode::kFailedPrecondition;
  }
  answer_.store(answer, std::memory_order_relaxed);
  last_store_error_ = std::move(status);
}

absl::Status SequenceSupply::Explained(absl::StatusCode code) const {
  if (forked()) {
    return ForkGuard::Refusal("a segment sequence");
  }
  if (closed_) {
    return absl::FailedPreconditionError(
        absl::StrCat("the sequence of counter ", Quoted(key_), " is closed"));
  }
  if (code == absl::StatusCode::kUnavailable) code = absl::StatusCode::kDeadlineExceeded;
  MutexLock lock(mutex_);
  if (!last_store_error_.ok()) return absl::Status(code, last_store_error_.message());
  return absl::Status(code, absl::StrCat("key ", Quoted(key_), ": no number in time"));
}

absl::StatusOr<int64_t> SequenceSupply::Close(const std::function<void()>& before) {
  if (forked()) return Explained(absl::StatusCode::kFailedPrecondition);
  int64_t used;
  {
    MutexLock lock(mutex_);
    if (closed_.exchange(true)) return 0;
    before();
    used = static_cast<int64_t>(cursor_.Close());
    given_ += static_cast<uint64_t>(used) - given_up_;
  }
  loaded_.Notify();
  std::optional<Unused> unused;
  {
    MutexLock lock(mutex_);
    // A batch that is still under way is unused as a whole, and is also returned.
    while (in_flight_) landed_.Wait(mutex_);
    unused = Unused::Of(current_, used, next_, joined_);
    // Numbers of a counter that was forgotten meanwhile must not be returned.
    if (IsPast(asked_at_)) unused = std::nullopt;
  }
  if (!unused || !options_.return_unused) return 0;
  absl::StatusOr<bool> returned = sequencer_->Return(key_, unused->batch, unused->used);
  {
    MutexLock lock(mutex_);
    Count(returned.status());
  }
  if (!returned.ok()) {
    Report(SegmentSequenceEvent::Kind::kStoreFailed, {}, returned.status());
    return returned.status();
  }
  const int64_t count = *returned ? unused->batch.count - unused->used : 0;
  if (count > 0) {
    Report(SegmentSequenceEvent::Kind::kReturned,
           {unused->batch.first + unused->used * step_, step_, count});
  }
  return count;
}

void SequenceSupply::Report(SegmentSequenceEvent::Kind kind, const SequenceBlock& numbers,
                            const absl::Status& status, bool begun) const {
  if (options_.on_event) options_.on_event({kind, key_, numbers, status, begun});
}

SegmentSequenceStats SequenceSupply::Stats() const {
  SegmentSequenceStats stats;
  MutexLock lock(mutex_);
  stats.numbers = given_ + (closed_ ? 0 : Used());
  stats.store_latency = store_latency_;
  stats.segments = segments_;
  stats.store_calls = store_calls_;
  stats.store_failures = store_failures_;
  stats.starved = loader_.starved();
  stats.autonomy = loader_.Autonomy(Use(options_.clock->SinceBoot()));
  stats.last_store_error = last_store_error_;
  return stats;
}

}  // namespace locus::internal
