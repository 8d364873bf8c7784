// SPDX-License-Identifier: Apache-2.0
#include "locus/migration/shard_fence.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/fence/drop_guards.h"
#include "migration/fence/fence_difference.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/table_triggers.h"
#include "src/base/os/check.h"
#include "src/base/os/secret_bytes.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/connection.h"
#include "src/engine/mysql/login.h"

namespace locus {

using internal::Quoted;
using internal::SqlName;
using internal::SqlText;
using mysql::Connection;
using mysql::Result;
using mysql::TableTrigger;

namespace {

using SteadyClock = std::chrono::steady_clock;

// Of all rows of one fence, or all triggers of a few tables.
constexpr size_t kMostRows = 65536;
constexpr uint32_t kCohorts = RoutingTable::kMaxPermyriad;

std::string RangeText(const FencedRange& range, uint32_t own_lo, uint32_t own_hi) {
  return absl::StrCat(range.lo, "-", range.hi, " [", own_lo, ", ", own_hi, ")");
}

// One call on one connection. Each of its statements has the whole timeout of the options.
class FenceSession {
 public:
  FenceSession(const MysqlOptions& server, const FenceOptions& options, Connection& connection)
      : server_(server), options_(options), connection_(connection) {}

  absl::Status CheckServer();
  absl::Status CheckTables();
  absl::Status MakeRows(const std::vector<FencedRange>& ranges);
  absl::Status MakeMap();
  // `one_definer`: where several accounts made the triggers, this account makes all of them again.
  absl::Status MakeTriggers(bool one_definer);
  absl::StatusOr<std::vector<FenceDifference>> Differences();
  absl::StatusOr<std::vector<std::string>> ForeignTriggers();
  absl::Status VerifyTriggers();
  absl::Status Verify();
  absl::Status Remove();

 private:
  using Triggers = std::map<std::string, TableTrigger>;

  absl::StatusOr<std::vector<Result>> Run(const std::string& statements,
                                          std::initializer_list<mysql::Shape> shapes) {
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
  absl::StatusOr<Triggers> TriggersThere();
  std::vector<FenceDifference> WrongTriggers(const Triggers& there) const;

  const MysqlOptions& server_;
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
          {mysql::OneRow(3)}));
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
          {mysql::Rows(2, 8192)}));
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
          {mysql::Rows(2, kMostRows), mysql::Rows(2, kMostRows)}));
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
  LOCUS_ASSIGN_OR_RETURN(std::vector<std::string> foreign, ForeignTriggers());
  if (foreign.empty()) return absl::OkStatus();
  return Refuse(absl::StrCat("trigger ", foreign.front()));
}

// Ours are the guards, and the version triggers of a move.
absl::StatusOr<std::vector<std::string>> FenceSession::ForeignTriggers() {
  LOCUS_ASSIGN_OR_RETURN(Triggers there, TriggersThere());
  std::set<std::string> ours;
  for (const auto& [name, trigger] : there) {
    for (const GuardedTable& table : options_.tables) {
      if (table.name != trigger.table) continue;
      bool known = false;
      for (const GuardTrigger& guard : GuardTriggersOf({{table}, options_.movers})) {
        known = known || guard.name == name;
      }
      if (!known) {
        LOCUS_ASSIGN_OR_RETURN(
            known, mysql::IsVersionTrigger(connection_, table, options_.movers, name, trigger));
      }
      if (known) ours.insert(name);
    }
  }
  return mysql::NotCarried(connection_, there, ours, options_.tables, options_.movers);
}

absl::StatusOr<FenceSession::Triggers> FenceSession::TriggersThere() {
  std::vector<std::string> names;
  for (const GuardedTable& table : options_.tables) names.push_back(table.name);
  connection_.set_deadline(SteadyClock::now() + absl::ToChronoNanoseconds(server_.timeout));
  return mysql::TriggersOn(connection_, names);
}

