// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/query.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/uri_part.h"

namespace locus::locusd {

using internal::ParseDecimal;
using internal::Quoted;
using internal::Unescaped;

absl::Status RefusePlus(std::string_view text) {
  if (text.find('+') == text.npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(text),
                   " has a +, which forms write for a blank and others for a plus; "
                   "write %20 for a blank, %2B for a plus"));
}

absl::StatusOr<Query> Query::Parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view member = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), member.size() + 1));
    LOCUS_RETURN_IF_ERROR(RefusePlus(member));
    const size_t equals = member.find('=');
    if (equals == member.npos || equals == 0) {
      return absl::InvalidArgumentError(absl::StrCat(Quoted(member), " is not NAME=VALUE"));
    }
    std::optional<std::string> name = Unescaped(member.substr(0, equals));
    std::optional<std::string> value = Unescaped(member.substr(equals + 1));
    if (!name || !value) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(member), ": a % has no two hex digits"));
    }
    if (!query.values_.emplace(*name, *std::move(value)).second) {
      return absl::InvalidArgumentError(absl::StrCat(Quoted(*name), " is given twice"));
    }
  }
  return query;
}

const std::string* Query::Find(const std::string& name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? nullptr : &at->second;
}

absl::StatusOr<size_t> Query::Count(const std::string& name, size_t otherwise, size_t most) const {
  const std::string* const text = Find(name);
  if (text == nullptr) return otherwise;
  const std::optional<uint64_t> count = ParseDecimal(*text, most);
  if (count && *count > 0) return *count;
  return absl::InvalidArgumentError(
      absl::StrCat(name, "=", Quoted(*text), " is no number of 1 to ", most));
}

std::vector<std::pair<std::string, std::string>> Query::Under(std::string_view prefix) const {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [name, value] : values_) {
    if (name.starts_with(prefix)) found.emplace_back(name.substr(prefix.size()), value);
  }
  return found;
}

absl::Status Query::Only(std::initializer_list<std::string_view> names) const {
  for (const auto& each_value : values_) {
    const std::string& name = each_value.first;  // clang 14 captures no structured binding
    const bool known = std::any_of(names.begin(), names.end(), [&](std::string_view each) {
      return each.ends_with('*') ? name.starts_with(each.substr(0, each.size() - 1)) : name == each;
    });
    if (known) continue;
    if (names.size() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the parameter ", Quoted(name), " is unknown: there are none here"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "the parameter ", Quoted(name), " is unknown; there are: ",
        absl::StrJoin(names, ", ",
                      [](std::string* out, std::string_view each) { out->append(each); })));
  }
  return absl::OkStatus();
}

}  // namespace locus::locusd
