// SPDX-License-Identifier: Apache-2.0
#include "routing/picture/ring_bands.h"

#include <map>

#include "routing/table/ring_runs.h"
#include "routing/table/table_check.h"

namespace locus::internal {
namespace {

constexpr size_t kMaxRuns = 720;
constexpr size_t kSlices = 512;
constexpr size_t kSliceVnodes = ShardGene::kCount / kSlices;
// Shards with fewer vnodes of a slice are drawn as one band, kSeveralShards.
constexpr size_t kLeastVnodesInSlice = kSliceVnodes / 10;

std::vector<OwnerBand> BandPerRun(const std::vector<OwnedRun>& runs) {
  std::vector<OwnerBand> bands;
  for (const OwnedRun& run : runs) {
    bands.push_back({run.first, run.last, run.shard, run.last - run.first + 1});
  }
  if (bands.size() > 1 && bands.front().shard == bands.back().shard) {
    bands.back().last += bands.front().vnodes;
    bands.back().vnodes += bands.front().vnodes;
    bands.erase(bands.begin());
  }
  return bands;
}

// How many vnodes of a slice each shard owns; those with too few count for kSeveralShards.
std::map<uint32_t, size_t> PortionsOfSlice(const std::vector<uint32_t>& owners, size_t first) {
  std::map<uint32_t, size_t> vnodes;
  for (size_t i = 0; i < kSliceVnodes; ++i) ++vnodes[owners[first + i]];
  std::map<uint32_t, size_t> portions;
  for (auto [shard, count] : vnodes) {
    portions[count < kLeastVnodesInSlice ? kSeveralShards : shard] += count;
  }
  return portions;
}

std::vector<OwnerBand> StackedSlices(const RoutingTable& table) {
  std::vector<uint32_t> owners = OwnerOfEachVnode(table.ranges());
  std::vector<OwnerBand> bands;
  std::map<uint32_t, size_t> previous;
  for (size_t first = 0; first < owners.size(); first += kSliceVnodes) {
    std::map<uint32_t, size_t> portions = PortionsOfSlice(owners, first);
    if (portions == previous) {  // the bands of the slice before it continue
      size_t band = bands.size() - portions.size();
      for (auto [shard, vnodes] : portions) {
        bands[band].last += kSliceVnodes;
        bands[band++].vnodes += vnodes;
      }
      continue;
    }
    double inner = 0;
    for (auto [shard, vnodes] : portions) {
      double outer = inner + static_cast<double>(vnodes) / kSliceVnodes;
      bands.push_back({first, first + kSliceVnodes - 1, shard, vnodes, inner, outer});
      inner = outer;
    }
    previous = std::move(portions);
  }
  return bands;
}

std::vector<TargetBand> TargetPerSlice(const std::vector<MovingRun>& runs) {
  std::map<size_t, uint32_t> target_of;  // by slice
  for (const MovingRun& run : runs) {
    for (size_t slice = run.first / kSliceVnodes; slice <= run.last / kSliceVnodes; ++slice) {
      auto [entry, is_new] = target_of.try_emplace(slice, run.to);
      if (entry->second != run.to) entry->second = kSeveralShards;
    }
  }
  std::vector<TargetBand> bands;
  for (auto [slice, target] : target_of) {
    size_t first = slice * kSliceVnodes;
    bool continues = !bands.empty() && bands.back().last + 1 == first;
    if (!continues || bands.back().target != target) bands.push_back({first, first, target});
    bands.back().last = first + kSliceVnodes - 1;
  }
  return bands;
}

}  // namespace

std::vector<OwnerBand> OwnerBandsOf(const RoutingTable& table) {
  std::vector<OwnedRun> runs = OwnedRunsOf(table);
  return runs.size() <= kMaxRuns ? BandPerRun(runs) : StackedSlices(table);
}

std::vector<TargetBand> TargetBandsOf(const RoutingTable& table) {
  std::vector<MovingRun> runs = MovingRunsOf(table);
  std::vector<TargetBand> bands;
  if (runs.size() > kMaxRuns) return TargetPerSlice(runs);
  for (const MovingRun& run : runs) bands.push_back({run.first, run.last, run.to});
  return bands;
}

}  // namespace locus::internal
