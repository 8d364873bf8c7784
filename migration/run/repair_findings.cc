// SPDX-License-Identifier: Apache-2.0
#include "migration/run/repair_findings.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "locus/migration/shard_fence.h"
#include "migration/apply/peer_bands.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/moved_tables.h"
#include "migration/mysql/marker_tables.h"
#include "migration/run/band_rows.h"
#include "migration/stream/stream_position.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::BandFence;
using internal::Phase;
using internal::Repair;
using internal::Side;
using internal::SqlText;
using stream::GtidPosition;

namespace {

constexpr size_t kMostLogs = 1'000'000;
constexpr int kMostLooks = 10;

std::string TextOf(const BandFence& row) {
  return absl::StrCat("[", row.own_lo, ", ", row.own_hi, ") at step ", row.step);
}

class Examination {
 public:
  Examination(const Move& move, const MoveRecord& record, ShardLink& source, ShardLink& target)
      : move_(move), record_(record), source_(source), target_(target) {}

  absl::StatusOr<std::vector<RepairFinding>> Run() {
    LOCUS_RETURN_IF_ERROR(LookAtFences());
    for (Side side : {Side::kSource, Side::kTarget}) {
      LOCUS_RETURN_IF_ERROR(LookAtTriggers(side));
      LOCUS_RETURN_IF_ERROR(LookAtRun(side));
    }
    for (Side recipient : {Side::kTarget, Side::kSource}) {
      LOCUS_RETURN_IF_ERROR(LookAtStream(recipient));
    }
    return std::move(findings_);
  }

 private:
  using Kind = RepairFinding::Kind;

  ShardLink& Link(Side side) { return side == Side::kSource ? source_ : target_; }
  const MoveShard& Shard(Side side) const {
    return side == Side::kSource ? move_.source : move_.target;
  }
  void Mended(Kind kind, Side side, std::string what, const Repair& by) {
    findings_.push_back({kind, Shard(side).name, std::move(what), by, ""});
  }
  void Left(Kind kind, Side side, std::string what, std::string remedy) {
    findings_.push_back({kind, Shard(side).name, std::move(what), {}, std::move(remedy)});
  }

  absl::Status LookAtFences() {
    std::optional<BandFence> rows[2];
    for (Side side : {Side::kSource, Side::kTarget}) {
      auto seen = BandRows(move_, side, Link(side)).ReadUnbound();
      if (absl::IsUnavailable(seen.status())) return seen.status();
      if (!seen.ok()) {
        Left(Kind::kWrong, side, absl::StrCat("table locus_fence: ", seen.status().message()),
             "compare its rows with the other shard's and with the share of the routing table, and "
             "write what is missing by hand: no command guesses which shard accepts an order");
        continue;
      }
      rows[side == Side::kTarget] = seen->row;
      if (seen->bound_to == 0) continue;
      Left(Kind::kWrong, side,
           absl::StrCat("table locus_fence: bound to server ", seen->bound_to, ", and server ",
                        seen->server, " answers"),
           "the runner binds it, or `locus move rebind`");
    }
    if (!rows[0] || !rows[1]) return absl::OkStatus();
    fences_ = {*rows[0], *rows[1]};
    if (SituationOf(*rows[0], *rows[1], internal::kCohorts).kind !=
        internal::Situation::Kind::kImpossible) {
      return absl::OkStatus();
    }
    Left(Kind::kWrong, Side::kSource,
         absl::StrCat("table locus_fence: it accepts cohorts ", TextOf(*rows[0]), ", ",
                      move_.target.name, " accepts ", TextOf(*rows[1])),
         "no step leads there: find out what changed them, and give both rows one step and one "
         "share; orders that both accepted may have two states");
    return absl::OkStatus();
  }

