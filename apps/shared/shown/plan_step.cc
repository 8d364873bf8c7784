// SPDX-License-Identifier: Apache-2.0
#include "apps/shared/shown/plan_step.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::apps {

using internal::Quoted;
using internal::ToAbsl;

absl::StatusOr<PlanStep> StepOf(const RoutingTable& table, const RebalancePlan& plan,
                                size_t most_per_shard) {
  LOCUS_ASSIGN_OR_RETURN(RoutingTable next, NextMoves(table, plan, most_per_shard));
  // As if shards could take part in any number of moves.
  LOCUS_ASSIGN_OR_RETURN(const RoutingTable all, NextMoves(table, plan, RoutingTable::kMaxShards));
  const size_t begins = next.moves().size() - table.moves().size();
  const size_t waits = all.moves().size() - next.moves().size();
  return PlanStep{std::move(next), begins, waits};
}

std::string WhyUnchanged(const PlanStep& step, std::string_view more) {
  if (step.waits == 0) return "every move of the plan has begun or ended; the table is unchanged";
  return absl::StrCat(step.waits, step.waits == 1 ? " move waits: its" : " moves wait: their",
                      " shards take part in other moves; run it again when one ends, or raise ",
                      ToAbsl(more));
}

absl::Status CheckEndpoint(std::string_view where, const std::string& endpoint) {
  const size_t scheme = endpoint.find("://");
  const bool is_uri = scheme != std::string::npos && scheme > 0 && scheme + 3 < endpoint.size() &&
                      std::ranges::all_of(endpoint.substr(0, scheme), [](char c) {
                        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' ||
                               c == '-' || c == '.';
                      });
  if (is_uri) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(ToAbsl(where), ": ", Quoted(endpoint),
                   " is no endpoint; it is a URI like mysql://db1:3306/orders"));
}

}  // namespace locus::apps
