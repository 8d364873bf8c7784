// SPDX-License-Identifier: Apache-2.0
#include "migration/fence/moved_tables.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/fence/fence_difference.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/table_column.h"
#include "migration/fence/table_triggers.h"
#include "migration/fence/tombstone_sql.h"
#include "migration/stream/table_layout.h"
#include "src/base/os/check.h"
#include "src/base/os/secret_bytes.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/connection.h"
#include "src/engine/mysql/login.h"

namespace locus::mysql {

using internal::Quoted;
using internal::SqlName;
using internal::SqlText;
using SteadyClock = std::chrono::steady_clock;

namespace {

// Rows of locus_tombstone of one SELECT, and of one DELETE: its transaction stays short.
constexpr size_t kReadAtOnce = 4000, kDeletedAtOnce = 200;

constexpr char kCreateUsers[] =
    "CREATE TABLE IF NOT EXISTS locus_moved_table (\n"
    "  tbl VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
    "  move VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
    "  PRIMARY KEY (tbl, move)\n"
    ") ENGINE = InnoDB";

// One call on one connection. Each of its statements has the whole timeout of the options.
class TablesSession {
 public:
  TablesSession(const MysqlOptions& server, const std::vector<MovedTable>& tables,
                const std::vector<std::string>& movers, const std::string& move,
                Connection& connection)
      : server_(server), movers_(movers), move_(move), connection_(connection) {
    for (const MovedTable& table : tables) tables_.push_back({table, {}});
  }

  // One process at a time; the lock ends with the connection.
  absl::Status Lock();
  // Must be called before the others that name triggers.
  absl::Status ReadForms() {
    RenewDeadline();
    return ReadKeyForms(connection_, tables_);
  }
  absl::Status CheckTables();
  absl::Status MakeTables();
  absl::Status MakeTriggers();
  absl::StatusOr<std::vector<FenceDifference>> Differences(bool every_post);
  absl::Status Remove();

 private:
  using Triggers = std::map<std::string, TableTrigger>;

  absl::StatusOr<std::vector<Result>> Run(const std::string& statements,
                                          std::initializer_list<Shape> shapes) {
    RenewDeadline();
    return connection_.Run(statements, shapes);
  }
  absl::Status Run(const std::string& statement) { return Run(statement, {}).status(); }
  void RenewDeadline() {
    connection_.set_deadline(SteadyClock::now() + absl::ToChronoNanoseconds(server_.timeout));
  }
  absl::Status Refuse(const std::string& why) const {
    return absl::FailedPreconditionError(absl::StrCat("mariadb ", connection_.place(), ": ", why));
  }
  absl::StatusOr<Triggers> TriggersThere() {
    std::vector<std::string> names;
    for (const MovedTable& table : tables_) names.push_back(table.guard.name);
    RenewDeadline();
    return TriggersOn(connection_, names);
  }
  absl::Status CheckTable(const MovedTable& table);
  absl::StatusOr<bool> HasTable(const std::string& name);
  // By `move_`, or by another one. `users`: whether the table locus_moved_table is there.
  absl::StatusOr<bool> IsUsed(bool users, const std::string& table, const char* compare);
  enum class Those { kMakeTombstones, kAll };
  absl::Status RemoveTriggers(const MovedTable& table, Those those);
  absl::Status RenewOldTombstones();
  // kFew: asked every second, so only the last post is looked up. One statement made all of them.
  enum class Posts { kFew, kAll };
  absl::StatusOr<uint64_t> MissingPosts(Posts posts);
  absl::Status RemoveTombstones(const std::string& table);

  const MysqlOptions& server_;
  std::vector<internal::KeyedTable> tables_;  // with the forms of this shard's keys
  const std::vector<std::string>& movers_;
  const std::string& move_;
  Connection& connection_;
};

absl::Status TablesSession::Lock() {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run("SELECT GET_LOCK(CONCAT('locus_moved_table ', SHA1(DATABASE())), 1)", {OneRow(1)}));
  if (results[0].rows[0][0] == "1") return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("mariadb ", connection_.place(),
                   ": another process installs or removes version triggers; repeat the call"));
}

absl::StatusOr<bool> TablesSession::HasTable(const std::string& name) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run(absl::StrCat("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA ="
                       " DATABASE() AND TABLE_NAME = ",
                       SqlText(name)),
          {OneRow(1)}));
  return results[0].rows[0][0] != "0";
}

