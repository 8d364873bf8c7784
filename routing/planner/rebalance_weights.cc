// SPDX-License-Identifier: Apache-2.0
#include "routing/planner/rebalance_weights.h"

#include <algorithm>
#include <tuple>

#include "routing/planner/rebalance_runs.h"
#include "src/base/os/check.h"

namespace locus::internal {
namespace {

// The vnodes that a shard owns before the plan.
struct Owned {
  size_t vnodes = 0;
  size_t fixed = 0;  // of them, those that cannot move
};

// A shard's part of the vnodes is rarely a whole number. Its portion is that number rounded down
// (the floor) or up (the ceiling).
struct RoundedPortion {
  size_t floor = 0;
  uint64_t remainder = 0;  // 0: the part is a whole number, and the floor is the portion
  size_t portion = 0;

  size_t ceiling() const { return floor + (remainder > 0); }
};

// Divides `vnodes` among the shards by `weights`, which are not all 0.
//
// Ceilings go first to shards that own that many vnodes already: such a shard would otherwise give
// a vnode away only for another one to be rounded up. This makes the plan move as few vnodes as any
// rounding allows. Among equals the largest remainder wins.
std::vector<RoundedPortion> Round(const std::vector<uint32_t>& weights, size_t vnodes,
                                  const std::vector<Owned>& owned) {
  uint64_t sum = 0;
  for (uint32_t weight : weights) sum += weight;
  LOCUS_CHECK(sum > 0);
  std::vector<RoundedPortion> portions(weights.size());
  // More fixed vnodes than the floor, more vnodes than the floor, remainder, vnodes, ~shard: the
  // last makes the lower shard win where all else is equal.
  std::vector<std::tuple<bool, bool, uint64_t, size_t, uint32_t>> claims;
  size_t left = vnodes;
  for (uint32_t shard = 0; shard < weights.size(); ++shard) {
    uint64_t quota = uint64_t{weights[shard]} * vnodes;
    size_t floor = quota / sum;
    portions[shard] = {.floor = floor, .remainder = quota % sum, .portion = floor};
    left -= floor;
    if (quota % sum == 0) continue;
    claims.emplace_back(owned[shard].fixed > floor, owned[shard].vnodes > floor, quota % sum,
                        owned[shard].vnodes, ~shard);
  }
  std::ranges::sort(claims, std::greater<>());
  LOCUS_CHECK(left <= claims.size());
  for (size_t i = 0; i < left; ++i) ++portions[~std::get<4>(claims[i])].portion;
  return portions;
}

}  // namespace

std::vector<size_t> PortionsByWeight(const std::vector<uint32_t>& weights,
                                     const PlannedRing& ring) {
  std::vector<Owned> owned(weights.size());
  for (size_t vnode = 0; vnode < ring.owners.size(); ++vnode) {
    Owned& of_owner = owned[ring.owners[vnode]];
    ++of_owner.vnodes;
    of_owner.fixed += ring.fixed[vnode];
  }
  std::vector<uint32_t> sharing = weights;  // 0: the shard has its fixed vnodes and no others
  while (true) {
    size_t left = ring.owners.size();
    for (size_t shard = 0; shard < weights.size(); ++shard) {
      if (sharing[shard] == 0) left -= owned[shard].fixed;
    }
    std::vector<RoundedPortion> rounded = Round(sharing, left, owned);
    // Shards that cannot go down to their portion drop out, which lowers the portions of the
    // others. Those above their ceiling go first: without them there may be ceilings for the rest.
    std::vector<size_t> above_ceiling;
    std::vector<size_t> above_portion;
    for (size_t shard = 0; shard < weights.size(); ++shard) {
      if (sharing[shard] == 0) continue;
      if (owned[shard].fixed > rounded[shard].ceiling()) above_ceiling.push_back(shard);
      if (owned[shard].fixed > rounded[shard].portion) above_portion.push_back(shard);
    }
    for (size_t shard : above_ceiling.empty() ? above_portion : above_ceiling) sharing[shard] = 0;
    if (!above_portion.empty()) continue;

    std::vector<size_t> portions;
    for (size_t shard = 0; shard < weights.size(); ++shard) {
      portions.push_back(sharing[shard] > 0 ? rounded[shard].portion : owned[shard].fixed);
    }
    return portions;
  }
}

void BalanceByWeight(const std::vector<uint32_t>& weights, PlannedRing& ring) {
  std::vector<size_t> portions = PortionsByWeight(weights, ring);
  std::vector<double> surplus(weights.size());
  for (uint32_t owner : ring.owners) ++surplus[owner];
  for (size_t shard = 0; shard < weights.size(); ++shard) {
    surplus[shard] -= static_cast<double>(portions[shard]);
  }
  std::vector<double> vnodes_before(ring.owners.size() + 1);
  for (size_t i = 0; i < vnodes_before.size(); ++i) vnodes_before[i] = static_cast<double>(i);
  GiveRuns(vnodes_before, 0, ring, surplus);
  for (double left : surplus) LOCUS_CHECK(left == 0);
}

}  // namespace locus::internal
