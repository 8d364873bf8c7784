// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/store_calls.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/cluster/api/call.h"
#include "src/cluster/api/store_bodies.h"
#include "src/cluster/api/strict_bodies.h"
#include "src/strict/strict_rules.h"

namespace locus::cluster_api {
namespace {

using http::ServerAnswer;
using http::ServerRequest;

constexpr std::string_view kCounters = "/v1/counters";
constexpr std::string_view kTypes = "/v1/sequence_types";
constexpr std::string_view kSegments = "/v1/segments/";
constexpr std::string_view kStrictSets = "/v1/strict_sets/";

// `Machine`: the calls of a part of the machine.
template <typename Machine, typename Call>
absl::StatusOr<StoreCall> Doing(SpaceName space, absl::StatusOr<Call> call) {
  LOCUS_RETURN_IF_ERROR(call.status());
  return StoreCall{std::move(space), Machine(*std::move(call))};
}

absl::Status NoSuch(const ServerRequest& request) {
  return absl::NotFoundError(
      absl::StrCat("there is no ", request.method, " ", internal::Quoted(request.path)));
}

// A path below a root: "NAME" or "NAME:verb".
struct Named {
  SpaceName name;
  std::string verb;  // "PUT", "POST:allocate"
};
absl::StatusOr<Named> NamedIn(const ServerRequest& request, std::string_view root) {
  const std::string_view rest = std::string_view(request.path).substr(root.size());
  const size_t colon = rest.find(':');
  LOCUS_ASSIGN_OR_RETURN(SpaceName name, SpaceName::Parse(rest.substr(0, colon)));
  return Named{std::move(name),
               request.method + std::string(colon == rest.npos ? "" : rest.substr(colon))};
}

absl::StatusOr<StoreCall> ParseSegmentCall(const ServerRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const Named of, NamedIn(request, kSegments));
  const std::string& body = request.body;
  using segment_machine::Call;
  if (of.verb == "GET") return StoreCall{of.name, std::nullopt};
  if (of.verb == "PUT") return Doing<Call>(of.name, ParseSegmentCreate(body));
  if (of.verb == "POST:allocate") return Doing<Call>(of.name, ParseSegmentAllocation(body));
  if (of.verb == "POST:restored") return Doing<Call>(of.name, ParseSegmentRestored(body));
  if (of.verb == "POST:raise") return Doing<Call>(of.name, ParseSegmentRaise(body));
  return NoSuch(request);
}

absl::StatusOr<StoreCall> ParseStrictCall(const ServerRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const Named of, NamedIn(request, kStrictSets));
  const std::string& body = request.body;
  using strict_machine::Call;
  if (of.verb == "GET") return StoreCall{of.name, std::nullopt, StoreCall::Shows::kStrictSet};
  if (of.verb == "PUT") {
    LOCUS_ASSIGN_OR_RETURN(auto create, ParseStrictCreate(body));
    // Checked here, not in the machine: older logs may contain larger sets.
    LOCUS_RETURN_IF_ERROR(strict::CheckFits(of.name, create.options, strict_machine::kMostSections,
                                            "a cluster of locusd"));
    return StoreCall{of.name, Call(std::move(create))};
  }
  if (of.verb == "POST:take") return Doing<Call>(of.name, ParseStrictTake(body));
  if (of.verb == "POST:extend") return Doing<Call>(of.name, ParseStrictExtend(body));
  if (of.verb == "POST:release") return Doing<Call>(of.name, ParseStrictRelease(body));
  if (of.verb == "POST:restored") return Doing<Call>(of.name, ParseStrictRestored(body));
  return NoSuch(request);
}

// Of GET /v1/sequence_types; empty: there is none.
absl::StatusOr<std::string> NameIn(std::string_view query) {
  constexpr std::string_view kName = "name=";
  if (query.empty()) return std::string();
  const std::string_view name = query.substr(std::min(kName.size(), query.size()));
  if (query.starts_with(kName) && !name.empty() && name.size() <= type_machine::kLongestName &&
      name.find_first_of("&%+=") == name.npos) {
    return std::string(name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the query ", internal::Quoted(query), " is not name=NAME"));
}

}  // namespace

bool IsOfStore(std::string_view path) { return IsOfNumbers(path) || path.starts_with(kSegments); }

bool IsOfNumbers(std::string_view path) {
  return path == kCounters || path == kTypes || path.starts_with(kStrictSets);
}

absl::StatusOr<StoreCall> ParseStoreCall(const ServerRequest& request) {
  const std::string& method = request.method;
  const std::string& body = request.body;
  if (request.path == kCounters) {
    if (method == "POST") {
      LOCUS_ASSIGN_OR_RETURN(auto call, ParseCounterCall(body));
      return StoreCall{SpaceName(), std::move(call)};
    }
  } else if (request.path == kTypes) {
    if (method == "POST") {
      LOCUS_ASSIGN_OR_RETURN(auto call, ParseTypeCall(body));
      return StoreCall{SpaceName(), std::move(call)};
    }
    if (method == "GET") {
      LOCUS_ASSIGN_OR_RETURN(std::string name, NameIn(request.query));
      return StoreCall{SpaceName(), std::nullopt, StoreCall::Shows::kTypes, std::move(name)};
    }
  } else {
    return request.path.starts_with(kSegments) ? ParseSegmentCall(request)
                                               : ParseStrictCall(request);
  }
  return NoSuch(request);
}

ServerAnswer StoreAnswer(const cluster_machine::Answer& answer) {
  if (const auto* counter = std::get_if<counter_machine::Reply>(&answer.reply)) {
    return JsonAnswer(200, BodyOf(*counter));
  }
  if (const auto* type = std::get_if<type_machine::Reply>(&answer.reply)) {
    return JsonAnswer(200, BodyOf(*type));
  }
  if (const auto* segments = std::get_if<segment_machine::Reply>(&answer.reply)) {
    if (const auto* allocated = std::get_if<SegmentReply>(segments)) {
      return JsonAnswer(200, BodyOf(*allocated));
    }
    if (const auto* raised = std::get_if<BaseRaise>(segments)) {
      return JsonAnswer(200, BodyOf(*raised));
    }
  }
  if (const auto* strict = std::get_if<strict_machine::Reply>(&answer.reply)) {
    if (const auto* grants = std::get_if<StrictReply<StrictGrant>>(strict)) {
      return JsonAnswer(200, BodyOf(*grants));
    }
    if (const auto* extended = std::get_if<StrictReply<StrictExtended>>(strict)) {
      return JsonAnswer(200, BodyOf(*extended));
    }
  }
  return {204, {}, ""};
}

}  // namespace locus::cluster_api
