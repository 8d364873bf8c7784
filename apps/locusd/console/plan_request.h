// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_PLAN_REQUEST_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_PLAN_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "locus/routing/rebalance.h"

namespace locus::locusd {

// What POST /v1/plan asks for: `PlanRequest` of web/src/api.ts.
struct PlanRequest {
  std::optional<uint64_t> epoch;
  RebalanceRequest change;  // without load
  bool by_ids = false;      // divide by the order IDs of this process
  std::string plan;         // JSON of one that was made before; empty: plan anew
  size_t most_per_shard = 1;
};
// INVALID_ARGUMENT, naming the member and what it must be: the text is no such JSON; a member that
// is not known; more than 1,000 shards in a list; a plan beside changes. Of a member that is
// repeated, the last one counts.
absl::StatusOr<PlanRequest> ParsePlanRequest(std::string_view body);

// What POST /v1/plan:publish asks for.
struct PublishRequest {
  uint64_t epoch = 0;
  std::string plan;    // JSON
  std::string digest;  // 64 hex digits
  std::string reason;  // PublicationNote::reason; may be empty
  size_t most_per_shard = 1;
};
absl::StatusOr<PublishRequest> ParsePublishRequest(std::string_view body);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_PLAN_REQUEST_H_
