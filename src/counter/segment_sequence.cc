// SPDX-License-Identifier: Apache-2.0
#include "locus/segment_sequence.h"

#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/internal/deadline.h"
#include "src/base/os/check.h"
#include "src/base/run/result_signal.h"
#include "src/base/text/text.h"
#include "src/counter/sequence_cursor.h"
#include "src/counter/sequence_supply.h"
#include "src/counter/sequencer_rules.h"
#include "src/counter/thread_blocks.h"

namespace locus {

using internal::Quoted;
using internal::SequenceCursor;
using internal::SequenceSupply;
using internal::ThreadBlocks;

namespace {

constexpr int64_t kLongestSegment = int64_t{1} << 32;
constexpr int64_t kLongestThreadBlock = int64_t{1} << 20;

absl::Status WithoutMessage(absl::StatusCode code) { return absl::Status(code, ""); }

}  // namespace

std::string_view ToString(SegmentSequenceEvent::Kind kind) {
  switch (kind) {
    case SegmentSequenceEvent::Kind::kTaken:
      return "taken";
    case SegmentSequenceEvent::Kind::kReturned:
      return "returned";
    case SegmentSequenceEvent::Kind::kStoreFailed:
      return "store_failed";
  }
  return "unknown";
}

// The callers' side: takes from the cursor, or from the block of the caller's thread. Without a
// number it makes the supply move on, and waits for it.
class SegmentSequence::Rep {
 public:
  Rep(std::shared_ptr<Sequencer> sequencer, std::string key, const Options& options)
      : thread_block_(options.thread_block),
        supply_(std::move(sequencer), std::move(key), options, loaded_),
        expires_(supply_.expires()) {
    // A thread's block would outlive its segment.
    if (thread_block_ > 0 && !expires_) blocks_.emplace(supply_.step());
    is_plain_ = !blocks_ && !expires_;
  }

  bool forked() const { return supply_.forked(); }

  absl::StatusOr<int64_t> TryNext() {
    if (!is_plain_) return expires_ ? TryNextInTime() : TryNextOfThread();
    SequenceCursor::Taken taken;
    uint64_t generation, word;
    if (supply_.cursor().TryTake(1, taken, generation, word)) [[likely]] {
      return taken.first;
    }
    return TryNextSlowly(generation, word);
  }

  absl::StatusOr<SequenceBlock> TryNextBlock(int64_t count) {
    const auto wanted = static_cast<uint64_t>(count);
    while (true) {
      // Read before the numbers are taken: so it is the time of their segment, or of an earlier
      // one.
      SequenceSupply::Moment held_until = supply_.held_until();
      SequenceCursor::Taken taken = supply_.cursor().Take(wanted);
      if (taken.count == 0) LOCUS_RETURN_IF_ERROR(TakeSlowly(wanted, taken, held_until));
      // Checked after the numbers were taken: after a pause in between they are skipped, not handed
      // out late.
      if (!expires_ || !supply_.IsOver(held_until)) {
        return SequenceBlock{taken.first, supply_.step(), static_cast<int64_t>(taken.count)};
      }
      skipped_.fetch_add(taken.count, std::memory_order_relaxed);
      supply_.GiveUp();
    }
  }

  // As `attempt`, but waits to the deadline, and its errors have messages.
  template <typename Attempt>
  auto Waiting(internal::ResultSignal::Deadline deadline, Attempt attempt) -> decltype(attempt()) {
    auto result = loaded_.RetryUntil(deadline, attempt);
    if (result.ok()) return result;
    return supply_.Explained(result.status().code());
  }

  absl::StatusOr<int64_t> Close() {
    if (forked()) return supply_.Explained(absl::StatusCode::kFailedPrecondition);
    return supply_.Close([this] {
      if (blocks_) blocks_->Close();
    });
  }

  SegmentSequenceStats Stats() const {
    if (forked()) return {};
    SegmentSequenceStats stats = supply_.Stats();
    stats.waits = loaded_.waits();
    stats.skipped = skipped_.load(std::memory_order_relaxed);
    return stats;
  }

