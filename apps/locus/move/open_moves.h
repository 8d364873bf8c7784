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
#include "apps/shared/moves/move_file.h"
#include "apps/shared/moves/own_moves.h"
#include "locus/routing/table_publisher.h"
#include "migration/preflight/preflight.h"
#include "migration/run/move_control.h"

namespace locus::cli {

// What every `locus move` verb takes: the move file, and which of its moves are meant.
struct MoveOperand {
  std::string file;
  std::optional<std::string> only;  // the name of one move
};
void AddMoveOperand(VerbLine& line, MoveOperand& operand);

// A move file, and the routing table of the place that it names.
struct OpenedFile {
  apps::MoveFile file;
  std::unique_ptr<TablePublisher> publisher;
  RoutingTable table;
};

// Errors of ParseMoveFile and of the place.
absl::StatusOr<OpenedFile> OpenMoveFile(const std::string& path);

// A move file with all that it leads to.
struct OpenedMoves {
  apps::MoveFile file;
  std::unique_ptr<TablePublisher> publisher;
  RoutingTable table;
  std::vector<Move> moves;  // OwnMovesOf
  // Of shards that did not answer, and of records that cannot be read, each after "; ": they may
  // be moves of the file.
  std::string unheard;
};

enum class NoMoves { kAreNotFound, kAreFine };

// NOT_FOUND: there is no such move. Otherwise errors of ParseMoveFile, of the place and of
// OwnMovesOf.
absl::StatusOr<OpenedMoves> OpenMoves(const MoveOperand& operand,
                                      apps::NotBegun not_begun = apps::NotBegun::kIfNoneHasBegun,
                                      NoMoves no_moves = NoMoves::kAreNotFound);

// What preflight looks at for one of the moves.
mysql::PreflightOptions PreflightOptionsOf(const apps::MoveFile& file, const Move& move);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_MOVE_OPEN_MOVES_H_