absl::Status TablesSession::CheckTable(const MovedTable& table) {
  const std::string& name = table.guard.name;
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run(absl::StrCat("SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA ="
                       " DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND TABLE_NAME = ",
                       SqlText(name),
                       ";SELECT CONCAT(COLUMN_TYPE, IF(IS_NULLABLE = 'YES', '', ' not null')) FROM"
                       " information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME"
                       " = ",
                       SqlText(name), " AND COLUMN_NAME = ", SqlText(table.version)),
          {AtMostOneRow(1), AtMostOneRow(1)}));
  if (results[0].rows.empty()) return Refuse(absl::StrCat("has no table ", Quoted(name)));
  const std::string engine = results[0].rows[0][0].value_or("");
  if (engine != "InnoDB") {
    return Refuse(absl::StrCat("table ", Quoted(name), " is of ", engine,
                               ", which has no transactions; it must be InnoDB"));
  }
  const std::string type = results[1].rows.empty() ? "" : results[1].rows[0][0].value_or("");
  if (!type.starts_with("bigint") || !type.ends_with(" unsigned not null")) {
    return Refuse(absl::StrCat("column ", Quoted(table.version), " of table ", Quoted(name),
                               type.empty() ? " is missing" : absl::StrCat(" is ", type),
                               "; the version must be BIGINT UNSIGNED NOT NULL"));
  }
  RenewDeadline();
  LOCUS_ASSIGN_OR_RETURN(std::vector<std::string> key, PrimaryKeyOf(connection_, name));
  if (key != table.primary_key) {
    return Refuse(absl::StrCat("table ", Quoted(name), " has the primary key (",
                               absl::StrJoin(key, ", "), "); the move says (",
                               absl::StrJoin(table.primary_key, ", "), ")"));
  }
  LOCUS_ASSIGN_OR_RETURN(
      results, Run(absl::StrCat("SELECT ", internal::kSchemaColumns,
                                " FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"
                                " AND TABLE_NAME = ",
                                SqlText(name)),
                   {Rows(internal::kSchemaColumnFields, stream::kMostColumns)}));
  std::vector<internal::SchemaColumn> columns;
  for (const Result::Row& row : results[0].rows) {
    columns.push_back(internal::SchemaColumnIn(row));
  }
  const absl::Status status = internal::CheckKey(name, key, columns);
  return status.ok() ? status : Refuse(std::string(status.message()));
}

absl::Status TablesSession::CheckTables() {
  for (const internal::KeyedTable& table : tables_) LOCUS_RETURN_IF_ERROR(CheckTable(table));
  LOCUS_ASSIGN_OR_RETURN(Triggers there, TriggersThere());
  std::set<std::string> ours;
  for (const internal::KeyedTable& table : tables_) {
    for (const VersionTrigger& trigger : VersionTriggersOf(table, movers_)) {
      ours.insert(trigger.name);
    }
  }
  std::vector<GuardedTable> guarded;
  for (const internal::KeyedTable& table : tables_) guarded.push_back(table.guard);
  for (const auto& [name, trigger] : there) {
    if (GuardBefore(there, trigger.table, trigger.event) == name) ours.insert(name);
  }
  std::erase_if(ours, [&](const std::string& name) { return !there.contains(name); });
  LOCUS_ASSIGN_OR_RETURN(const std::vector<std::string> foreign,
                         NotCarried(connection_, there, ours, guarded, movers_));
  return foreign.empty() ? absl::OkStatus() : Refuse(absl::StrCat("trigger ", foreign.front()));
}

// A table that an earlier version made, and no move uses any more, is dropped and made again.
absl::Status TablesSession::RenewOldTombstones() {
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> old,
                         Run(internal::kFindOldTombstones, {AtMostOneRow(1)}));
  if (old[0].rows.empty()) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(const bool users, HasTable("locus_moved_table"));
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run(absl::StrCat("SELECT (SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE"
                       " TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME LIKE 'locus\\_version\\_%')",
                       users ? " + (SELECT COUNT(*) FROM locus_moved_table)" : ""),
          {OneRow(1)}));
  if (results[0].rows[0][0] != "0") return Refuse(internal::kOldTombstones);
  return Run("DROP TABLE locus_tombstone");
}

absl::StatusOr<uint64_t> TablesSession::MissingPosts(Posts posts) {
  const uint32_t first = posts == Posts::kAll ? 0 : internal::kTombstoneBuckets - 1;
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run(absl::StrCat(internal::kCountPosts, " AND bucket >= ", first), {OneRow(1)}));
  LOCUS_ASSIGN_OR_RETURN(const int64_t there, NumberIn(results[0].rows[0], 0, connection_.place()));
  return internal::kTombstoneBuckets - first - static_cast<uint64_t>(there);
}

