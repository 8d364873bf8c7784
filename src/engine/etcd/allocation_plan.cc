// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/allocation_plan.h"

#include <algorithm>
#include <utility>

#include "src/base/os/check.h"
#include "src/segment/plan.h"

namespace locus::etcd {
namespace {

constexpr size_t kMostTrustedLinks = 1000;

// An upper bound at the time of the status: a member reads its revision before its index.
int64_t HighestSurplus(const MemberStatus& status) {
  return static_cast<int64_t>(status.raft_index) - status.header.revision;
}

Soundness Lost(Memory& memory) {
  memory.lost = true;
  return Soundness::kLost;
}

Soundness Sound(const Life& record, const Header& header, uint64_t link, absl::Time now,
                Memory& memory) {
  memory.life = record.life;
  memory.revision = header.revision;
  memory.at = now;
  memory.lost = false;
  if (memory.trusted_links.size() >= kMostTrustedLinks) memory.trusted_links.clear();
  memory.trusted_links.insert(link);
  return Soundness::kSound;
}

// Whether the record was raised after this process last heard from the cluster. Then another
// process noticed the same loss.
bool RaisedSince(const Life& record, const Memory& memory) {
  return record.life != memory.life && record.raised_at >= memory.at;
}

}  // namespace

std::set<uint32_t> GroupsOf(const SpaceOptions& options, std::span<const SegmentRequest> requests) {
  std::set<uint32_t> groups;
  for (const SegmentRequest& request : requests) {
    groups.insert(request.section / SectionsPerGroup(options));
  }
  return groups;
}

AllocationPlan PlanAllocation(const SpaceImage& image, std::span<const SegmentRequest> requests,
                              absl::Time now, const std::optional<ClusterIdentity>& lost) {
  uint32_t per_group = SectionsPerGroup(image.record.options);
  segment::State state{image.record, {}, lost.has_value()};
  for (const SegmentRequest& request : requests) {
    const SectionGroup& group = image.groups.at(request.section / per_group);
    state.heads.push_back(group.rows[request.section % per_group].head);
  }
  segment::Outcome outcome = segment::Plan(state, requests, now);

  AllocationPlan plan;
  if (outcome.base_raised) {
    SpaceRecord record = image.record;
    static_cast<segment::Space&>(record) = outcome.space;
    record.BeginLife(now, lost.value_or(record.identity));
    plan.new_record = std::move(record);
  }
  for (const segment::Outcome::Head& head : outcome.heads) {
    uint16_t section = requests[head.request].section;
    uint32_t number = section / per_group;
    auto [changed, first] = plan.changed_groups.try_emplace(number, image.groups.at(number));
    if (first) changed->second.Renew();
    changed->second.rows[section % per_group] = {head.after, now};
  }
  plan.reply = std::move(outcome.reply);
  return plan;
}

Soundness Judge(const Life& record, const Header& header, uint64_t link,
                const MemberStatus& greeting, absl::Time now, Memory& memory) {
  if (header.cluster_id != record.identity.cluster_id) return Lost(memory);
  bool went_back = !memory.life.empty() && header.revision < memory.revision;
  if ((memory.lost || went_back) && !RaisedSince(record, memory)) return Lost(memory);
  bool trusted = memory.trusted_links.count(link) > 0;
  if (trusted || HighestSurplus(greeting) >= record.identity.surplus) {
    return Sound(record, header, link, now, memory);
  }
  return Soundness::kUnclear;
}

Soundness JudgeAgain(const Life& record, const Header& header, uint64_t link,
                     const MemberStatus& status, absl::Time now, Memory& memory) {
  bool same_member =
      status.header.cluster_id == header.cluster_id && status.header.member_id == header.member_id;
  if (!same_member) return Soundness::kUnclear;
  if (HighestSurplus(status) < record.identity.surplus) return Lost(memory);
  return Sound(record, header, link, now, memory);
}

ClusterIdentity IdentityOf(const MemberStatus& earlier, const Header& later) {
  return {later.cluster_id, static_cast<int64_t>(earlier.applied_index) - later.revision};
}

}  // namespace locus::etcd
