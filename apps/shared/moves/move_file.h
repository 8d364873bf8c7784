// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_SHARED_MOVES_MOVE_FILE_H_
#define LOCUS_APPS_SHARED_MOVES_MOVE_FILE_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/engine/mysql.h"
#include "locus/migration/move.h"
#include "locus/migration/moved_table.h"
#include "locus/routing/routing_table.h"

// The move file: all that the moves of a routing table need and the table does not say. TOML;
// docs/move/move-file.md describes it, and `locus move new` writes one with every option explained.

namespace locus::apps {

struct MoveFile {
  // 1 to 40 bytes of a-z, 0-9, '-', '_' and '.'; the moves are named after it, "peak.1>2".
  std::string name;
  std::string table;  // the routing table: a file, or the URI of a place
  // Those of the table's moves that are this file's, by source and target; empty: all that no other
  // file has begun.
  std::vector<std::pair<uint32_t, uint32_t>> moves;
  bool Names(const MoveLeg& leg) const;
  std::vector<MovedTable> tables;
  std::vector<std::string> movers;  // as in FenceOptions
  // Accounts "NAME@HOST", beside root, that may have rights which the move cannot survive, since
  // their owners know of it.
  std::vector<std::string> administrators;

  // How the mover logs in, on every shard: user, TLS and timeouts. Hosts and database are those of
  // the shards.
  MysqlOptions mover;
  std::string password_file;  // permissions 0600, the password in its first line

  struct ShardPlaces {
    std::vector<MysqlOptions::Host> hosts;       // empty: that of the endpoint
    std::vector<MysqlOptions::Host> candidates;  // replicas that a failover may promote
  };
  std::map<std::string, ShardPlaces> shards;  // by the name in the routing table

  MovePace pace;
  MoveGates gates;
};

// MoveFile::name. INVALID_ARGUMENT: what it must be.
absl::StatusOr<std::string> ReadMoveFileName(std::string_view text);

// INVALID_ARGUMENT names everything that is wrong, each as "PATH:LINE:COLUMN: what"; at most ten.
absl::StatusOr<MoveFile> ParseMoveFile(std::string_view text, const std::string& path);

// The moves of the table, each named after its leg, with the mover's password. INVALID_ARGUMENT:
// an endpoint that is not one of MariaDB, a shard of the file that the table does not have, two
// shards of the moves in one place. FAILED_PRECONDITION: the table has no moves, or
// those of MoveLegsOf; NOT_FOUND and others: of ReadPrivateFile.
absl::StatusOr<std::vector<Move>> MovesOf(const MoveFile& file, const RoutingTable& table);
// The same for these legs, which the table need not have any more.
absl::StatusOr<std::vector<Move>> MovesOf(const MoveFile& file, const RoutingTable& table,
                                          const std::vector<MoveLeg>& legs);
// "peak.1>2".
std::string MoveNameOf(const MoveFile& file, const MoveLeg& leg);
// The shards of the table that MariaDB serves, with the mover's account. Errors of MovesOf.
absl::StatusOr<std::vector<MoveShard>> ShardsOf(const MoveFile& file, const RoutingTable& table);

// The failover candidates of a shard of such a move; the account is the shard's.
std::vector<MysqlOptions> CandidatesOf(const MoveFile& file, const MoveShard& shard);

// The text of a file for the moves of the table, with every option and its default, unit and
// consequence. What only the operator knows is made up: tables, accounts, the password's file.
std::string NewMoveFile(const std::string& name, const std::string& table_place,
                        const RoutingTable& table);

}  // namespace locus::apps

#endif  // LOCUS_APPS_SHARED_MOVES_MOVE_FILE_H_
