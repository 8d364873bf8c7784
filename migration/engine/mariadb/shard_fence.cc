// SPDX-License-Identifier: Apache-2.0
#include "locus/migration/shard_fence.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/fence/guard_sql.h"
#include "src/base/check.h"
#include "src/base/secret_bytes.h"
#include "src/base/text.h"
#include "src/engine/mariadb/connection.h"
#include "src/engine/mariadb/login.h"

namespace locus {

using internal::CreateTrigger;
using internal::Quoted;
using internal::SqlName;
using internal::SqlText;
using mariadb::Connection;
using mariadb::Result;

namespace {

using SteadyClock = std::chrono::steady_clock;

// Of all rows of one fence, or all triggers of a few tables.
constexpr size_t kMostRows = 65536;

// One call on one connection. Each of its statements has the whole timeout of the options.
class FenceSession {
 public:
  FenceSession(const MariadbOptions& server, const FenceOptions& options, Connection& connection)
      : server_(server), options_(options), connection_(connection) {}

  absl::Status CheckServer();
  absl::Status CheckTables();
  absl::Status MakeRows(const std::vector<FencedRange>& ranges);
  absl::Status MakeTriggers();
  absl::Status Verify();
  absl::Status Remove();

 private:
  struct Trigger {
    std::string event, timing, body, definer;
  };
  absl::StatusOr<std::vector<Result>> Run(const std::string& statements,
                                          std::initializer_list<mariadb::Shape> shapes) {
    connection_.set_deadline(SteadyClock::now() + absl::ToChronoNanoseconds(server_.timeout));
    return connection_.Run(statements, shapes);
  }
  absl::Status Run(const std::string& statement) { return Run(statement, {}).status(); }
  absl::Status Refuse(const std::string& why) const {
    return absl::FailedPreconditionError(absl::StrCat("mariadb ", connection_.place(), ": ", why));
  }
  std::string TableNames() const {
    return absl::StrJoin(options_.tables, ", ", [](std::string* out, const GuardedTable& table) {
      absl::StrAppend(out, SqlText(table.name));
    });
  }
  absl::Status CheckColumns(const GuardedTable& table);
  absl::StatusOr<std::map<std::string, Trigger>> TriggersThere();
  std::vector<std::string> WrongTriggers(const std::map<std::string, Trigger>& there) const;

  const MariadbOptions& server_;
  const FenceOptions& options_;
  Connection& connection_;
};

absl::Status FenceSession::CheckServer() {
  if (connection_.facts().galera) {
    return Refuse(
        "is a Galera node: it commits a write set after the fence has let it pass, so a "
        "fence cannot hold there");
  }
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run("SELECT @@GLOBAL.log_bin, @@GLOBAL.binlog_format, @@GLOBAL.binlog_row_image",
          {mariadb::OneRow(3)}));
  const Result::Row& row = results[0].rows[0];
  if (row[0] != "1" && row[0] != "ON") {
    return Refuse("has no binary log; moves follow it: start the server with log_bin");
  }
  if (row[1] != "ROW" || row[2] != "FULL") {
    return Refuse(absl::StrCat("has binlog_format ", Quoted(row[1].value_or("NULL")),
                               " and binlog_row_image ", Quoted(row[2].value_or("NULL")),
                               "; moves need ROW and FULL"));
  }
  return absl::OkStatus();
}

absl::Status FenceSession::CheckColumns(const GuardedTable& table) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run(absl::StrCat("SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS WHERE"
                       " TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ",
                       SqlText(table.name)),
          {mariadb::Rows(2, 8192)}));
  std::map<std::string, std::string> types;
  for (const Result::Row& row : results[0].rows) types[row[0].value_or("")] = row[1].value_or("");
  auto need = [&](const std::string& column, const std::set<std::string>& allowed) -> absl::Status {
    auto found = types.find(column);
    if (found == types.end()) {
      return Refuse(absl::StrCat("table ", Quoted(table.name), " has no column ", Quoted(column)));
    }
    if (allowed.contains(found->second)) return absl::OkStatus();
    return Refuse(absl::StrCat("column ", Quoted(column), " of table ", Quoted(table.name),
                               " has type ", found->second, "; it must be ",
                               absl::StrJoin(allowed, " or ")));
  };
  switch (table.key) {
    case GuardedTable::Key::kOrderIdNumber:
      return need(table.order_id, {"bigint"});
    case GuardedTable::Key::kOrderIdBytes:
      return need(table.order_id, {"varbinary"});
    case GuardedTable::Key::kGeneAndCohort:
      break;
  }
  LOCUS_RETURN_IF_ERROR(need(table.gene, {"bigint", "int", "mediumint", "smallint"}));
  return need(table.cohort, {"bigint", "int", "mediumint", "smallint"});
}

