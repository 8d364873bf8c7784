// SPDX-License-Identifier: Apache-2.0
#include "locus/segment_sequence.h"

#include <optional>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/load_driver.h"
#include "src/base/mutex.h"
#include "src/base/news.h"
#include "src/base/text.h"
#include "src/base/wipe_on_fork.h"
#include "src/sequence/sequence_cursor.h"
#include "src/sequence/sequence_loader.h"
#include "src/sequence/sequencer_rules.h"
#include "src/sequence/thread_blocks.h"

namespace locus {
namespace {

constexpr int64_t kLongestSegment = int64_t{1} << 32;
constexpr int64_t kLongestThreadBlock = int64_t{1} << 20;

// What can be given back: what `used` numbers of `current` and none of `next` leave. A key takes
// back only what its last write took, so both together where `joined` says that nobody drew in
// between, otherwise the last one.
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

absl::Status WithoutMessage(absl::StatusCode code) { return absl::Status(code, ""); }

}  // namespace

class SegmentSequence::Rep {
 public:
  Rep(std::shared_ptr<Sequencer> sequencer, std::string key, const Options& options)
      : sequencer_(std::move(sequencer)),
        key_(std::move(key)),
        options_(options),
        step_(sequencer_->options().step),
        limit_(sequencer_rules::Limit(sequencer_->options())),
        cursor_(words_[0], step_),
        loader_(Bounded(options.min_length), Bounded(options.max_length), options.horizon,
                std::random_device()()) {
    if (options.thread_block > 0) blocks_.emplace(step_);
    auto job = [this] { return Load(); };
    driver_ = options_.executor == nullptr ? LoadDriver::OnThread(job)
                                           : LoadDriver::OnExecutor(*options_.executor, job);
  }

  bool forked() const { return words_.wiped(); }

  absl::StatusOr<int64_t> TryNext() {
    if (blocks_) return TryNextOfThread();
    SequenceCursor::Taken taken;
    uint64_t generation, word;
    if (cursor_.TryTake(1, taken, generation, word)) [[likely]] {
      return taken.first;
    }
    return TryNextSlowly(generation, word);
  }

  absl::StatusOr<SequenceBlock> TryNextBlock(int64_t count) {
    auto wanted = static_cast<uint64_t>(count);
    SequenceCursor::Taken taken = cursor_.Take(wanted);
    if (taken.count == 0) LOCUS_RETURN_IF_ERROR(TakeSlowly(wanted, taken));
    return SequenceBlock{taken.first, step_, static_cast<int64_t>(taken.count)};
  }

  // As `attempt`, but waits to the deadline, and says more when it fails.
  template <typename Attempt>
  auto Waiting(News::Deadline deadline, Attempt attempt) -> decltype(attempt()) {
    auto result = news_.Await(deadline, attempt);
    if (result.ok()) return result;
    return Explained(result.status().code());
  }

  absl::StatusOr<int64_t> Close() {
    if (forked()) return Explained(absl::StatusCode::kFailedPrecondition);
    int64_t used;
    {
      MutexLock lock(mutex_);
      if (closed_.exchange(true)) return 0;
      if (blocks_) blocks_->Close();
      used = static_cast<int64_t>(cursor_.Close());
    }
    news_.Announce();
    std::optional<Unused> unused;
    {
      MutexLock lock(mutex_);
      while (in_flight_) landed_.Wait(mutex_);
      unused = Unused::Of(current_, used, next_, joined_);
    }
    if (!unused || !options_.return_unused) return 0;
    absl::StatusOr<bool> returned = sequencer_->Return(key_, unused->batch, unused->used);
    MutexLock lock(mutex_);
    Count(returned.status());
    LOCUS_RETURN_IF_ERROR(returned.status());
    return *returned ? unused->batch.count - unused->used : 0;
  }

  SegmentSequenceStats Stats() const {
    SegmentSequenceStats stats;
    if (forked()) return stats;
    stats.waits = news_.waits();
    stats.skipped = skipped_.load(std::memory_order_relaxed);
    MutexLock lock(mutex_);
    stats.segments = segments_;
    stats.store_calls = store_calls_;
    stats.store_failures = store_failures_;
    stats.starved = loader_.starved();
    stats.autonomy = loader_.Autonomy(Use(options_.clock->SinceBoot()));
    stats.last_store_error = last_store_error_;
    return stats;
  }

