// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SEQUENCE_TYPE_H_
#define LOCUS_SEQUENCE_TYPE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/number_format.h"
#include "locus/segment_sequence.h"
#include "locus/sequencer.h"
#include "locus/str.h"

namespace locus {

// The type of a kind of numbers (invoices, tickets): how its counters count, when they start again,
// and how a number is written. It is kept in the store of its counters (SequenceTypeStore), so that
// all processes count alike. A type has any number of counters, one for each key.
//
//   SequenceType type = store->Find("invoices").value();
//   auto sequencer = OpenSequencer(uri, {.sequencer = type.counter_options()}).value();
//   int64_t number = sequencer->Next(type.CounterName("", absl::Now()).value()).value();
//
// A plain value. Thread safety: const methods may be called from any thread.
struct SequenceType {
  static constexpr size_t kLongestKey = 400;  // in bytes

  // 1 to 64 characters of a-z, 0-9, '_' and '-'.
  std::string name;
  // As in SequencerOptions. `start` 0: `step`.
  int64_t start = 0;
  int64_t step = 1;
  // The highest number. 0: what the pattern's field `seq` can hold, or 2^63 - 1 without a pattern.
  // At most what the field can hold.
  int64_t max_value = 0;
  SequencerOptions::AtMax at_max = SequencerOptions::AtMax::kError;
  // A counter that no call named for this time is forgotten and starts again. Whole milliseconds;
  // 0: counters are kept. With a period, longer than it lasts anywhere on earth, as its zone may be
  // altered (51 h, 32 d 3 h, 367 d 3 h): a counter that is forgotten within its day repeats the
  // numbers of that day. Shorter: a NumberGenerator or SegmentSequence takes fewer numbers at once,
  // because it hands them out for half of this time only (SegmentSequence). New types: 10 s or
  // more.
  absl::Duration expiry = absl::ZeroDuration();
  // How many numbers SegmentSequence takes at once. Larger: fewer round trips, longer gaps after a
  // crash. 0 to 2^32; 0: as many as are used in its horizon.
  int64_t buffer = 0;
  // When counting starts again: with each day, month or year of `zone`. The counters of two periods
  // are different ones. kNone: never.
  enum class Period { kNone, kDay, kMonth, kYear };
  Period period = Period::kNone;
  // An IANA time zone name that this system knows; of the period and of the pattern. Refused are
  // names that each machine may understand differently: localtime, paths, and right/.
  std::string zone = "UTC";
  // The form of the numbers, a pattern of NumberFormat with one field {seq:N}. Its other fields
  // with values are the caller's. With a period it must write the period's units of time, since its
  // numbers would repeat otherwise. Counters of two keys write equal numbers unless the caller puts
  // the key into a field. Empty: none.
  std::string pattern;
  // Numbers that a NumberGenerator took and did not hand out, when their day, month or year ends,
  // or the generator: they are given back to the counter if no other process took later ones, or
  // dropped, which leaves a gap and needs no call. Also of SegmentSequence, by segment_options().
  enum class Leftovers { kReturn, kDrop };
  Leftovers leftovers = Leftovers::kReturn;
  // How long a NumberGenerator uses a type before it reads it again: within this time a change is
  // in force everywhere. Whole seconds, 1 s to 1 day. Shorter: more reads of the store.
  absl::Duration lifetime = absl::Minutes(1);
  // Set by the store; 0: not stored yet. No two states of a type have the same version.
  uint64_t version = 0;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;

  // How the counters of the type count. Requires Check(). The key prefix is empty.
  SequencerOptions counter_options() const;
  // The defaults, except the lengths, which follow `buffer`, and return_unused, which follows
  // `leftovers`. Requires Check().
  SegmentSequence::Options segment_options() const;

  // The counter of a key at a time, for Sequencer: "TYPE:KEY", or with a period "TYPE:KEY:GROUP",
  // where GROUP is the day, month or year in `zone`: 20261125, 202611, 2026. Write the number with
  // the same time. INVALID_ARGUMENT: the key has more than kLongestKey bytes, or is not in
  // Unicode's normal form C: two keys that look the same would have two counters. OUT_OF_RANGE: the
  // year is outside 1..9999. Requires Check(). Cost: looks the zone up by its name.
  absl::StatusOr<std::string> CounterName(std::string_view key, absl::Time time) const;

  // FAILED_PRECONDITION: there is no pattern. INVALID_ARGUMENT: as in Check().
  absl::StatusOr<NumberFormat> Format() const;

  // FAILED_PRECONDITION: an option that a caller wants differs from the type; the message names
  // both values. `key_prefix` is not compared.
  absl::Status CheckAgrees(const SequencerOptions& wanted) const;
};

// "none", "day", "month", "year".
std::string_view ToString(SequenceType::Period period);
template <typename Sink>
void AbslStringify(Sink& sink, SequenceType::Period period) {
  sink.Append(std::string(ToString(period)));
}

// "return", "drop".
std::string_view ToString(SequenceType::Leftovers leftovers);
template <typename Sink>
void AbslStringify(Sink& sink, SequenceType::Leftovers leftovers) {
  sink.Append(std::string(ToString(leftovers)));
}

}  // namespace locus

#endif  // LOCUS_SEQUENCE_TYPE_H_
