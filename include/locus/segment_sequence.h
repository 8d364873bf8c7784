// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SEGMENT_SEQUENCE_H_
#define LOCUS_SEGMENT_SEQUENCE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/executor.h"
#include "locus/internal/deadline.h"
#include "locus/latency_histogram.h"
#include "locus/sequencer.h"

namespace locus {

// `count` numbers: first, first + step, first + 2 step, ...
struct SequenceBlock {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;

  int64_t last() const { return first + (count - 1) * step; }
};

// Counts are since the sequence was made.
struct SegmentSequenceStats {
  // Numbers handed out, those in threads' blocks included. Read from the cursor, so that handing
  // one out counts nothing.
  uint64_t numbers = 0;
  uint64_t segments = 0;           // taken from the sequencer
  uint64_t store_calls = 0;        // calls that took or returned some, failed ones included
  uint64_t store_failures = 0;     // calls that failed
  uint64_t waits = 0;              // calls with a deadline that had to wait
  uint64_t starved = 0;            // times that the loader found a caller without a number
  LatencyHistogram lease_latency;  // of the calls that took numbers, failed ones included
  // The most numbers that were taken and that nobody got: a thread stood still in the middle of a
  // call while 256 segments came and went. Not those that Close could not return.
  uint64_t skipped = 0;
  // How long the numbers at hand last at the present rate. InfiniteDuration before the first use.
  absl::Duration autonomy = absl::InfiniteDuration();
  absl::Status last_store_error;  // OK: the last call succeeded
};

// One counter that any number of threads draw from: the numbers of one key of a Sequencer, taken
// from it a segment at a time (号段), ahead of need, on another thread. Numbers are unique across
// all processes that share the sequencer, under the conditions of Sequencer: they repeat where the
// key wraps, is Set lower, or its engine is put back to an older state. They begin where the key
// does, at `step` for a new one.
//
// Two calls of which one ends before the other begins get rising numbers, in one process, until the
// key wraps; with Options::thread_block only calls of Next and TryNext by one thread, and those of
// NextBlock and TryNextBlock among themselves. Processes draw segments alternately: their numbers
// lag behind each other by up to a segment or two.
//
// Gaps: what a process holds when it dies, what Close could not return, and numbers whose answer
// from the engine was lost. The horizon bounds how many those are.
//
// Thread safety: all methods may be called from any thread; after destruction begins, none.
// Cost: TryNext is one fetch_add on one word while a number is at hand, no lock, no allocation. One
// round trip of the sequencer per segment, off the caller's thread. About 16 KiB of memory.
// Fork: in a forked child every call answers FAILED_PRECONDITION, and destruction returns at once.
class SegmentSequence {
 public:
  struct Options {
    // How long the sequence goes on without its store. Longer: bigger segments, bigger gaps after
    // a crash, processes that lag further behind each other. 1 s .. 1 day.
    absl::Duration horizon = absl::Minutes(10);
    // What a segment holds, at first and at least. 1: no gap is longer than what was in use at the
    // beginning; more round trips until the length has adapted. 1 .. max_length.
    int64_t min_length = 64;
    // And at most: bounds the gap, and the throughput to max_length numbers a round trip. At most
    // 2^32, and never more than the sequencer has up to its max_value.
    int64_t max_length = int64_t{1} << 24;
    // How many numbers a thread draws at once for itself, so that threads do not meet. 0: none.
    // Numbers then rise within a thread only; what is left of a thread's block when it ends goes to
    // a thread that has not passed it yet, and is a gap where the sequence ends. At most 2^20.
    int64_t thread_block = 0;
    // Whether the end returns what was not used (see Close). False: a gap instead of a call.
    bool return_unused = true;
    // Outlives the sequence.
    Clock* clock = &Clock::System();
    // Runs the loading; outlives the sequence. nullptr: one thread of the sequence's own, started
    // on first need, joined at destruction.
    Executor* executor = nullptr;
  };

  static constexpr int64_t kLongestBlock = int64_t{1} << 24;

  // INVALID_ARGUMENT: bad options or key. Takes nothing yet.
  static absl::StatusOr<std::unique_ptr<SegmentSequence>> Create(
      std::shared_ptr<Sequencer> sequencer, std::string key, Options options);
  static absl::StatusOr<std::unique_ptr<SegmentSequence>> Create(
      std::shared_ptr<Sequencer> sequencer, std::string key) {
    return Create(std::move(sequencer), std::move(key), Options());
  }
  // Close, its answer dropped: blocks as long.
  ~SegmentSequence();
  SegmentSequence(const SegmentSequence&) = delete;
  SegmentSequence& operator=(const SegmentSequence&) = delete;

  // The next number, at once. Without a message, so that it allocates nothing:
  // UNAVAILABLE: none is at hand; loading has been set off, retry or use Next. The first call
  // always answers so.
  // OUT_OF_RANGE: the sequencer is at its limit. It is asked again every few seconds, since others
  // may return numbers or Set the key.
  // FAILED_PRECONDITION: this is a forked child, or the sequence is closed, or the sequencer
  // refuses until somebody repairs it (Stats().last_store_error says what).
  absl::StatusOr<int64_t> TryNext();

  // As TryNext, but waits for the sequencer until `deadline`. DEADLINE_EXCEEDED with its last error
  // in the message. OUT_OF_RANGE and FAILED_PRECONDITION at once, with its message.
  absl::StatusOr<int64_t> Next(std::chrono::steady_clock::time_point deadline);
  // Waits for at most `timeout`, by the steady clock.
  absl::StatusOr<int64_t> Next(absl::Duration timeout) {
    absl::StatusOr<int64_t> number = TryNext();  // without reading the clock
    return number.ok() ? number : Next(internal::DeadlineAfter(timeout));
  }

  // The next numbers, 1 to `count` of them: fewer where a segment ends, none left out. From the
  // shared counter, also with Options::thread_block. INVALID_ARGUMENT: `count` is not in
  // 1..kLongestBlock. Otherwise as TryNext and Next.
  absl::StatusOr<SequenceBlock> TryNextBlock(int64_t count);
  absl::StatusOr<SequenceBlock> NextBlock(int64_t count,
                                          std::chrono::steady_clock::time_point deadline);
  absl::StatusOr<SequenceBlock> NextBlock(int64_t count, absl::Duration timeout) {
    return NextBlock(count, internal::DeadlineAfter(timeout));
  }

  // Ends the sequence: no call gets a number any more; those given out stay good. Waits for a call
  // to the sequencer that is under way, then gives back what nobody used of the last segments, so
  // that the key goes on exactly there. Of a key that wraps, or that a ttl may have forgotten in
  // between, only the last segment goes back. Returns how many numbers that were: 0 where another
  // process drew from the key since (they are a gap), or Options::return_unused is false, or the
  // sequence was closed already. Errors of Sequencer::Return: the numbers are a gap, or were
  // returned without an answer. FAILED_PRECONDITION: this is a forked child.
  absl::StatusOr<int64_t> Close();

  SegmentSequenceStats Stats() const;

 private:
  class Rep;
  explicit SegmentSequence(Rep* rep);
  Rep* rep_;  // not a unique_ptr: a forked child abandons it
};

}  // namespace locus

#endif  // LOCUS_SEGMENT_SEQUENCE_H_
