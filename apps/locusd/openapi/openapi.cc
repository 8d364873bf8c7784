// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/openapi/openapi.h"

#include <boost/json.hpp>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace locus::locusd {
namespace {

namespace json = boost::json;

// The document's paths.
class Paths {
 public:
  Paths() {
    const std::string_view text = OpenApiText();
    const json::value document = json::parse({text.data(), text.size()});
    for (const auto& [path, item] : document.at("paths").as_object()) {
      std::string allow;
      for (const auto& [method, operation] : item.as_object()) {
        if (method == "parameters") continue;
        const std::string name =
            absl::AsciiStrToUpper(absl::string_view(method.data(), method.size()));
        absl::StrAppend(&allow, name, ", ");
        if (name == "GET") allow += "HEAD, ";
      }
      allow += "OPTIONS";
      for (const absl::string_view method : absl::StrSplit(allow, ", ")) {
        all_.insert(std::string(method));
      }
      std::string name(path.data(), path.size());
      if (name.find('{') == name.npos) {
        exact_.emplace(std::move(name), std::move(allow));
      } else {
        templates_.emplace_back(std::move(name), std::move(allow));
      }
    }
  }

  std::string AllowOfAll() const { return absl::StrJoin(all_, ", "); }
  const std::string& AllowOf(std::string_view path) const {
    static const std::string nothing;
    if (const auto at = exact_.find(path); at != exact_.end()) return at->second;
    const std::string* found = &nothing;
    size_t longest = 0;
    // "/a/{id}:do" is more than "/a/{id}", which is also true of it.
    for (const auto& [name, allow] : templates_) {
      if (name.size() <= longest || !Matches(name, path)) continue;
      found = &allow;
      longest = name.size();
    }
    return *found;
  }

 private:
  // One parameter, which is not empty and has no '/'.
  static bool Matches(std::string_view name, std::string_view path) {
    const size_t open = name.find('{'), close = name.find('}');
    const std::string_view before = name.substr(0, open), behind = name.substr(close + 1);
    if (path.size() <= before.size() + behind.size()) return false;
    if (!path.starts_with(before) || !path.ends_with(behind)) return false;
    const std::string_view value =
        path.substr(before.size(), path.size() - before.size() - behind.size());
    return value.find('/') == value.npos;
  }

  std::set<std::string> all_;
  std::map<std::string, std::string, std::less<>> exact_;
  std::vector<std::pair<std::string, std::string>> templates_;
};

const Paths& ThePaths() {
  static const Paths* const paths = new Paths;
  return *paths;
}

}  // namespace

const std::string& AllowOf(std::string_view path) { return ThePaths().AllowOf(path); }

const std::string& AllowOfAll() {
  static const std::string* const all = new std::string(ThePaths().AllowOfAll());
  return *all;
}

bool Allows(std::string_view allow, std::string_view method) {
  while (!allow.empty()) {
    const size_t comma = allow.find(", ");
    if (allow.substr(0, comma) == method) return true;
    allow.remove_prefix(comma == allow.npos ? allow.size() : comma + 2);
  }
  return false;
}

}  // namespace locus::locusd
