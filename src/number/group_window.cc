// SPDX-License-Identifier: Apache-2.0
#include "src/number/group_window.h"

#include "absl/time/civil_time.h"
#include "src/base/os/check.h"

namespace locus::internal {
namespace {

using Period = SequenceType::Period;

constexpr int kMostSkippedDays = 3;  // Samoa left out one, in 2011

absl::CivilSecond StartOf(Period period, absl::CivilSecond at) {
  if (period == Period::kYear) return absl::CivilYear(at);
  if (period == Period::kMonth) return absl::CivilMonth(at);
  return absl::CivilDay(at);
}

absl::CivilSecond StartAfter(Period period, absl::CivilSecond start) {
  if (period == Period::kYear) return absl::CivilYear(start) + 1;
  if (period == Period::kMonth) return absl::CivilMonth(start) + 1;
  return absl::CivilDay(start) + 1;
}

// The first instant at which the zone shows `start` or, where it skips that, a later time.
absl::Time FirstInstantOf(absl::CivilSecond start, absl::TimeZone zone) {
  absl::TimeZone::TimeInfo found = zone.At(start);
  return found.kind == absl::TimeZone::TimeInfo::SKIPPED ? found.trans : found.pre;
}

}  // namespace

absl::StatusOr<GroupWindow> GroupWindow::Of(const SequenceType& type, absl::Time time) {
  if (type.period == Period::kNone) return GroupWindow();
  LOCUS_RETURN_IF_ERROR(type.CounterName("", time).status());  // zone and year are fine
  absl::TimeZone zone;
  LOCUS_CHECK(absl::LoadTimeZone(type.zone, &zone));
  GroupWindow window;
  absl::CivilSecond start = StartOf(type.period, absl::ToCivilSecond(time, zone));
  absl::CivilSecond next = StartAfter(type.period, start);
  // A second round if the clocks went back over the end of the group: the group does not return.
  for (int round = 0; round < kMostSkippedDays; ++round) {
    window.begin = FirstInstantOf(start, zone);
    window.end = FirstInstantOf(next, zone);
    if (time < window.end) break;
    start = next;
    next = StartAfter(type.period, next);
  }
  // The first local time that the group shows; later than `start` if the zone skips `start`.
  absl::CivilSecond shown = absl::ToCivilSecond(window.begin, zone);
  absl::TimeZone::CivilTransition change;
  if (zone.NextTransition(window.begin, &change) && change.to < change.from && change.to < shown) {
    window.folded = zone.At(change.to).trans;
    window.unfolded = window.folded + absl::Seconds(shown - change.to);
  }
  return window;
}

}  // namespace locus::internal
