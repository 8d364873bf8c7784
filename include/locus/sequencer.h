// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SEQUENCER_H_
#define LOCUS_SEQUENCER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/latency_histogram.h"

namespace locus {
namespace internal {
class CallCounts;
}

struct SequencerOptions {
  // Stands before each key in the engine: keys of two prefixes never meet, as long as neither
  // prefix begins with the other. At most 256 bytes.
  std::string key_prefix;
  // Between two numbers of a key; the first number of a key is `step`. At least 1.
  int64_t step = 1;
  // The highest number; 0: none but 2^63 - 1. At least `step`.
  int64_t max_value = 0;
  // What happens to a call whose numbers would pass max_value (without one, 2^63 - 1: always
  // kError). kError: OUT_OF_RANGE, and the key keeps its value. kWrap: the key starts again at
  // `step`, and its numbers repeat.
  enum class AtMax { kError, kWrap };
  AtMax at_max = AtMax::kError;
  // A key that no call named for so long is forgotten and starts again at `step`; in whole
  // milliseconds. 0: keys stay.
  absl::Duration ttl = absl::ZeroDuration();

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// "error", "wrap".
std::string_view ToString(SequencerOptions::AtMax at_max);
template <typename Sink>
void AbslStringify(Sink& sink, SequencerOptions::AtMax at_max) {
  sink.Append(ToString(at_max));
}

// `count` numbers: first, first + step, first + 2 step, ...
struct SequenceBatch {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
  // Which write of the key this was, as the engine counts them; for Sequencer::Return.
  uint64_t version = 0;

  int64_t last() const { return first + (count - 1) * step; }
};

// Counts are since the sequencer was opened.
struct SequencerStats {
  uint64_t calls = 0;        // to the engine, failed ones included; of any method
  uint64_t failures = 0;     // calls that failed with anything but OUT_OF_RANGE
  uint64_t numbers = 0;      // taken by Next and NextBatch, returned ones included
  LatencyHistogram latency;  // of all calls
};

// Numbers that strictly rise per key (until a key wraps, is Set or forgotten), unique over all
// processes that share the engine: what a ticket server or a database sequence does. A call is one
// round trip to the engine; many a second for one key are drawn by batches (SegmentSequence).
//
// A key is 1 to 512 bytes of any value. Keys are independent of each other. What is stored for a
// key is the last number given out.
//
// Each call sets when its key is forgotten: options().ttl from now. Without a ttl a call that
// writes makes the key stay for good; Get and a call that changes nothing leave it as it is.
//
// Errors of every method: INVALID_ARGUMENT: a key, count or value that cannot be, named.
// UNAVAILABLE: the engine did not answer: the call may have been applied all the same, so a number
// may be skipped, never repeated. FAILED_PRECONDITION: refused until somebody repairs. DATA_LOSS:
// what is stored for the key is no number of this kind. An error changes nothing, UNAVAILABLE
// apart. Thread safety: all methods may be called from any thread. They block, up to a bound that
// the engine states.
class Sequencer {
 public:
  virtual ~Sequencer() = default;

  // OUT_OF_RANGE: the key is at its limit (SequencerOptions::at_max).
  absl::StatusOr<int64_t> Next(std::string_view key);

  // `count` numbers at once, all or nothing; at least 1. They never cross the limit: at it the
  // batch starts again as a whole or fails as a whole. INVALID_ARGUMENT: more numbers than there
  // are up to max_value. OUT_OF_RANGE: as for Next.
  absl::StatusOr<SequenceBatch> NextBatch(std::string_view key, int64_t count);

  // The next number will be value + step. 0 to max_value. Lower than the last number given out:
  // numbers repeat; that is the caller's decision.
  absl::Status Set(std::string_view key, int64_t value);

  // False: the key had a value, and keeps it.
  absl::StatusOr<bool> SetIfNotExists(std::string_view key, int64_t value);

  // The last number given out, or what Set put there. NOT_FOUND: the key is unknown or forgotten.
  absl::StatusOr<int64_t> Get(std::string_view key);

  // Gives back the numbers of `batch` after its first `used`, if no write of the key came after
  // that batch; the next call then goes on with them. False: too late, they are skipped. The caller
  // must not use them any more, whatever the answer.
  absl::StatusOr<bool> Return(std::string_view key, const SequenceBatch& batch, int64_t used);

  // Zeros in a forked child.
  SequencerStats Stats() const;

  const SequencerOptions& options() const { return options_; }

 protected:
  // `options` have been checked.
  explicit Sequencer(SequencerOptions options);

  // What an engine does; its arguments have been checked. `name` is prefix and key, 1..768 bytes.
  struct Taken {
    int64_t last = 0;  // of the numbers taken
    uint64_t version = 0;
  };
  // Takes `span` = count * step: see sequencer_rules::Advance for the arithmetic.
  virtual absl::StatusOr<Taken> Take(const std::string& name, int64_t span) = 0;
  virtual absl::Status Store(const std::string& name, int64_t value) = 0;
  virtual absl::StatusOr<bool> StoreNew(const std::string& name, int64_t value) = 0;
  virtual absl::StatusOr<std::optional<int64_t>> Load(const std::string& name) = 0;
  // Puts `value` back where `name` is still at `taken`; as a write with a version of its own.
  virtual absl::StatusOr<bool> PutBack(const std::string& name, const Taken& taken,
                                       int64_t value) = 0;

  // Prefix and key. INVALID_ARGUMENT: a key that cannot be. For engines with calls of their own.
  absl::StatusOr<std::string> NameOf(std::string_view key) const;

 private:
  absl::Status CheckValue(std::string_view key, int64_t value) const;
  absl::StatusOr<Taken> TakeNumbers(std::string_view key, const std::string& name, int64_t count);

  const SequencerOptions options_;
  const std::shared_ptr<internal::CallCounts>
      counts_;  // not unique: its type is complete elsewhere
};

}  // namespace locus

#endif  // LOCUS_SEQUENCER_H_