std::vector<FenceDifference> FenceSession::WrongTriggers(const Triggers& there) const {
  using Kind = FenceDifference::Kind;
  std::vector<FenceDifference> wrong = mysql::WrongOrders(there);
  std::string definer;
  for (const GuardTrigger& guard : GuardTriggersOf(options_)) {
    auto found = there.find(guard.name);
    if (found == there.end()) {
      wrong.push_back({Kind::kTriggerMissing, absl::StrCat("trigger ", guard.name, " is missing")});
      continue;
    }
    const TableTrigger& trigger = found->second;
    if (trigger.event != guard.event || trigger.timing != "BEFORE" || trigger.body != guard.body) {
      wrong.push_back(
          {Kind::kTriggerBody, absl::StrCat("trigger ", guard.name, " has another body")});
    }
    if (definer.empty()) definer = trigger.definer;
    if (trigger.definer != definer) {
      wrong.push_back({Kind::kTriggerOther,
                       absl::StrCat("trigger ", guard.name, " has the definer ",
                                    Quoted(trigger.definer), ", others have ", Quoted(definer))});
    }
  }
  return wrong;
}

absl::Status FenceSession::MakeRows(const std::vector<FencedRange>& ranges) {
  LOCUS_RETURN_IF_ERROR(Run(internal::kCreateFence));
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results,
                         // A regroup that stopped may leave a row that overlaps others.
                         Run("SELECT lo, LEAST(hi, COALESCE(LEAD(lo) OVER (ORDER BY lo) - 1, hi)),"
                             " own_lo, own_hi FROM locus_fence ORDER BY lo",
                             {mysql::Rows(4, kMostRows)}));
  if (!results[0].rows.empty()) {
    // Earlier moves may have cut the rows smaller, and left some that accept nothing.
    std::vector<std::string> found, wanted;
    FencedRange run;
    for (const Result::Row& row : results[0].rows) {
      uint32_t numbers[4];
      for (size_t i = 0; i < 4; ++i) {
        LOCUS_ASSIGN_OR_RETURN(int64_t number, mysql::NumberIn(row, i, connection_.place()));
        numbers[i] = static_cast<uint32_t>(number);
      }
      const auto [lo, hi, own_lo, own_hi] = numbers;
      if (own_lo >= own_hi) continue;
      const bool goes_on = !found.empty() && run.hi + 1 == lo && own_lo == 0 && own_hi == kCohorts;
      run = {goes_on ? run.lo : lo, hi};
      if (goes_on) found.pop_back();
      found.push_back(RangeText(run, own_lo, own_hi));
    }
    for (const FencedRange& range : ranges) wanted.push_back(RangeText(range, 0, kCohorts));
    if (found == wanted) return absl::OkStatus();
    return Refuse(
        absl::StrCat("locus_fence has other vnodes than the routing table gives this "
                     "shard: ",
                     absl::StrJoin(found, "; ").substr(0, 500),
                     "; the table: ", absl::StrJoin(wanted, "; ").substr(0, 500)));
  }
  if (ranges.empty()) return absl::OkStatus();
  std::string insert = absl::StrCat(
      internal::kKeepsMap,
      "; INSERT INTO locus_fence (lo, hi, own_lo, own_hi, step, server_id, other, token) VALUES ");
  for (const FencedRange& range : ranges) {
    absl::StrAppend(&insert, &range == &ranges.front() ? "" : ", ", "(", range.lo, ", ", range.hi,
                    ", 0, 10000, 0, @@server_id, NULL, NULL)");
  }
  LOCUS_RETURN_IF_ERROR(Run(insert, {mysql::kNoRows, mysql::kNoRows}).status());
  // A map from when the fence was empty has none of them.
  LOCUS_RETURN_IF_ERROR(Run(internal::kCreateVnodes));
  return Run(internal::kMapVnodes);
}

// Before the guards that read it. In this order: once the map is filled, no earlier version may cut
// a row any more. Guards of an earlier version find the same rows by their ranges.
absl::Status FenceSession::MakeMap() {
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results,
                         Run("SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA"
                             " = DATABASE() AND TRIGGER_NAME = 'locus_fence_row'",
                             {mysql::OneRow(1)}));
  if (results[0].rows[0][0] == "0") {
    LOCUS_RETURN_IF_ERROR(Run("SET SESSION lock_wait_timeout = 1"));
    LOCUS_RETURN_IF_ERROR(Run(internal::kProtectFence));
  }
  LOCUS_RETURN_IF_ERROR(Run(internal::kCreateVnodes));
  LOCUS_ASSIGN_OR_RETURN(results, Run("SELECT COUNT(*) FROM locus_vnode", {mysql::OneRow(1)}));
  return results[0].rows[0][0] == "65536" ? absl::OkStatus() : Run(internal::kMapVnodes);
}

