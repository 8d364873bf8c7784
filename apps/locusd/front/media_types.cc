// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/front/media_types.h"

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/text.h"
#include "src/lease_api/call.h"

namespace locus::locusd {
namespace {

bool Lists(std::string_view header, std::initializer_list<absl::string_view> types) {
  // As nearly everybody writes them, and then for the rest.
  for (const absl::string_view type : types) {
    if (absl::StrContains(internal::ToAbsl(header), type)) return true;
  }
  const std::string lower = absl::AsciiStrToLower(internal::ToAbsl(header));
  for (const absl::string_view type : types) {
    if (absl::StrContains(lower, type)) return true;
  }
  return false;
}

}  // namespace

std::optional<http::ServerAnswer> RefuseTypes(const http::ServerRequest& request, Answers answers) {
  const std::string_view type = request.Header("Content-Type");
  if (!request.body.empty() && !type.empty() &&
      !Lists(type, {"application/json", "+json", "application/x-www-form-urlencoded"})) {
    return lease_api::ProblemAnswer(
        absl::InvalidArgumentError(absl::StrCat("Content-Type is ", internal::Quoted(type),
                                                "; it must be application/json")),
        415);
  }
  const std::string_view accept = request.Header("Accept");
  if (accept.empty() || Lists(accept, {"application/json", "application/*", "*/*"})) {
    return std::nullopt;
  }
  const bool has_lines = answers == Answers::kJsonOrLines;
  if (has_lines && Lists(accept, {"application/x-ndjson"})) return std::nullopt;
  return lease_api::ProblemAnswer(
      absl::InvalidArgumentError(
          absl::StrCat("Accept is ", internal::Quoted(accept),
                       has_lines ? "; there are application/json and application/x-ndjson"
                                 : "; there is application/json")),
      406);
}

}  // namespace locus::locusd
