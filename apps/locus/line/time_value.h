// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_LINE_TIME_VALUE_H_
#define LOCUS_APPS_LOCUS_LINE_TIME_VALUE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace locus::cli {

// "2026-11-23T08:00:00Z", with any offset and any fraction of a second, or "2026-11-23 08:00[:00]"
// for UTC.
absl::StatusOr<absl::Time> ReadTime(std::string_view text);

// "2026-11-23T08:00:00.000Z"; "-" for InfinitePast.
std::string UtcMillis(absl::Time time);
// "2026-11-23T08:00:00Z".
std::string UtcSeconds(absl::Time time);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_LINE_TIME_VALUE_H_
