// SPDX-License-Identifier: Apache-2.0
#include "migration/fence/user_triggers.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/stream/sql_tokens.h"
#include "src/base/text/text.h"

namespace locus::internal {

namespace {

using stream::SqlToken;
using stream::SqlTokens;
using Tokens = std::span<const SqlToken>;

constexpr char kOutside[] = "changes rows of table ";
constexpr char kOutsideWhy[] = ", which does not move: they would stay behind their orders";

// Takes `label: BEGIN IF [BINARY] USER() IN (...) THEN LEAVE label; END IF;`. BEGIN's END is then
// the end of the body, so nothing of the body runs for those accounts.
bool TakeGuard(SqlTokens& tokens, const std::vector<std::string>& movers) {
  const SqlToken label = tokens.Next();
  if (!label.IsName() || !tokens.TakeSign(':') || !tokens.Take("BEGIN") || !tokens.Take("IF")) {
    return false;
  }
  tokens.Take("BINARY");
  if (!tokens.Take("USER") || !tokens.TakeSign('(') || !tokens.TakeSign(')') ||
      !tokens.Take("IN") || !tokens.TakeSign('(')) {
    return false;
  }
  std::vector<std::string> spared;
  do {
    const bool hex = tokens.Take("X");
    const SqlToken account = tokens.Next();
    if (account.kind != SqlToken::Kind::kString) return false;
    std::string name(account.text);
    if (hex) name = absl::HexStringToBytes(ToAbsl(account.text));
    spared.push_back(std::move(name));
  } while (tokens.TakeSign(','));
  const bool ends = tokens.TakeSign(')') && tokens.Take("THEN") && tokens.Take("LEAVE") &&
                    tokens.Next().Name() == label.Name() && tokens.TakeSign(';') &&
                    tokens.Take("END") && tokens.Take("IF") && tokens.TakeSign(';');
  return ends && std::all_of(movers.begin(), movers.end(), [&](const std::string& mover) {
           return std::find(spared.begin(), spared.end(), mover) != spared.end();
         });
}

class BodyJudge {
 public:
  BodyJudge(const GuardedTable* own, const std::vector<GuardedTable>& tables,
            const std::vector<std::string>& functions)
      : own_(own), tables_(tables), functions_(functions) {}

  // Of one statement.
  std::string Judge(Tokens tokens) const {
    bool reads = false;  // rows of moved tables that are there
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto is = [&](size_t at, std::string_view word) {
        return at < tokens.size() && tokens[at].Is(word);
      };
      const bool call = i + 1 < tokens.size() && tokens[i + 1].IsSign('(');
      if (std::string why = JudgeCall(tokens, i, call); !why.empty()) return why;
      if (i > 0 && tokens[i - 1].IsSign('@') && tokens[i].IsName() &&
          absl::StartsWithIgnoreCase(tokens[i].Name(), "locus_")) {
        return "uses a variable of locus";
      }
      const bool written = (is(i, "REPLACE") || is(i, "INSERT")) && !call;
      if (written && (is(i, "REPLACE") || HasDuplicateKey(tokens.subspan(i)))) {
        const std::string table = TargetOf(tokens, i + 1);
        if (Find(table) == nullptr) return absl::StrCat(kOutside, table, kOutsideWhy);
      }
      const bool updates =
          is(i, "UPDATE") && (i == 0 || (!tokens[i - 1].Is("KEY") && !tokens[i - 1].Is("FOR")));
      const bool deletes = is(i, "DELETE") && !call;
      if (updates || deletes) {
        for (const std::string& table : TablesOf(tokens.subspan(i), updates)) {
          if (Find(table) == nullptr) return absl::StrCat(kOutside, table, kOutsideWhy);
        }
      }
      if (updates || is(i, "FROM") || is(i, "JOIN")) {
        reads = reads || Find(TargetOf(tokens, i + 1)) != nullptr;
      }
    }
    if (!reads || IsOfOneOrder(tokens)) return "";
    return absl::StrCat(
        "reads or changes rows of a moved table that may be of other orders, which "
        "may be on the other shard: compare ",
        absl::StrJoin(KeyOf(*own_), " and "), " with NEW or OLD");
  }