absl::Status FenceSession::CheckTables() {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run(absl::StrCat(
              "SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA ="
              " DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND TABLE_NAME IN (",
              TableNames(),
              ");"
              "SELECT TABLE_NAME, CONSTRAINT_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS"
              " WHERE CONSTRAINT_SCHEMA = DATABASE() AND TABLE_NAME IN (",
              TableNames(),
              ") AND (DELETE_RULE IN ('CASCADE', 'SET NULL') OR UPDATE_RULE IN ('CASCADE',"
              " 'SET NULL'))"),
          {mariadb::Rows(2, kMostRows), mariadb::Rows(2, kMostRows)}));
  std::map<std::string, std::string> engines;
  for (const Result::Row& row : results[0].rows) engines[row[0].value_or("")] = row[1].value_or("");
  for (const GuardedTable& table : options_.tables) {
    auto found = engines.find(table.name);
    if (found == engines.end()) return Refuse(absl::StrCat("has no table ", Quoted(table.name)));
    if (found->second != "InnoDB") {
      return Refuse(absl::StrCat("table ", Quoted(table.name), " is of ", found->second,
                                 ", which has no row locks; it must be InnoDB"));
    }
    LOCUS_RETURN_IF_ERROR(CheckColumns(table));
  }
  for (const Result::Row& row : results[1].rows) {
    return Refuse(absl::StrCat(
        "foreign key ", Quoted(row[1].value_or("")), " of table ", Quoted(row[0].value_or("")),
        " cascades or sets null: what it changes passes no trigger and is not in the binary log; "
        "use RESTRICT, and delete the rows in the service"));
  }
  LOCUS_ASSIGN_OR_RETURN(auto there, TriggersThere());
  const std::vector<GuardTrigger> ours = GuardTriggersOf(options_);
  for (const auto& [name, trigger] : there) {
    bool known = false;
    for (const GuardTrigger& guard : ours) known = known || guard.name == name;
    if (!known) {
      return Refuse(absl::StrCat("trigger ", Quoted(name),
                                 " stands on a table to be guarded: it could change a row behind "
                                 "the guard; drop it, and do its work in the service"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, FenceSession::Trigger>> FenceSession::TriggersThere() {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run(absl::StrCat("SELECT TRIGGER_NAME, EVENT_MANIPULATION, ACTION_TIMING, ACTION_STATEMENT,"
                       " DEFINER FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA ="
                       " DATABASE() AND EVENT_OBJECT_TABLE IN (",
                       TableNames(), ")"),
          {mariadb::Rows(5, kMostRows)}));
  std::map<std::string, Trigger> there;
  for (const Result::Row& row : results[0].rows) {
    there[row[0].value_or("")] = {row[1].value_or(""), row[2].value_or(""), row[3].value_or(""),
                                  row[4].value_or("")};
  }
  return there;
}

std::vector<std::string> FenceSession::WrongTriggers(
    const std::map<std::string, Trigger>& there) const {
  std::vector<std::string> wrong;
  std::string definer;
  for (const GuardTrigger& guard : GuardTriggersOf(options_)) {
    auto found = there.find(guard.name);
    if (found == there.end()) {
      wrong.push_back(absl::StrCat("trigger ", guard.name, " is missing"));
      continue;
    }
    const Trigger& trigger = found->second;
    if (trigger.event != guard.event || trigger.timing != "BEFORE" || trigger.body != guard.body) {
      wrong.push_back(absl::StrCat("trigger ", guard.name, " has another body"));
    }
    if (definer.empty()) definer = trigger.definer;
    if (trigger.definer != definer) {
      wrong.push_back(absl::StrCat("trigger ", guard.name, " has the definer ",
                                   Quoted(trigger.definer), ", others have ", Quoted(definer)));
    }
  }
  return wrong;
}

absl::Status FenceSession::MakeRows(const std::vector<FencedRange>& ranges) {
  LOCUS_RETURN_IF_ERROR(Run(internal::kCreateFence));
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results,
                         Run("SELECT lo, hi, own_lo, own_hi FROM locus_fence ORDER BY lo",
                             {mariadb::Rows(4, kMostRows)}));
  if (!results[0].rows.empty()) {
    std::vector<std::string> found, wanted;
    for (const Result::Row& row : results[0].rows) {
      found.push_back(absl::StrCat(row[0].value_or(""), "-", row[1].value_or(""), " [",
                                   row[2].value_or(""), ", ", row[3].value_or(""), ")"));
    }
    for (const FencedRange& range : ranges) {
      wanted.push_back(absl::StrCat(range.lo, "-", range.hi, " [0, 10000)"));
    }
    if (found == wanted) return absl::OkStatus();
    return Refuse(
        absl::StrCat("locus_fence has other vnodes than the routing table gives this "
                     "shard: ",
                     absl::StrJoin(found, "; ").substr(0, 500),
                     "; the table: ", absl::StrJoin(wanted, "; ").substr(0, 500)));
  }
  if (ranges.empty()) return absl::OkStatus();
  std::string insert =
      "INSERT INTO locus_fence (lo, hi, own_lo, own_hi, step, server_id, other, token) VALUES ";
  for (const FencedRange& range : ranges) {
    absl::StrAppend(&insert, &range == &ranges.front() ? "" : ", ", "(", range.lo, ", ", range.hi,
                    ", 0, 10000, 0, @@server_id, NULL, NULL)");
  }
  return Run(insert);
}

absl::Status FenceSession::MakeTriggers() {
  LOCUS_ASSIGN_OR_RETURN(auto there, TriggersThere());
  // Behind a slow reader CREATE TRIGGER would block every other user of the table.
  LOCUS_RETURN_IF_ERROR(Run("SET SESSION lock_wait_timeout = 1"));
  for (const GuardTrigger& guard : GuardTriggersOf(options_)) {
    auto found = there.find(guard.name);
    if (found != there.end() && found->second.body == guard.body) continue;
    // Between DROP and CREATE nothing would be guarded; OR REPLACE is one statement.
    std::string create = CreateTrigger(guard);
    create.replace(0, std::string_view("CREATE").size(), "CREATE OR REPLACE");
    absl::Status made = Run(create);
    if (made.ok()) continue;
    return absl::Status(made.code(), absl::StrCat(made.message(), "; trigger ", guard.name,
                                                  " was not made: repeat the call"));
  }
  return absl::OkStatus();
}

absl::Status FenceSession::Verify() {
  LOCUS_ASSIGN_OR_RETURN(auto there, TriggersThere());
  std::vector<std::string> wrong = WrongTriggers(there);
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run("SELECT COUNT(*), COALESCE(SUM(server_id <> @@server_id), 0) FROM locus_fence",
          {mariadb::OneRow(2)}));
  if (results[0].rows[0][1] != "0") {
    wrong.push_back(absl::StrCat(results[0].rows[0][1].value_or(""), " of ",
                                 results[0].rows[0][0].value_or(""),
                                 " rows of locus_fence are bound to another server"));
  }
  if (wrong.empty()) return absl::OkStatus();
  return Refuse(absl::StrJoin(wrong, "; "));
}

absl::Status FenceSession::Remove() {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND"
          " TABLE_NAME = 'locus_fence'",
          {mariadb::OneRow(1)}));
  if (results[0].rows[0][0] != "0") {
    LOCUS_ASSIGN_OR_RETURN(
        results, Run("SELECT lo, hi FROM locus_fence WHERE own_lo <> 0 OR own_hi <> 10000 OR"
                     " other IS NOT NULL ORDER BY lo LIMIT 1",
                     {mariadb::AtMostOneRow(2)}));
    for (const Result::Row& row : results[0].rows) {
      return Refuse(absl::StrCat(
          "vnodes ", row[0].value_or(""), "-", row[1].value_or(""),
          " have been moved or are moving: without the fence a client with an old routing table "
          "would write orders here that another shard has"));
    }
  }
  LOCUS_RETURN_IF_ERROR(Run("SET SESSION lock_wait_timeout = 1"));
  for (const GuardTrigger& guard : GuardTriggersOf(options_)) {
    LOCUS_RETURN_IF_ERROR(Run(absl::StrCat("DROP TRIGGER IF EXISTS ", SqlName(guard.name))));
  }
  return Run("DROP TABLE IF EXISTS locus_fence");
}

}  // namespace

