// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_ENDPOINT_PLACE_H_
#define LOCUS_ROUTING_TABLE_ENDPOINT_PLACE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "locus/routing/routing_table.h"

namespace locus::internal {

// One text for all spellings of an endpoint: scheme and host in lower case, no dot behind the host,
// no default port, percent codes read, no settings behind '?'. To compare, not to connect.
std::string PlaceOfEndpoint(std::string_view endpoint);

// INVALID_ARGUMENT: the name of a new shard is not in Unicode's normal form C, so that another name
// could look the same.
absl::Status CheckNewName(std::string_view name);

// INVALID_ARGUMENT: two shards of `after` have one place, and had not in `before`, which may be
// nullptr; or a shard has a new name that CheckNewName refuses. A table in force may
// have either from earlier versions: it is still read, and such a shard keeps its name.
absl::Status CheckPlaces(const RoutingTable* before, const RoutingTable& after);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_TABLE_ENDPOINT_PLACE_H_
