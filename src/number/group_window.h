// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_GROUP_WINDOW_H_
#define LOCUS_SRC_NUMBER_GROUP_WINDOW_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/sequence_type.h"

namespace locus::internal {

// When the group of a time begins and ends, and which time its numbers show. Pure.
struct GroupWindow {
  absl::Time begin = absl::InfinitePast();
  absl::Time end = absl::InfiniteFuture();  // the first instant of the next group
  // If a zone's clocks go back over the beginning of the group, they show the previous group for a
  // while: [folded, unfolded).
  absl::Time folded = absl::InfiniteFuture();
  absl::Time unfolded = absl::InfiniteFuture();

  // The window of `time`: after its first instant, the previous group does not return.
  // INVALID_ARGUMENT: the zone is unknown. OUT_OF_RANGE: the year is not in 1 to 9999.
  static absl::StatusOr<GroupWindow> Of(const SequenceType& type, absl::Time time);

  // The time that a number drawn at `time`, before `end`, shows. It is always within this group.
  absl::Time Shown(absl::Time time) const {
    if (time < begin) return begin;
    if (time >= folded && time < unfolded) return folded - absl::Nanoseconds(1);
    return time;
  }
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_GROUP_WINDOW_H_
