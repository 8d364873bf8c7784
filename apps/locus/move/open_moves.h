// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_MOVE_OPEN_MOVES_H_
#define LOCUS_APPS_LOCUS_MOVE_OPEN_MOVES_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/move/move_file.h"
#include "locus/routing/table_publisher.h"
#include "migration/engine/mariadb/preflight.h"
#include "migration/engine/mariadb/run/move_control.h"

namespace locus::cli {

// What every `locus move` verb takes: the move file, and which of its moves are meant.
struct MoveOperand {
  std::string file;
  std::optional<std::string> only;  // the name of one move
};
void AddMoveOperand(VerbLine& line, MoveOperand& operand);

// A move file with all that it leads to.
struct OpenedMoves {
  MoveFile file;
  std::unique_ptr<TablePublisher> publisher;
  RoutingTable table;
  // The moves of the table, and those that it does not have any more, but that a source remembers
  // under this file's name. Ordered by name.
  std::vector<Move> moves;
};

// NOT_FOUND: there is no such move. Otherwise errors of ParseMoveFile, of the place and of MovesOf.
absl::StatusOr<OpenedMoves> OpenMoves(const MoveOperand& operand);

// What preflight looks at for one of the moves.
mariadb::PreflightOptions PreflightOptionsOf(const MoveFile& file, const Move& move);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_MOVE_OPEN_MOVES_H_
