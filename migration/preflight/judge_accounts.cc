// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "migration/preflight/judge.h"
#include "migration/preflight/report.h"

namespace locus::preflight {

namespace {

// LIKE with '%', '_' and '\', as databases of grants are written.
bool IsLike(absl::string_view pattern, absl::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '%') {
    for (size_t skip = 0; skip <= text.size(); ++skip) {
      if (IsLike(pattern.substr(1), text.substr(skip))) return true;
    }
    return false;
  }
  if (pattern[0] == '\\' && pattern.size() > 1) {
    pattern.remove_prefix(1);
  } else if (pattern[0] == '_') {
    return !text.empty() && IsLike(pattern.substr(1), text.substr(1));
  }
  return !text.empty() && pattern[0] == text[0] && IsLike(pattern.substr(1), text.substr(1));
}

std::string HostOf(const std::string& account) {
  const size_t at = account.rfind('@');
  return at == std::string::npos ? "" : account.substr(at + 1);
}

// Root's accounts and those that the server makes for itself.
bool IsOfTheServer(const std::string& account) {
  return account.starts_with("root@") || account == "mariadb.sys@localhost" ||
         account == "mysql@localhost" || account == "debian-sys-maint@localhost";
}

void JudgeMover(const Facts& facts, const Shard& shard, Report& report) {
  const Server& server = shard.server;
  const bool listed =
      std::find(facts.movers.begin(), facts.movers.end(), server.user) != facts.movers.end();
  report.Add(
      "mover-listed", listed, server.place, server.user,
      absl::StrCat("one of movers: ", absl::StrJoin(facts.movers, ", ")),
      absl::StrCat("add \"", server.user,
                   "\" to movers of the move file; where the move has begun, `locus move repair` "
                   "then makes the guards anew"));
  const bool bound = HostOf(server.current_user).find_first_of("%_") == std::string::npos;
  const bool secured =
      std::any_of(server.grants.begin(), server.grants.end(),
                  [](const std::string& grant) { return absl::StrContains(grant, " REQUIRE "); });
  report.Add(
      "mover-account", bound || secured, server.place, server.current_user,
      "REQUIRE SSL, or a host without wildcards: any host with this account name passes the guards",
      absl::StrCat("ALTER USER ", GranteeOf(server), " REQUIRE SSL"));
}

}  // namespace

bool HasRight(const std::vector<std::string>& grants, const std::string& right,
              const std::string& database) {
  for (const std::string& grant : grants) {
    const size_t on = grant.find(" ON ");
    const size_t to = grant.find(" TO ", on == std::string::npos ? 0 : on);
    if (!grant.starts_with("GRANT ") || on == std::string::npos || to == std::string::npos) {
      continue;
    }
    const std::string scope = grant.substr(on + 4, to - on - 4);
    bool holds = scope == "*.*";
    if (!holds && !database.empty() && scope.ends_with("`.*") && scope.starts_with("`")) {
      holds =
          IsLike(absl::StrReplaceAll(scope.substr(1, scope.size() - 4), {{"``", "`"}}), database);
    }
    if (!holds) continue;
    for (absl::string_view given : absl::StrSplit(grant.substr(6, on - 6), ", ")) {
      if (given == right || given == "ALL PRIVILEGES") return true;
    }
  }
  return false;
}

void JudgeAccounts(const Facts& facts, const Shard& shard, Report& report) {
  JudgeMover(facts, shard, report);
  const Server& server = shard.server;
  const auto* accounts =
      report.Read("accounts", server.place, shard.accounts,
                  absl::StrCat("GRANT SELECT ON mysql.* TO ", GranteeOf(server)));
  if (accounts == nullptr) return;
  report.Add(
      "anonymous-accounts", accounts->anonymous.empty(), server.place,
      accounts->anonymous.empty() ? "none"
                                  : absl::StrCat("at ", absl::StrJoin(accounts->anonymous, ", ")),
      "none: a client of any name, also the mover's, is let in by them",
      accounts->anonymous.empty()
          ? ""
          : absl::StrCat("DROP USER ''@'", absl::StrJoin(accounts->anonymous, "', ''@'"), "'"));
  report.Add("proxy-accounts", accounts->proxies.empty(), server.place,
             accounts->proxies.empty() ? "none" : absl::StrJoin(accounts->proxies, ", "),
             "none beside root: a proxy user can carry the mover's name", "REVOKE PROXY ON ...");
  std::vector<std::string> dangerous;
  std::vector<std::string> remedies;
  for (const Account& account : accounts->dangerous) {
    const bool trusted =
        IsOfTheServer(account.name) ||
        std::find(facts.movers.begin(), facts.movers.end(), account.name) != facts.movers.end() ||
        std::find(facts.administrators.begin(), facts.administrators.end(), account.name) !=
            facts.administrators.end() ||
        account.name == server.current_user;
    if (trusted) continue;
    dangerous.push_back(absl::StrCat(account.name, " has ", absl::StrJoin(account.rights, ", ")));
  }
  report.Add(
      "dangerous-rights", dangerous.empty(), server.place,
      dangerous.empty() ? "none" : absl::StrJoin(dangerous, "; "),
      "no account of the service with DROP (also TRUNCATE), ALTER, TRIGGER or SUPER: "
      "these pass the guards",
      "REVOKE them, or list the account in administrators of the move file if it is not used "
      "while the move runs");
  if (!shard.schema.ok()) return;
  std::vector<std::string> gone;
  for (const Trigger& trigger : shard.schema->triggers) {
    if (std::find(accounts->known.begin(), accounts->known.end(), trigger.definer) !=
        accounts->known.end()) {
      continue;
    }
    gone.push_back(absl::StrCat(trigger.name, " has ", trigger.definer));
  }
  report.Add("definers", gone.empty(), server.place,
             gone.empty() ? "all exist" : absl::StrJoin(gone, "; "),
             "the definer of each trigger to exist: without it every write fails (1449)",
             "create the account again, or install the fence by another one");
}

}  // namespace locus::preflight
