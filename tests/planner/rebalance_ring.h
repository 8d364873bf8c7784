// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PLANNER_REBALANCE_RING_H_
#define LOCUS_TESTS_PLANNER_REBALANCE_RING_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "routing/planner/planned_ring.h"

namespace locus {

// Vnodes that are not where they were.
inline size_t MovedVnodes(const std::vector<uint32_t>& before, const std::vector<uint32_t>& after) {
  size_t moved = 0;
  for (size_t i = 0; i < before.size(); ++i) moved += before[i] != after[i];
  return moved;
}

// Neighbouring vnodes of one shard, as long as they go.
inline size_t RangesOf(const std::vector<uint32_t>& owners) {
  size_t ranges = owners.empty() ? 0 : 1;
  for (size_t i = 1; i < owners.size(); ++i) ranges += owners[i] != owners[i - 1];
  return ranges;
}

// Runs that change hands from one shard to another.
inline size_t MovesOf(const std::vector<uint32_t>& before, const std::vector<uint32_t>& after) {
  size_t moves = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i]) continue;
    moves += i == 0 || before[i - 1] != before[i] || after[i - 1] != after[i];
  }
  return moves;
}

inline std::vector<size_t> VnodesOf(const std::vector<uint32_t>& owners, size_t shards) {
  std::vector<size_t> vnodes(shards);
  for (uint32_t owner : owners) ++vnodes[owner];
  return vnodes;
}

// Calls `visit` with every way to deal the ring's vnodes to its shards that leaves the fixed ones
// where they are.
inline void ForEachRing(const internal::PlannedRing& ring, uint32_t shards,
                        const std::function<void(const std::vector<uint32_t>&)>& visit) {
  std::vector<uint32_t> owners = ring.owners;
  std::function<void(size_t)> deal = [&](size_t vnode) {
    if (vnode == owners.size()) return visit(owners);
    if (ring.fixed[vnode]) return deal(vnode + 1);
    for (uint32_t shard = 0; shard < shards; ++shard) {
      owners[vnode] = shard;
      deal(vnode + 1);
    }
    owners[vnode] = ring.owners[vnode];
  };
  deal(0);
}

// Runs of random lengths, a few vnodes fixed.
inline internal::PlannedRing RandomRing(size_t vnodes, uint32_t shards, std::mt19937_64& random) {
  internal::PlannedRing ring{.owners = std::vector<uint32_t>(vnodes), .fixed = {}};
  ring.fixed.resize(vnodes);
  uint64_t longest = 1 + random() % vnodes;
  bool fixes = random() % 3 == 0;
  for (size_t first = 0; first < vnodes;) {
    size_t end = std::min(vnodes, first + 1 + static_cast<size_t>(random() % longest));
    auto owner = static_cast<uint32_t>(random() % shards);
    bool fixed = fixes && random() % 4 == 0;
    for (; first < end; ++first) {
      ring.owners[first] = owner;
      ring.fixed[first] = fixed;
    }
  }
  return ring;
}

}  // namespace locus

#endif  // LOCUS_TESTS_PLANNER_REBALANCE_RING_H_
