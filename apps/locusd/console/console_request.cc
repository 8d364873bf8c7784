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
