// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SEGMENT_SEQUENCE_H_
#define LOCUS_SEGMENT_SEQUENCE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/executor.h"
#include "locus/latency_histogram.h"
#include "locus/sequencer.h"
#include "locus/str.h"
#include "locus/timeout.h"

namespace locus {

// `count` numbers: first, first + step, first + 2 step, ...
struct SequenceBlock {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;

  int64_t last() const { return first + (count - 1) * step; }
};

// An event of a sequence, for logs and the audit.
struct SegmentSequenceEvent {
  enum class Kind {
    kTaken,        // `numbers` were taken from the sequencer; told before any of them is handed out
    kReturned,     // Close gave `numbers` back
    kStoreFailed,  // a call to the sequencer failed; `status` says why
  };
  Kind kind = Kind::kTaken;
  std::string key = {};        // of the counter
  SequenceBlock numbers = {};  // of kTaken and kReturned
  absl::Status status = {};    // OK unless kStoreFailed
  // Of kTaken: they are the counter's first numbers. It is new, was forgotten, or its store was
  // lost. False for a counter that wraps, which gives these again and again.
  bool begun = false;
};

// "taken", "returned", "store_failed".
std::string_view ToString(SegmentSequenceEvent::Kind kind);
template <typename Sink>
void AbslStringify(Sink& sink, SegmentSequenceEvent::Kind kind) {
  sink.Append(std::string(ToString(kind)));
}

// Counters start when the sequence is created.
struct SegmentSequenceStats {
  // Numbers handed out, including those in threads' blocks. Computed from the cursor, so that
  // TryNext counts nothing.
  uint64_t numbers = 0;
  uint64_t segments = 0;           // segments taken from the sequencer
  uint64_t store_calls = 0;        // calls that took or returned numbers, failed ones included
  uint64_t store_failures = 0;     // calls that failed
  uint64_t waits = 0;              // calls with a deadline that had to wait
  uint64_t starved = 0;            // how often the loader found a caller without a number
  LatencyHistogram store_latency;  // of the calls that took numbers, failed ones included
  // An upper bound of the numbers that were taken and never handed out, because a thread was
  // suspended inside a call while 256 segments were used up, or the ttl was over. Excludes what
  // Close could not return.
  uint64_t skipped = 0;
  // How long the numbers in memory last at the present rate. InfiniteDuration before the first use.
  absl::Duration autonomy = absl::InfiniteDuration();
  absl::Status last_store_error;  // OK: the last call succeeded
};

// One counter for any number of threads. A thread in the background takes the numbers of one
// counter of a Sequencer, a segment (号段) at a time, before they are needed. Numbers are unique
// across all processes that share the sequencer, under the conditions of Sequencer: they repeat if
// the counter wraps, is Set lower, or its engine is restored to an older state. They continue the
// counter; a new one starts at `SequencerOptions::start`.
//
// A sequence never repeats its own numbers, except those of a counter that wraps or is forgotten
// (ttl): if the counter is below what the sequence has taken, calls are FAILED_PRECONDITION, and
// Stats() says so (DATA_LOSS), until it is Set to that or above. It does not know which numbers
// other processes took.
//
// A counter with a ttl is forgotten when no call of the sequencer names it for that time, and
// others get its first numbers again. So numbers are handed out for half of the ttl only, from the
// beginning of the call that took them, and are a gap then: the next call waits for the sequencer.
// Requests are sized for at most that time. The wall clock counts as well as the time since boot,
// so that a clock that jumps ahead ends the use of the numbers held; and engines forget a counter
// only once two clocks have passed its time: the server's and the caller's, or the host's and the
// time since its boot.
//
// Order. Within a process, a call that begins after another has returned gets a higher number,
// until the counter wraps. With Options::thread_block this holds only among the Next and TryNext
// calls of one thread, and among all NextBlock and TryNextBlock calls. Processes take segments in
// turn, so their numbers lag behind each other by up to two segments.
//
// Gaps: the numbers that a process holds when it crashes, those that Close could not return, and
// those whose answer from the engine was lost. The horizon bounds their number.
//
// Thread safety: all methods may be called from any thread; after destruction begins, none.
// Cost: TryNext is one fetch_add on one word while a number is at hand, no lock, no allocation. One
// round trip of the sequencer per segment, off the caller's thread. About 16 KiB of memory.
// Fork: in a forked child every call returns FAILED_PRECONDITION, and destruction returns at once.
class SegmentSequence {
 public:
  struct Options {
    // How long the sequence can continue without its engine. Longer: larger segments, larger gaps
    // after a crash, more lag between processes. 1 s .. 1 day.
    absl::Duration horizon = absl::Minutes(10);
    // The length of the first segment, and the least length. Smaller: shorter gaps of processes
    // that use few numbers; more round trips until the length has adapted. 1 .. max_length.
    int64_t min_length = 64;
    // The greatest length of a segment. It limits a gap, and the throughput to max_length numbers a
    // round trip. At most 2^32, and at most what the sequencer has up to its max_value.
    int64_t max_length = int64_t{1} << 24;
    // How many numbers a thread takes for itself at once, so that threads do not contend. Numbers
    // then rise within a thread only. When a thread ends, the rest of its block goes to a thread
    // that has not passed it yet; when the sequence ends, it is a gap. 0: no blocks. At most 2^20.
    // Without effect on a counter with a ttl.
    int64_t thread_block = 0;
    // Whether Close returns unused numbers to the sequencer. False: they are a gap, without a call.
    bool return_unused = true;
    // Must outlive the sequence.
    Clock* clock = &Clock::System();
    // Runs the loading; must outlive the sequence. nullptr: the sequence starts a thread when it is
    // first needed, and joins it on destruction.
    Executor* executor = nullptr;
    // Called on the loading thread, and by Close on its caller's. It must not call the sequence.
    // May be empty.
    std::function<void(const SegmentSequenceEvent&)> on_event = {};
  };

