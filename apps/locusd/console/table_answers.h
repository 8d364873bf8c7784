// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_TABLE_ANSWERS_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_TABLE_ANSWERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/locusd/console/plan_request.h"
#include "apps/locusd/console/shard_writes.h"
#include "locus/engine/locusd_cluster.h"
#include "locus/routing/router.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/table_publisher.h"

// The console's answers about routing tables, as web/src/api.ts has them: JSON texts.
namespace locus::locusd {

// `TableSourceState`.
std::string SourceJson(const RouterStats& stats, const std::string& place);
// `TableAnswer`. `source`: JSON.
std::string TableJson(const RoutingTable& table, const std::string& source);
// The event "table".
std::string TableEventJson(const RoutingTable& table, const std::string& source);
// `ShardsAnswer`. `load`: of each vnode, in order IDs a second; empty: it is not known, and
// `why_absent` says why.
// `writes`: what the shards say themselves.
std::string ShardsJson(const RoutingTable& table, const std::vector<double>& load,
                       absl::Duration window, const std::string& why_absent,
                       const ShardWrites& writes);
// `table_moves` of `MovesAnswer`: a move for each run of vnodes of one owner.
std::string TableMovesJson(const RoutingTable& table);
// `TableDiff`.
std::string DiffJson(const RoutingTable& before, const RoutingTable& after);

// `PlanAnswer`: what the request makes of `table`. `load`: as for ShardsJson, where it is asked
// for. Errors of PlanRebalance, ParsePlan and NextMoves.
absl::StatusOr<std::string> PlanJson(const RoutingTable& table, PlanRequest request,
                                     const std::vector<double>& load);

// `PublishAnswer`, once it is published. ABORTED: somebody else published since, or the digest is
// of another table. Otherwise errors of ParsePlan, NextMoves and the publisher.
absl::StatusOr<std::string> Publish(TablePublisher& publisher, const PublishRequest& request,
                                    const std::string& author);

// Of the next table's document: 64 hex digits.
std::string DigestOf(const RoutingTable& table);

// `MembersAnswer`.
std::string MembersJson(const LocusdClusterView& view);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_TABLE_ANSWERS_H_
