// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PICTURE_PLAN_FIGURES_H_
#define LOCUS_ROUTING_PICTURE_PLAN_FIGURES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "locus/routing/rebalance.h"

// The figures that the text and the picture of a plan have in common.

namespace locus::internal {

// "33.33", of a part of one.
std::string Percent(double part);

// 1.5 is "1.500", in every locale.
std::string WithThousandths(double value);

// "+1,000", "-1,000" or "0".
std::string SignedDifference(size_t before, size_t after);

// The part of all load that each shard has before and after the plan, by its id. Empty without
// load.
struct LoadPortions {
  std::map<uint32_t, double> before;
  std::map<uint32_t, double> after;
};
LoadPortions LoadPortionsOf(const RebalancePlan& plan, std::span<const double> load);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PICTURE_PLAN_FIGURES_H_