  static constexpr int64_t kLongestBlock = int64_t{1} << 24;

  // `key` is the counter name. INVALID_ARGUMENT: bad options or a bad counter name. Takes no
  // numbers yet.
  static absl::StatusOr<std::unique_ptr<SegmentSequence>> Create(
      std::shared_ptr<Sequencer> sequencer, std::string key, Options options);
  static absl::StatusOr<std::unique_ptr<SegmentSequence>> Create(
      std::shared_ptr<Sequencer> sequencer, std::string key);
  // Calls Close and ignores its result; blocks as long as Close does.
  ~SegmentSequence();
  SegmentSequence(const SegmentSequence&) = delete;
  SegmentSequence& operator=(const SegmentSequence&) = delete;

  // The next number, without waiting. Errors have no message and allocate nothing:
  // UNAVAILABLE: no number is available yet; loading has begun, so retry or use Next. The first
  // call always returns this. OUT_OF_RANGE: the counter is at its limit. The sequencer is called
  // again every few seconds, since others may return numbers or Set the counter.
  // FAILED_PRECONDITION: this is a forked child, the sequence is closed, or the sequencer refuses
  // until the cause is repaired (see Stats().last_store_error).
  absl::StatusOr<int64_t> TryNext();

  // As TryNext, but waits for the sequencer until `deadline`, and every error has a message.
  // DEADLINE_EXCEEDED: the message has the sequencer's last error. OUT_OF_RANGE and
  // FAILED_PRECONDITION are returned without waiting.
  absl::StatusOr<int64_t> Next(std::chrono::steady_clock::time_point deadline);
  // Waits for at most `timeout`, by the steady clock.
  absl::StatusOr<int64_t> Next(Timeout timeout);

  // The next 1 to `count` numbers, without a gap between them: fewer than `count` where a segment
  // ends. They come from the shared counter, also with Options::thread_block. INVALID_ARGUMENT:
  // `count` is outside 1..kLongestBlock. Otherwise as TryNext and Next.
  absl::StatusOr<SequenceBlock> TryNextBlock(int64_t count);
  absl::StatusOr<SequenceBlock> NextBlock(int64_t count,
                                          std::chrono::steady_clock::time_point deadline);
  absl::StatusOr<SequenceBlock> NextBlock(int64_t count, Timeout timeout);

  // Ends the sequence: no call gets a number afterwards. Waits for a call to the sequencer that is
  // under way, then returns the unused numbers of the last segments, so that the counter continues
  // exactly there. If the counter wraps, only the last segment is returned; with a ttl, nothing
  // after half of it. Returns
  // how many numbers that were: 0 if another process has taken numbers since (the unused ones are
  // then a gap), if Options::return_unused is false, or if the sequence was closed already. Errors
  // of Sequencer::Return: the unused numbers are a gap, unless only the answer was lost.
  // FAILED_PRECONDITION: this is a forked child.
  absl::StatusOr<int64_t> Close();

  SegmentSequenceStats Stats() const;

 private:
  class Rep;
  explicit SegmentSequence(Rep* rep);
  Rep* rep_;  // not a unique_ptr: a forked child abandons it
};

}  // namespace locus

#endif  // LOCUS_SEGMENT_SEQUENCE_H_
