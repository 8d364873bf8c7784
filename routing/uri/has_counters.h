// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_URI_HAS_COUNTERS_H_
#define LOCUS_ROUTING_URI_HAS_COUNTERS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "locus/routing/uri.h"
#include "routing/uri/store_uri.h"

namespace locus::internal {

// Whether a store has a counter of which numbers were given out, also one that was forgotten and
// not removed yet; nullopt: its engine does not say. NOT_FOUND: its file or tables are missing.
// Otherwise errors of the engine.
absl::StatusOr<std::optional<bool>> HasCounters(const StoreUri& uri, const AskPassword& ask);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_URI_HAS_COUNTERS_H_