class ShardFence::Rep {
 public:
  Rep(const MariadbOptions& given, const FenceOptions& fence, internal::SecretBytes secret)
      : server(mariadb::WithoutPassword(given)), options(fence), password(std::move(secret)) {}

  absl::StatusOr<std::unique_ptr<Connection>> Connect() const {
    absl::Status last;
    for (const MariadbOptions::Host& host : server.hosts) {
      auto connection = Connection::Open(
          server, host, password.data(), Connection::Access::kWrite,
          SteadyClock::now() + absl::ToChronoNanoseconds(server.connect_timeout + server.timeout));
      if (connection.ok()) return connection;
      last = connection.status();
    }
    return last;
  }

  const MariadbOptions server;
  const FenceOptions options;
  const internal::SecretBytes password;
};

ShardFence::ShardFence(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}

absl::StatusOr<ShardFence> ShardFence::Create(const MariadbOptions& server,
                                              const FenceOptions& options) {
  LOCUS_RETURN_IF_ERROR(server.Check());
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_ASSIGN_OR_RETURN(internal::SecretBytes password,
                         internal::SecretBytes::Allocate(server.password.size() + 1));
  internal::CopySecret(server.password.data(), password.data(), server.password.size());
  return ShardFence(std::make_shared<Rep>(server, options, std::move(password)));
}

absl::Status ShardFence::Install(const RoutingTable& table, uint32_t shard) const {
  if (!table.moves().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("epoch ", table.epoch(), " has ", table.moves().size(),
                     " moves under way; install the fence of every shard before the first move"));
  }
  if (table.FindShard(shard) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("epoch ", table.epoch(), " has no shard ", shard));
  }
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, rep_->Connect());
  FenceSession session(rep_->server, rep_->options, *connection);
  LOCUS_RETURN_IF_ERROR(session.CheckServer());
  LOCUS_RETURN_IF_ERROR(session.CheckTables());
  LOCUS_RETURN_IF_ERROR(session.MakeRows(FencedRangesOf(table, shard)));
  return session.MakeTriggers();
}

absl::Status ShardFence::Verify() const {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, rep_->Connect());
  return FenceSession(rep_->server, rep_->options, *connection).Verify();
}

absl::Status ShardFence::Remove() const {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, rep_->Connect());
  return FenceSession(rep_->server, rep_->options, *connection).Remove();
}

}  // namespace locus
