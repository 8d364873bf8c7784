// SPDX-License-Identifier: Apache-2.0
#include "tests/console/api_types.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus::locusd {

using nlohmann::json;

namespace {

constexpr char kFiles[] = LOCUS_PROJECT_DIR "/apps/locusd/console/web/src/";

// Whether the value may be what a member's line says of it: texts, numbers, null and the rest.
bool MayBe(const std::string& type, const json& value) {
  if (value.is_null()) return absl::StrContains(type, "null");
  if (value.is_string()) {
    return absl::StrContains(type, "string") || absl::StrContains(type, "\"") || type == "Scope";
  }
  if (value.is_number())
    return absl::StrContains(type, "number") || absl::StrContains(type, "| 128");
  if (value.is_boolean()) return absl::StrContains(type, "boolean");
  // Arrays and objects are named types, or begin here.
  const bool plain = type == "string" || type == "number" || type == "boolean";
  return !plain && (!value.is_array() || absl::StrContains(type, "[") ||
                    absl::StrContains(type, "(") || type == "{");
}

}  // namespace

ApiTypes ApiTypes::Load() {
  ApiTypes types;
  for (const char* file : {"api.ts", "api_moves.ts", "api_sequences.ts", "api_stats.ts"}) {
    types.LoadFile(absl::StrCat(kFiles, file));
  }
  return types;
}

void ApiTypes::LoadFile(const std::string& file) {
  std::ifstream in(file);
  EXPECT_TRUE(in.good()) << file;
  std::string line, name;
  int depth = 0;
  while (std::getline(in, line)) {
    const size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos || line.compare(first, 2, "//") == 0) continue;
    if (depth == 0 && absl::StartsWith(line, "export interface ")) {
      name = line.substr(17, line.find(' ', 17) - 17);
    }
    const size_t colon = line.find(':');
    if (depth == 1 && !name.empty() && colon != std::string::npos) {
      std::string member = line.substr(first, colon - first);
      const bool optional = member.ends_with('?');
      if (optional) member.pop_back();
      std::string type = line.substr(colon + 1);
      type.erase(0, type.find_first_not_of(' '));
      if (type.ends_with(';')) type.pop_back();
      interfaces_[name][member] = {optional, type};
    }
    depth += static_cast<int>(std::ranges::count(line, '{') - std::ranges::count(line, '}'));
    if (depth == 0) name.clear();
  }
}

std::string ApiTypes::Misfit(const std::string& name, const json& value) const {
  const auto interface = interfaces_.find(name);
  if (interface == interfaces_.end()) return absl::StrCat("api.ts has no interface ", name);
  if (!value.is_object()) return absl::StrCat(name, " is no object: ", value.dump());
  for (const auto& [member, what] : interface->second) {
    if (!what.optional && !value.contains(member)) return absl::StrCat(name, " lacks ", member);
  }
  for (const auto& [member, of] : value.items()) {
    const auto known = interface->second.find(member);
    if (known == interface->second.end()) {
      return absl::StrCat(name, ".", member, " is not in api.ts");
    }
    if (!MayBe(known->second.type, of)) {
      return absl::StrCat(name, ".", member, " is ", of.dump(), ", and not ", known->second.type);
    }
  }
  return "";
}

}  // namespace locus::locusd