absl::Status FenceSession::MakeTriggers(bool one_definer) {
  LOCUS_RETURN_IF_ERROR(MakeMap());
  LOCUS_ASSIGN_OR_RETURN(Triggers there, TriggersThere());
  std::string definer;
  if (one_definer) {
    std::vector<std::string> names;
    for (const GuardTrigger& guard : GuardTriggersOf(options_)) names.push_back(guard.name);
    LOCUS_ASSIGN_OR_RETURN(
        definer, mysql::OneDefiner(connection_, there, names, !WrongTriggers(there).empty()));
  }
  // Behind a slow reader CREATE TRIGGER would block every other user of the table.
  LOCUS_RETURN_IF_ERROR(Run("SET SESSION lock_wait_timeout = 1"));
  for (const GuardTrigger& guard : GuardTriggersOf(options_)) {
    auto found = there.find(guard.name);
    std::string version = mysql::VersionTriggerBefore(there, guard.table, guard.event);
    // Where a trigger of the service runs after the version trigger, the guard becomes the last
    // one. MakeTriggers of the moved tables then puts the version trigger behind it.
    if (!version.empty() && !mysql::RunsAfterUserTriggers(there, version)) version.clear();
    const bool right = found != there.end() && found->second.body == guard.body &&
                       (version.empty() || found->second.order < there.at(version).order) &&
                       mysql::RunsAfterUserTriggers(there, guard.name) &&
                       (definer.empty() || found->second.definer == definer);
    if (right) continue;
    // Between DROP and CREATE nothing would be guarded; OR REPLACE is one statement.
    absl::Status made = Run(absl::StrCat(
        "CREATE OR REPLACE TRIGGER ", SqlName(guard.name), " BEFORE ", guard.event, " ON ",
        SqlName(guard.table), " FOR EACH ROW ",
        version.empty() ? "" : absl::StrCat("PRECEDES ", SqlName(version), " "), guard.body));
    if (made.ok()) continue;
    return absl::Status(made.code(), absl::StrCat(made.message(), "; trigger ", guard.name,
                                                  " was not made: repeat the call"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FenceDifference>> FenceSession::Differences() {
  LOCUS_ASSIGN_OR_RETURN(Triggers there, TriggersThere());
  using Kind = FenceDifference::Kind;
  std::vector<FenceDifference> wrong = WrongTriggers(there);
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run("SELECT COUNT(*), COALESCE(SUM(server_id <> @@server_id), 0) FROM locus_fence",
          {mysql::OneRow(2)}));
  if (results[0].rows[0][1] != "0") {
    wrong.push_back(
        {Kind::kBoundElsewhere, absl::StrCat(results[0].rows[0][1].value_or(""), " of ",
                                             results[0].rows[0][0].value_or(""),
                                             " rows of locus_fence are bound to another server")});
  }
  LOCUS_ASSIGN_OR_RETURN(results, Run("SELECT COUNT(*) FROM information_schema.TABLES WHERE"
                                      " TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'locus_vnode'",
                                      {mysql::OneRow(1)}));
  if (results[0].rows[0][0] == "0") {
    wrong.push_back({Kind::kVnodesMissing, "table locus_vnode is missing"});
    return wrong;
  }
  LOCUS_ASSIGN_OR_RETURN(
      results, Run("SELECT COUNT(*), COALESCE(SUM(v.fence IS NOT NULL AND f.lo IS NULL), 0) FROM"
                   " locus_vnode v LEFT JOIN locus_fence f ON f.lo = v.fence",
                   {mysql::OneRow(2)}));
  if (results[0].rows[0][0] != "65536" || results[0].rows[0][1] != "0") {
    wrong.push_back({Kind::kVnodesWrong,
                     absl::StrCat("locus_vnode has ", results[0].rows[0][0].value_or(""),
                                  " of 65536 vnodes, and ", results[0].rows[0][1].value_or(""),
                                  " name no row of locus_fence")});
  }
  return wrong;
}

absl::Status FenceSession::VerifyTriggers() {
  LOCUS_ASSIGN_OR_RETURN(Triggers there, TriggersThere());
  return internal::RefusalOf(connection_.place(), WrongTriggers(there));
}

absl::Status FenceSession::Verify() {
  LOCUS_ASSIGN_OR_RETURN(const std::vector<FenceDifference> wrong, Differences());
  return internal::RefusalOf(connection_.place(), wrong);
}

absl::Status FenceSession::Remove() {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND"
          " TABLE_NAME = 'locus_fence'",
          {mysql::OneRow(1)}));
  if (results[0].rows[0][0] != "0") {
    LOCUS_ASSIGN_OR_RETURN(
        results, Run("SELECT lo, hi FROM locus_fence WHERE own_lo <> 0 OR own_hi <> 10000 OR"
                     " other IS NOT NULL ORDER BY lo LIMIT 1",
                     {mysql::AtMostOneRow(2)}));
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
  LOCUS_RETURN_IF_ERROR(Run("DROP TABLE IF EXISTS locus_fence"));
  return Run("DROP TABLE IF EXISTS locus_vnode");
}

}  // namespace

class ShardFence::Rep {
 public:
  Rep(const MysqlOptions& given, const FenceOptions& fence, internal::SecretBytes secret)
      : server(mysql::WithoutPassword(given)), options(fence), password(std::move(secret)) {}

  absl::StatusOr<std::unique_ptr<Connection>> Connect(
      Connection::Access access = Connection::Access::kWrite) const {
    // Of several hosts the primary is meant.
    if (server.hosts.size() > 1) access = Connection::Access::kPrimary;
    absl::Status last;
    for (const MysqlOptions::Host& host : server.hosts) {
      auto connection = Connection::Open(
          server, host, password.data(), access,
          SteadyClock::now() + absl::ToChronoNanoseconds(server.connect_timeout + server.timeout));
      if (connection.ok()) return connection;
      last = connection.status();
    }
    return last;
  }

  const MysqlOptions server;
  const FenceOptions options;
  const internal::SecretBytes password;
};

ShardFence::ShardFence(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}

absl::StatusOr<ShardFence> ShardFence::Create(const MysqlOptions& server,
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
  return session.MakeTriggers(false);
}

absl::Status ShardFence::InstallGuards() const {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, rep_->Connect());
  FenceSession session(rep_->server, rep_->options, *connection);
  LOCUS_RETURN_IF_ERROR(session.CheckServer());
  LOCUS_RETURN_IF_ERROR(session.CheckTables());
  return session.MakeTriggers(true);
}

