// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/locusd_cluster.h"
#include "src/cluster/api/wrong_clock.h"

namespace locus {
bool LocusdMember::IsSilent() const { return !silent_for || *silent_for >= LocusdCluster::kSilent; }

const LocusdMember* LocusdNode::Find(uint64_t member_id) const {
  auto found = std::find_if(members.begin(), members.end(),
                            [&](const LocusdMember& member) { return member.id == member_id; });
  return found == members.end() ? nullptr : &*found;
}

std::string_view ToString(LocusdNode::Role role) {
  switch (role) {
    case LocusdNode::Role::kFollower:
      return "follower";
    case LocusdNode::Role::kCandidate:
      return "candidate";
    case LocusdNode::Role::kLeader:
      return "leader";
  }
  return "?";
}

const LocusdNode* LocusdClusterView::Leader() const {
  const LocusdNode* leader = nullptr;
  for (const Row& row : rows) {
    if (!row.node.ok() || !row.node->leads_for_sure) continue;
    if (leader == nullptr || row.node->term > leader->term) leader = &*row.node;
  }
  return leader;
}

const std::vector<LocusdMember>& LocusdClusterView::Members() const {
  static const std::vector<LocusdMember> kNone;
  if (const LocusdNode* leader = Leader()) return leader->members;
  const LocusdNode* furthest = nullptr;
  for (const Row& row : rows) {
    if (!row.node.ok()) continue;
    auto place = [](const LocusdNode& node) { return std::pair(node.term, node.last); };
    if (furthest == nullptr || place(*row.node) > place(*furthest)) furthest = &*row.node;
  }
  return furthest == nullptr ? kNone : furthest->members;
}

bool LocusdClusterView::IsMissing(const LocusdMember& member) const {
  if (member.forgot || member.IsSilent()) return true;
  if (*member.silent_for < LocusdCluster::kFresh) return false;
  return std::none_of(rows.begin(), rows.end(),
                      [&](const Row& row) { return row.node.ok() && row.node->id == member.id; });
}

namespace {

// Why a view is unhealthy although a leader hears a majority: a second cluster, one ID in two
// processes, an address that no other node knows. "": it is healthy.
std::string WrongOf(const LocusdClusterView::Row& row, const LocusdNode& leader) {
  const LocusdNode& node = *row.node;
  const std::string who = absl::StrCat("node ", node.id, " at ", row.endpoint, " ");
  const std::string led = absl::StrCat("node ", leader.id, " leads (term ", leader.term, ")");
  if (node.leads_for_sure && node.id != leader.id) {
    return absl::StrCat(who, "leads, too (term ", node.term, "), while ", led,
                        ": where that stays so, these are two clusters; stop one of them");
  }
  const LocusdMember* member = leader.Find(node.id);
  if (member == nullptr || node.cluster != leader.cluster) {
    return absl::StrCat(who, "answers, and is no member of the cluster that ", led);
  }
  if (!node.members.empty() && node.Find(leader.id) == nullptr) {
    return absl::StrCat(who, "has other members, and ", led, " is none of them");
  }
  if (node.raft != member->raft || node.api != member->api) {
    return absl::StrCat(
        who, "has the addresses ", node.raft, ", ", node.api, ", and the members have ",
        member->raft, ", ", member->api,
        " for it: run locus cluster add to correct them, unless a copy of its data runs");
  }
  return "";
}

}  // namespace

absl::Status LocusdClusterView::Health() const {
  const LocusdNode* leader = Leader();
  size_t voters = 0, heard = 0, answers = 0;
  for (const Row& row : rows) answers += row.node.ok();
  for (const LocusdMember& member : Members()) {
    voters += member.voter;
    heard += member.voter && !IsMissing(member);
  }
  if (leader != nullptr) {
    if (heard <= voters / 2) {
      return absl::UnavailableError(absl::StrCat("node ", leader->id, " leads, but hears ", heard,
                                                 " of ", voters, " voters"));
    }
    for (const Row& row : rows) {
      if (!row.node.ok()) continue;
      for (const Row& other : rows) {
        if (!other.node.ok() || other.node->id != row.node->id) continue;
        if (other.node->raft == row.node->raft && other.node->api == row.node->api) continue;
        return absl::UnavailableError(
            absl::StrCat("node ", row.node->id, " answers at ", row.endpoint, " and at ",
                         other.endpoint, ": two processes run one node's data; stop the copy"));
      }
    }
    for (const Row& row : rows) {
      const std::string wrong = row.node.ok() ? WrongOf(row, *leader) : "";
      if (!wrong.empty()) return absl::UnavailableError(wrong);
    }
    for (const LocusdMember& member : leader->members) {
      if (!member.forgot) continue;
      return absl::UnavailableError(
          absl::StrCat("node ", member.id, " at ", member.api,
                       " has forgotten what it had confirmed: its data is an older copy; remove "
                       "it, and add a node with an empty data directory in its place"));
    }
    for (const Row& row : rows) {
      const std::string clock = row.node.ok() ? cluster_api::WrongClock(row.node->clock_off) : "";
      if (clock.empty()) continue;
      return absl::UnavailableError(
          absl::StrCat("node ", row.node->id, " at ", row.endpoint, ": ", clock));
    }
    return absl::OkStatus();
  }
  // One node's error is enough to show the cause: a wrong URI, a refused token.
  std::string why;
  for (const Row& row : rows) {
    if (!row.node.ok() && why.empty()) why = absl::StrCat(": ", row.node.status().message());
  }
  if (answers > 0) {
    return absl::UnavailableError(absl::StrCat("no leader: ", answers, " of ", rows.size(),
                                               " nodes answer, and none of them leads", why));
  }
  return absl::UnavailableError(absl::StrCat("no node gave its status", why));
}

}  // namespace locus
