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
  uint64_t numbers = 0;        // drawn, those included whose fields were refused
  uint64_t rolled = 0;         // how often a later group began
  uint64_t clock_behind = 0;   // numbers drawn while the clock was before the group in use
  uint64_t type_version = 0;   // of the rule in use; 0: the type was dropped
  uint64_t type_reads = 0;     // failed ones included
  uint64_t type_failures = 0;  // reads after which the rule in use stayed, as the store failed
  // Of groups that are over and of rules that changed: numbers that were taken and not handed out.
  uint64_t leftovers_returned = 0;
  uint64_t leftovers_dropped = 0;  // also those behind which others took numbers
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
  // What day, month or year they are of: "20261125", "202611", "2026". Empty: the type has no
  // period. Numbers of two groups may be equal.
  std::string group;
};

// A generator began to count by another rule, or stopped.
struct TypeSwitchEvent {
  SequenceType before;
  std::optional<SequenceType> after;  // nullopt: the type was dropped
};

// Business numbers by a rule of the store: a sequence type and a key give texts such as
// 2026112500000042, unique over all processes that count by the type. Draws by segments in the
// background, as SegmentSequence does.
//
// Groups. With a period, the numbers of each day, month or year of the rule's zone have a counter
// of their own. One reading of the clock decides for each number which group it is of and which
// date it shows, so both are always the same. The first call at or after a group's end goes on in
// the next group; numbers left of the one before are given back or dropped, as the rule says. A
// call that begins after a number of a later group was returned never returns one of an earlier:
// while the clock is behind the group in use, numbers are of that group and show its first instant.
// The exception: a rule whose zone was altered to one further west (SequenceTypeStore::Alter).
//
// Rule. The generator reads the rule again twice within its lifetime. A rule that changed takes
// effect with the next segment, in place of what was left of the one before. Where the type was
// dropped, calls are FAILED_PRECONDITION, until there is one of its name again. While the store
// fails, the generator goes on with the numbers that it has.
//
// Expiry. A counter with SequenceType::expiry is forgotten when nobody takes numbers from it for so
// long, and starts again. What a generator took of it before, it hands out for half of that time
// only (SegmentSequence).
//
// Thread safety: all methods may be called from any thread; after destruction begins, none.
// Cost: one reading of the clock, one lock that few threads share, and the text. Store calls are
// off the caller's thread, but for Create.
// Fork: in a forked child every call is FAILED_PRECONDITION, and destruction returns at once.
class NumberGenerator {
 public:
  struct Options {
    // As SegmentSequence::Options. At most 1 day, at least 1 s.
    absl::Duration horizon = absl::Minutes(10);
    // Must outlive the generator.
    Clock* clock = &Clock::System();
    // Runs loading and the reading of rules; must outlive the generator. nullptr: threads of its
    // own.
    Executor* executor = nullptr;
    // As SegmentSequence::Options; of all groups. May be empty.
    std::function<void(const SegmentSequenceEvent&)> on_event = {};
    // Called in the background once a rule is in use. It must not call the generator. May be empty.
    std::function<void(const TypeSwitchEvent&)> on_type = {};
  };

  // Opens the counters of a type in the store where the rule is: as OpenSequencer does. Called by
  // Create, and in the background where a rule changed.
  using OpenCounters =
      std::function<absl::StatusOr<std::shared_ptr<Sequencer>>(const SequencerOptions&)>;

  // Reads the rule, and takes no numbers yet. NOT_FOUND: there is no such type. INVALID_ARGUMENT:
  // bad options, or a key of more than 400 bytes. Otherwise the errors of the store and of `open`.
  static absl::StatusOr<std::unique_ptr<NumberGenerator>> Create(
      std::shared_ptr<SequenceTypeStore> types, OpenCounters open, std::string type,
      std::string key, Options options);
  static absl::StatusOr<std::unique_ptr<NumberGenerator>> Create(
      std::shared_ptr<SequenceTypeStore> types, OpenCounters open, std::string type,
      std::string key);
  // Gives unused numbers back where the rule says so; blocks as SegmentSequence::Close does.
  ~NumberGenerator();
  NumberGenerator(const NumberGenerator&) = delete;
  NumberGenerator& operator=(const NumberGenerator&) = delete;

  // The next number, without waiting; `values` are those of the pattern's fields but {seq:N}, in
  // pattern order. A type without a pattern gives decimals. Errors as SegmentSequence::TryNext and
  // NumberFormat::Format; values that are refused cost a number. FAILED_PRECONDITION: the type has
  // a period and no pattern, so that its numbers alone would be given again.
  absl::StatusOr<std::string> TryNext(std::span<const FieldValue> values = {});

  // As TryNext, but waits for numbers until `deadline`; errors as SegmentSequence::Next.
  absl::StatusOr<std::string> Next(std::chrono::steady_clock::time_point deadline,
                                   std::span<const FieldValue> values = {});
  // Waits for at most `timeout`, by the steady clock.
  absl::StatusOr<std::string> Next(Timeout timeout, std::span<const FieldValue> values = {});

  // The same with values by the names of their fields, in any order. They are judged before a
  // number is drawn: values that are refused cost none. INVALID_ARGUMENT: a name is none of the
  // caller's fields of the pattern, given twice, or missing, or a field cannot hold its value.
  absl::StatusOr<std::string> TryNextNamed(std::span<const NamedValue> values);
  absl::StatusOr<std::string> NextNamed(std::chrono::steady_clock::time_point deadline,
                                        std::span<const NamedValue> values);

  // The next 1 to `count` numbers of the group of now, as SegmentSequence::TryNextBlock and
  // NextBlock: for callers that write them in their own way.
  absl::StatusOr<NumberBlock> TryNextBlock(int64_t count);
  absl::StatusOr<NumberBlock> NextBlock(int64_t count,
                                        std::chrono::steady_clock::time_point deadline);

  // The rule in use, or the last one where the type was dropped.
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
