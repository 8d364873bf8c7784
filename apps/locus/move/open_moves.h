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
#include "migration/engine/mariadb/preflight/preflight.h"
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
  std::vector<Move> moves;  // OwnMovesOf
  // Of shards that did not answer, and of records that cannot be read, each after "; ": they may
  // be moves of the file.
  std::string unheard;
};

// Whether moves of the table that nobody has begun are the file's, too.
enum class NotBegun {
  kIfNoneHasBegun,  // only while the file has begun no move at all
  kAlso,            // for what begins moves
};

// The moves of a file, ordered by name: those that their source remembers under the file's name,
// also where the table does not have them any more, and those that nobody has begun. A move that
// was begun under another file's name, and its vnodes, are left out. NOT_FOUND: there are none.
// Otherwise errors of MoveLegsOf and MovesOf.
// `unheard` is set as that of OpenedMoves.
absl::StatusOr<std::vector<Move>> OwnMovesOf(const MoveFile& file, const RoutingTable& table,
                                             NotBegun not_begun, std::string& unheard);

enum class NoMoves { kAreNotFound, kAreFine };

// NOT_FOUND: there is no such move. Otherwise errors of ParseMoveFile, of the place and of
// OwnMovesOf.
absl::StatusOr<OpenedMoves> OpenMoves(const MoveOperand& operand,
                                      NotBegun not_begun = NotBegun::kIfNoneHasBegun,
                                      NoMoves no_moves = NoMoves::kAreNotFound);

// What preflight looks at for one of the moves.
mariadb::PreflightOptions PreflightOptionsOf(const MoveFile& file, const Move& move);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_MOVE_OPEN_MOVES_H_
