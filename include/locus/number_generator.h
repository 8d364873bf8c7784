// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_NUMBER_GENERATOR_H_
#define LOCUS_NUMBER_GENERATOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/executor.h"
#include "locus/number_format.h"
#include "locus/segment_sequence.h"
#include "locus/sequence_type.h"
#include "locus/sequence_type_store.h"
#include "locus/sequencer.h"
#include "locus/timeout.h"

namespace locus {

// Counters start when the generator is created.
struct NumberGeneratorStats {
  uint64_t numbers = 0;        // drawn, including those whose fields were refused
  uint64_t rolled = 0;         // how often a later group began
  uint64_t clock_behind = 0;   // numbers drawn while the clock was before the group in use
  uint64_t type_version = 0;   // of the type in use; 0: the type was dropped
  uint64_t type_reads = 0;     // failed ones included
  uint64_t type_failures = 0;  // reads of the type that failed; the type in use stayed
  // Numbers that were taken and not handed out, because their group ended or the type changed.
  uint64_t leftovers_returned = 0;
  uint64_t leftovers_dropped = 0;  // also if others had taken later ones
  absl::Status last_type_error;
  SegmentSequenceStats sequence;  // of the group in use
};

// The value of a pattern's field by its name, as text: digits for a field of digits.
struct NamedValue {
  std::string_view name;
  std::string_view text;
};

// Numbers as they are counted, not written.
struct NumberBlock {
  SequenceBlock numbers;
  // The day, month or year of the numbers: "20261125", "202611", "2026". Empty: the type has no
  // period. Numbers of two groups may be equal.
  std::string group;
};

// A generator began to use another version of its type, or stopped.
struct TypeSwitchEvent {
  SequenceType before;
  std::optional<SequenceType> after;  // nullopt: the type was dropped
};

// Business numbers by a sequence type of the store: a type and a key give texts such as
// 2026112500000042, unique over all processes that count by the type. Draws by segments in the
// background, as SegmentSequence does.
//
// Groups. With a period, the numbers of each day, month or year of the type's zone have a counter
// of their own. One reading of the clock decides a number's group and the date that it shows, so
// the two always agree. The first call at or after a group's end continues in the next group;
// numbers left of the earlier one are given back or dropped, as the type says. A call that begins
// after a number of a later group was returned never returns one of an earlier group: while the
// clock is behind the group in use, numbers belong to that group and show its first instant. The
// exception: a type whose zone was altered to one further west (SequenceTypeStore::Alter).
//
// Changes. The generator reads the type again twice within its lifetime. A change takes effect with
// the next segment; the rest of the segment before is not used. If the type was dropped, calls are
// FAILED_PRECONDITION until a type of its name exists again. While the store fails, the generator
// continues with the numbers that it has.
//
// Expiry. A counter with SequenceType::expiry is forgotten when no process takes numbers from it
// for this time, and starts again. A generator hands out the numbers that it took for half of that
// time only (SegmentSequence).
//
// Thread safety: all methods may be called from any thread; after destruction begins, none.
// Cost: one reading of the clock, one lock that few threads share, and the text. Store calls other
// than those of Create are off the caller's thread.
// Fork: in a forked child every call is FAILED_PRECONDITION, and destruction returns at once.
class NumberGenerator {
 public:
  struct Options {
    // As SegmentSequence::Options. At most 1 day, at least 1 s.
    absl::Duration horizon = absl::Minutes(10);
    // Must outlive the generator.
    Clock* clock = &Clock::System();
    // Runs loading and the reading of the type; must outlive the generator. nullptr: threads of its
    // own.
    Executor* executor = nullptr;
    // As SegmentSequence::Options; of all groups. May be empty.
    std::function<void(const SegmentSequenceEvent&)> on_event = {};
    // Called in the background once another version of the type is in use. It must not call the
    // generator. May be empty.
    std::function<void(const TypeSwitchEvent&)> on_type = {};
  };

  // Opens the counters of a type in the store of the type, as OpenSequencer does. Called by Create,
  // and in the background when the type changed.
  using OpenCounters =
      std::function<absl::StatusOr<std::shared_ptr<Sequencer>>(const SequencerOptions&)>;

  // Reads the type, and takes no numbers yet. NOT_FOUND: there is no such type. INVALID_ARGUMENT:
  // bad options, or a key of more than 400 bytes. Otherwise the errors of the store and of `open`.
  static absl::StatusOr<std::unique_ptr<NumberGenerator>> Create(
      std::shared_ptr<SequenceTypeStore> types, OpenCounters open, std::string type,
      std::string key, Options options);
  static absl::StatusOr<std::unique_ptr<NumberGenerator>> Create(
      std::shared_ptr<SequenceTypeStore> types, OpenCounters open, std::string type,
      std::string key);
  // Gives unused numbers back if the type says so; blocks as SegmentSequence::Close does.
  ~NumberGenerator();
  NumberGenerator(const NumberGenerator&) = delete;
  NumberGenerator& operator=(const NumberGenerator&) = delete;

  // The next number, without waiting; `values` are the values of the pattern's fields without
  // {seq:N}, in pattern order. A type without a pattern gives decimals. Errors as
  // SegmentSequence::TryNext and NumberFormat::Format; values that are refused cost a number.
  // FAILED_PRECONDITION: the type has a period and no pattern, so that its numbers alone would be
  // given again.
  absl::StatusOr<std::string> TryNext(std::span<const FieldValue> values = {});

  // As TryNext, but waits for numbers until `deadline`; errors as SegmentSequence::Next.
  absl::StatusOr<std::string> Next(std::chrono::steady_clock::time_point deadline,
                                   std::span<const FieldValue> values = {});
  // Waits for at most `timeout`, by the steady clock.
  absl::StatusOr<std::string> Next(Timeout timeout, std::span<const FieldValue> values = {});

  // The same with values by the names of their fields, in any order. They are checked before a
  // number is drawn: refused values cost no number. INVALID_ARGUMENT: a name is not a caller's
  // field of the pattern, is given twice or is missing, or a field cannot hold its value.
  absl::StatusOr<std::string> TryNextNamed(std::span<const NamedValue> values);
  absl::StatusOr<std::string> NextNamed(std::chrono::steady_clock::time_point deadline,
                                        std::span<const NamedValue> values);

  // The next 1 to `count` numbers of the current group, as SegmentSequence::TryNextBlock and
  // NextBlock: for callers that write them themselves.
  absl::StatusOr<NumberBlock> TryNextBlock(int64_t count);
  absl::StatusOr<NumberBlock> NextBlock(int64_t count,
                                        std::chrono::steady_clock::time_point deadline);

  // The type in use; after it was dropped, its last version.
  SequenceType Type() const;

  // All zeros in a forked child.
  NumberGeneratorStats Stats() const;

 private:
  class Rep;
  explicit NumberGenerator(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_NUMBER_GENERATOR_H_