absl::Status TablesSession::MakeTables() {
  LOCUS_RETURN_IF_ERROR(RenewOldTombstones());
  const std::vector<std::string> create = CreateTombstones();
  LOCUS_RETURN_IF_ERROR(Run(create.front()));
  LOCUS_ASSIGN_OR_RETURN(const uint64_t missing, MissingPosts(Posts::kAll));
  if (missing != 0) LOCUS_RETURN_IF_ERROR(Run(create.back()));
  LOCUS_RETURN_IF_ERROR(Run(kCreateUsers));
  std::string insert = "INSERT IGNORE INTO locus_moved_table (tbl, move) VALUES ";
  for (const internal::KeyedTable& table : tables_) {
    absl::StrAppend(&insert, &table == &tables_.front() ? "(" : ", (", SqlText(table.guard.name),
                    ", ", SqlText(move_), ")");
  }
  return Run(insert);
}

absl::Status TablesSession::MakeTriggers() {
  // Behind a slow reader CREATE TRIGGER would block every other user of the table.
  LOCUS_RETURN_IF_ERROR(Run("SET SESSION lock_wait_timeout = 1"));
  LOCUS_ASSIGN_OR_RETURN(Triggers there, TriggersThere());
  std::vector<std::string> names;
  bool makes = false;
  for (const internal::KeyedTable& table : tables_) {
    for (const VersionTrigger& trigger : VersionTriggersOf(table, movers_)) {
      names.push_back(trigger.name);
      auto found = there.find(trigger.name);
      makes = makes || found == there.end() || found->second.body != trigger.body;
    }
  }
  RenewDeadline();
  LOCUS_ASSIGN_OR_RETURN(const std::string definer, OneDefiner(connection_, there, names, makes));
  for (const internal::KeyedTable& table : tables_) {
    for (const VersionTrigger& trigger : VersionTriggersOf(table, movers_)) {
      const std::string guard =
          trigger.timing == "BEFORE" ? GuardBefore(there, trigger.table, trigger.event) : "";
      auto found = there.find(trigger.name);
      const bool right = found != there.end() && found->second.table == trigger.table &&
                         found->second.event == trigger.event &&
                         found->second.timing == trigger.timing &&
                         found->second.body == trigger.body &&
                         (definer.empty() || found->second.definer == definer) &&
                         (guard.empty() || there.at(guard).order < found->second.order) &&
                         (trigger.timing != "BEFORE" || RunsAfterUserTriggers(there, trigger.name));
      if (right) continue;
      // Between DROP and CREATE no version would rise; OR REPLACE is one statement. It becomes the
      // last, behind the guard.
      const absl::Status made = Run(absl::StrCat(
          "CREATE OR REPLACE TRIGGER ", SqlName(trigger.name), " ", trigger.timing, " ",
          trigger.event, " ON ", SqlName(trigger.table), " FOR EACH ROW ", trigger.body));
      if (made.ok()) continue;
      return absl::Status(made.code(), absl::StrCat(made.message(), "; trigger ", trigger.name,
                                                    " was not made: repeat the call"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FenceDifference>> TablesSession::Differences(bool every_post) {
  LOCUS_ASSIGN_OR_RETURN(Triggers there, TriggersThere());
  using Kind = FenceDifference::Kind;
  std::vector<FenceDifference> wrong = WrongOrders(there);
  auto add = [&](Kind kind, std::string text) { wrong.push_back({kind, std::move(text)}); };
  std::string definer;
  for (const internal::KeyedTable& table : tables_) {
    for (const VersionTrigger& ours : VersionTriggersOf(table, movers_)) {
      auto found = there.find(ours.name);
      if (found == there.end()) {
        add(Kind::kTriggerMissing, absl::StrCat("trigger ", ours.name, " is missing"));
        continue;
      }
      const TableTrigger& trigger = found->second;
      if (trigger.timing != ours.timing || trigger.event != ours.event) {
        add(Kind::kTriggerOther,
            absl::StrCat("trigger ", ours.name, " runs ", trigger.timing, " ", trigger.event,
                         ", not ", ours.timing, " ", ours.event));
      }
      if (trigger.body != ours.body) {
        add(Kind::kTriggerBody, absl::StrCat("trigger ", ours.name, " has another body"));
      }
      if (definer.empty()) definer = trigger.definer;
      if (trigger.definer != definer) {
        add(Kind::kTriggerOther,
            absl::StrCat("trigger ", ours.name, " has the definer ", Quoted(trigger.definer),
                         ", others have ", Quoted(definer)));
      }
    }
  }
  LOCUS_ASSIGN_OR_RETURN(bool tombstones, HasTable("locus_tombstone"));
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> old,
                         Run(internal::kFindOldTombstones, {AtMostOneRow(1)}));
  if (!tombstones) {
    add(Kind::kTombstonesMissing, "table locus_tombstone is missing");
  } else if (!old[0].rows.empty()) {
    add(Kind::kTombstonesOld, internal::kOldTombstones);
  } else {
    LOCUS_ASSIGN_OR_RETURN(const uint64_t missing,
                           MissingPosts(every_post ? Posts::kAll : Posts::kFew));
    if (missing != 0) {
      add(Kind::kPostsMissing, absl::StrCat("locus_tombstone lacks ", missing, " or more of its ",
                                            internal::kTombstoneBuckets, " posts"));
    }
  }
  LOCUS_ASSIGN_OR_RETURN(bool users, HasTable("locus_moved_table"));
  for (const internal::KeyedTable& table : tables_) {
    LOCUS_ASSIGN_OR_RETURN(bool noted, IsUsed(users, table.guard.name, " = "));
    if (noted) continue;
    add(Kind::kUseNotNoted, absl::StrCat("locus_moved_table does not say that move ", Quoted(move_),
                                         " uses table ", Quoted(table.guard.name)));
  }
  return wrong;
}

absl::StatusOr<bool> TablesSession::IsUsed(bool users, const std::string& table,
                                           const char* compare) {
  if (!users) return false;
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results,
                         Run(absl::StrCat("SELECT COUNT(*) FROM locus_moved_table WHERE tbl = ",
                                          SqlText(table), " AND move", compare, SqlText(move_)),
                             {OneRow(1)}));
  return results[0].rows[0][0] != "0";
}

absl::Status TablesSession::RemoveTriggers(const MovedTable& table, Those those) {
  for (const VersionTrigger& trigger : VersionTriggersOf(table, movers_)) {
    if (those == Those::kMakeTombstones && trigger.event != "DELETE") continue;
    const absl::Status dropped =
        Run(absl::StrCat("DROP TRIGGER IF EXISTS ", SqlName(trigger.name)));
    if (dropped.ok()) continue;
    return absl::Status(dropped.code(), absl::StrCat(dropped.message(), "; trigger ", trigger.name,
                                                     " was not dropped: repeat the call"));
  }
  return absl::OkStatus();
}

// By whole keys: a range would lock the posts in it, which the INSERTs of all other tables read.
absl::Status TablesSession::RemoveTombstones(const std::string& table) {
  std::optional<internal::TombstoneId> behind;
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> results,
        Run(internal::SelectTombstonesBehind(behind, kReadAtOnce), {Rows(6, kReadAtOnce)}));
    std::vector<internal::TombstoneId> ids;
    for (const Result::Row& row : results[0].rows) {
      LOCUS_ASSIGN_OR_RETURN(const int64_t bucket, NumberIn(row, 0, connection_.place()));
      behind = {static_cast<uint32_t>(bucket), row[1].value_or(""), row[2].value_or("")};
      if (behind->table == table) ids.push_back(*behind);
    }
    for (size_t i = 0; i < ids.size(); i += kDeletedAtOnce) {
      LOCUS_RETURN_IF_ERROR(Run(internal::DeleteTombstones(
          std::span(ids).subspan(i, std::min(kDeletedAtOnce, ids.size() - i)))));
    }
    if (results[0].rows.size() < kReadAtOnce) return absl::OkStatus();
  }
}

absl::Status TablesSession::Remove() {
  LOCUS_RETURN_IF_ERROR(Run("SET SESSION lock_wait_timeout = 1"));
  LOCUS_ASSIGN_OR_RETURN(bool users, HasTable("locus_moved_table"));
  LOCUS_ASSIGN_OR_RETURN(bool tombstones, HasTable("locus_tombstone"));
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> old,
                         Run(internal::kFindOldTombstones, {AtMostOneRow(1)}));
  if (!old[0].rows.empty()) return Refuse(internal::kOldTombstones);
  for (const internal::KeyedTable& table : tables_) {
    // An earlier call has done so; these tables and triggers are of moves that began later.
    LOCUS_ASSIGN_OR_RETURN(const bool used, IsUsed(users, table.guard.name, " = "));
    if (!used) continue;
    LOCUS_ASSIGN_OR_RETURN(bool shared, IsUsed(users, table.guard.name, " <> "));
    // While there are tombstones, rows that are inserted again get versions above them. So a move
    // that begins after this one was killed here finds tombstones and triggers, or neither. Another
    // move that uses the table may have these vnodes by now. Its target then has their tombstones,
    // so they must also stay here.
    if (!shared) {
      LOCUS_RETURN_IF_ERROR(RemoveTriggers(table, Those::kMakeTombstones));
      if (tombstones) LOCUS_RETURN_IF_ERROR(RemoveTombstones(table.guard.name));
      LOCUS_RETURN_IF_ERROR(RemoveTriggers(table, Those::kAll));
    }
    LOCUS_RETURN_IF_ERROR(
        Run(absl::StrCat("DELETE FROM locus_moved_table WHERE tbl = ", SqlText(table.guard.name),
                         " AND move = ", SqlText(move_))));
  }
  return absl::OkStatus();
}

}  // namespace