 private:
  // Out of line, so that TryNext saves no registers.
  [[gnu::noinline]] absl::StatusOr<int64_t> TryNextSlowly(uint64_t generation, uint64_t word) {
    SequenceCursor::Taken taken = supply_.cursor().Resolve(1, generation, word);
    SequenceSupply::Moment held_until;  // without a check: is_plain_
    if (taken.count == 0) LOCUS_RETURN_IF_ERROR(TakeSlowly(1, taken, held_until));
    return taken.first;
  }

  // Of a counter that may be forgotten.
  [[gnu::noinline]] absl::StatusOr<int64_t> TryNextInTime() {
    LOCUS_ASSIGN_OR_RETURN(const SequenceBlock one, TryNextBlock(1));
    return one.first;
  }

  [[gnu::noinline]] absl::StatusOr<int64_t> TryNextOfThread() {
    if (std::optional<int64_t> number = blocks_->Take()) [[likely]] {
      return *number;
    }
    return DrawForThread();
  }

  [[gnu::noinline]] absl::StatusOr<int64_t> DrawForThread() {
    // The thread is about to end, and could not keep the rest of a block.
    if (!ThreadBlocks::CanHold()) {
      LOCUS_ASSIGN_OR_RETURN(SequenceBlock block, TryNextBlock(1));
      return block.first;
    }
    if (!forked() && blocks_->TakeLeftOver()) {
      if (std::optional<int64_t> number = blocks_->Take()) return *number;
    }
    LOCUS_ASSIGN_OR_RETURN(SequenceBlock block, TryNextBlock(thread_block_));
    if (block.count > 1) {
      blocks_->Give({static_cast<uint64_t>(block.first + supply_.step()),  //
                     static_cast<uint64_t>(block.count - 1)});
    }
    return block.first;
  }

  // Nothing was taken: moves on to the next segment and takes from it, or asks the loader.
  // `held_until` becomes the value that the supply gave before.
  absl::Status TakeSlowly(uint64_t wanted, SequenceCursor::Taken& taken,
                          SequenceSupply::Moment& held_until) {
    while (taken.count == 0) {
      if (forked()) return WithoutMessage(absl::StatusCode::kFailedPrecondition);
      if (taken.skipped > 0) {
        skipped_.fetch_add(taken.skipped, std::memory_order_relaxed);
      } else if (!supply_.MoveOn(taken.generation)) {
        if (supply_.closed()) {
          return WithoutMessage(absl::StatusCode::kFailedPrecondition);
        }
        supply_.AskFor(SequenceSupply::kStarved);
        return WithoutMessage(supply_.answer());
      }
      held_until = supply_.held_until();
      taken = supply_.cursor().Take(wanted);
    }
    return absl::OkStatus();
  }

  const int64_t thread_block_;
  internal::ResultSignal loaded_;
  std::atomic<uint64_t> skipped_{0};
  std::optional<ThreadBlocks> blocks_;  // set with Options::thread_block
  SequenceSupply supply_;  // its destructor waits for a call to the sequencer under way
  const bool expires_;
  bool is_plain_ = false;  // TryNext takes from the cursor, and that is all
};

SegmentSequence::SegmentSequence(Rep* rep) : rep_(rep) {}

SegmentSequence::~SegmentSequence() {
  // A forked child must not touch its parent's threads, locks and store; it leaks its copy.
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

absl::StatusOr<std::unique_ptr<SegmentSequence>> SegmentSequence::Create(
    std::shared_ptr<Sequencer> sequencer, std::string key) {
  return Create(std::move(sequencer), std::move(key), Options());
}

absl::StatusOr<int64_t> SegmentSequence::TryNext() { return rep_->TryNext(); }

absl::StatusOr<int64_t> SegmentSequence::Next(std::chrono::steady_clock::time_point deadline) {
  return rep_->Waiting(deadline, [this] { return rep_->TryNext(); });
}

absl::StatusOr<int64_t> SegmentSequence::Next(Timeout timeout) {
  absl::StatusOr<int64_t> number = TryNext();  // without reading the clock
  return number.ok() ? number : Next(internal::DeadlineAfter(timeout));
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

absl::StatusOr<SequenceBlock> SegmentSequence::NextBlock(int64_t count, Timeout timeout) {
  return NextBlock(count, internal::DeadlineAfter(timeout));
}

absl::StatusOr<int64_t> SegmentSequence::Close() { return rep_->Close(); }

SegmentSequenceStats SegmentSequence::Stats() const { return rep_->Stats(); }

}  // namespace locus
