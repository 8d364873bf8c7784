// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "locus/routing/rebalance.h"
#include "src/base/os/check.h"

// Any bytes are refused with a JSON Pointer or make a plan for a fixed table that survives its JSON
// form, and whose moves can begin or are refused as overtaken.

namespace locus {
namespace {

// Two shards, a ring that wraps, one move under way.
const RoutingTable& Table() {
  static const RoutingTable table =
      RoutingTable::Make(5,
                         {{.id = 1, .name = "a", .endpoint = "mysql://a", .labels = {}},
                          {.id = 2, .name = "b", .endpoint = "mysql://b", .labels = {}}},
                         {{32767, 1}, {65000, 2}}, {{0, 9, 2, 500}})
          .value();
  return table;
}

void CheckAccepted(const RebalancePlan& plan) {
  absl::StatusOr<RoutingTable> next = NextMoves(Table(), plan, 2);
  LOCUS_CHECK(next.ok() || next.status().code() == absl::StatusCode::kAborted);
  LOCUS_CHECK(AfterRebalance(plan).moves().empty());
  absl::StatusOr<RebalancePlan> again = ParsePlan(plan.table, PlanAsJson(plan));
  // A plan of an earlier epoch is now held against the owners of this one.
  if (next.ok() && again.ok()) LOCUS_CHECK(*again == plan);
}

void CheckRefusal(const absl::Status& status) {
  LOCUS_CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  absl::string_view message = status.message();
  LOCUS_CHECK(!message.empty() && message[0] != ':');
  LOCUS_CHECK(message[0] != '/' || message.find(": ") != absl::string_view::npos);
}

}  // namespace
}  // namespace locus

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(bytes), size);
  absl::StatusOr<locus::RebalancePlan> plan = locus::ParsePlan(locus::Table(), text);
  if (plan.ok()) {
    locus::CheckAccepted(*plan);
  } else {
    locus::CheckRefusal(plan.status());
  }
  return 0;
}