class MovedTables::Rep {
 public:
  Rep(const MysqlOptions& given, const std::vector<MovedTable>& moved,
      const std::vector<std::string>& accounts, internal::SecretBytes secret)
      : server(WithoutPassword(given)),
        tables(moved),
        movers(accounts),
        password(std::move(secret)) {}

  absl::StatusOr<std::unique_ptr<Connection>> Connect() const {
    absl::Status last;
    for (const MysqlOptions::Host& host : server.hosts) {
      auto connection = Connection::Open(
          server, host, password.data(),
          server.hosts.size() > 1 ? Connection::Access::kPrimary : Connection::Access::kWrite,
          SteadyClock::now() + absl::ToChronoNanoseconds(server.connect_timeout + server.timeout));
      if (connection.ok()) return connection;
      last = connection.status();
    }
    return last;
  }

  const MysqlOptions server;
  const std::vector<MovedTable> tables;
  const std::vector<std::string> movers;
  const internal::SecretBytes password;
};

MovedTables::MovedTables(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}

absl::StatusOr<MovedTables> MovedTables::Create(const MysqlOptions& server,
                                                const std::vector<MovedTable>& tables,
                                                const std::vector<std::string>& movers) {
  LOCUS_RETURN_IF_ERROR(server.Check());
  FenceOptions fence;
  fence.movers = movers;
  for (const MovedTable& table : tables) {
    LOCUS_RETURN_IF_ERROR(table.Check());
    fence.tables.push_back(table.guard);
  }
  LOCUS_RETURN_IF_ERROR(fence.Check());
  LOCUS_ASSIGN_OR_RETURN(internal::SecretBytes password,
                         internal::SecretBytes::Allocate(server.password.size() + 1));
  internal::CopySecret(server.password.data(), password.data(), server.password.size());
  return MovedTables(std::make_shared<Rep>(server, tables, movers, std::move(password)));
}