 private:
  enum Wish : uint8_t { kNothing = 0, kMore = 1, kStarved = 2 };

  uint64_t Bounded(int64_t length) const {
    return static_cast<uint64_t>(std::min(length, limit_ / step_));
  }

  // Out of line, so that TryNext saves no registers.
  [[gnu::noinline]] absl::StatusOr<int64_t> TryNextSlowly(uint64_t generation, uint64_t word) {
    SequenceCursor::Taken taken = cursor_.Resolve(1, generation, word);
    if (taken.count == 0) LOCUS_RETURN_IF_ERROR(TakeSlowly(1, taken));
    return taken.first;
  }

  [[gnu::noinline]] absl::StatusOr<int64_t> TryNextOfThread() {
    if (std::optional<int64_t> number = blocks_->Take()) [[likely]] {
      return *number;
    }
    return DrawForThread();
  }

  [[gnu::noinline]] absl::StatusOr<int64_t> DrawForThread() {
    if (!ThreadBlocks::CanHold()) {
      LOCUS_ASSIGN_OR_RETURN(SequenceBlock block, TryNextBlock(1));
      return block.first;
    }
    if (!forked() && blocks_->TakeLeftOver()) {
      if (std::optional<int64_t> number = blocks_->Take()) return *number;
    }
    LOCUS_ASSIGN_OR_RETURN(SequenceBlock block, TryNextBlock(options_.thread_block));
    if (block.count > 1) {
      blocks_->Give({static_cast<uint64_t>(block.first + step_),  //
                     static_cast<uint64_t>(block.count - 1)});
    }
    return block.first;
  }

  // Nothing was taken: moves on to the next segment and takes from it, or tells the loader.
  absl::Status TakeSlowly(uint64_t wanted, SequenceCursor::Taken& taken) {
    while (taken.count == 0) {
      if (forked()) return WithoutMessage(absl::StatusCode::kFailedPrecondition);
      if (taken.skipped > 0) {
        skipped_.fetch_add(taken.skipped, std::memory_order_relaxed);
      } else if (!MoveOn(taken.generation)) {
        if (closed_.load(std::memory_order_acquire)) {
          return WithoutMessage(absl::StatusCode::kFailedPrecondition);
        }
        AskFor(kStarved);
        return WithoutMessage(answer_.load(std::memory_order_relaxed));
      }
      taken = cursor_.Take(wanted);
    }
    return absl::OkStatus();
  }

  // False: no segment follows that generation yet, or ever.
  bool MoveOn(uint64_t generation) {
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
    news_.AnnounceToWaiters();
    return true;
  }

  void InstallNext(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (current_) rate_before_ = static_cast<double>(cursor_.used()) / SecondsInUse(now);
    installed_at_ = now;
    current_ = std::exchange(next_, std::nullopt);
    has_next_.store(false, std::memory_order_relaxed);
    cursor_.Install(current_->first, static_cast<uint64_t>(current_->count));
  }

  void AskFor(Wish wish) {
    bool news = (wish_.fetch_or(wish, std::memory_order_release) & wish) == 0;
    if (news || !driver_->started()) driver_->Wake();
  }

  double SecondsInUse(absl::Duration now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::max(1.0, absl::ToDoubleSeconds(now - installed_at_));
  }

  SequenceUse Use(absl::Duration now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    SequenceUse use;
    if (!current_) return use;
    uint64_t used = cursor_.used();
    use.any = true;
    use.has_next = next_.has_value();
    use.left = cursor_.length() - used + (next_ ? static_cast<uint64_t>(next_->count) : 0);
    use.seconds_in_use = SecondsInUse(now);
    use.rate_now = static_cast<double>(used) / use.seconds_in_use;
    use.rate_before = rate_before_;
    return use;
  }