  absl::Status LookAtTriggers(Side side) {
    ShardLink& link = Link(side);
    LOCUS_ASSIGN_OR_RETURN(ShardFence fence,
                           ShardFence::Create(link.Options(), FenceOptionsOf(move_)));
    LOCUS_ASSIGN_OR_RETURN(std::vector<std::string> foreign, fence.ForeignTriggers());
    for (const std::string& name : foreign) {
      Left(Kind::kExcess, side, absl::StrCat("trigger ", name),
           "mend it on both shards, or drop it and do its work in the service");
    }
    LOCUS_ASSIGN_OR_RETURN(std::vector<FenceDifference> wrong, fence.Differences());
    LOCUS_ASSIGN_OR_RETURN(MovedTables tables,
                           MovedTables::Create(link.Options(), move_.tables, move_.movers));
    LOCUS_ASSIGN_OR_RETURN(std::vector<FenceDifference> more, tables.Differences(move_.name));
    // Both report a wrong order of triggers.
    for (FenceDifference& difference : more) {
      if (!absl::c_linear_search(wrong, difference)) wrong.push_back(std::move(difference));
    }
    for (const FenceDifference& difference : wrong) NoteDifference(side, difference);
    return absl::OkStatus();
  }

  void NoteDifference(Side side, const FenceDifference& difference) {
    using Different = FenceDifference::Kind;
    const Repair again{true, false, false};
    switch (difference.kind) {
      case Different::kBoundElsewhere:  // LookAtFences has reported it
        return;
      case Different::kTombstonesMissing:
        return Left(Kind::kLost, side, difference.text,
                    "which orders were deleted is not known there any more: copy the table from "
                    "the other shard by mariadb-dump --skip-add-drop-table, then repeat the "
                    "command");
      case Different::kTombstonesOld:
        return Left(Kind::kWrong, side, difference.text, "no command does it by itself");
      case Different::kTriggerMissing:
      case Different::kVnodesMissing:
      case Different::kUseNotNoted:
        return Mended(Kind::kLost, side, difference.text, again);
      case Different::kTriggerBody:
      case Different::kTriggerOther:
      case Different::kVnodesWrong:
      case Different::kPostsMissing:
        return Mended(Kind::kWrong, side, difference.text, again);
    }
  }

  absl::Status LookAtRun(Side side) {
    if (record_.run == 0) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(std::optional<Result::Row> row,
                           RowOf(side, absl::StrCat("SELECT run FROM ", kRuns,
                                                    " WHERE move = ", SqlText(move_.name))));
    if (row && (*row)[0] == absl::StrCat(record_.run)) return absl::OkStatus();
    Left(row ? Kind::kWrong : Kind::kLost, side,
         absl::StrCat("table ", kRuns, row ? ": another run has the move" : ": has no row of it"),
         "stop `locus move run` and start it again: it writes the row");
    return absl::OkStatus();
  }

  // nullopt: there is none, or no table.
  absl::StatusOr<std::optional<Result::Row>> RowOf(Side side, const std::string& select) {
    auto results = Link(side).Run(select, {AtMostOneRow(1)});
    if (Link(side).error() == kNoSuchTable) return std::optional<Result::Row>();
    LOCUS_RETURN_IF_ERROR(results.status());
    if ((*results)[0].rows.empty()) return std::optional<Result::Row>();
    return std::optional<Result::Row>((*results)[0].rows[0]);
  }