absl::StatusOr<std::vector<FenceDifference>> ShardFence::Differences() const {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                         rep_->Connect(Connection::Access::kRead));
  return FenceSession(rep_->server, rep_->options, *connection).Differences();
}

absl::StatusOr<std::vector<std::string>> ShardFence::ForeignTriggers() const {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                         rep_->Connect(Connection::Access::kRead));
  return FenceSession(rep_->server, rep_->options, *connection).ForeignTriggers();
}

absl::Status ShardFence::Verify() const {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                         rep_->Connect(Connection::Access::kRead));
  return FenceSession(rep_->server, rep_->options, *connection).Verify();
}

absl::Status ShardFence::VerifyTriggers() const {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                         rep_->Connect(Connection::Access::kRead));
  return FenceSession(rep_->server, rep_->options, *connection).VerifyTriggers();
}

absl::StatusOr<std::vector<std::string>> ShardFence::DropGuards(bool dry) const {
  LOCUS_ASSIGN_OR_RETURN(
      std::unique_ptr<Connection> connection,
      rep_->Connect(dry ? Connection::Access::kRead : Connection::Access::kWrite));
  return mysql::DropGuardTriggers(*connection, rep_->options, rep_->server.timeout, dry);
}

absl::Status ShardFence::Remove() const {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, rep_->Connect());
  return FenceSession(rep_->server, rep_->options, *connection).Remove();
}

}  // namespace locus