  // One pass of the loader, on its thread.
  absl::Duration Load() {
    absl::Duration asked_at = options_.clock->SinceBoot();
    int64_t count = 0;
    {
      MutexLock lock(mutex_);
      if (closed_) return absl::InfiniteDuration();
      count = Collect(asked_at);
      in_flight_ = count > 0;
    }
    if (count > 0) {
      absl::StatusOr<SequenceBatch> batch = sequencer_->NextBatch(key_, count);
      if (batch.ok() && !Good(*batch, count)) {
        batch = absl::DataLossError("the sequencer gave numbers that it cannot have");
      }
      Land(batch, count, asked_at);
      news_.Announce();
    }
    MutexLock lock(mutex_);
    if (closed_) return absl::InfiniteDuration();
    return std::max(absl::ZeroDuration(), loader_.NextDue() - options_.clock->SinceBoot());
  }

  int64_t Collect(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    SequenceUse use = Use(now);
    if (!loader_.stopped(now)) {
      uint8_t wish = wish_.exchange(kNothing, std::memory_order_acquire);
      if (wish != kNothing) loader_.Hear((wish & kStarved) != 0, use, now);
    }
    auto count = static_cast<int64_t>(loader_.Collect(use, now));
    // Up to the limit, not past it: there a whole batch fails, or leaves out what is before it.
    int64_t left = (limit_ - last_) / step_;
    return left > 0 ? std::min(count, left) : count;
  }

  // Engines may be the user's own.
  bool Good(const SequenceBatch& batch, int64_t asked) const {
    return batch.step == step_ && batch.count >= 1 && batch.count <= asked && batch.first >= 1 &&
           batch.first <= limit_ && (limit_ - batch.first) / step_ >= batch.count - 1;
  }

  // Whether nobody drew between the batch taken last and this one, which came at `now`. Numbers
  // that follow each other do not tell where they come again: others may have drawn a whole round,
  // or the first ones of a key that was forgotten. A margin for clocks that run differently.
  bool Follows(const SequenceBatch& batch, absl::Duration now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const SequencerOptions& key = sequencer_->options();
    bool wraps = key.max_value != 0 && key.at_max == SequencerOptions::AtMax::kWrap;
    bool known = key.ttl == absl::ZeroDuration() || now - asked_at_ < key.ttl / 2;
    return batch.first - step_ == last_ && !wraps && known;
  }

