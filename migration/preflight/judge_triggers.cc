// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/fence/user_triggers.h"
#include "migration/preflight/report.h"

namespace locus::preflight {

namespace {

bool IsOurs(const Trigger& trigger) {
  return trigger.name.starts_with(absl::StrCat("locus_guard_", trigger.table, "_")) ||
         trigger.name.starts_with(absl::StrCat("locus_version_", trigger.table, "_"));
}

using When = std::tuple<std::string, std::string, std::string>;  // table, timing, event

// The service's triggers, each with its place among the triggers that run at the same time.
std::map<std::string, std::pair<const Trigger*, size_t>> TheirsOf(const Schema& schema) {
  std::vector<const Trigger*> theirs;
  for (const Trigger& trigger : schema.triggers) {
    if (!IsOurs(trigger)) theirs.push_back(&trigger);
  }
  std::sort(theirs.begin(), theirs.end(),
            [](const Trigger* a, const Trigger* b) { return a->order < b->order; });
  std::map<When, size_t> ranks;
  std::map<std::string, std::pair<const Trigger*, size_t>> found;
  for (const Trigger* trigger : theirs) {
    const size_t rank = ++ranks[{trigger->table, trigger->timing, trigger->event}];
    found[trigger->name] = {trigger, rank};
  }
  return found;
}

}  // namespace

void JudgeTriggers(const Facts& facts, const Shard& shard, Report& report) {
  std::vector<GuardedTable> tables;
  for (const MovedTable& table : facts.tables) tables.push_back(table.guard);
  std::vector<std::string> wrong, carried;
  for (const auto& [name, found] : TheirsOf(*shard.schema)) {
    const Trigger& trigger = *found.first;
    const std::string why = internal::WhyNotCarried({trigger.table, trigger.body, trigger.sql_mode},
                                                    tables, facts.movers, shard.schema->functions);
    const std::string where = absl::StrCat(name, " on ", trigger.table);
    if (why.empty()) {
      carried.push_back(where);
    } else {
      wrong.push_back(absl::StrCat(where, " ", why));
    }
  }
  report.Add("user-triggers", wrong.empty(), shard.server.place,
             !wrong.empty()    ? absl::StrJoin(wrong, "; ")
             : carried.empty() ? "none"
                               : absl::StrCat("carried: ", absl::StrJoin(carried, ", ")),
             "triggers of the service to do nothing that makes shards differ",
             "mend it on both shards, or drop it and do its work in the service");
}

void JudgeTriggersOfBoth(const Facts& facts, Report& report) {
  if (!facts.source.schema.ok() || !facts.target.schema.ok()) return;
  const auto source = TheirsOf(*facts.source.schema), target = TheirsOf(*facts.target.schema);
  std::vector<std::string> wrong;
  for (const auto& [name, found] : source) {
    auto other = target.find(name);
    if (other == target.end()) {
      wrong.push_back(absl::StrCat(name, " is missing on the target"));
      continue;
    }
    const Trigger& a = *found.first;
    const Trigger& b = *other->second.first;
    std::vector<std::string> differs;
    auto compare = [&](bool same, const char* what) {
      if (!same) differs.push_back(what);
    };
    compare(a.table == b.table && a.timing == b.timing && a.event == b.event, "table or event");
    compare(found.second == other->second.second, "order");
    compare(a.definer == b.definer, "definer");
    compare(a.sql_mode == b.sql_mode, "sql_mode");
    compare(a.charset == b.charset, "character set");
    compare(a.body == b.body, "body");
    if (differs.empty()) continue;
    wrong.push_back(absl::StrCat(name, " has another ", absl::StrJoin(differs, ", ")));
  }
  for (const auto& [name, found] : target) {
    if (!source.contains(name)) wrong.push_back(absl::StrCat(name, " is missing on the source"));
  }
  report.Add("same-triggers", wrong.empty(), "",
             wrong.empty() ? "the same" : absl::StrJoin(wrong, "; "),
             "the same triggers of the service on both shards: body, order, definer, sql_mode",
             "CREATE OR REPLACE TRIGGER on one of them as SHOW CREATE TRIGGER prints it on the "
             "other");
}

}  // namespace locus::preflight
