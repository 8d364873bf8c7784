// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SEQUENCER_H_
#define LOCUS_SEQUENCER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/latency_histogram.h"
#include "locus/str.h"

namespace locus {
namespace internal {
class CallCounts;
}

struct SequencerOptions {
  // Put before each counter name in the engine. Counters of two prefixes never collide if neither
  // prefix begins with the other. At most 256 bytes.
  std::string key_prefix;
  // The distance between two numbers of a counter. At least 1.
  int64_t step = 1;
  // The first number of a counter that is unknown, forgotten or starts again. A counter that has a
  // value continues from it. 1 to max_value; 0: `step`.
  int64_t start = 0;
  // The highest number, at least `step` and `start`. 0: 2^63 - 1.
  int64_t max_value = 0;
  // What a call does whose numbers would pass max_value. kError: it fails with OUT_OF_RANGE, and
  // the counter keeps its value. kWrap: the counter starts again at `start`; its numbers repeat.
  // With max_value 0 it is always kError.
  enum class AtMax { kError, kWrap };
  AtMax at_max = AtMax::kError;
  // A counter that no call names for this time is forgotten and starts again at `start`. In whole
  // milliseconds. 0: counters are kept.
  absl::Duration ttl = absl::ZeroDuration();
  // Whether these are the counters of sequence types, which count only as their type says;
  // SequenceType::counter_options sets it. OpenSequencer (locus/open.h) then takes only
  // names of such counters. False: it refuses them, and the names of types.
  bool of_types = false;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// "error", "wrap".
std::string_view ToString(SequencerOptions::AtMax at_max);
template <typename Sink>
void AbslStringify(Sink& sink, SequencerOptions::AtMax at_max) {
  sink.Append(std::string(ToString(at_max)));
}

// `count` numbers: first, first + step, first + 2 step, ...
struct SequenceBatch {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
  // The number of the write to the counter, as the engine counts them; for Sequencer::Return.
  uint64_t version = 0;

  int64_t last() const { return first + (count - 1) * step; }
};

// Counters start when the sequencer is opened.
struct SequencerStats {
  uint64_t calls = 0;        // calls of the engine by any method, failed ones included
  uint64_t failures = 0;     // calls that failed with anything but OUT_OF_RANGE
  uint64_t numbers = 0;      // taken by Next and NextBatch, returned ones included
  LatencyHistogram latency;  // of all calls
};

// Named counters, as a ticket server or a database sequence provides them. The numbers of a counter
// strictly rise, until it wraps, is Set or is forgotten, and are unique over all processes that
// share the engine. A call is one round trip to the engine; use SegmentSequence for many numbers a
// second.
//
// The parameter `key` of the methods is a counter name: 1 to 512 bytes of any value. Counters are
// independent of each other. The engine stores the last number given out.
//
// Every call postpones the time at which its counter is forgotten to options().ttl from now. With
// ttl 0, a call that writes keeps the counter for good; Get and calls that change nothing do not.
// Only Set brings that time forward: where calls have different ttls, the longest counts, because
// its callers may hold numbers.
//
// Counters of sequence types (locus/sequence_type.h) count only as their type says. A sequencer of
// OpenSequencer refuses the names of types, dropped ones included, and of their counters with
// FAILED_PRECONDITION. It looks in the store when it first meets a counter, once more when a
// counter begins, and again after a minute: a round trip each. It does not look if the part of a
// name before its first ':' cannot be the name of a type: an uppercase letter or a '.' in it is
// enough. The account needs the right to read the types; a store without a table of types has none.
// An engine's own Open knows nothing of types: call RefuseNamesOfTypes
// (locus/sequence_type_store.h), or use names that no type can have.
//
// Errors of every method: INVALID_ARGUMENT: a bad counter name, count or value; the message names
// it. UNAVAILABLE: the engine did not answer. The call may have been applied nevertheless, so a
// number may be skipped, but is never repeated. FAILED_PRECONDITION: the engine refuses until the
// cause is repaired. DATA_LOSS: the value stored for the counter is not a valid number. Errors
// other than UNAVAILABLE change nothing. Thread safety: all methods may be called from any thread.
// They block, up to a bound that the engine states.
class Sequencer {
 public:
  virtual ~Sequencer() = default;