  // Of the stream to this shard.
  absl::Status LookAtStream(Side recipient) {
    const bool forth = recipient == Side::kTarget;
    const Side from = Other(recipient);
    const internal::Seeding& seeding = record_.seeding;
    // A stream that is about to begin has no checkpoint yet.
    const bool begins =
        record_.phase == Phase::kStreaming && (forth ? seeding.forth : seeding.back);
    const bool runs = forth || record_.phase >= Phase::kReady || seeding.again;
    if (begins || !runs) return absl::OkStatus();
    const Repair by{true, forth, !forth};
    LOCUS_ASSIGN_OR_RETURN(
        std::optional<Result::Row> row,
        RowOf(recipient, absl::StrCat("SELECT position FROM ", kCheckpoints,
                                      " WHERE move = ", SqlText(move_.name),
                                      " AND direction = ", static_cast<int>(recipient))));
    if (!row) {
      // Where it never accepted an order, the stream may begin at any time.
      const BandFence& own = forth ? fences_.first : fences_.second;
      if (own.own_lo >= own.own_hi && own.token_nonce == 0) return absl::OkStatus();
      Mended(Kind::kLost, recipient,
             absl::StrCat("table ", kCheckpoints, ": how far the stream from ", Shard(from).name,
                          " has come"),
             by);
      return absl::OkStatus();
    }
    LOCUS_ASSIGN_OR_RETURN(const stream::StreamPosition stored,
                           stream::StreamPosition::Parse((*row)[0].value_or("")));
    const GtidPosition& position = stored.gtids;
    LOCUS_ASSIGN_OR_RETURN(GtidPosition oldest, OldestOf(from));
    if (position.Covers(oldest)) return LookAtTheEnd(recipient, position, by);
    Mended(Kind::kLost, from,
           absl::StrCat("binary log: what the stream to ", Shard(recipient).name,
                        " needs was purged; it has come to ", position.ToString(),
                        ", and the log begins behind ", oldest.ToString()),
           by);
    return absl::OkStatus();
  }

  // A server that was promoted or restored may lack transactions that the other shard has read from
  // the old one.
  absl::Status LookAtTheEnd(Side recipient, const GtidPosition& position, const Repair& by) {
    const Side from = Other(recipient);
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> found,
        Link(from).Run("SELECT COALESCE(@@GLOBAL.gtid_binlog_pos, '')", {OneRow(1)}));
    LOCUS_ASSIGN_OR_RETURN(GtidPosition end, GtidPosition::Parse(found[0].rows[0][0].value_or("")));
    if (end.Covers(position)) return absl::OkStatus();
    Mended(Kind::kLost, from,
           absl::StrCat("binary log: it ends at ", end.ToString(), ", and the stream to ",
                        Shard(recipient).name, " has come to ", position.ToString(),
                        ": the server was promoted or restored without its last transactions"),
           by);
    return absl::OkStatus();
  }

  // The position behind which the shard's oldest log begins.
  absl::StatusOr<GtidPosition> OldestOf(Side side) {
    ShardLink& link = Link(side);
    for (int attempt = 0; attempt < kMostLooks; ++attempt) {
      LOCUS_ASSIGN_OR_RETURN(std::vector<Result> logs,
                             link.Run("SHOW BINARY LOGS", {Rows(2, kMostLogs)}));
      if (logs[0].rows.empty()) return GtidPosition();
      LOCUS_ASSIGN_OR_RETURN(
          std::vector<Result> found,
          link.Run(absl::StrCat("SELECT BINLOG_GTID_POS(", SqlText(logs[0].rows[0][0].value_or("")),
                                ", 4)"),
                   {OneRow(1)}));
      // NULL: the log was purged between the two statements.
      if (found[0].rows[0][0]) return GtidPosition::Parse(*found[0].rows[0][0]);
    }
    return absl::UnavailableError(
        absl::StrCat("mariadb ", link.place(), ": its oldest binary log cannot be read"));
  }

  const Move& move_;
  const MoveRecord& record_;
  ShardLink& source_;
  ShardLink& target_;
  std::pair<BandFence, BandFence> fences_;  // of source and target
  std::vector<RepairFinding> findings_;
};

}  // namespace

std::string_view ToString(RepairFinding::Kind kind) {
  switch (kind) {
    case RepairFinding::Kind::kLost:
      return "lost";
    case RepairFinding::Kind::kWrong:
      return "wrong";
    case RepairFinding::Kind::kExcess:
      return "in excess";
  }
  return "?";
}

absl::StatusOr<std::vector<RepairFinding>> FindingsOf(const Move& move, const MoveRecord& record,
                                                      ShardLink& source, ShardLink& target) {
  if (record.phase < Phase::kStreaming || record.phase > Phase::kFinalizing) {
    return std::vector<RepairFinding>();
  }
  return Examination(move, record, source, target).Run();
}

}  // namespace locus::mysql
