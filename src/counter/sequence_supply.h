// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_COUNTER_SEQUENCE_SUPPLY_H_
#define LOCUS_SRC_COUNTER_SEQUENCE_SUPPLY_H_

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/segment_sequence.h"
#include "src/base/os/wipe_on_fork.h"
#include "src/base/run/load_driver.h"
#include "src/base/run/mutex.h"
#include "src/base/run/result_signal.h"
#include "src/counter/sequence_cursor.h"
#include "src/counter/sequence_loader.h"

namespace locus::internal {

// How this room works together. A Sequencer (locus/sequencer.h) takes numbers from an engine, by
// the arithmetic of sequencer_rules.h; CallersClock lets engines forget counters with a ttl. A
// SegmentSequence hands numbers to threads: from a SequenceCursor, which is one word, or from
// ThreadBlocks, which are cut from the cursor. This supply puts segments into the cursor; its
// SequenceLoader decides when to take how many numbers from the sequencer.

// Keeps the cursor of one counter supplied: takes segments from the sequencer on the loader's
// thread, ahead of need, puts them in use one after the other, and gives the rest back at the end.
// Callers take from cursor() themselves, and call the supply when they find no number. Thread
// safety: all methods may be called from any thread.
class SequenceSupply {
 public:
  // Requests of callers to the loader. kMore: a segment came into use. kStarved: a caller found no
  // number.
  enum Request : uint8_t { kNothing = 0, kMore = 1, kStarved = 2 };

  // `loaded`, which outlives the supply, is notified of each answer of the sequencer.
  SequenceSupply(std::shared_ptr<Sequencer> sequencer, std::string key,
                 const SegmentSequence::Options& options, ResultSignal& loaded);

  // In a forked child too.
  bool forked() const { return words_.wiped(); }
  SequenceCursor& cursor() { return cursor_; }
  int64_t step() const { return step_; }
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  // The code for callers that find no number.
  absl::StatusCode answer() const { return answer_.load(std::memory_order_relaxed); }

  // Whether the counter is forgotten when it is not used (ttl). Other processes may then hand out
  // the numbers that this process still has, so it hands nothing out later than half of the ttl
  // after the call that took it began; the other half is a margin for clocks that run at different
  // speeds. The wall clock counts as well as the time since boot: engines forget by wall clocks,
  // which may jump ahead.
  bool expires() const { return hold_ != absl::InfiniteDuration(); }
  // A moment by both clocks, in nanoseconds.
  struct Moment {
    int64_t since_boot = 0;
    int64_t wall = 0;
  };
  // Until when the numbers of the cursor may be handed out; InfiniteFuture for a counter that does
  // not expire. A value that is read before a number is taken belongs to that number's segment or
  // to an earlier one, so a number taken before that time is this process's own.
  Moment held_until() const {
    return {held_until_.load(std::memory_order_acquire),
            held_until_by_wall_.load(std::memory_order_acquire)};
  }
  bool IsOver(const Moment& held_until) const {
    const Moment now = Now();
    return now.since_boot >= held_until.since_boot || now.wall >= held_until.wall;
  }
  // Ends the cursor's segment if its time is over.
  void GiveUp();

  // Puts the segment after that of `generation` into use. False: there is none yet, or ever.
  bool MoveOn(uint64_t generation);
  void AskFor(Request request);
  // The status of a call that failed with `code`, with a message. In a forked child too.
  absl::Status Explained(absl::StatusCode code) const;

  // SegmentSequence::Close. `before` runs once no new segment comes into use, before the numbers of
  // the cursor end.
  absl::StatusOr<int64_t> Close(const std::function<void()>& before);
  // All but waits and skipped.
  SegmentSequenceStats Stats() const;

 private:
  Moment Now() const {
    return {absl::ToInt64Nanoseconds(options_.clock->SinceBoot()),
            absl::ToUnixNanos(options_.clock->Now())};
  }
  // Until when numbers that were requested then may be handed out. Requires expires().
  Moment HeldUntil(const Moment& asked_at) const;
  // Whether its time is over; never without a ttl.
  bool IsPast(const Moment& asked_at) const { return expires() && IsOver(HeldUntil(asked_at)); }
  uint64_t Bounded(int64_t length) const;
  absl::Duration Load();
  absl::StatusOr<SequenceBatch> Draw(int64_t count);
  absl::Status WentBack(int64_t value) const;
  int64_t Collect(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Good(const SequenceBatch& batch, int64_t asked) const;
  bool Follows(const SequenceBatch& batch) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Land(const absl::StatusOr<SequenceBatch>& batch, int64_t asked, const Moment& asked_at);
  void InstallNext(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Report(SegmentSequenceEvent::Kind kind, const SequenceBlock& numbers,
              const absl::Status& status = {}, bool begun = false) const;
  // Numbers of the cursor that were handed out.
  uint64_t Used() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return cursor_.used() - given_up_; }
  double SecondsInUse(absl::Duration now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SequenceUse Use(absl::Duration now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<Sequencer> sequencer_;
  const std::string key_;
  const SegmentSequence::Options options_;
  const int64_t step_;
  const int64_t limit_;
  const absl::Duration hold_;  // of expires(); infinite: it does not
  const bool repeats_;         // whether numbers may repeat as the sequencer's options say
  WipeOnForkWords words_{1};   // the cursor's
  SequenceCursor cursor_;      // all but Take under mutex_

  // Of Draw.
  bool went_back_ = false;  // the counter did
  int64_t refused_ = 0;     // the last number that was taken afterwards, and is not handed out

  // After the cursor's word.
  std::atomic<int64_t> held_until_{std::numeric_limits<int64_t>::max()};
  std::atomic<int64_t> held_until_by_wall_{std::numeric_limits<int64_t>::max()};
  std::atomic<bool> closed_{false};       // raised under mutex_
  std::atomic<bool> has_next_{false};     // whether next_ is set
  std::atomic<uint8_t> asked_{kNothing};  // Request bits
  // The code for callers that find no number.
  std::atomic<absl::StatusCode> answer_{absl::StatusCode::kUnavailable};
  ResultSignal& loaded_;

  mutable Mutex mutex_;
  CondVar landed_;  // in_flight_ became false
  SequenceLoader loader_ ABSL_GUARDED_BY(mutex_);
  bool in_flight_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<SequenceBatch> current_ ABSL_GUARDED_BY(mutex_);  // the cursor's
  std::optional<SequenceBatch> next_ ABSL_GUARDED_BY(mutex_);
  // Whether no other process drew between the last two batches.
  bool joined_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t last_ ABSL_GUARDED_BY(mutex_) = 0;  // number taken
  Moment asked_at_ ABSL_GUARDED_BY(mutex_);   // for the batch taken last
  Moment current_asked_at_ ABSL_GUARDED_BY(mutex_);
  uint64_t given_up_ ABSL_GUARDED_BY(mutex_) = 0;  // of the cursor's numbers, by GiveUp
  absl::Duration installed_at_ ABSL_GUARDED_BY(mutex_);
  double rate_before_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t given_ ABSL_GUARDED_BY(mutex_) = 0;  // numbers of segments that are not in use any more
  LatencyHistogram store_latency_ ABSL_GUARDED_BY(mutex_);
  uint64_t segments_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t store_calls_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t store_failures_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status last_store_error_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<LoadDriver> driver_;  // last: its destructor waits for a Load under way
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_COUNTER_SEQUENCE_SUPPLY_H_
