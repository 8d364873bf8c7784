// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_RING_RUNS_H_
#define LOCUS_ROUTING_TABLE_RING_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "locus/routing/routing_table.h"

// Neighbouring vnodes of a table that share an owner or a move, as people read them.

namespace locus::internal {

// Neighbouring vnodes first..last of one shard, as long as they go.
struct OwnedRun {
  size_t first;
  size_t last;
  uint32_t shard;
};
std::vector<OwnedRun> OwnedRunsOf(const RoutingTable& table);

// Neighbouring vnodes first..last that move from one shard to another by the same permyriad.
struct MovingRun {
  size_t first;
  size_t last;
  uint32_t from;
  uint32_t to;
  uint32_t permyriad;
};
std::vector<MovingRun> MovingRunsOf(const RoutingTable& table);

// How many vnodes each shard owns, by id; also shards that own none.
std::map<uint32_t, size_t> OwnedVnodesOf(const RoutingTable& table);

// 16384 is "16,384".
std::string WithThousands(uint64_t value);
// 500 is "5.00".
std::string AsPercent(uint64_t permyriad);
// The part of all vnodes, in percent with two decimals: "25.00".
std::string PortionPercent(size_t vnodes);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_TABLE_RING_RUNS_H_
