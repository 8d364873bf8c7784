// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_TABLE_TABLE_FILE_H_
#define LOCUS_APPS_LOCUS_TABLE_TABLE_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/routing/routing_table.h"

namespace locus::cli {

// Reads a routing table from a file, or the newest one from the place that a URI names; "-" is
// stdin. Errors of a file begin with its path or "stdin", those of a place name the place.
absl::StatusOr<RoutingTable> LoadTable(const std::string& path);

// `status`, a refusal of `text` where `expected` was to be read, as "a routing table", with what
// the text looks like instead: "it looks like a CSV file". `status` itself where it looks right.
absl::Status WithLooks(const absl::Status& status, std::string_view text,
                       std::string_view expected);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_TABLE_TABLE_FILE_H_
