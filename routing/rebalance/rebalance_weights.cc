// SPDX-License-Identifier: Apache-2.0
#include "routing/rebalance/rebalance_weights.h"

#include <algorithm>
#include <tuple>

#include "routing/rebalance/rebalance_runs.h"
#include "src/base/check.h"

namespace locus {
namespace {

// `vnodes` among the shards of `weights`, which are not all 0.
std::vector<size_t> LargestRemainder(const std::vector<uint32_t>& weights, size_t vnodes,
                                     const std::vector<size_t>& has) {
  uint64_t sum = 0;
  for (uint32_t weight : weights) sum += weight;
  LOCUS_CHECK(sum > 0);
  std::vector<size_t> shares(weights.size());
  std::vector<std::tuple<uint64_t, size_t, uint32_t>> remainders;
  size_t left = vnodes;
  for (uint32_t shard = 0; shard < weights.size(); ++shard) {
    uint64_t quota = uint64_t{weights[shard]} * vnodes;
    shares[shard] = quota / sum;
    left -= shares[shard];
    // In the order of shards where all else is equal.
    remainders.emplace_back(quota % sum, has[shard], ~shard);
  }
  std::ranges::sort(remainders, std::greater<>());
  for (size_t i = 0; i < left; ++i) ++shares[~std::get<2>(remainders[i])];
  return shares;
}

}  // namespace

std::vector<size_t> SharesByWeight(const std::vector<uint32_t>& weights, const PlannedRing& ring) {
  std::vector<size_t> has(weights.size());
  std::vector<size_t> fixed(weights.size());
  for (size_t vnode = 0; vnode < ring.owners.size(); ++vnode) {
    ++has[ring.owners[vnode]];
    if (ring.fixed[vnode]) ++fixed[ring.owners[vnode]];
  }
  std::vector<uint32_t> sharing = weights;  // 0: has its fixed vnodes and no others
  std::vector<bool> keeps(weights.size());
  while (true) {
    size_t kept = 0;
    for (size_t shard = 0; shard < weights.size(); ++shard) {
      if (keeps[shard] || weights[shard] == 0) kept += fixed[shard];
    }
    std::vector<size_t> shares = LargestRemainder(sharing, ring.owners.size() - kept, has);
    bool all_fit = true;
    for (size_t shard = 0; shard < weights.size(); ++shard) {
      if (sharing[shard] > 0 && fixed[shard] > shares[shard]) {
        keeps[shard] = true;
        all_fit = false;
      }
    }
    if (all_fit) {
      for (size_t shard = 0; shard < weights.size(); ++shard) {
        if (sharing[shard] == 0) shares[shard] = fixed[shard];
      }
      return shares;
    }
    for (size_t shard = 0; shard < weights.size(); ++shard) {
      if (keeps[shard]) sharing[shard] = 0;
    }
  }
}

void BalanceByWeight(const std::vector<uint32_t>& weights, PlannedRing& ring) {
  std::vector<size_t> shares = SharesByWeight(weights, ring);
  std::vector<double> surplus(weights.size());
  for (uint32_t owner : ring.owners) ++surplus[owner];
  for (size_t shard = 0; shard < weights.size(); ++shard) {
    surplus[shard] -= static_cast<double>(shares[shard]);
  }
  std::vector<double> vnodes_before(ring.owners.size() + 1);
  for (size_t i = 0; i < vnodes_before.size(); ++i) vnodes_before[i] = static_cast<double>(i);
  GiveRuns(vnodes_before, 0, ring, surplus);
  for (double left : surplus) LOCUS_CHECK(left == 0);
}

}  // namespace locus
