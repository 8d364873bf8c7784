// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/schema_change.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::internal {

using stream::Statement;
using stream::StatementKind;
using stream::Touched;

namespace {

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isascii(static_cast<unsigned char>(c)); });
}

// lower_case_table_names is the server's; letters beyond ASCII are in the character set of some
// client.
bool MayBe(std::string_view name, std::string_view meant) {
  return absl::EqualsIgnoreCase(ToAbsl(name), ToAbsl(meant)) || (!IsAscii(name) && !IsAscii(meant));
}

bool IsOurTrigger(std::string_view name, std::string_view table) {
  for (absl::string_view kind : {"locus_guard_", "locus_version_"}) {
    if (absl::StartsWithIgnoreCase(ToAbsl(name), absl::StrCat(kind, ToAbsl(table), "_"))) {
      return true;
    }
  }
  return false;
}

StatementEffect EffectOn(const Touched& touched, StatementKind kind, std::string_view table) {
  using Kind = StatementEffect::Kind;
  switch (touched.what) {
    case Touched::What::kTable:
      if (!MayBe(touched.name, table)) return {};
      return {kind == StatementKind::kRows ? Kind::kRows : Kind::kTable, std::string(table)};
    case Touched::What::kTriggersOf:
      if (!MayBe(touched.name, table) || IsOurTrigger(touched.trigger, table)) return {};
      return {Kind::kTriggers, std::string(table)};
    case Touched::What::kDroppedTrigger:
      // The rows depend on no other statement.
      if (!IsOurTrigger(touched.trigger, table)) return {};
      return {Kind::kTriggers, std::string(table)};
    case Touched::What::kDatabase:
      return {Kind::kDropsTables, ""};
  }
  return {Kind::kUnknown, ""};
}

}  // namespace

StatementEffect EffectOf(const Statement& statement, std::string_view database,
                         const std::vector<std::string>& tables,
                         const std::vector<std::string>& own) {
  if (statement.kind == StatementKind::kUnknown) return {StatementEffect::Kind::kUnknown, ""};
  StatementEffect found;
  auto look = [&](const Touched& touched, const std::vector<std::string>& names) {
    if (!database.empty() && !touched.database.empty() && !MayBe(touched.database, database)) {
      return;
    }
    for (const std::string& name : names) {
      StatementEffect effect = EffectOn(touched, statement.kind, name);
      // Of several effects, the one that stops the stream.
      if (found.kind < effect.kind) found = std::move(effect);
    }
  };
  for (const Touched& touched : statement.touched) {
    look(touched, tables);
    // A new shape of locus' own tables needs no stop here: their next row events show it.
    if (statement.kind == StatementKind::kRows) look(touched, own);
  }
  return found;
}

}  // namespace locus::internal
