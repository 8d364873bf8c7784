// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_CHANGE_H_
#define LOCUS_ROUTING_TABLE_CHANGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "locus/routing/routing_table.h"

namespace locus {

// `table` under another epoch, 1..kMaxEpoch (INVALID_ARGUMENT), otherwise unchanged.
absl::StatusOr<RoutingTable> WithEpoch(const RoutingTable& table, uint64_t epoch);

// What differs between two tables, for people: a line per shard that came, went or changed
// (endpoints are shown), per run of vnodes that changed hands, and per move that began, went on,
// ended or was dropped; at the end how many vnodes changed hands in all. "no difference\n" but for
// the epoch: where they say the same.
std::string TableDifference(const RoutingTable& before, const RoutingTable& after);

}  // namespace locus

#endif  // LOCUS_ROUTING_TABLE_CHANGE_H_