  void Land(const absl::StatusOr<SequenceBatch>& batch, int64_t asked, absl::Duration asked_at) {
    MutexLock lock(mutex_);
    absl::Duration now = options_.clock->SinceBoot();
    in_flight_ = false;
    landed_.NotifyAll();
    absl::Status status = batch.status();
    if (batch.ok()) {
      ++segments_;
      joined_ = Follows(*batch, now);
      last_ = batch->last();
      asked_at_ = asked_at;
      next_ = *batch;
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
  void Count(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ++store_calls_;
    store_failures_ += !status.ok();
    absl::StatusCode answer = absl::StatusCode::kUnavailable;
    if (absl::IsOutOfRange(status)) answer = status.code();
    // Data that contradicts itself needs repair just the same.
    if (absl::IsFailedPrecondition(status) || absl::IsDataLoss(status) ||
        absl::IsNotFound(status) || absl::IsInvalidArgument(status)) {
      answer = absl::StatusCode::kFailedPrecondition;
    }
    answer_.store(answer, std::memory_order_relaxed);
    last_store_error_ = std::move(status);
  }

  // The status of a call that failed with `code`, with a message.
  absl::Status Explained(absl::StatusCode code) const {
    if (forked()) {
      return absl::FailedPreconditionError(
          "this is a forked child: a sequence belongs to the process that made it");
    }
    if (closed_) {
      return absl::FailedPreconditionError(
          absl::StrCat("the sequence of key ", Quoted(key_), " is closed"));
    }
    if (code == absl::StatusCode::kUnavailable) code = absl::StatusCode::kDeadlineExceeded;
    MutexLock lock(mutex_);
    if (!last_store_error_.ok()) return absl::Status(code, last_store_error_.message());
    return absl::Status(code, absl::StrCat("key ", Quoted(key_), ": no number in time"));
  }

  const std::shared_ptr<Sequencer> sequencer_;
  const std::string key_;
  const Options options_;
  const int64_t step_;
  const int64_t limit_;
  std::optional<ThreadBlocks> blocks_;  // set with Options::thread_block
  WipeOnForkWords words_{1};            // the cursor's
  SequenceCursor cursor_;               // all but Take under mutex_

  std::atomic<bool> closed_{false};    // raised under mutex_
  std::atomic<bool> has_next_{false};  // whether next_ is set
  std::atomic<uint8_t> wish_{kNothing};
  // What callers hear who find no number.
  std::atomic<absl::StatusCode> answer_{absl::StatusCode::kUnavailable};
  std::atomic<uint64_t> skipped_{0};
  News news_;

  mutable Mutex mutex_;
  CondVar landed_;  // in_flight_ became false
  SequenceLoader loader_ ABSL_GUARDED_BY(mutex_);
  bool in_flight_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<SequenceBatch> current_ ABSL_GUARDED_BY(mutex_);  // the cursor's
  std::optional<SequenceBatch> next_ ABSL_GUARDED_BY(mutex_);
  bool joined_ ABSL_GUARDED_BY(mutex_) = false;  // whether nobody drew between the last two taken
  int64_t last_ ABSL_GUARDED_BY(mutex_) = 0;     // number taken
  absl::Duration asked_at_ ABSL_GUARDED_BY(mutex_);  // for the batch taken last
  absl::Duration installed_at_ ABSL_GUARDED_BY(mutex_);
  double rate_before_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t segments_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t store_calls_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t store_failures_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status last_store_error_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<LoadDriver> driver_;  // last: its end waits for a Load under way
};

SegmentSequence::SegmentSequence(Rep* rep) : rep_(rep) {}

SegmentSequence::~SegmentSequence() {
  // A forked child touches no thread, lock or store of its parent; the memory is its copy's.
  if (rep_->forked()) return;
  rep_->Close().IgnoreError();
  delete rep_;
}

absl::StatusOr<std::unique_ptr<SegmentSequence>> SegmentSequence::Create(
    std::shared_ptr<Sequencer> sequencer, std::string key, Options options) {
  if (sequencer == nullptr || options.clock == nullptr) {
    return absl::InvalidArgumentError("a sequence needs a sequencer and a clock");
  }
  if (key.empty() || key.size() > sequencer_rules::kLongestKey) {
    return absl::InvalidArgumentError(
        absl::StrCat("key ", Quoted(key), " is ", key.size(), " bytes; it must be 1 to 512"));
  }
  if (options.horizon < absl::Seconds(1) || options.horizon > absl::Hours(24)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "horizon ", absl::FormatDuration(options.horizon), " is not between 1s and 24h"));
  }
  if (options.max_length < 1 || options.max_length > kLongestSegment) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_length ", options.max_length, " is not in 1..", kLongestSegment));
  }
  if (options.min_length < 1 || options.min_length > options.max_length) {
    return absl::InvalidArgumentError(absl::StrCat("min_length ", options.min_length,
                                                   " is not in 1..max_length, which is ",
                                                   options.max_length));
  }
  if (options.thread_block < 0 || options.thread_block > kLongestThreadBlock) {
    return absl::InvalidArgumentError(
        absl::StrCat("thread_block ", options.thread_block, " is not in 0..", kLongestThreadBlock));
  }
  return std::unique_ptr<SegmentSequence>(
      new SegmentSequence(new Rep(std::move(sequencer), std::move(key), options)));
}

absl::StatusOr<int64_t> SegmentSequence::TryNext() { return rep_->TryNext(); }

absl::StatusOr<int64_t> SegmentSequence::Next(std::chrono::steady_clock::time_point deadline) {
  return rep_->Waiting(deadline, [this] { return rep_->TryNext(); });
}

absl::StatusOr<SequenceBlock> SegmentSequence::TryNextBlock(int64_t count) {
  if (count < 1 || count > kLongestBlock) {
    return absl::InvalidArgumentError(
        absl::StrCat("a block of ", count, " numbers must have 1 to ", kLongestBlock));
  }
  return rep_->TryNextBlock(count);
}

absl::StatusOr<SequenceBlock> SegmentSequence::NextBlock(
    int64_t count, std::chrono::steady_clock::time_point deadline) {
  if (count < 1 || count > kLongestBlock) return TryNextBlock(count);
  return rep_->Waiting(deadline, [&] { return rep_->TryNextBlock(count); });
}

absl::StatusOr<int64_t> SegmentSequence::Close() { return rep_->Close(); }

SegmentSequenceStats SegmentSequence::Stats() const { return rep_->Stats(); }

}  // namespace locus
