// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_PREFLIGHT_FACTS_H_
#define LOCUS_MIGRATION_PREFLIGHT_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/migration/fence.h"
#include "locus/migration/move.h"
#include "locus/migration/moved_table.h"
#include "migration/verify/checked_table.h"

// The facts that a preflight read about the servers of a move. They never change.

namespace locus::preflight {

// A fact, or why it could not be read.
template <typename T>
using Fact = absl::StatusOr<T>;

struct Column {
  std::string name;
  std::string type;       // as information_schema.COLUMNS.COLUMN_TYPE
  std::string collation;  // empty: none
  bool nullable = false;
  std::string extra;      // "auto_increment", "STORED GENERATED", ...
  std::string generated;  // the expression
  std::string default_value;
  bool no_pad = false;  // the collation distinguishes 'a' and 'a '
};

struct Key {
  std::string name;  // "PRIMARY" for the primary key
  std::vector<std::string> columns;
  std::vector<std::string> shape = {};  // the columns, "name(10)" where only a prefix is in it
};

struct ForeignKey {
  std::string name, table, referenced, on_delete, on_update;
  std::vector<std::string> columns = {}, referenced_columns = {};  // in pairs
};

struct Trigger {
  std::string name, table, definer;
  std::string timing = {}, event = {}, body = {}, sql_mode = {};
  std::string charset = {};  // of the client and of the connection, as it was made
  uint64_t order = 0;        // among those of one table, timing and event
};

struct Table {
  std::string engine;
  std::string type;    // "BASE TABLE", "SYSTEM VERSIONED", "VIEW"
  uint64_t rows = 0;   // an estimate of the server
  uint64_t bytes = 0;  // likewise, indexes included
  std::vector<Column> columns;
  std::vector<Key> keys;                 // unique ones only
  internal::TableSchema schema = {};     // what the comparison judges by
  std::vector<std::string> checks = {};  // CHECK clauses
  // Which rows its partitions take, "RANGE (year(`day`)) below 2027"; empty: all.
  std::string takes = {};
};

// All of a database that concerns the tables of the move.
struct Schema {
  std::map<std::string, Table> tables;   // of the move, those that exist
  std::vector<ForeignKey> foreign_keys;  // from or to such a table
  std::vector<Trigger> triggers;         // on such a table
  std::vector<std::string> functions;    // stored ones, by name
  std::vector<std::string> guarded;      // other tables, which have guards
  std::vector<std::string> unlisted;     // other tables, with a column of the order ID's name
};

struct FenceRow {
  uint32_t lo = 0, hi = 0, own_lo = 0, own_hi = 0, server_id = 0;
  std::string other;
};

// Rights of an account that a move does not survive.
struct Account {
  std::string name;                 // "NAME@HOST"
  std::vector<std::string> rights;  // "DROP on *.*"
};

struct Accounts {
  std::vector<std::string> anonymous;  // hosts of accounts without a name
  std::vector<std::string> proxies;    // "NAME@HOST", others than root
  std::vector<Account> dangerous;
  std::vector<std::string> known;  // all, "NAME@HOST"
};

// A session of a client.
struct Session {
  uint64_t id = 0;
  std::string account;  // "NAME@HOST"
};
// A table that an operator makes by the remedy of `open-sessions`, with the server_id behind its
// name, because replicas also get that of their primary. Its column `newest`: sessions with higher
// numbers began with what SET GLOBAL has set.
inline constexpr char kSessionMark[] = "locus_sessions_";

// A move of which the shard is the source, and that has not ended.
struct OpenMove {
  std::string name, phase;
  std::vector<FencedRange> ranges;
};

// One server, by the account of the mover.
struct Server {
  std::string place;   // "orders-a at 10.0.0.1:3306/shop"
  absl::Status login;  // not OK: nothing else was read
  std::string database;
  std::string user;                              // USER()
  std::string current_user;                      // CURRENT_USER()
  std::map<std::string, std::string> variables;  // all global ones
  std::vector<std::string> grants;               // SHOW GRANTS
  absl::Duration clock;                          // ahead of this host's
  // Binlog_Do_DB and Binlog_Ignore_DB of SHOW MASTER STATUS.
  Fact<std::vector<std::string>> binlog_filters = std::vector<std::string>();
  // Moved tables whose rows the newest log has as text; "": of a statement that does not say whose.
  Fact<std::vector<std::string>> text_writers = std::vector<std::string>();
  Fact<uint64_t> prepared = uint64_t{0};   // transactions that XA RECOVER shows
  Fact<uint64_t> connected = uint64_t{0};  // Threads_connected
  // Sessions that may write the log in the form that it had before SET GLOBAL.
  Fact<std::vector<Session>> old_sessions = std::vector<Session>();
};

// A replica that a failover may promote.
struct Candidate {
  Server server;
  // server_id of the primaries that it follows by GTID and whose events arrive.
  Fact<std::vector<uint64_t>> follows = std::vector<uint64_t>();
};

struct Shard {
  Server server;
  Fact<Schema> schema = Schema();
  // nullopt: the shard has no fence.
  Fact<std::optional<std::vector<FenceRow>>> fence = std::optional<std::vector<FenceRow>>();
  absl::Status guards;  // ShardFence::Verify
  // The moves that use version triggers here: begun and not cleaned up.
  Fact<std::vector<std::string>> moves = std::vector<std::string>();
  Fact<std::vector<OpenMove>> open_moves = std::vector<OpenMove>();
  Fact<Accounts> accounts = Accounts();
  std::vector<Candidate> candidates;
  // The server_ids of the primaries that it replicates from; empty also where that may not be read.
  std::vector<uint64_t> follows;
};

// A unique key of the source whose values may be in the target already.
struct Collision {
  std::string table, key;
  uint64_t compared = 0;  // rows of the source, taken from the moving vnodes
  uint64_t found = 0;     // of them, whose values are in the target
};

struct Facts {
  std::string move;
  bool begun = false;          // the target has a checkpoint or a copy of this move
  double copied_a_second = 0;  // rows, as its runner has measured; 0: it has copied none
  std::vector<FencedRange> ranges;
  std::vector<MovedTable> tables;
  std::vector<std::string> movers;
  std::vector<std::string> administrators;
  MovePace pace;
  Shard source, target;
  // Tables of the target with rows of the moving vnodes.
  Fact<std::vector<std::string>> strays = std::vector<std::string>();
  Fact<std::vector<Collision>> collisions = std::vector<Collision>();
};

}  // namespace locus::preflight

#endif  // LOCUS_MIGRATION_PREFLIGHT_FACTS_H_