 private:
  static std::vector<std::string> KeyOf(const GuardedTable& table) {
    if (table.key == GuardedTable::Key::kGeneAndCohort) return {table.gene, table.cohort};
    return {table.order_id};
  }
  const GuardedTable* Find(const std::string& name) const {
    for (const GuardedTable& table : tables_) {
      if (absl::EqualsIgnoreCase(table.name, name)) return &table;
    }
    return nullptr;
  }
  std::string JudgeCall(Tokens tokens, size_t i, bool call) const {
    if (tokens[i].Is("CALL")) return "calls a procedure: what that changes is not seen";
    const bool value = (tokens[i].Is("NEXT") || tokens[i].Is("PREVIOUS")) &&
                       i + 1 < tokens.size() && tokens[i + 1].Is("VALUE");
    if (value ||
        (call && (tokens[i].Is("NEXTVAL") || tokens[i].Is("LASTVAL") || tokens[i].Is("SETVAL")))) {
      return "takes a number from a sequence: both shards would give the same numbers";
    }
    if (!call || !tokens[i].IsName()) return "";
    const bool stored = std::any_of(functions_.begin(), functions_.end(), [&](const auto& name) {
      return absl::EqualsIgnoreCase(name, tokens[i].Name());
    });
    if (!stored) return "";
    return absl::StrCat("calls the stored function ", tokens[i].Name(),
                        ": what that changes is not seen");
  }
  static bool HasDuplicateKey(Tokens tokens) {
    return std::any_of(tokens.begin(), tokens.end(),
                       [](const SqlToken& token) { return token.Is("DUPLICATE"); });
  }
  // The table whose name begins there, without its database.
  static std::string TargetOf(Tokens tokens, size_t i) {
    while (i < tokens.size() &&
           (tokens[i].Is("INTO") || tokens[i].Is("IGNORE") || tokens[i].Is("LOW_PRIORITY") ||
            tokens[i].Is("HIGH_PRIORITY") || tokens[i].Is("DELAYED") || tokens[i].IsSign('('))) {
      ++i;
    }
    if (i + 2 < tokens.size() && tokens[i + 1].IsSign('.')) i += 2;
    return i < tokens.size() && tokens[i].IsName() ? tokens[i].Name() : "";
  }
  static std::vector<std::string> TablesOf(Tokens tokens, bool updates) {
    std::vector<std::string> tables;
    bool begun = updates;
    if (updates) tables.push_back(TargetOf(tokens, 1));
    for (size_t i = 1; i < tokens.size(); ++i) {
      if (tokens[i].Is("SET") || tokens[i].Is("WHERE")) break;
      if (tokens[i].Is("FROM")) begun = true;
      const bool next = tokens[i].Is("FROM") || tokens[i].Is("JOIN") || tokens[i].Is("USING") ||
                        tokens[i].IsSign(',');
      if (begun && next && !(i + 1 < tokens.size() && tokens[i + 1].IsSign('('))) {
        tables.push_back(TargetOf(tokens, i + 1));
      }
    }
    return tables;
  }
  // `k = NEW.k` for each column that says where the order is, with nothing (such as OR) that lets
  // it match more rows.
  bool IsOfOneOrder(Tokens tokens) const {
    const auto widens = [](const SqlToken& token) { return token.Is("OR") || token.IsSign('|'); };
    if (std::any_of(tokens.begin(), tokens.end(), widens)) return false;
    const std::vector<std::string> own = KeyOf(*own_);
    for (size_t k = 0; k < own.size(); ++k) {
      bool compared = false;
      for (size_t i = 0; i + 2 < tokens.size() && !compared; ++i) {
        const bool row = tokens[i].Is("NEW") || tokens[i].Is("OLD");
        if (!row || !tokens[i + 1].IsSign('.') || !IsColumn(tokens[i + 2], own[k])) continue;
        compared = i > 1 && tokens[i - 1].IsSign('=') && IsKey(tokens[i - 2], k);
        if (compared || i + 4 >= tokens.size() || !tokens[i + 3].IsSign('=')) continue;
        const bool qualified = i + 6 < tokens.size() && tokens[i + 5].IsSign('.');
        compared = IsKey(tokens[i + (qualified ? 6 : 4)], k);
      }
      if (!compared) return false;
    }
    return true;
  }
  static bool IsColumn(const SqlToken& token, const std::string& column) {
    return token.IsName() && absl::EqualsIgnoreCase(token.Name(), column);
  }
  // Whether it is the k-th of the columns that say so, of any table.
  bool IsKey(const SqlToken& token, size_t k) const {
    return std::any_of(tables_.begin(), tables_.end(), [&](const GuardedTable& table) {
      const std::vector<std::string> key = KeyOf(table);
      return k < key.size() && IsColumn(token, key[k]);
    });
  }

  const GuardedTable* own_;
  const std::vector<GuardedTable>& tables_;
  const std::vector<std::string>& functions_;
};

}  // namespace

std::string UserTriggerBegin(const std::vector<std::string>& movers) {
  return absl::StrCat("locus: BEGIN IF BINARY USER() IN (",
                      absl::StrJoin(movers, ", ",
                                    [](std::string* out, const std::string& mover) {
                                      absl::StrAppend(out, "X'", HexOf(mover), "'");
                                    }),
                      ") THEN LEAVE locus; END IF;");
}

std::string WhyNotCarried(const UserTrigger& trigger, const std::vector<GuardedTable>& tables,
                          const std::vector<std::string>& movers,
                          const std::vector<std::string>& functions) {
  SqlTokens tokens(trigger.body, {.ansi_quotes = absl::StrContains(trigger.sql_mode, "ANSI_QUOTES"),
                                  .no_backslash_escapes =
                                      absl::StrContains(trigger.sql_mode, "NO_BACKSLASH_ESCAPES")});
  if (!TakeGuard(tokens, movers)) {
    return absl::StrCat("would run again for rows that a mover writes; make it anew with `",
                        UserTriggerBegin(movers), "` before its body and `; END` behind");
  }
  const GuardedTable* own = nullptr;
  for (const GuardedTable& table : tables) {
    if (table.name == trigger.table) own = &table;
  }
  if (own == nullptr) return "is not on a table of the move";
  const BodyJudge judge(own, tables, functions);
  std::vector<SqlToken> statement;
  while (true) {
    const SqlToken token = tokens.Next();
    if (token.kind != SqlToken::Kind::kEnd && !token.IsSign(';')) {
      statement.push_back(token);
      continue;
    }
    if (std::string why = judge.Judge(statement); !why.empty()) return why;
    statement.clear();
    if (token.kind == SqlToken::Kind::kEnd) return "";
  }
}

}  // namespace locus::internal
