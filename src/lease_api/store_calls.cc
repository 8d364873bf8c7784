// SPDX-License-Identifier: Apache-2.0
#include "src/lease_api/store_calls.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/text.h"
#include "src/lease_api/call.h"
#include "src/lease_api/store_bodies.h"

namespace locus::lease_api {
namespace {

using http::ServerAnswer;
using http::ServerRequest;

constexpr std::string_view kCounters = "/v1/counters";
constexpr std::string_view kRules = "/v1/rules";
constexpr std::string_view kSegments = "/v1/segments/";

template <typename Call>
absl::StatusOr<StoreCall> OfSpaceCall(SpaceName space, absl::StatusOr<Call> call) {
  LOCUS_RETURN_IF_ERROR(call.status());
  return StoreCall{std::move(space), segment_machine::Call(*std::move(call))};
}

// Of GET /v1/rules; empty: there is none.
absl::StatusOr<std::string> NameIn(std::string_view query) {
  constexpr std::string_view kName = "name=";
  if (query.empty()) return std::string();
  const std::string_view name = query.substr(std::min(kName.size(), query.size()));
  if (query.starts_with(kName) && !name.empty() && name.size() <= rule_machine::kLongestName &&
      name.find_first_of("&%+=") == name.npos) {
    return std::string(name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the query ", internal::Quoted(query), " is not name=NAME"));
}

}  // namespace

bool IsOfStore(std::string_view path) { return IsOfNumbers(path) || path.starts_with(kSegments); }

bool IsOfNumbers(std::string_view path) { return path == kCounters || path == kRules; }

absl::StatusOr<StoreCall> ParseStoreCall(const ServerRequest& request) {
  const std::string& method = request.method;
  const std::string& body = request.body;
  if (request.path == kCounters) {
    if (method == "POST") {
      LOCUS_ASSIGN_OR_RETURN(auto call, ParseCounterCall(body));
      return StoreCall{SpaceName(), std::move(call)};
    }
  } else if (request.path == kRules) {
    if (method == "POST") {
      LOCUS_ASSIGN_OR_RETURN(auto call, ParseRuleCall(body));
      return StoreCall{SpaceName(), std::move(call)};
    }
    if (method == "GET") {
      LOCUS_ASSIGN_OR_RETURN(std::string name, NameIn(request.query));
      return StoreCall{SpaceName(), std::nullopt, std::move(name)};
    }
  } else {
    const std::string_view rest = std::string_view(request.path).substr(kSegments.size());
    const size_t colon = rest.find(':');
    LOCUS_ASSIGN_OR_RETURN(SpaceName space, SpaceName::Parse(rest.substr(0, colon)));
    const std::string_view verb = colon == rest.npos ? "" : rest.substr(colon);
    if (method == "GET" && verb.empty()) return StoreCall{std::move(space), std::nullopt};
    if (method == "PUT" && verb.empty()) return OfSpaceCall(space, ParseSegmentCreate(body));
    if (method == "POST" && verb == ":lease") return OfSpaceCall(space, ParseSegmentLease(body));
    if (method == "POST" && verb == ":restored") {
      return OfSpaceCall(space, ParseSegmentRestored(body));
    }
    if (method == "POST" && verb == ":raise") return OfSpaceCall(space, ParseSegmentRaise(body));
  }
  return absl::NotFoundError(
      absl::StrCat("there is no ", method, " ", internal::Quoted(request.path)));
}

ServerAnswer StoreAnswer(const lease_machine::Answer& answer) {
  if (const auto* counter = std::get_if<counter_machine::Reply>(&answer.reply)) {
    return JsonAnswer(200, BodyOf(*counter));
  }
  if (const auto* rule = std::get_if<rule_machine::Reply>(&answer.reply)) {
    return JsonAnswer(200, BodyOf(*rule));
  }
  if (const auto* segments = std::get_if<segment_machine::Reply>(&answer.reply)) {
    if (const auto* lease = std::get_if<LeaseReply>(segments)) {
      return JsonAnswer(200, BodyOf(*lease));
    }
    if (const auto* raised = std::get_if<BaseRaise>(segments)) {
      return JsonAnswer(200, BodyOf(*raised));
    }
  }
  return {204, {}, ""};
}

}  // namespace locus::lease_api
