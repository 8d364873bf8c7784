// SPDX-License-Identifier: Apache-2.0
#include "migration/preflight/preflight.h"

#include <mysql.h>

#include <algorithm>
#include <map>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "locus/migration/shard_fence.h"
#include "migration/fence/guard_sql.h"
#include "migration/mysql/marker_tables.h"
#include "migration/preflight/open_sessions.h"
#include "migration/preflight/preflight_rows.h"
#include "migration/preflight/preflight_schema.h"
#include "migration/preflight/text_writers.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/connection.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/login.h"
#include "src/engine/mysql/sigpipe.h"

namespace locus::mysql {

using internal::SqlText;
using preflight::Fact;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr size_t kMost = 65536;

// One server, asked one statement at a time.
class Asked {
 public:
  static absl::StatusOr<Asked> Open(const MysqlOptions& options) {
    absl::Status last;
    for (const MysqlOptions::Host& host : options.hosts) {
      auto connection = Connection::Open(
          options, host, options.password.c_str(), Connection::Access::kRead,
          SteadyClock::now() +
              absl::ToChronoNanoseconds(options.connect_timeout + options.timeout));
      if (connection.ok()) return Asked(options, *std::move(connection));
      last = connection.status();
    }
    return last;
  }

  absl::StatusOr<std::vector<Result::Row>> Rows(const std::string& statement, unsigned columns) {
    connection_->set_deadline(SteadyClock::now() + absl::ToChronoNanoseconds(options_.timeout));
    LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results,
                           connection_->Run(statement, {mysql::Rows(columns, kMost)}));
    return std::move(results[0].rows);
  }
  unsigned error() const { return connection_->error(); }

 private:
  Asked(const MysqlOptions& options, std::unique_ptr<Connection> connection)
      : options_(options), connection_(std::move(connection)) {}

  MysqlOptions options_;
  std::unique_ptr<Connection> connection_;
};

Fact<std::vector<std::string>> BinlogFilters(Asked& asked) {
  LOCUS_ASSIGN_OR_RETURN(auto rows, asked.Rows("SHOW MASTER STATUS", 4));
  std::vector<std::string> filters;
  for (const Result::Row& row : rows) {
    if (!Text(row, 2).empty()) filters.push_back("binlog_do_db = " + Text(row, 2));
    if (!Text(row, 3).empty()) filters.push_back("binlog_ignore_db = " + Text(row, 3));
  }
  return filters;
}

absl::Status ReadServer(Asked& asked, preflight::Server& server) {
  const absl::Time before = absl::Now();
  LOCUS_ASSIGN_OR_RETURN(auto rows,
                         asked.Rows("SELECT USER(), CURRENT_USER(), DATABASE(),"
                                    " CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS UNSIGNED)",
                                    4));
  const absl::Time middle = before + (absl::Now() - before) / 2;
  server.user = Text(rows[0], 0);
  server.current_user = Text(rows[0], 1);
  server.database = Text(rows[0], 2);
  server.clock = absl::FromUnixMicros(static_cast<int64_t>(Natural(rows[0], 3))) - middle;
  LOCUS_ASSIGN_OR_RETURN(rows, asked.Rows("SELECT LOWER(VARIABLE_NAME), VARIABLE_VALUE FROM"
                                          " information_schema.GLOBAL_VARIABLES",
                                          2));
  for (const Result::Row& row : rows) server.variables[Text(row, 0)] = Text(row, 1);
  LOCUS_ASSIGN_OR_RETURN(rows, asked.Rows("SHOW GRANTS", 1));
  for (const Result::Row& row : rows) server.grants.push_back(Text(row, 0));
  server.binlog_filters = BinlogFilters(asked);
  auto prepared = asked.Rows("XA RECOVER", 4);
  server.prepared = prepared.ok() ? Fact<uint64_t>(prepared->size()) : prepared.status();
  auto connected = asked.Rows(
      "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE"
      " VARIABLE_NAME = 'THREADS_CONNECTED'",
      1);
  server.connected = connected.ok() && !connected->empty()
                         ? Fact<uint64_t>(Natural((*connected)[0], 0))
                         : connected.status();
  return absl::OkStatus();
}

// `name` and where it is: the hosts of the options, until the server says more.
std::string PlaceOf(const std::string& name, const MysqlOptions& options) {
  return absl::StrCat(name, " at ", options.hosts[0].name, ":", options.hosts[0].port, "/",
                      options.database);
}

