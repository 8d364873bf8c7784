// SPDX-License-Identifier: Apache-2.0
#include "src/http/api/route_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::http_api {
namespace {

// Whether `path` is one of `pattern`, which has a parameter.
bool Matches(std::string_view pattern, std::string_view path, std::string_view& parameter) {
  const std::string_view before = pattern.substr(0, pattern.find('{'));
  const std::string_view behind = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= before.size() + behind.size() || !path.starts_with(before) ||
      !path.ends_with(behind)) {
    return false;
  }
  path.remove_prefix(before.size());
  path.remove_suffix(behind.size());
  if (behind.empty() && path.find('/') != path.npos) return false;
  parameter = path;
  return true;
}

}  // namespace

const Route* RouteTable::Path::Find(std::string_view method) const {
  for (const Route* const route : routes) {
    if (route->method == method) return route;
  }
  return nullptr;
}

RouteTable::Found RouteTable::Find(std::string_view path) const {
  Found found;
  if (const auto at = paths_.find(path); at != paths_.end() && path.find('{') == path.npos) {
    found.path = &at->second;
    return found;
  }
  for (const Path* const each : with_parameter_) {
    if (!Matches(each->path, path, found.parameter)) continue;
    found.path = each;
    break;
  }
  return found;
}

void RouteTable::Add(const Route& route) {
  Path& path = paths_[route.path];
  LOCUS_CHECK(path.Find(route.method) == nullptr);
  path.path = route.path;
  path.routes.push_back(&route);
  absl::StrAppend(&path.allow, std::string(route.method), ", ");
  if (route.method == "GET") path.allow += "HEAD, ";
  routes_.push_back(&route);
}

void RouteTable::Finish() {
  for (auto& [text, path] : paths_) {
    path.allow += "OPTIONS";
    if (text.find('{') != text.npos) with_parameter_.push_back(&path);
  }
  std::ranges::stable_sort(with_parameter_, [](const Path* one, const Path* other) {
    return one->path.size() > other->path.size();
  });
}

}  // namespace locus::http_api
