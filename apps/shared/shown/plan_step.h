// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_SHARED_SHOWN_PLAN_STEP_H_
#define LOCUS_APPS_SHARED_SHOWN_PLAN_STEP_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/routing/rebalance.h"
#include "locus/routing/routing_table.h"

namespace locus::apps {

// The next table of a plan.
struct PlanStep {
  RoutingTable next;  // equal to the table now: nothing can begin
  size_t begins = 0;  // moves that it begins
  size_t waits = 0;   // moves that wait for others to end
};
// Errors of NextMoves.
absl::StatusOr<PlanStep> StepOf(const RoutingTable& table, const RebalancePlan& plan,
                                size_t most_per_shard);

// Why nothing begins; `more` says how more moves of a shard are allowed at a time.
std::string WhyUnchanged(const PlanStep& step, std::string_view more);

// INVALID_ARGUMENT, beginning with `where`: it is no URI, SCHEME://...
absl::Status CheckEndpoint(std::string_view where, const std::string& endpoint);

}  // namespace locus::apps

#endif  // LOCUS_APPS_SHARED_SHOWN_PLAN_STEP_H_
