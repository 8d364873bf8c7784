// SPDX-License-Identifier: Apache-2.0
// The tables and triggers that a runner makes in both shards before its move.
#include "absl/strings/str_cat.h"
#include "locus/migration/shard_fence.h"
#include "migration/fence/moved_tables.h"
#include "migration/fence/table_triggers.h"
#include "migration/preflight/judge.h"
#include "migration/preflight/preflight_schema.h"
#include "migration/run/move_runner.h"
#include "migration/run/tombstones.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::Quoted;

namespace {

absl::Status ReadTables(ShardLink& link, const Move& move, const MoveShard& shard,
                        preflight::Shard& facts) {
  constexpr size_t kMost = 65536;
  facts.server.place = shard.name;
  facts.server.database = shard.server.database;
  facts.server.user = shard.server.user;
  facts.schema = ReadSchema(
      [&](const std::string& statement,
          unsigned columns) -> absl::StatusOr<std::vector<Result::Row>> {
        LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results,
                               link.Run(statement, {Rows(columns, kMost)}));
        return std::move(results[0].rows);
      },
      move.tables);
  return facts.schema.status();
}

// The same rules as preflight: `move run` may begin a move for which preflight never ran.
absl::Status JudgeTables(ShardLink& source, ShardLink& target, const Move& move) {
  preflight::Facts facts;
  facts.move = move.name;
  facts.ranges = move.ranges;
  facts.tables = move.tables;
  facts.movers = move.movers;
  LOCUS_RETURN_IF_ERROR(ReadTables(source, move, move.source, facts.source));
  LOCUS_RETURN_IF_ERROR(ReadTables(target, move, move.target, facts.target));
  for (const preflight::Finding& finding : preflight::JudgeMovedTables(facts)) {
    if (finding.ok) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(finding.check, finding.place.empty() ? "" : " ", finding.place, ": ",
                     finding.found, "; needed: ", finding.needed, "; ", finding.remedy));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MoveRunner::InstallFence(const MoveShard& shard, const RoutingTable& table) {
  ShardLink& link = shard.id == move_.source.id ? *source_ : *target_;
  LOCUS_ASSIGN_OR_RETURN(ShardFence fence,
                         ShardFence::Create(link.Options(), FenceOptionsOf(move_)));
  auto rows = link.Run("SELECT COUNT(*) FROM locus_fence", {OneRow(1)});
  if (!rows.ok() && link.error() != kNoSuchTable) return rows.status();
  if (rows.ok() && fence.VerifyTriggers().ok()) return absl::OkStatus();
  // Moves of other vnodes may be under way; while the fence is new, none has handed over a band.
  for (const VnodeMove& move : table.moves()) {
    if (rows.ok() || move.permyriad == 0) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("shard ", Quoted(shard.name), " has no fence, and vnodes ", move.first, "-",
                     move.last, " are moving already; end that move first"));
  }
  LOCUS_ASSIGN_OR_RETURN(
      RoutingTable without,
      RoutingTable::Make(table.epoch(), table.shards(), table.ranges(), {}, table.table_id()));
  return fence.Install(without, shard.id);
}

absl::Status MoveRunner::PrepareShard(const MoveShard& shard, const RoutingTable& table,
                                      ShardLink& link) {
  LOCUS_RETURN_IF_ERROR(InstallFence(shard, table));
  LOCUS_ASSIGN_OR_RETURN(MovedTables tables,
                         MovedTables::Create(link.Options(), move_.tables, move_.movers));
  LOCUS_RETURN_IF_ERROR(tables.Install(move_.name));
  return shard.id == move_.target.id ? ForgetTombstones(link, move_, run_) : absl::OkStatus();
}

absl::Status MoveRunner::PrepareLocked(ShardLink& link, const std::function<absl::Status()>& work) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> locked,
      link.Run(absl::StrCat("SELECT GET_LOCK(", kTriggersLock, ", 2)"), {OneRow(1)}));
  if (locked[0].rows[0][0] != "1") {
    return absl::UnavailableError(
        absl::StrCat("mariadb ", link.place(), ": another move is being prepared there"));
  }
  const absl::Status prepared = work();
  LOCUS_RETURN_IF_ERROR(link.Run("DO RELEASE_ALL_LOCKS()").status());
  return prepared;
}

absl::Status MoveRunner::Prepare() {
  // `locus move start` may have been repeated with an edited file meanwhile.
  LOCUS_RETURN_IF_ERROR(records_->CheckTables(move_.name, move_.tables));
  LOCUS_ASSIGN_OR_RETURN(RoutingTable table, publisher_.Current());
  const internal::TableSight seen = internal::SightOf(table, record_.leg);
  if (seen.kind != internal::TableSight::Kind::kUnderWay || seen.share != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("epoch ", table.epoch(),
                     " does not begin this move at share 0; `locus plan apply` and "
                     "`locus table publish` do"));
  }
  LOCUS_RETURN_IF_ERROR(JudgeTables(*source_, *target_, move_));
  for (const MoveShard* shard : {&move_.source, &move_.target}) {
    ShardLink& link = shard == &move_.source ? *source_ : *target_;
    LOCUS_RETURN_IF_ERROR(PrepareLocked(link, [&] { return PrepareShard(*shard, table, link); }));
  }
  return absl::OkStatus();
}

}  // namespace locus::mysql
