// SPDX-License-Identifier: Apache-2.0
#include "migration/preflight/judge.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "migration/preflight/report.h"

namespace locus::preflight {

namespace {

// The slowest copy, for estimates: small rows on slow disks.
constexpr uint64_t kRowsASecond = 2000;
// Connections of the streams, applier, copier, comparison and coordinator, and of commands.
constexpr uint64_t kConnections = 16;

bool IsOn(const std::string& value) { return value == "ON" || value == "1"; }

struct Setting {
  const char* check;
  const char* variable;
  std::vector<std::string> right;
  const char* remedy;
};

// The needs of every server of a move, failover candidates included.
const std::vector<Setting>& Settings() {
  static const auto* const settings = new std::vector<Setting>{
      {"log-bin", "log_bin", {"ON"}, "start the server with log_bin: a move follows the log"},
      {"binlog-format",
       "binlog_format",
       {"ROW"},
       "SET GLOBAL binlog_format = ROW, and in my.cnf; then reconnect the clients"},
      {"binlog-row-image",
       "binlog_row_image",
       {"FULL"},
       "SET GLOBAL binlog_row_image = FULL, and in my.cnf; then reconnect the clients"},
      {"binlog-row-metadata",
       "binlog_row_metadata",
       {"FULL"},
       "SET GLOBAL binlog_row_metadata = FULL, and in my.cnf: rows are read by column names"},
      {"binlog-checksum",
       "binlog_checksum",
       {"CRC32"},
       "SET GLOBAL binlog_checksum = CRC32, and in my.cnf"},
      {"log-bin-compress",
       "log_bin_compress",
       {"OFF"},
       "SET GLOBAL log_bin_compress = OFF, and in my.cnf"},
      {"gtid-strict-mode",
       "gtid_strict_mode",
       {"ON"},
       "SET GLOBAL gtid_strict_mode = ON, and in my.cnf"},
      {"sync-binlog",
       "sync_binlog",
       {"1"},
       "SET GLOBAL sync_binlog = 1, and in my.cnf: a crash must not lose what was committed"},
      {"flush-log",
       "innodb_flush_log_at_trx_commit",
       {"1", "3"},
       "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in my.cnf"},
      {"galera",
       "wsrep_on",
       {"OFF", ""},
       "a Galera node commits a write set after the fence has let it pass: no move is possible"},
  };
  return *settings;
}

void JudgeVersion(const Server& server, Report& report) {
  const std::string version = ValueOf(server, "version");
  const std::vector<std::string> parts = absl::StrSplit(version, '.');
  uint32_t major = 0, minor = 0;
  const bool numbers =
      parts.size() > 1 && absl::SimpleAtoi(parts[0], &major) && absl::SimpleAtoi(parts[1], &minor);
  const bool new_enough = numbers && (major > 10 || (major == 10 && minor >= 5));
  report.Add("server-version", new_enough && absl::StrContains(version, "MariaDB"), server.place,
             version, "MariaDB 10.5 or later", "upgrade the server; moves are tested with 10.11");
}

void JudgeDomains(const Server& server, Report& report) {
  const std::string position = ValueOf(server, "gtid_binlog_pos");
  std::set<std::string> domains;
  for (absl::string_view gtid : absl::StrSplit(position, ',', absl::SkipWhitespace())) {
    domains.insert(std::string(gtid.substr(0, gtid.find('-'))));
  }
  report.Add("gtid-domains", domains.size() <= 1, server.place,
             absl::StrCat(domains.size(), domains.size() == 1 ? " domain" : " domains", " in ",
                          position.empty() ? "an empty log" : position),
             "one domain: transactions of several have no order among each other",
             "write by one gtid_domain_id; then FLUSH BINARY LOGS, PURGE those that have the other "
             "domain, FLUSH BINARY LOGS DELETE_DOMAIN_ID = (...)");
}

void JudgeTextWriters(const Server& server, Report& report) {
  const auto* tables = report.Read("text-writers", server.place, server.text_writers,
                                   "look whether the log can be read by the mover");
  if (tables == nullptr) return;
  std::vector<std::string> shown;
  for (const std::string& table : *tables) {
    shown.push_back(table.empty() ? "a statement that does not name its tables" : table);
  }
  report.Add(
      "text-writers", tables->empty(), server.place,
      tables->empty() ? "none in the newest log"
                      : absl::StrCat("the newest log has as text: ", absl::StrJoin(shown, ", ")),
      "rows of moved tables in the log as rows",
      "find the sessions with binlog_format=STATEMENT or MIXED, end them (SET STATEMENT sql_mode "
      "= ... FOR DDL also hides its tables: use SET SESSION), FLUSH BINARY LOGS; "
      "a stream stops at such a statement");
}

void JudgeFilters(const Server& server, Report& report) {
  if (const auto* filters =
          report.Read("binlog-filters", server.place, server.binlog_filters,
                      absl::StrCat("GRANT BINLOG MONITOR ON *.* TO ", GranteeOf(server)))) {
    report.Add("binlog-filters", filters->empty(), server.place,
               filters->empty() ? "none" : absl::StrJoin(*filters, ", "), "no filters",
               "remove binlog_do_db and binlog_ignore_db from my.cnf and restart: filtered writes "
               "are not in the log");
  }
  std::vector<std::string> found;
  for (const char* name :
       {"replicate_do_db", "replicate_ignore_db", "replicate_do_table", "replicate_ignore_table",
        "replicate_wild_do_table", "replicate_wild_ignore_table", "replicate_rewrite_db"}) {
    const std::string value = ValueOf(server, name);
    if (!value.empty()) found.push_back(absl::StrCat(name, " = ", value));
  }
  report.Add("replicate-filters", found.empty(), server.place,
             found.empty() ? "none" : absl::StrJoin(found, ", "), "no filters",
             "STOP SLAVE; set them to ''; START SLAVE; and remove them from my.cnf: what a "
             "candidate filters is lost with its promotion");
}

void JudgeRetention(const Facts& facts, const Server& server, Report& report) {
  double seconds = 0;
  double days = 0;
  if (!absl::SimpleAtod(ValueOf(server, "binlog_expire_logs_seconds"), &seconds)) seconds = 0;
  if (absl::SimpleAtod(ValueOf(server, "expire_logs_days"), &days) && seconds == 0) {
    seconds = days * 86400;
  }
  const absl::Duration kept =
      seconds == 0 ? absl::InfiniteDuration() : absl::Seconds(std::min(seconds, 1e9));
  const absl::Duration needed = LogsNeeded(facts);
  const std::string rate = facts.copied_a_second > 0
                               ? absl::StrCat(static_cast<uint64_t>(facts.copied_a_second),
                                              " rows a second, as measured")
                               : absl::StrCat(kRowsASecond, " rows a second, which is a guess");
  report.Add("binlog-retention", kept >= needed, server.place,
             seconds == 0 ? "logs are kept"
                          : absl::StrCat("logs are kept for ", absl::FormatDuration(kept)),
             absl::StrCat("at least ", absl::FormatDuration(needed),
                          ", three times the estimate of this move, which copies ", rate),
             absl::StrCat("SET GLOBAL binlog_expire_logs_seconds = ", absl::ToInt64Seconds(needed),
                          ", and in my.cnf"));
}

void JudgeUse(const Server& server, Report& report) {
  if (const auto* prepared = report.Read("user-xa", server.place, server.prepared,
                                         "XA RECOVER must be allowed to the mover")) {
    report.Add(
        "user-xa", *prepared == 0, server.place, absl::StrCat(*prepared, " prepared transactions"),
        "none",
        "end them by XA COMMIT or XA ROLLBACK, and use no XA for orders that move: a prepared "
        "transaction has lost its lock of the fence, and the stream stops at its rows");
  }
  if (const auto* connected = report.Read("connections", server.place, server.connected,
                                          "SHOW GLOBAL STATUS must be allowed to the mover")) {
    uint64_t most = 0;
    const bool read = absl::SimpleAtoi(ValueOf(server, "max_connections"), &most);
    const uint64_t left = read && most > *connected ? most - *connected : 0;
    report.Add(
        "connections", left >= kConnections, server.place,
        absl::StrCat(left, " of ", most, " are free"), absl::StrCat("at least ", kConnections),
        absl::StrCat("SET GLOBAL max_connections = ", most + kConnections, ", and in my.cnf"));
  }
}

// A session keeps the values that it began with, and the guards then refuse its writes. On a
// candidate they do so once it is promoted, even if the session has only read until then.
void JudgeSessions(const Facts& facts, const Server& server, bool candidate, Report& report) {
  const auto* sessions = report.Read("open-sessions", server.place, server.old_sessions,
                                     "GRANT PROCESS ON *.* TO " + GranteeOf(server));
  if (sessions == nullptr) return;
  constexpr size_t kShown = 20;
  std::vector<std::string> shown;
  size_t count = 0;
  for (const Session& session : *sessions) {
    const bool ours =
        std::find(facts.movers.begin(), facts.movers.end(), session.account) != facts.movers.end();
    if (ours || ++count > kShown) continue;
    shown.push_back(absl::StrCat(session.id, " of ", session.account));
  }
  report.Add(
      "open-sessions", count == 0, server.place,
      count == 0
          ? "began with the settings of the log"
          : absl::StrCat(count, " may have begun before SET GLOBAL: ", absl::StrJoin(shown, ", "),
                         count > kShown ? ", ..." : ""),
      absl::StrCat("no session from before binlog_format and binlog_row_image were set: the "
                   "guards would refuse its writes",
                   candidate ? " once this server is promoted" : ""),
      absl::StrCat(candidate ? "SET SESSION sql_log_bin = 0; " : "", "CREATE OR REPLACE TABLE `",
                   server.database, "`.", kSessionMark, ValueOf(server, "server_id"),
                   " (newest BIGINT UNSIGNED PRIMARY KEY) SELECT CONNECTION_ID() AS newest;"
                   " then let clients reconnect, or KILL the sessions that are left. Or "
                   "restart the server with both in my.cnf"));
}

void JudgeShard(const Facts& facts, const Shard& shard, Report& report) {
  const Server& server = shard.server;
  report.Add(
      "login", server.login.ok(), server.place,
      server.login.ok() ? absl::StrCat("as ", server.user) : std::string(server.login.message()),
      "the mover to be let in",
      "create the account, or correct [accounts.mover], the endpoint or [shards.NAME]");
  if (!server.login.ok()) return;
  JudgeServer(server, report);
  report.Add("read-only", ValueOf(server, "read_only") == "OFF", server.place,
             absl::StrCat("read_only ", ValueOf(server, "read_only")), "OFF",
             "a move needs the primary: correct the endpoint, or [shards.NAME] hosts");
  JudgeSessions(facts, server, false, report);
  JudgeRetention(facts, server, report);
  JudgeAccounts(facts, shard, report);
  JudgeTables(facts, shard, report);
  if (shard.schema.ok()) JudgeTriggers(facts, shard, report);
}

}  // namespace

void Report::Add(const std::string& check, bool ok, const std::string& place,
                 const std::string& found, const std::string& needed, const std::string& remedy) {
  findings_.push_back({check, ok, place, found, ok ? "" : needed, ok ? "" : remedy, false});
}

void Report::Warn(const std::string& check, const std::string& place, const std::string& found) {
  findings_.push_back({check, true, place, found, "", "", true});
}

bool Report::Failed(std::initializer_list<std::string_view> checks) const {
  return std::any_of(findings_.begin(), findings_.end(), [&](const Finding& finding) {
    return !finding.ok && std::find(checks.begin(), checks.end(), finding.check) != checks.end();
  });
}

std::string ValueOf(const Server& server, const std::string& variable) {
  auto found = server.variables.find(variable);
  return found == server.variables.end() ? "" : found->second;
}

std::string GranteeOf(const Server& server) {
  const size_t at = server.current_user.rfind('@');
  if (at == std::string::npos) return server.current_user;
  return absl::StrCat("'", server.current_user.substr(0, at), "'@'",
                      server.current_user.substr(at + 1), "'");
}

absl::Duration LogsNeeded(const Facts& facts) {
  uint64_t rows = 0, vnodes = 0;
  if (facts.source.schema.ok()) {
    for (const auto& [name, table] : facts.source.schema->tables) rows += table.rows;
  }
  for (const FencedRange& range : facts.ranges) vnodes += range.hi - range.lo + 1;
  // The number of the source's vnodes is not known here, so the estimate assumes only these.
  const double rate =
      facts.copied_a_second > 0 ? facts.copied_a_second : static_cast<double>(kRowsASecond);
  const absl::Duration copy = absl::Seconds(static_cast<double>(rows) / rate);
  const double steps = 10000.0 / std::max<uint32_t>(facts.pace.by, 1);
  const absl::Duration stepping =
      vnodes == 0 ? absl::ZeroDuration() : steps * (facts.pace.dwell + facts.pace.accept_within);
  return std::max(absl::Hours(24), absl::Ceil(3 * (copy + stepping), absl::Hours(1)));
}

void JudgeServer(const Server& server, Report& report) {
  JudgeVersion(server, report);
  for (const Setting& setting : Settings()) {
    const std::string value = ValueOf(server, setting.variable);
    const bool right =
        std::find(setting.right.begin(), setting.right.end(), value) != setting.right.end();
    report.Add(setting.check, right, server.place, value.empty() ? "not there" : value,
               setting.right[0], setting.remedy);
  }
  JudgeDomains(server, report);
  JudgeFilters(server, report);
  JudgeTextWriters(server, report);
  JudgeUse(server, report);
  std::vector<std::string> missing;
  const std::vector<std::string> on_schema = {"SELECT", "INSERT", "UPDATE", "DELETE",
                                              "CREATE", "DROP",   "TRIGGER"};
  const std::vector<std::string> on_all = {"REPLICATION SLAVE", "BINLOG MONITOR", "PROCESS"};
  std::vector<std::string> grants;
  for (const auto& [rights, database] :
       {std::pair(on_schema, server.database), std::pair(on_all, std::string())}) {
    std::vector<std::string> lacking;
    for (const std::string& right : rights) {
      if (!HasRight(server.grants, right, database)) lacking.push_back(right);
    }
    if (lacking.empty()) continue;
    missing.insert(missing.end(), lacking.begin(), lacking.end());
    grants.push_back(absl::StrCat("GRANT ", absl::StrJoin(lacking, ", "), " ON ",
                                  database.empty() ? "*" : absl::StrCat("`", database, "`"),
                                  ".* TO ", GranteeOf(server)));
  }
  report.Add("rights", missing.empty(), server.place,
             missing.empty() ? "all" : absl::StrCat("without ", absl::StrJoin(missing, ", ")),
             "these rights of the mover", absl::StrJoin(grants, "; "));
  const bool may_create = IsOn(ValueOf(server, "log_bin_trust_function_creators")) ||
                          HasRight(server.grants, "SUPER", "");
  report.Add("trigger-creation", may_create, server.place,
             absl::StrCat("log_bin_trust_function_creators ",
                          ValueOf(server, "log_bin_trust_function_creators")),
             "ON, or the mover to have SUPER: guards are triggers",
             "SET GLOBAL log_bin_trust_function_creators = ON, and in my.cnf");
}

void JudgeCandidates(const Facts& facts, const Shard& shard, Report& report) {
  if (shard.candidates.empty()) {
    report.Add("candidates", true, shard.server.place,
               "none are named: what a promoted replica lacks would be lost, and the move could "
               "not tell");
  }
  const std::string primary = ValueOf(shard.server, "server_id");
  for (const Candidate& candidate : shard.candidates) {
    const Server& server = candidate.server;
    report.Add(
        "candidate-login", server.login.ok(), server.place,
        server.login.ok() ? absl::StrCat("as ", server.user) : std::string(server.login.message()),
        "the mover to be let in",
        "create the account there, or correct candidates of [shards.NAME]");
    if (!server.login.ok()) continue;
    JudgeVersion(server, report);
    for (const Setting& setting : Settings()) {
      const std::string value = ValueOf(server, setting.variable);
      const bool right =
          std::find(setting.right.begin(), setting.right.end(), value) != setting.right.end();
      report.Add(setting.check, right, server.place, value.empty() ? "not there" : value,
                 setting.right[0], setting.remedy);
    }
    JudgeFilters(server, report);
    JudgeSessions(facts, server, true, report);
    report.Add("candidate-log", ValueOf(server, "log_slave_updates") == "ON", server.place,
               absl::StrCat("log_slave_updates ", ValueOf(server, "log_slave_updates")), "ON",
               "start the server with log_slave_updates: promoted, it must have the whole log");
    report.Add("candidate-read-only", ValueOf(server, "read_only") != "OFF", server.place,
               absl::StrCat("read_only ", ValueOf(server, "read_only")), "ON",
               "SET GLOBAL read_only = ON, and in my.cnf: only the primary takes writes");
    report.Add("candidate-server-id", ValueOf(server, "server_id") != primary, server.place,
               ValueOf(server, "server_id"), absl::StrCat("another one than the primary's"),
               "give each server a server_id of its own");
    const auto* follows =
        report.Read("candidate-follows", server.place, candidate.follows,
                    absl::StrCat("GRANT SLAVE MONITOR ON *.* TO ", GranteeOf(server)));
    if (follows == nullptr) continue;
    std::vector<std::string> ids;
    bool right = false;
    for (uint64_t id : *follows) {
      ids.push_back(absl::StrCat(id));
      right = right || ids.back() == primary;
    }
    report.Add("candidate-follows", right, server.place,
               ids.empty() ? "follows no server by GTID"
                           : absl::StrCat("follows server ", absl::StrJoin(ids, ", ")),
               absl::StrCat("to follow server ", primary, " by GTID"),
               "CHANGE MASTER TO the shard's primary with MASTER_USE_GTID = slave_pos, START "
               "SLAVE; or correct candidates of [shards.NAME]");
  }
}

std::vector<Finding> Judge(const Facts& facts) {
  Report report;
  for (const Shard* shard : {&facts.source, &facts.target}) {
    JudgeShard(facts, *shard, report);
    if (shard->server.login.ok()) JudgeCandidates(facts, *shard, report);
  }
  if (facts.source.server.login.ok() && facts.target.server.login.ok()) {
    JudgeFences(facts, report);
    JudgeBoth(facts, report);
    JudgeTriggersOfBoth(facts, report);
  }
  return report.Take();
}

std::vector<Finding> JudgeMovedTables(const Facts& facts) {
  Report report;
  for (const Shard* shard : {&facts.source, &facts.target}) JudgeTables(facts, *shard, report);
  JudgeDifferences(facts, report);
  return report.Take();
}

bool AllOk(const std::vector<Finding>& findings) {
  return std::all_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.ok; });
}

}  // namespace locus::preflight
