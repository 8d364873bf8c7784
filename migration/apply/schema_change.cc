// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/schema_change.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "src/base/text.h"

namespace locus::internal {
namespace {

bool IsAscii(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isascii(static_cast<unsigned char>(c)); });
}

// Whether a statement in small letters may mean the table or database of this name. In it a quote
// stands twice, and letters beyond ASCII are in the character set of some client.
bool MayName(absl::string_view statement, absl::string_view name) {
  auto unquoted = [](absl::string_view text) {
    return absl::StrReplaceAll(text, {{"`", ""}, {"\"", ""}});
  };
  return absl::StrContains(unquoted(statement), unquoted(absl::AsciiStrToLower(name))) ||
         (!IsAscii(name) && !IsAscii(statement));
}

// Whether it makes a trigger of locus; nullopt: it is of no trigger.
std::optional<bool> MakesOurTrigger(absl::string_view statement) {
  if (absl::StartsWith(statement, "drop trigger ")) return false;
  // CREATE [OR REPLACE] [DEFINER = ...] TRIGGER [IF NOT EXISTS] name BEFORE ...
  const size_t trigger = statement.find(" trigger ");
  const size_t timing = std::min(statement.find(" before "), statement.find(" after "));
  if (!absl::StartsWith(statement, "create ") || trigger >= timing) return std::nullopt;
  const absl::string_view name = statement.substr(trigger, timing - trigger);
  return absl::StrContains(name, "locus_guard_") || absl::StrContains(name, "locus_version_");
}

}  // namespace

SchemaChange EffectOf(std::string_view statement, std::string_view session,
                      std::string_view database, const std::vector<std::string>& tables) {
  using Effect = SchemaChange::Effect;
  const std::string text = absl::AsciiStrToLower(ToAbsl(statement));
  // What the tools make for themselves, whatever words are in it; and rights and statistics, which
  // change no row and no column.
  for (absl::string_view harmless :
       {"create table if not exists locus_", "grant ", "revoke ", "analyze ", "flush "}) {
    if (absl::StartsWith(text, harmless)) return {};
  }
  if (!database.empty() && session != database && !MayName(text, ToAbsl(database))) return {};
  // Nothing in it says which tables it drops.
  const bool drops =
      absl::StartsWith(text, "drop database") || absl::StartsWith(text, "drop schema");
  if (drops && (database.empty() || session == database)) return {Effect::kDropsTables, ""};
  for (const std::string& table : tables) {
    if (!MayName(text, table)) continue;
    const std::optional<bool> ours = MakesOurTrigger(text);
    if (!ours) return {Effect::kTable, table};
    return *ours ? SchemaChange{} : SchemaChange{Effect::kTriggers, table};
  }
  return {};
}

}  // namespace locus::internal
