// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/console_request.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"
#include "src/cluster/api/call.h"

namespace locus::locusd {

using cluster_api::ProblemAnswer;
using http::ServerAnswer;
using http::ServerRequest;
using internal::Quoted;
using internal::ToAbsl;

namespace {

constexpr PathOf kPaths[] = {
    {"/v1/console/session", ConsolePath::kSession},
    {"/v1/table", ConsolePath::kTable},
    {"/v1/table/history", ConsolePath::kHistory},
    {"/v1/table/diff", ConsolePath::kDiff},
    {"/v1/shards", ConsolePath::kShards},
    {"/v1/moves", ConsolePath::kMoves},
    {"/v1/events", ConsolePath::kEvents},
    {"/v1/plan", ConsolePath::kPlan, true},
    {"/v1/plan:publish", ConsolePath::kPublish, true},
    {"/v1/stats", ConsolePath::kStats},
    {"/v1/inspect", ConsolePath::kInspect},
    {"/v1/leases", ConsolePath::kLeases},
    {"/v1/members", ConsolePath::kMembers},
    {"/v1/types", ConsolePath::kTypes},
};

}  // namespace

const PathOf* FindConsolePath(std::string_view text) {
  for (const PathOf& each : kPaths) {
    if (each.text == text) return &each;
  }
  return nullptr;
}

std::optional<ServerAnswer> RefuseForeign(const ServerRequest& request) {
  const std::string_view type = request.Header("Content-Type");
  if (!absl::StartsWithIgnoreCase(ToAbsl(type), "application/json")) {
    return ProblemAnswer(absl::InvalidArgumentError(absl::StrCat("Content-Type is ", Quoted(type),
                                                                 "; it must be application/json")),
                         415);
  }
  auto refuse = [](const std::string& why) {
    return ProblemAnswer(absl::PermissionDeniedError(why));
  };
  if (request.Header("Locus-Console").empty()) return refuse("the header Locus-Console is missing");
  const std::string_view site = request.Header("Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none") {
    return refuse(absl::StrCat("Sec-Fetch-Site is ", Quoted(site), "; it must be same-origin"));
  }
  const std::string_view origin = request.Header("Origin"), host = request.Header("Host");
  const size_t slashes = origin.find("://");
  if (!origin.empty() && (slashes == origin.npos || origin.substr(slashes + 3) != host)) {
    return refuse(
        absl::StrCat("Origin is ", Quoted(origin), "; it must be of the host ", Quoted(host)));
  }
  return std::nullopt;
}

}  // namespace locus::locusd
