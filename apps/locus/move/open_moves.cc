// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/move/open_moves.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/locus/io/byte_stream.h"
#include "apps/locus/place/open_table.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus::cli {

using internal::Quoted;

namespace {

// The moves under the file's name that the sources among the shards remember and the table does not
// have: they were finalized or aborted. `unheard`: what shards said that did not answer.
absl::StatusOr<std::vector<MoveLeg>> LegsRemembered(const MoveFile& file, const RoutingTable& table,
                                                    const std::vector<MoveLeg>& known,
                                                    std::string& unheard) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<MoveShard> shards, ShardsOf(file, table));
  std::vector<MoveLeg> legs;
  for (const MoveShard& shard : shards) {
    auto records = mariadb::MovesRemembered(shard.server);
    // A shard that does not answer may remember none: what needs it says so.
    if (!records.ok()) {
      absl::StrAppend(&unheard, "; ", records.status().message());
      continue;
    }
    for (const mariadb::MoveRecord& record : *records) {
      const bool ours = record.name == MoveNameOf(file, record.leg);
      const bool there = std::any_of(known.begin(), known.end(), [&](const MoveLeg& leg) {
        return leg.source == record.leg.source && leg.target == record.leg.target;
      });
      if (ours && !there) legs.push_back(record.leg);
    }
  }
  return legs;
}

}  // namespace

void AddMoveOperand(VerbLine& line, MoveOperand& operand) {
  line.File("MOVE-FILE", &operand.file, FileUse::kRead,
            "The move file, as `locus move new` writes it");
  line.Text("--only NAME", &operand.only, "One move of the file, such as peak.1>2 [all]");
}

absl::StatusOr<OpenedMoves> OpenMoves(const MoveOperand& operand) {
  LOCUS_ASSIGN_OR_RETURN(std::string text, ReadWhole(operand.file));
  LOCUS_ASSIGN_OR_RETURN(MoveFile file, ParseMoveFile(text, operand.file));
  absl::StatusOr<TableUri> uri = TableUri::Parse(file.table);
  if (!uri.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(operand.file, ": table: ", uri.status().message()));
  }
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<TablePublisher> publisher, OpenTablePublisher(*uri));
  LOCUS_ASSIGN_OR_RETURN(RoutingTable table, publisher->Current());
  LOCUS_ASSIGN_OR_RETURN(std::vector<MoveLeg> legs, MoveLegsOf(table));
  std::string unheard;
  LOCUS_ASSIGN_OR_RETURN(std::vector<MoveLeg> ended, LegsRemembered(file, table, legs, unheard));
  legs.insert(legs.end(), ended.begin(), ended.end());
  if (legs.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "epoch ", table.epoch(),
        " of the routing table has no moves, and no shard remembers one of ", Quoted(file.name),
        ": `locus plan apply` begins those of a plan, at permyriad 0", unheard));
  }
  LOCUS_ASSIGN_OR_RETURN(std::vector<Move> moves, MovesOf(file, table, legs));
  if (operand.only) {
    std::vector<std::string> names;
    for (const Move& move : moves) names.push_back(move.name);
    std::erase_if(moves, [&](const Move& move) { return move.name != *operand.only; });
    if (moves.empty()) {
      return absl::NotFoundError(absl::StrCat("--only: there is no move ", Quoted(*operand.only),
                                              "; there are ", absl::StrJoin(names, ", ")));
    }
  }
  std::sort(moves.begin(), moves.end(),
            [](const Move& a, const Move& b) { return a.name < b.name; });
  return OpenedMoves{std::move(file), std::move(publisher), std::move(table), std::move(moves)};
}

mariadb::PreflightOptions PreflightOptionsOf(const MoveFile& file, const Move& move) {
  mariadb::PreflightOptions options;
  options.move = move;
  options.pace = file.pace;
  options.administrators = file.administrators;
  options.source_candidates = CandidatesOf(file, move.source);
  options.target_candidates = CandidatesOf(file, move.target);
  return options;
}

}  // namespace locus::cli
