// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_PATTERN_LOCAL_TIME_H_
#define LOCUS_SRC_NUMBER_PATTERN_LOCAL_TIME_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/number/pattern/number_pattern.h"
#include "src/number/pattern/zone_offset.h"

namespace locus::internal {

// A local time as its units; the index is a TimeUnit.
using LocalTime = std::array<uint32_t, kTimeUnits>;

// Sets `local` to the local time of an instant. False: it is outside the years 1 to 9999.
bool LocalTimeOf(absl::Time time, const ZoneOffset& offset, LocalTime& local);

int DaysInMonth(uint32_t year, uint32_t month);

// The first instant at which the zone's clocks show `local`, compared down to the unit `smallest`;
// the smaller units of `local` are at their minimum. The date in `local` exists. nullopt: the zone
// skips this local time.
std::optional<absl::Time> FirstInstantOf(const LocalTime& local, TimeUnit smallest,
                                         absl::TimeZone zone);

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_PATTERN_LOCAL_TIME_H_
