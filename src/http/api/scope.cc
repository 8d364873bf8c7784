// SPDX-License-Identifier: Apache-2.0
#include "src/http/api/scope.h"

#include "src/base/os/check.h"

namespace locus::http_api {

std::string_view ToString(Scope scope) {
  switch (scope) {
    case Scope::kIds:
      return "ids";
    case Scope::kRoute:
      return "route";
    case Scope::kDecode:
      return "decode";
    case Scope::kLeases:
      return "leases";
    case Scope::kStore:
      return "store";
    case Scope::kOperate:
      return "operate";
    case Scope::kPublish:
      return "publish";
    case Scope::kStrict:
      return "strict";
    case Scope::kRead:
      return "read";
  }
  LOCUS_UNREACHABLE();
}

std::optional<Scope> ParseScope(std::string_view name) {
  for (const Scope scope : Scopes::kEach) {
    if (ToString(scope) == name) return scope;
  }
  return std::nullopt;
}

std::string Scopes::ToString() const {
  std::string text;
  for (const Scope scope : kEach) {
    if (!Has(scope)) continue;
    if (!text.empty()) text += ", ";
    text += http_api::ToString(scope);
  }
  return text.empty() ? "none" : text;
}

}  // namespace locus::http_api