Fact<std::vector<std::string>> ReadTextWriters(Asked& asked, const preflight::Server& server,
                                               const MysqlOptions& options,
                                               const std::vector<MovedTable>& tables) {
  std::vector<std::string> names;
  for (const MovedTable& table : tables) names.push_back(table.guard.name);
  auto logs = asked.Rows("SHOW MASTER STATUS", 4);
  // Other findings report a missing log, or a missing right to see it.
  if (!logs.ok() || logs->empty()) return std::vector<std::string>();
  LOCUS_ASSIGN_OR_RETURN(
      auto begins,
      asked.Rows(
          absl::StrCat("SELECT BINLOG_GTID_POS(", SqlText((*logs)[0][0].value_or("")), ", 4)"), 1));
  auto writers = TextWriters(options, server.database, begins[0][0].value_or(""), names);
  return writers.ok() ? *std::move(writers) : std::vector<std::string>();
}

Fact<std::optional<std::vector<preflight::FenceRow>>> ReadFence(Asked& asked) {
  auto rows = asked.Rows(
      "SELECT lo, LEAST(hi, COALESCE(LEAD(lo) OVER (ORDER BY lo) - 1, hi)), own_lo, own_hi,"
      " server_id, other FROM locus_fence ORDER BY lo",
      6);
  if (!rows.ok() && asked.error() == kNoSuchTable) {
    return std::optional<std::vector<preflight::FenceRow>>();
  }
  LOCUS_RETURN_IF_ERROR(rows.status());
  std::vector<preflight::FenceRow> fence;
  for (const Result::Row& row : *rows) {
    std::vector<uint32_t> numbers;
    for (size_t i = 0; i < 5; ++i) numbers.push_back(static_cast<uint32_t>(Natural(row, i)));
    fence.push_back({numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], Text(row, 5)});
  }
  return std::optional(std::move(fence));
}

Fact<std::vector<std::string>> ReadMoves(Asked& asked) {
  auto rows = asked.Rows("SELECT DISTINCT move FROM locus_moved_table ORDER BY move", 1);
  std::vector<std::string> moves;
  if (!rows.ok() && asked.error() == kNoSuchTable) return moves;
  LOCUS_RETURN_IF_ERROR(rows.status());
  for (const Result::Row& row : *rows) moves.push_back(Text(row, 0));
  return moves;
}

Fact<std::vector<preflight::OpenMove>> ReadOpenMoves(Asked& asked) {
  auto rows = asked.Rows(
      "SELECT move, phase, vnodes FROM locus_move WHERE phase NOT IN ('DONE', 'ABORTED') ORDER BY"
      " move",
      3);
  std::vector<preflight::OpenMove> moves;
  if (!rows.ok() && asked.error() == kNoSuchTable) return moves;
  LOCUS_RETURN_IF_ERROR(rows.status());
  for (const Result::Row& row : *rows) {
    preflight::OpenMove move{Text(row, 0), Text(row, 1), {}};
    for (absl::string_view range : absl::StrSplit(Text(row, 2), ',')) {
      const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(range, '-');
      FencedRange read;
      if (!absl::SimpleAtoi(ends.first, &read.lo) || !absl::SimpleAtoi(ends.second, &read.hi)) {
        return absl::DataLossError(absl::StrCat("locus_move says \"", Text(row, 2),
                                                "\" for the vnodes of move ", move.name));
      }
      move.ranges.push_back(read);
    }
    moves.push_back(std::move(move));
  }
  return moves;
}

// The value that the move's runner wrote into its status; 0: none.
double CopiedASecond(Asked& asked, const std::string& move) {
  auto rows = asked.Rows(absl::StrCat("SELECT JSON_VALUE(status, '$.copied.rows_per_second') FROM"
                                      " locus_move WHERE move = ",
                                      SqlText(move)),
                         1);
  double rate = 0;
  if (!rows.ok() || rows->empty() || !absl::SimpleAtod(Text((*rows)[0], 0), &rate)) return 0;
  return std::max(0.0, rate);
}

