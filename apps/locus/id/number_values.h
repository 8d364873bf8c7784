// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_ID_NUMBER_VALUES_H_
#define LOCUS_APPS_LOCUS_ID_NUMBER_VALUES_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/number_format.h"

// The values of number fields as the command line and JSON have them.
namespace locus::cli {

// An instant: a date "2026-11-20", "2026-11" or "2026" (its beginning in `zone`), a local time of
// `zone` "2026-11-20T14:44:48", or RFC 3339 with its own offset "2026-11-20T14:44:48+08:00",
// "...Z". A time may have a fraction of 1 to 9 digits. INVALID_ARGUMENT: it has another form,
// or the calendar or the zone does not have it.
absl::StatusOr<absl::Time> ParseInstant(std::string_view text, absl::TimeZone zone);

// The time in a number of `format`, in the format's zone, as ParseInstant reads it: a date with the
// units that the format has, or with hours "2026-11-20T14:00:00+08:00".
std::string IsoOf(absl::Time time, const NumberFormat& format);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_ID_NUMBER_VALUES_H_
