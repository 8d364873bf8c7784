// SPDX-License-Identifier: Apache-2.0
#include "src/segment/plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/segment/rules.h"

namespace locus {

std::string_view ToString(RaiseReach reach) {
  switch (reach) {
    case RaiseReach::kNearFloor:
      return "near_floor";
    case RaiseReach::kAnywhere:
      return "anywhere";
  }
  return "unknown";
}

namespace segment {
namespace {

// A hundredth of the sequences of narrow order IDs: 2.7 years of the default floor.
constexpr uint64_t kNearFloor = (uint64_t{1} << 47) / 100;

}  // namespace

void NoteLoss(Space& space, absl::Time now, uint64_t at_least) {
  space.base = segment_rules::BaseAfterLoss(space.options, space.base, now, at_least);
  ++space.losses;
}

absl::Status Admit(const SpaceName& name, const SpaceOptions& stored, const SpaceOptions& callers,
                   std::span<const SegmentRequest> requests) {
  if (stored != callers) {
    return absl::FailedPreconditionError(
        absl::StrCat("space ", name.str(), " has ", segment_rules::Describe(stored),
                     " now, but this process opened it with ", segment_rules::Describe(callers),
                     ": the space was created again with other options; restart this process"));
  }
  return segment_rules::CheckRequests(stored, requests);
}

Outcome Plan(const State& state, std::span<const SegmentRequest> requests, absl::Time now) {
  LOCUS_CHECK(state.heads.size() == requests.size());
  Outcome outcome;
  outcome.space = state.space;
  outcome.reply.granted_at = now;

  // Checks all requests before base rises, because the highest `seen` counts.
  uint64_t lost_up_to = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (segment_rules::ShowsLoss(requests[i].seen, state.space.base, state.heads[i])) {
      lost_up_to = std::max(lost_up_to, requests[i].seen);
    }
  }
  outcome.reply.loss_noticed = state.identity_changed || lost_up_to > 0;
  outcome.base_raised = outcome.reply.loss_noticed || state.maybe_put_back;
  if (outcome.reply.loss_noticed) {
    NoteLoss(outcome.space, now, lost_up_to);
  } else if (state.maybe_put_back) {
    outcome.space.base =
        segment_rules::BaseAfterLoss(state.space.options, state.space.base, now, 0);
  }

  for (size_t i = 0; i < requests.size(); ++i) {
    segment_rules::Decision decision = segment_rules::Decide(
        outcome.space.options, outcome.space.base, state.heads[i], now, requests[i]);
    outcome.reply.grants.push_back(decision.grant);
    // The head of a section without room stays, so it is not written.
    if (decision.grant.segment.length == 0) continue;
    // Heads only rise: otherwise a sequence could be granted twice.
    LOCUS_CHECK(decision.head > state.heads[i]);
    outcome.heads.push_back({i, state.heads[i], decision.head});
  }
  return outcome;
}

absl::StatusOr<BaseRaise> Raise(Space& space, uint64_t to, RaiseReach reach, absl::Time now) {
  LOCUS_RETURN_IF_ERROR(segment_rules::CheckRaise(to));
  uint64_t floor = segment_rules::Floor(space.options, now);
  if (reach == RaiseReach::kNearFloor && to > space.base && to > floor + kNearFloor) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sequence ", to, " is ", to - floor, " above the floor, ", floor,
        "; more than 1 % of all narrow sequences, ", kNearFloor,
        ", would be lost for good: compute it again from order IDs of this layout only, or "
        "confirm it (RaiseReach::kAnywhere, `locus store raise --anywhere`)"));
  }
  BaseRaise raise{space.base, std::max(space.base, to)};
  space.base = raise.after;
  return raise;
}

SpaceView View(const Space& space, absl::Time now, std::vector<SpaceView::Section> sections) {
  uint64_t floor = segment_rules::Floor(space.options, now);
  for (SpaceView::Section& section : sections) {
    section.lead =
        segment_rules::FloorTime(space.options, static_cast<int64_t>(section.head - floor));
  }
  return {space.options, space.base, space.losses, now, std::move(sections)};
}

}  // namespace segment
}  // namespace locus