  // The next number. OUT_OF_RANGE: the counter is at its limit (SequencerOptions::at_max).
  absl::StatusOr<int64_t> Next(std::string_view key);

  // The next `count` numbers, at least 1, all or nothing. A batch never crosses the limit: it
  // starts again or fails as a whole. INVALID_ARGUMENT: `count` * step is above max_value, or
  // there are fewer numbers from `start` to max_value.
  // OUT_OF_RANGE: as for Next.
  absl::StatusOr<SequenceBatch> NextBatch(std::string_view key, int64_t count);

  // Makes value + step the next number. `value` is 0 to max_value. If it is below the last number
  // given out, numbers repeat: the caller decides.
  absl::Status Set(std::string_view key, int64_t value);

  // Sets the counter if it has no value. Returns false if it had one, which it keeps.
  absl::StatusOr<bool> SetIfNotExists(std::string_view key, int64_t value);

  // The last number given out, or the value of Set. NOT_FOUND: the counter is unknown or forgotten.
  absl::StatusOr<int64_t> Get(std::string_view key);

  // Returns the numbers of `batch` after its first `used`, so that the next call continues with
  // them. False: the counter was written after that batch, or the whole batch is its first and
  // `start` is below `step` (the engine stores no number below 0); the numbers are skipped. SQLite
  // and MariaDB forget a counter whose first numbers are all returned.
  // Whatever the result, the caller must not use them any more.
  absl::StatusOr<bool> Return(std::string_view key, const SequenceBatch& batch, int64_t used);

  // All zeros in a forked child.
  SequencerStats Stats() const;

  const SequencerOptions& options() const { return options_; }

  // Called with a counter's name, prefix included: kBefore its numbers are taken or set, and when a
  // call has kBegun a counter or has Set one. Numbers are given only if it returns OK. Any thread
  // may call it; it must not call the sequencer. Set it before the sequencer is shared.
  enum class NameLook { kBefore, kBegun };
  using NameCheck = std::function<absl::Status(const std::string& name, NameLook look)>;
  void set_name_check(NameCheck check) { name_check_ = std::move(check); }

 protected:
  // Requires that `options` were checked.
  explicit Sequencer(SequencerOptions options);

  // The part of an engine. Arguments have been checked. `name` is prefix and counter name, 1..768
  // bytes.
  struct Taken {
    int64_t last = 0;  // the last number taken
    uint64_t version = 0;
  };
  // Takes `span` = count * step: see sequencer_rules::Advance for the arithmetic.
  virtual absl::StatusOr<Taken> Take(const std::string& name, int64_t span) = 0;
  virtual absl::Status Store(const std::string& name, int64_t value) = 0;
  virtual absl::StatusOr<bool> StoreNew(const std::string& name, int64_t value) = 0;
  virtual absl::StatusOr<std::optional<int64_t>> Load(const std::string& name) = 0;
  // Writes `value` if `name` is still at `taken`; the write gets a new version.
  virtual absl::StatusOr<bool> PutBack(const std::string& name, const Taken& taken,
                                       int64_t value) = 0;

  // Prefix and counter name, for engines with further calls. INVALID_ARGUMENT: a bad counter name.
  absl::StatusOr<std::string> NameOf(std::string_view key) const;

 private:
  absl::Status CheckValue(std::string_view key, int64_t value) const;
  absl::StatusOr<Taken> TakeNumbers(std::string_view key, const std::string& name, int64_t count);
  absl::Status CheckName(const std::string& name, NameLook look) const;

  const SequencerOptions options_;
  const std::shared_ptr<internal::CallCounts>
      counts_;  // not unique: its type is complete elsewhere
  NameCheck name_check_;
};

}  // namespace locus

#endif  // LOCUS_SEQUENCER_H_
