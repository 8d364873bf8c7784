// SPDX-License-Identifier: Apache-2.0
#include "migration/cut_over/repair.h"

#include <array>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

using Flags = std::array<std::pair<std::string_view, bool*>, 3>;

Flags FlagsOf(Repair& repair) {
  return {{{"guards", &repair.guards}, {"forth", &repair.forth}, {"back", &repair.back}}};
}
Flags FlagsOf(Seeding& seeding) {
  return {{{"again", &seeding.again}, {"forth", &seeding.forth}, {"back", &seeding.back}}};
}

std::string TextOf(const Flags& flags) {
  std::vector<std::string> words;
  for (const auto& [name, flag] : flags) {
    if (*flag) words.emplace_back(name);
  }
  return absl::StrJoin(words, ",");
}

// Whether the text is one of these words.
bool ReadFlags(std::string_view text, const Flags& flags) {
  for (const auto& [name, flag] : flags) *flag = false;
  for (const std::string& word :
       std::vector<std::string>(absl::StrSplit(ToAbsl(text), ',', absl::SkipEmpty()))) {
    bool known = false;
    for (const auto& [name, flag] : flags) {
      if (name == word) known = *flag = true;
    }
    if (!known) return false;
  }
  return true;
}

}  // namespace

std::string RepairText(const Repair& repair) {
  Repair copy = repair;
  return TextOf(FlagsOf(copy));
}

std::optional<Repair> RepairIn(std::string_view text) {
  Repair repair;
  if (!ReadFlags(text, FlagsOf(repair))) return std::nullopt;
  return repair;
}

std::string SeedingText(const Seeding& seeding) {
  Seeding copy = seeding;
  return TextOf(FlagsOf(copy));
}

std::optional<Seeding> SeedingIn(std::string_view text) {
  Seeding seeding;
  if (!ReadFlags(text, FlagsOf(seeding))) return std::nullopt;
  return seeding;
}

}  // namespace locus::internal
