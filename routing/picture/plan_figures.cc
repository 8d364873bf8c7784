// SPDX-License-Identifier: Apache-2.0
#include "routing/picture/plan_figures.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "routing/planner/planned_ring.h"
#include "routing/table/ring_runs.h"

namespace locus::internal {

std::string Percent(double part) {
  return AsPercent(static_cast<uint64_t>(std::llround(part * RoutingTable::kMaxPermyriad)));
}

std::string WithThousandths(double value) {
  std::string digits = absl::StrCat(std::llround(value * 1000));
  if (digits.size() < 4) digits.insert(0, 4 - digits.size(), '0');
  return digits.insert(digits.size() - 3, 1, '.');
}

std::string SignedDifference(size_t before, size_t after) {
  if (before == after) return "0";
  return after > before ? "+" + WithThousands(after - before) : "-" + WithThousands(before - after);
}

LoadPortions LoadPortionsOf(const RebalancePlan& plan, std::span<const double> load) {
  LoadPortions portions;
  if (load.empty()) return portions;
  for (const Shard& shard : plan.table.shards()) {
    portions.before[shard.id] = 0;
    portions.after[shard.id] = 0;
  }
  double sum = 0;
  for (double of_vnode : load) sum += of_vnode;
  std::vector<uint32_t> owners = PlannedRingOf(plan.table).owners;
  for (uint32_t& owner : owners) owner = plan.table.shards()[owner].id;
  for (size_t i = 0; i < load.size(); ++i) portions.before[owners[i]] += load[i] / sum;
  for (const PlannedMove& move : plan.moves) {
    std::fill(owners.begin() + move.first, owners.begin() + move.last + 1, move.to);
  }
  for (size_t i = 0; i < load.size(); ++i) portions.after[owners[i]] += load[i] / sum;
  return portions;
}

}  // namespace locus::internal
