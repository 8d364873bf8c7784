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

// The name in the query of ShowTypes; empty: there is none.
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

absl::StatusOr<StoreCall> CallCounter(std::string_view, const ServerRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(auto call, ParseCounterCall(request.body));
  return StoreCall{SpaceName(), std::move(call)};
}

absl::StatusOr<StoreCall> ShowTypes(std::string_view, const ServerRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(std::string name, NameIn(request.query));
  return StoreCall{SpaceName(), std::nullopt, StoreCall::Shows::kTypes, std::move(name)};
}

absl::StatusOr<StoreCall> ChangeType(std::string_view, const ServerRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(auto call, ParseTypeCall(request.body));
  return StoreCall{SpaceName(), std::move(call)};
}

absl::StatusOr<StoreCall> ShowSegments(std::string_view name, const ServerRequest&) {
  LOCUS_ASSIGN_OR_RETURN(SpaceName space, SpaceName::Parse(name));
  return StoreCall{std::move(space), std::nullopt};
}

absl::StatusOr<StoreCall> ShowStrictSet(std::string_view name, const ServerRequest&) {
  LOCUS_ASSIGN_OR_RETURN(SpaceName set, SpaceName::Parse(name));
  return StoreCall{std::move(set), std::nullopt, StoreCall::Shows::kStrictSet};
}

absl::StatusOr<StoreCall> CreateStrictSet(std::string_view name, const ServerRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(SpaceName set, SpaceName::Parse(name));
  LOCUS_ASSIGN_OR_RETURN(auto create, ParseStrictCreate(request.body));
  // Here, and not in the machine, whose log may have larger ones.
  LOCUS_RETURN_IF_ERROR(
      strict::CheckFits(set, create.options, strict_machine::kMostSections, "a cluster of locusd"));
  return StoreCall{std::move(set), strict_machine::Call(std::move(create))};
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
