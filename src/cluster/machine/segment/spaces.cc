// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/segment/spaces.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/segment/rules.h"

namespace locus::segment_machine {
namespace {

// Rounds to a duration that codec.cc can write.
void Round(absl::Duration& duration) {
  const int64_t nanoseconds = absl::ToInt64Nanoseconds(duration);
  if (nanoseconds == INT64_MAX) {
    duration = absl::InfiniteDuration();
  } else if (nanoseconds == INT64_MIN) {
    duration = -absl::InfiniteDuration();
  } else {
    duration = absl::Nanoseconds(nanoseconds);
  }
}

}  // namespace

bool Same(const Reply& one_reply, const Reply& other_reply) {
  if (one_reply.index() != other_reply.index()) return false;
  if (const auto* raised = std::get_if<BaseRaise>(&one_reply)) {
    const auto& other_raised = std::get<BaseRaise>(other_reply);
    return raised->before == other_raised.before && raised->after == other_raised.after;
  }
  if (!std::holds_alternative<SegmentReply>(one_reply)) return true;
  const auto& one = std::get<SegmentReply>(one_reply);
  const auto& other = std::get<SegmentReply>(other_reply);
  auto all = [](const SegmentGrant& grant) {
    return std::tie(grant.segment, grant.wait, grant.lead, grant.room);
  };
  if (one.grants.size() != other.grants.size() || one.granted_at != other.granted_at ||
      one.loss_noticed != other.loss_noticed) {
    return false;
  }
  for (size_t i = 0; i < one.grants.size(); ++i) {
    if (all(one.grants[i]) != all(other.grants[i])) return false;
  }
  return true;
}

size_t GrantsIn(const Reply& reply) {
  const auto* allocation = std::get_if<SegmentReply>(&reply);
  return allocation == nullptr ? 0 : allocation->grants.size();
}

absl::StatusOr<Reply> Spaces::Apply(const SpaceName& name, const Call& call, absl::Time now,
                                    bool& changed) {
  changed = false;
  LOCUS_RETURN_IF_ERROR(Check(call));
  return std::visit([&](const auto& one) { return Do(name, one, now, changed); }, call);
}

absl::StatusOr<const Spaces::KeptSpace*> Spaces::Find(const SpaceName& name) const {
  const auto found = spaces_.find(name);
  if (found != spaces_.end()) return &found->second;
  return absl::NotFoundError(
      absl::StrCat("the cluster has no space ", name.str(), " of order IDs"));
}

absl::StatusOr<Spaces::KeptSpace*> Spaces::Find(const SpaceName& name) {
  LOCUS_ASSIGN_OR_RETURN(const KeptSpace* found, std::as_const(*this).Find(name));
  return const_cast<KeptSpace*>(found);
}

absl::StatusOr<Reply> Spaces::Do(const SpaceName& name, const Create& create, absl::Time now,
                                 bool& changed) {
  if (const auto found = spaces_.find(name); found != spaces_.end()) {
    LOCUS_RETURN_IF_ERROR(
        segment_rules::CheckSameOptions(name, found->second.options, create.options));
    return Reply();
  }
  LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(create.options, create.caller_now, now));
  if (spaces_.size() >= kMostSpaces) {
    return absl::ResourceExhaustedError(absl::StrCat("space ", name.str(), ": the cluster has ",
                                                     kMostSpaces, " spaces, which is the most"));
  }
  KeptSpace& created = spaces_[name];
  created.options = create.options;
  segment::NoteLoss(created, now);
  changed = true;
  return Reply();
}

absl::StatusOr<Reply> Spaces::Do(const SpaceName& name, const Allocation& allocation,
                                 absl::Time now, bool& changed) {
  LOCUS_ASSIGN_OR_RETURN(KeptSpace * space, Find(name));
  LOCUS_RETURN_IF_ERROR(
      segment::Admit(name, space->options, allocation.options, allocation.requests));
  LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(space->options, allocation.caller_now, now));
  segment::State state;
  state.space = *space;
  size_t added = 0;
  for (const SegmentRequest& request : allocation.requests) {
    const auto found = space->sections.find(request.section);
    if (found == space->sections.end()) ++added;
    const uint64_t head = found == space->sections.end() ? 0 : found->second.head;
    // The token of any client gets here.
    LOCUS_RETURN_IF_ERROR(
        segment_rules::CheckSeen(name, space->options, space->base, head, now, request));
    state.heads.push_back(head);
  }
  if (sections_ + added > kMostSections) {
    return absl::ResourceExhaustedError(
        absl::StrCat("space ", name.str(), ": the cluster has ", sections_, " sections, and ",
                     added, " more would be above ", kMostSections, ", which is the most"));
  }
  segment::Outcome outcome = segment::Plan(state, allocation.requests, now);
  static_cast<segment::Space&>(*space) = outcome.space;
  for (const segment::Outcome::Head& head : outcome.heads) {
    space->sections[allocation.requests[head.request].section] = {head.after, now};
  }
  changed = outcome.base_raised || !outcome.heads.empty();
  sections_ = 0;
  for (const auto& [each, of] : spaces_) sections_ += of.sections.size();
  for (SegmentGrant& grant : outcome.reply.grants) {
    Round(grant.wait);
    Round(grant.lead);
    Round(grant.room);
  }
  return Reply(std::move(outcome.reply));
}

absl::StatusOr<Reply> Spaces::Do(const SpaceName& name, const DeclareRestored& restored,
                                 absl::Time now, bool& changed) {
  LOCUS_ASSIGN_OR_RETURN(KeptSpace * space, Find(name));
  LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(space->options, restored.caller_now, now));
  segment::NoteLoss(*space, now);
  changed = true;
  return Reply();
}

absl::StatusOr<Reply> Spaces::Do(const SpaceName& name, const Raise& raise, absl::Time now,
                                 bool& changed) {
  LOCUS_ASSIGN_OR_RETURN(KeptSpace * space, Find(name));
  LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(space->options, raise.caller_now, now));
  LOCUS_ASSIGN_OR_RETURN(const BaseRaise raised,
                         segment::Raise(*space, raise.to, raise.reach, now));
  changed = raised.before != raised.after;
  return Reply(raised);
}

absl::StatusOr<SpaceOptions> Spaces::OptionsOf(const SpaceName& name) const {
  LOCUS_ASSIGN_OR_RETURN(const KeptSpace* space, Find(name));
  return space->options;
}

absl::StatusOr<SpaceView> Spaces::Show(const SpaceName& name, absl::Time now) const {
  LOCUS_ASSIGN_OR_RETURN(const KeptSpace* space, Find(name));
  std::vector<SpaceView::Section> sections;
  sections.reserve(space->sections.size());
  for (const auto& [number, section] : space->sections) {
    sections.push_back({number, section.head, absl::ZeroDuration(), section.granted_at});
  }
  return segment::View(*space, now, std::move(sections));
}

}  // namespace locus::segment_machine
