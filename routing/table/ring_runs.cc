// SPDX-License-Identifier: Apache-2.0
#include "routing/table/ring_runs.h"

#include "absl/strings/str_cat.h"
#include "routing/table/table_check.h"

namespace locus::internal {

std::vector<OwnedRun> OwnedRunsOf(const RoutingTable& table) {
  std::vector<uint32_t> owners = OwnerOfEachVnode(table.ranges());
  std::vector<OwnedRun> runs;
  for (size_t vnode = 0; vnode < owners.size(); ++vnode) {
    if (runs.empty() || runs.back().shard != owners[vnode]) {
      runs.push_back({vnode, vnode, owners[vnode]});
    }
    runs.back().last = vnode;
  }
  return runs;
}

std::vector<MovingRun> MovingRunsOf(const RoutingTable& table) {
  std::vector<uint32_t> owners = OwnerOfEachVnode(table.ranges());
  std::vector<MovingRun> runs;
  for (const VnodeMove& move : table.moves()) {
    for (size_t vnode = move.first; vnode <= move.last; ++vnode) {
      bool continues = !runs.empty() && runs.back().last + 1 == vnode &&
                       runs.back().from == owners[vnode] && runs.back().to == move.to &&
                       runs.back().permyriad == move.permyriad;
      if (!continues) runs.push_back({vnode, vnode, owners[vnode], move.to, move.permyriad});
      runs.back().last = vnode;
    }
  }
  return runs;
}

std::map<uint32_t, size_t> OwnedVnodesOf(const RoutingTable& table) {
  std::map<uint32_t, size_t> vnodes;
  for (const Shard& shard : table.shards()) vnodes[shard.id] = 0;
  for (const OwnedRun& run : OwnedRunsOf(table)) vnodes[run.shard] += run.last - run.first + 1;
  return vnodes;
}

std::string WithThousands(uint64_t value) {
  std::string digits = absl::StrCat(value);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string AsPercent(uint64_t permyriad) {
  uint64_t fraction = permyriad % 100;
  return absl::StrCat(permyriad / 100, fraction < 10 ? ".0" : ".", fraction);
}

std::string PortionPercent(size_t vnodes) {
  return AsPercent((vnodes * uint64_t{10000} + ShardGene::kCount / 2) / ShardGene::kCount);
}

}  // namespace locus::internal