Fact<preflight::Accounts> ReadAccounts(Asked& asked, const std::vector<MovedTable>& tables) {
  preflight::Accounts accounts;
  std::map<std::string, std::vector<std::string>> rights;
  auto note = [&](const Result::Row& row, size_t first, const std::string& scope) {
    const char* const names[] = {"DROP", "ALTER", "TRIGGER", "SUPER"};
    for (size_t i = 0; first + i < row.size(); ++i) {
      if (Text(row, first + i) != "Y") continue;
      rights[absl::StrCat(Text(row, 0), "@", Text(row, 1))].push_back(
          absl::StrCat(names[i], " on ", scope));
    }
  };
  LOCUS_ASSIGN_OR_RETURN(
      auto rows, asked.Rows("SELECT User, Host, is_role, Drop_priv, Alter_priv, Trigger_priv,"
                            " Super_priv FROM mysql.user",
                            7));
  for (const Result::Row& row : rows) {
    if (Text(row, 0).empty() && Text(row, 2) == "N") accounts.anonymous.push_back(Text(row, 1));
    accounts.known.push_back(absl::StrCat(Text(row, 0), "@", Text(row, 1)));
    note(row, 3, "*.*");
  }
  LOCUS_ASSIGN_OR_RETURN(
      rows, asked.Rows("SELECT User, Host, Db, Drop_priv, Alter_priv, Trigger_priv FROM mysql.db"
                       " WHERE DATABASE() LIKE Db",
                       6));
  for (const Result::Row& row : rows) note(row, 3, absl::StrCat(Text(row, 2), ".*"));
  LOCUS_ASSIGN_OR_RETURN(
      rows,
      asked.Rows(absl::StrCat("SELECT User, Host, Table_name, IF(FIND_IN_SET('Drop', Table_priv),"
                              " 'Y', 'N'), IF(FIND_IN_SET('Alter', Table_priv), 'Y', 'N'),"
                              " IF(FIND_IN_SET('Trigger', Table_priv), 'Y', 'N') FROM"
                              " mysql.tables_priv WHERE Db = DATABASE() AND Table_name IN (",
                              NamesOf(tables), ")"),
                 6));
  for (const Result::Row& row : rows) note(row, 3, Text(row, 2));
  LOCUS_ASSIGN_OR_RETURN(
      rows, asked.Rows("SELECT User, Host FROM mysql.proxies_priv WHERE User <> 'root'", 2));
  for (const Result::Row& row : rows) {
    accounts.proxies.push_back(absl::StrCat("'", Text(row, 0), "'@'", Text(row, 1), "'"));
  }
  for (auto& [name, found] : rights) accounts.dangerous.push_back({name, std::move(found)});
  return accounts;
}

// The server_ids of the primaries. `in_good_order`: of those that it follows by GTID, now.
// SHOW ALL SLAVES STATUS has other columns in each version: they are found by their names.
Fact<std::vector<uint64_t>> ReadFollows(const MysqlOptions& options, bool in_good_order) {
  std::string place;
  LOCUS_ASSIGN_OR_RETURN(Handle handle, LogInToAny(options, options.password.c_str(), place));
  HoldSigpipe hold;
  if (mysql_query(handle.get(), "SHOW ALL SLAVES STATUS") != 0) return ErrorOf(handle.get(), place);
  std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(mysql_store_result(handle.get()),
                                                                  mysql_free_result);
  if (result == nullptr) return ErrorOf(handle.get(), place);
  std::map<std::string, unsigned> column;
  for (unsigned i = 0; i < mysql_num_fields(result.get()); ++i) {
    column[mysql_fetch_field_direct(result.get(), i)->name] = i;
  }
  for (const char* name :
       {"Using_Gtid", "Slave_IO_Running", "Slave_SQL_Running", "Master_Server_Id"}) {
    if (column.contains(name)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place, ": SHOW ALL SLAVES STATUS has no column ", name));
  }
  std::vector<uint64_t> ids;
  while (MYSQL_ROW row = mysql_fetch_row(result.get())) {
    auto value = [&](const char* name) {
      const char* text = row[column[name]];
      return std::string(text == nullptr ? "" : text);
    };
    uint64_t id = 0;
    const bool good = value("Using_Gtid") != "No" && value("Slave_IO_Running") == "Yes" &&
                      value("Slave_SQL_Running") == "Yes";
    if (in_good_order && !good) continue;
    if (!absl::SimpleAtoi(value("Master_Server_Id"), &id)) continue;
    ids.push_back(id);
  }
  return ids;
}

