// SPDX-License-Identifier: Apache-2.0
#include "migration/fence/table_triggers.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/table_column.h"
#include "migration/fence/user_triggers.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::mysql {

using internal::SqlText;

namespace {

constexpr size_t kMostTriggers = 65536;
constexpr size_t kMostColumns = 8192;

std::string NameIfThere(const std::map<std::string, TableTrigger>& there, std::string name,
                        const std::string& table, const std::string& event) {
  auto found = there.find(name);
  const bool stands = found != there.end() && found->second.table == table &&
                      found->second.event == event && found->second.timing == "BEFORE";
  return stands ? name : "";
}

// The body of a version trigger without the accounts that it lets pass: a move file whose movers
// were edited still knows its own triggers.
std::string WithoutMovers(std::string body) {
  constexpr std::string_view kBegin = "BINARY USER() NOT IN (", kEnd = ") THEN";
  const size_t begin = body.find(kBegin);
  if (begin == std::string::npos) return body;
  const size_t end = body.find(kEnd, begin);
  if (end == std::string::npos) return body;
  return body.erase(begin + kBegin.size(), end - begin - kBegin.size());
}

}  // namespace

absl::StatusOr<std::map<std::string, TableTrigger>> TriggersOn(
    Connection& connection, const std::vector<std::string>& tables) {
  const std::string names = absl::StrJoin(
      tables, ", ",
      [](std::string* out, const std::string& table) { absl::StrAppend(out, SqlText(table)); });
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      connection.Run(
          absl::StrCat("SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE, EVENT_MANIPULATION, ACTION_TIMING,"
                       " ACTION_STATEMENT, DEFINER, ACTION_ORDER, SQL_MODE FROM"
                       " information_schema.TRIGGERS"
                       " WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE IN (",
                       names, ")"),
          {Rows(8, kMostTriggers)}));
  std::map<std::string, TableTrigger> there;
  for (const Result::Row& row : results[0].rows) {
    TableTrigger& trigger = there[row[0].value_or("")];
    trigger = {row[1].value_or(""), row[2].value_or(""), row[3].value_or(""),
               row[4].value_or(""), row[5].value_or(""), 0,
               row[7].value_or("")};
    if (!absl::SimpleAtoi(row[6].value_or(""), &trigger.order)) trigger.order = 0;
  }
  return there;
}

absl::StatusOr<std::vector<std::string>> PrimaryKeyOf(Connection& connection,
                                                      const std::string& table) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      connection.Run(absl::StrCat("SELECT COLUMN_NAME FROM information_schema.STATISTICS WHERE"
                                  " TABLE_SCHEMA = DATABASE() AND INDEX_NAME = 'PRIMARY' AND"
                                  " TABLE_NAME = ",
                                  SqlText(table), " ORDER BY SEQ_IN_INDEX"),
                     {Rows(1, kMostColumns)}));
  std::vector<std::string> columns;
  for (const Result::Row& row : results[0].rows) columns.push_back(row[0].value_or(""));
  return columns;
}

