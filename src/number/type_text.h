// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_TYPE_TEXT_H_
#define LOCUS_SRC_NUMBER_TYPE_TEXT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/sequence_type.h"
#include "locus/sequence_type_store.h"

// A type as engines store it: lines NAME=VALUE of all its members except name and version.
//
// How this room works together. A SequenceType says how its counters count and how numbers are
// written. SequenceTypeStore keeps types as these texts; type_change.h decides whether a change may
// write a number twice. NumberGenerator and TypedSequences count by a stored type: NumberForm
// writes a number by the pattern (pattern/), and GroupWindow says which day, month or year a time
// is in. PlainNames refuses the names of types to sequencers that count without them.
namespace locus::internal {

inline constexpr size_t kLongestTypeText = 4096;

std::string TypeTextOf(const SequenceType& type);

// Reads what TypeTextOf writes, in any order; name and version of the result are not set.
// INVALID_ARGUMENT: a line is unknown, missing, repeated or of a wrong kind, or the text is too
// long. Does not Check() the values.
absl::StatusOr<SequenceType> ParseTypeText(std::string_view text);

// A stored type: in use, or the last state of a dropped one.
struct StoredType {
  SequenceType type;
  bool is_dropped = false;
  // Of a dropped type: whether its last state could be read. If not, `type` has nothing of it.
  bool is_readable = true;
  // Other patterns that numbers of the type were written with, the latest first.
  std::vector<std::string> earlier;
};
// The text of a type in use. With its earlier patterns it may be longer than a store accepts.
std::string StoredTextOf(const SequenceType& type, const std::vector<std::string>& earlier);
// The text of a dropped type whose last state has this text, also if that cannot be read.
std::string DroppedTextOf(std::string_view text);
// Reads the texts of TypeTextOf, StoredTextOf and DroppedTextOf.
absl::StatusOr<StoredType> ParseStoredText(std::string_view text);

// The differences in all members except name and version: "step 1 -> 5, pattern {seq:8} ->
// {seq:9}"; "nothing".
std::string ChangesOf(const SequenceType& before, const SequenceType& after);

// The members without name and version: "start 0, step 1, max_value 0, ...".
std::string TypeInWords(const SequenceType& type);

// "none", "day", "month", "year".
std::optional<SequenceType::Period> ParsePeriod(std::string_view text);

// "return", "drop".
std::optional<SequenceType::Leftovers> ParseLeftovers(std::string_view text);

// OK: a name of a type.
absl::Status CheckTypeName(std::string_view name);

// The type, in use or dropped, whose name a counter has, or that has a counter of its name: without
// the type, its numbers would repeat. Empty: there is none. Or an error of `types`.
absl::StatusOr<std::string> TypeThatCounts(SequenceTypeStore& types, std::string_view counter);
// The refusal, for a type that is not empty.
absl::Status CountedByItsType(std::string_view counter, std::string_view type,
                              std::string_view advice);

// The name of the type that a counter of this name would belong to (SequenceType::CounterName),
// whether it exists or not; empty: it cannot be the name of a type's counter.
std::string TypeOfCounter(std::string_view name);

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_TYPE_TEXT_H_