void ReadCandidates(const MoveShard& shard, const std::vector<MysqlOptions>& candidates,
                    preflight::Shard& facts) {
  for (const MysqlOptions& options : candidates) {
    preflight::Candidate candidate;
    candidate.server.place = PlaceOf("candidate of " + shard.name, options);
    absl::StatusOr<Asked> asked = Asked::Open(options);
    candidate.server.login = asked.ok() ? ReadServer(*asked, candidate.server) : asked.status();
    if (candidate.server.login.ok()) {
      candidate.follows = ReadFollows(options, true);
      // Once promoted, it takes the writes of sessions that are connected now.
      candidate.server.old_sessions =
          OldSessions([&](const std::string& statement, unsigned columns) {
            return asked->Rows(statement, columns);
          });
    }
    facts.candidates.push_back(std::move(candidate));
  }
}

absl::Status VerifyGuards(const Move& move, const MoveShard& shard) {
  FenceOptions options;
  options.movers = move.movers;
  for (const MovedTable& table : move.tables) options.tables.push_back(table.guard);
  LOCUS_ASSIGN_OR_RETURN(ShardFence fence, ShardFence::Create(shard.server, options));
  return fence.Verify();
}

// The connection, for questions that concern both shards.
absl::StatusOr<Asked> ReadShard(const Move& move, const MoveShard& shard,
                                const std::vector<MysqlOptions>& candidates,
                                preflight::Shard& facts) {
  facts.server.place = PlaceOf(shard.name, shard.server);
  absl::StatusOr<Asked> asked = Asked::Open(shard.server);
  facts.server.login = asked.ok() ? ReadServer(*asked, facts.server) : asked.status();
  if (!facts.server.login.ok()) return facts.server.login;
  const AskRows ask = [&](const std::string& statement, unsigned columns) {
    return asked->Rows(statement, columns);
  };
  facts.schema = ReadSchema(ask, move.tables);
  facts.server.old_sessions = OldSessions(ask);
  facts.server.text_writers = ReadTextWriters(*asked, facts.server, shard.server, move.tables);
  facts.fence = ReadFence(*asked);
  if (facts.fence.ok() && facts.fence->has_value()) facts.guards = VerifyGuards(move, shard);
  facts.moves = ReadMoves(*asked);
  facts.open_moves = ReadOpenMoves(*asked);
  facts.accounts = ReadAccounts(*asked, move.tables);
  ReadCandidates(shard, candidates, facts);
  // Without candidates the mover need not have the right to read it.
  if (auto follows = ReadFollows(shard.server, false); follows.ok()) facts.follows = *follows;
  return asked;
}

bool HasBegun(Asked& asked, const std::string& move) {
  for (const char* table : {kCheckpoints, kCopies}) {
    auto rows = asked.Rows(
        absl::StrCat("SELECT COUNT(*) FROM ", table, " WHERE move = ", SqlText(move)), 1);
    if (rows.ok() && Natural((*rows)[0], 0) > 0) return true;
  }
  return false;
}

}  // namespace

preflight::Facts CollectFacts(const PreflightOptions& options) {
  const Move& move = options.move;
  preflight::Facts facts;
  facts.move = move.name;
  facts.ranges = move.ranges;
  facts.tables = move.tables;
  facts.movers = move.movers;
  facts.administrators = options.administrators;
  facts.pace = options.pace;
  auto source = ReadShard(move, move.source, options.source_candidates, facts.source);
  auto target = ReadShard(move, move.target, options.target_candidates, facts.target);
  if (!source.ok() || !target.ok()) return facts;
  facts.begun = HasBegun(*target, move.name);
  facts.copied_a_second = CopiedASecond(*source, move.name);
  if (facts.begun) return facts;
  if (!facts.source.schema.ok() || !facts.target.schema.ok()) {
    const absl::Status why = absl::FailedPreconditionError("the tables could not be read");
    facts.strays = why;
    facts.collisions = why;
    return facts;
  }
  auto rows_of = [](Asked& asked) {
    return [&asked](const std::string& statement, unsigned columns) {
      return asked.Rows(statement, columns);
    };
  };
  facts.strays = FindStrays(rows_of(*target), facts);
  facts.collisions = FindCollisions(rows_of(*source), rows_of(*target), facts);
  return facts;
}

}  // namespace locus::mysql