absl::Status ReadKeyForms(Connection& connection, std::vector<internal::KeyedTable>& tables) {
  const std::string names =
      absl::StrJoin(tables, ", ", [](std::string* out, const internal::KeyedTable& table) {
        absl::StrAppend(out, SqlText(table.guard.name));
      });
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      connection.Run(absl::StrCat("SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE FROM"
                                  " information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND"
                                  " COLUMN_KEY = 'PRI' AND TABLE_NAME IN (",
                                  names, ")"),
                     {Rows(3, kMostColumns)}));
  std::map<std::pair<std::string, std::string>, internal::KeyForm> forms;
  for (const Result::Row& row : results[0].rows) {
    forms[{row[0].value_or(""), row[1].value_or("")}] = internal::KeyFormOf(row[2].value_or(""));
  }
  for (internal::KeyedTable& table : tables) {
    table.key_forms.clear();
    for (const std::string& column : table.primary_key) {
      table.key_forms.push_back(forms[{table.guard.name, column}]);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> IsVersionTrigger(Connection& connection, const GuardedTable& table,
                                      const std::vector<std::string>& movers,
                                      const std::string& name, const TableTrigger& trigger) {
  if (!name.starts_with(absl::StrCat("locus_version_", table.name, "_"))) return false;
  internal::KeyedTable moved;
  moved.guard = table;
  LOCUS_ASSIGN_OR_RETURN(moved.primary_key, PrimaryKeyOf(connection, table.name));
  std::vector<internal::KeyedTable> one = {std::move(moved)};
  LOCUS_RETURN_IF_ERROR(ReadKeyForms(connection, one));
  moved = std::move(one.front());
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      connection.Run(absl::StrCat("SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE"
                                  " TABLE_SCHEMA = DATABASE() AND DATA_TYPE = 'bigint' AND"
                                  " TABLE_NAME = ",
                                  SqlText(table.name)),
                     {Rows(1, kMostColumns)}));
  for (const Result::Row& row : results[0].rows) {
    moved.version = row[0].value_or("");
    for (const bool replaces : {false, true}) {
      moved.replaces = replaces;
      for (const VersionTrigger& ours : VersionTriggersOf(moved, movers)) {
        if (ours.name == name && ours.event == trigger.event && ours.timing == trigger.timing &&
            WithoutMovers(ours.body) == WithoutMovers(trigger.body)) {
          return true;
        }
      }
    }
  }
  return false;
}

std::string GuardBefore(const std::map<std::string, TableTrigger>& there, const std::string& table,
                        const std::string& event) {
  return NameIfThere(there, absl::StrCat("locus_guard_", table, "_", absl::AsciiStrToLower(event)),
                     table, event);
}

std::string VersionTriggerBefore(const std::map<std::string, TableTrigger>& there,
                                 const std::string& table, const std::string& event) {
  return NameIfThere(
      there, absl::StrCat("locus_version_", table, "_before_", absl::AsciiStrToLower(event)), table,
      event);
}

absl::StatusOr<std::string> OneDefiner(Connection& connection,
                                       const std::map<std::string, TableTrigger>& there,
                                       const std::vector<std::string>& names, bool makes) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results,
                         connection.Run("SELECT CURRENT_USER()", {OneRow(1)}));
  const std::string account = results[0].rows[0][0].value_or("");
  std::set<std::string> definers;
  if (makes) definers.insert(account);
  for (const std::string& name : names) {
    if (auto found = there.find(name); found != there.end()) {
      definers.insert(found->second.definer);
    }
  }
  return definers.size() > 1 ? account : std::string();
}

absl::StatusOr<std::vector<std::string>> NotCarried(
    Connection& connection, const std::map<std::string, TableTrigger>& there,
    const std::set<std::string>& ours, const std::vector<GuardedTable>& tables,
    const std::vector<std::string>& movers) {
  std::vector<std::string> found;
  if (there.size() == ours.size()) return found;
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results,
                         connection.Run(internal::kStoredFunctions, {Rows(1, kMostTriggers)}));
  std::vector<std::string> functions;
  for (const Result::Row& row : results[0].rows) functions.push_back(row[0].value_or(""));
  for (const auto& [name, trigger] : there) {
    if (ours.contains(name)) continue;
    const std::string why =
        name.starts_with("locus_")
            ? "has a name of locus, and is none of its triggers: drop it"
            : internal::WhyNotCarried({trigger.table, trigger.body, trigger.sql_mode}, tables,
                                      movers, functions);
    if (!why.empty()) {
      found.push_back(absl::StrCat(internal::Quoted(name), " on ", trigger.table, " ", why));
    }
  }
  return found;
}

bool RunsAfterUserTriggers(const std::map<std::string, TableTrigger>& there,
                           const std::string& name) {
  const TableTrigger& ours = there.at(name);
  for (const auto& [other, trigger] : there) {
    if (trigger.table != ours.table || trigger.event != ours.event || trigger.timing != "BEFORE") {
      continue;
    }
    const bool theirs = GuardBefore(there, trigger.table, trigger.event) != other &&
                        VersionTriggerBefore(there, trigger.table, trigger.event) != other;
    if (theirs && trigger.order > ours.order) return false;
  }
  return true;
}

std::vector<FenceDifference> WrongOrders(const std::map<std::string, TableTrigger>& there) {
  std::vector<FenceDifference> wrong;
  auto add = [&](std::string text) {
    wrong.push_back({FenceDifference::Kind::kTriggerOther, std::move(text)});
  };
  for (const auto& [name, trigger] : there) {
    const std::string guard = GuardBefore(there, trigger.table, trigger.event);
    const std::string version = VersionTriggerBefore(there, trigger.table, trigger.event);
    if (name != guard && name != version) continue;
    if (!RunsAfterUserTriggers(there, name)) {
      add(absl::StrCat("trigger ", name, " runs before a trigger of the service"));
    }
    if (name == version || version.empty() || trigger.order < there.at(version).order) continue;
    add(absl::StrCat("trigger ", version, " runs before trigger ", guard));
  }
  return wrong;
}

}  // namespace locus::mysql
