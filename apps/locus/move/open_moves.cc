// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/move/open_moves.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/locus/io/byte_stream.h"
#include "apps/locus/place/open_table.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using apps::CandidatesOf;
using apps::MoveFile;
using apps::NotBegun;
using apps::OwnMovesOf;
using apps::ParseMoveFile;
using internal::Quoted;

void AddMoveOperand(VerbLine& line, MoveOperand& operand) {
  line.File("MOVE-FILE", &operand.file, FileUse::kRead,
            "The move file, as `locus move new` writes it");
  line.Text("--only NAME", &operand.only, "One move of the file, such as peak.1>2 [all]");
}

absl::StatusOr<OpenedFile> OpenMoveFile(const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(std::string text, ReadWhole(path));
  LOCUS_ASSIGN_OR_RETURN(MoveFile file, ParseMoveFile(text, path));
  absl::StatusOr<TableUri> uri = TableUri::Parse(file.table);
  if (!uri.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": table: ", uri.status().message()));
  }
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<TablePublisher> publisher, OpenTablePublisher(*uri));
  LOCUS_ASSIGN_OR_RETURN(RoutingTable table, publisher->Current());
  return OpenedFile{std::move(file), std::move(publisher), std::move(table)};
}

absl::StatusOr<OpenedMoves> OpenMoves(const MoveOperand& operand, NotBegun not_begun,
                                      NoMoves no_moves) {
  LOCUS_ASSIGN_OR_RETURN(OpenedFile opened, OpenMoveFile(operand.file));
  auto& [file, publisher, table] = opened;
  std::vector<Move> moves;
  std::string unheard;
  auto found = OwnMovesOf(file, table, not_begun, unheard);
  if (found.ok()) {
    moves = *std::move(found);
  } else if (!absl::IsNotFound(found.status()) || no_moves == NoMoves::kAreNotFound) {
    return found.status();
  }
  if (operand.only) {
    std::vector<std::string> names;
    for (const Move& move : moves) names.push_back(move.name);
    std::erase_if(moves, [&](const Move& move) { return move.name != *operand.only; });
    if (moves.empty()) {
      return absl::NotFoundError(absl::StrCat("--only: there is no move ", Quoted(*operand.only),
                                              "; there are ", absl::StrJoin(names, ", ")));
    }
  }
  return OpenedMoves{std::move(file), std::move(publisher), std::move(table), std::move(moves),
                     std::move(unheard)};
}

mysql::PreflightOptions PreflightOptionsOf(const MoveFile& file, const Move& move) {
  mysql::PreflightOptions options;
  options.move = move;
  options.pace = file.pace;
  options.administrators = file.administrators;
  options.source_candidates = CandidatesOf(file, move.source);
  options.target_candidates = CandidatesOf(file, move.target);
  return options;
}

}  // namespace locus::cli