absl::Status MovedTables::Install(const std::string& move) const {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, rep_->Connect());
  TablesSession session(rep_->server, rep_->tables, rep_->movers, move, *connection);
  LOCUS_RETURN_IF_ERROR(session.Lock());
  LOCUS_RETURN_IF_ERROR(session.ReadForms());
  LOCUS_RETURN_IF_ERROR(session.CheckTables());
  LOCUS_RETURN_IF_ERROR(session.MakeTables());
  return session.MakeTriggers();
}

absl::StatusOr<std::vector<FenceDifference>> MovedTables::Differences(
    const std::string& move) const {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, rep_->Connect());
  TablesSession session(rep_->server, rep_->tables, rep_->movers, move, *connection);
  LOCUS_RETURN_IF_ERROR(session.ReadForms());
  return session.Differences(/*every_post=*/true);
}

absl::Status MovedTables::Verify(const std::string& move) const {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, rep_->Connect());
  TablesSession session(rep_->server, rep_->tables, rep_->movers, move, *connection);
  LOCUS_RETURN_IF_ERROR(session.ReadForms());
  LOCUS_ASSIGN_OR_RETURN(const std::vector<FenceDifference> wrong,
                         session.Differences(/*every_post=*/false));
  return internal::RefusalOf(LoginOf(rep_->server, rep_->server.hosts.front()).place(), wrong);
}

absl::Status MovedTables::Remove(const std::string& move) const {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, rep_->Connect());
  TablesSession session(rep_->server, rep_->tables, rep_->movers, move, *connection);
  LOCUS_RETURN_IF_ERROR(session.Lock());
  return session.Remove();
}

}  // namespace locus::mysql
