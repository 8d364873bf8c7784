// SPDX-License-Identifier: Apache-2.0
#include "src/engine/locusd/join_rules.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/text/text.h"

namespace locus {
namespace {

using internal::Quoted;

constexpr absl::string_view kStartAnew =
    ". It was a member once: stop it, empty its data directory, so that it comes back as another "
    "node, start it, and add it then. Audit records that wait in data/audit go, too";

// For a node that already works in another cluster: the address may be wrong, and its data are in
// use.
std::string CheckTheAddress(const LocusdNode& node) {
  return absl::StrCat("; check the address: this node is of a cluster with ", node.members.size(),
                      " members that holds ", node.held,
                      " leases. Only if that cluster is never used again: stop the node, empty "
                      "its data directory (with it goes data/audit), start it, and add it then");
}

}  // namespace

namespace locusd {

absl::Status CheckJoins(const LocusdNode& node, const LocusdNode& leader, const std::string& api) {
  const std::string who = absl::StrCat("node ", node.id, " at ", api, " ");
  auto refuse = [&](absl::string_view why, absl::string_view advice = "") {
    return absl::FailedPreconditionError(absl::StrCat(who, why, advice));
  };
  if (node.cluster != leader.cluster) {
    const bool waits = node.members.empty() && node.leader == 0 && node.last == 0;
    return refuse(absl::StrCat("is one of the cluster ", Quoted(node.cluster), ", not of ",
                               Quoted(leader.cluster)),
                  waits ? "; name this cluster in its configuration" : CheckTheAddress(node));
  }
  if (!node.failure.empty()) return refuse(absl::StrCat("has failed: ", node.failure));
  if (node.raft.empty() || node.api.empty()) return refuse("does not report its addresses");
  for (const LocusdMember& member : leader.members) {
    if (member.id == node.id) continue;
    if (member.raft == node.raft || member.api == node.api) {
      return refuse(absl::StrCat("has an address of node ", member.id,
                                 ", which is a member: ", member.raft, ", ", member.api),
                    absl::StrCat("; remove that node first if it will not return: locus cluster "
                                 "remove URI ",
                                 member.id));
    }
  }
  if (leader.Find(node.id) != nullptr) return absl::OkStatus();
  if (node.removed) return refuse("was removed from the cluster", kStartAnew);
  if (node.leader != 0 && leader.Find(node.leader) == nullptr) {
    return refuse(
        absl::StrCat("follows node ", node.leader, ", which is no member of this cluster"),
        CheckTheAddress(node));
  }
  const LocusdMember* itself = node.Find(node.id);
  const bool votes = itself != nullptr && itself->voter;
  const bool of_others =
      !node.members.empty() &&
      std::none_of(node.members.begin(), node.members.end(),
                   [&](const LocusdMember& member) { return leader.Find(member.id) != nullptr; });
  if (votes || of_others) {
    const bool once_here =
        std::any_of(node.members.begin(), node.members.end(), [&](const LocusdMember& member) {
          return member.id != node.id && leader.Find(member.id) != nullptr;
        });
    return refuse(absl::StrCat("is a member of a cluster already (term ", node.term, ", ",
                               node.members.size(), " members), and not of this one"),
                  once_here ? std::string(kStartAnew) : CheckTheAddress(node));
  }
  // Its own log says that it is none any more: it would read that again, and end.
  if (node.last > 0 && itself == nullptr) {
    return refuse(absl::StrCat("has a log of ", node.last, " entries, and is no member"),
                  kStartAnew);
  }
  return absl::OkStatus();
}

std::string ListOf(const std::vector<LocusdMember>& members) {
  return absl::StrJoin(members, ", ", [](std::string* out, const LocusdMember& one) {
    absl::StrAppend(out, one.id, " (", one.api, ")");
  });
}

absl::Status CheckMoved(const LocusdNode& node, const LocusdMember& member,
                        const LocusdNode& there) {
  if (there.id != node.id || (there.raft == node.raft && there.api == node.api)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "node ", node.id, " answers at ", member.api, " with the addresses ", there.raft, ", ",
      there.api, ", and where it is to be added with ", node.raft, ", ", node.api,
      ": two processes run one node's data. Stop one; a copied data directory must never be used"));
}

absl::Status CheckWaits(const LocusdNode& node, const LocusdNode& now) {
  auto refuse = [&](absl::string_view why, absl::string_view advice) {
    return absl::FailedPreconditionError(absl::StrCat("node ", node.id, " ", why, advice));
  };
  if (now.removed) return refuse("says that it was removed from the cluster", kStartAnew);
  if (!now.failure.empty()) return refuse("has failed: ", now.failure);
  if (now.id != node.id)
    return refuse("is gone: at its address is now node ", absl::StrCat(now.id));
  return absl::OkStatus();
}

absl::Status CheckLeaves(uint64_t id, const LocusdNode& leader, bool force) {
  const LocusdMember* leaves = leader.Find(id);
  if (leaves == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("node ", id, " is no member; the members are ", ListOf(leader.members)));
  }
  if (!leaves->voter) return absl::OkStatus();
  size_t voters = 0;
  std::vector<LocusdMember> silent;
  for (const LocusdMember& member : leader.members) {
    if (member.id == id || !member.voter) continue;
    ++voters;
    if (member.IsSilent()) silent.push_back(member);
  }
  if (voters == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("node ", id, " is the last voter: no node would keep the leases"));
  }
  if (force || voters - silent.size() > voters / 2) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "without node ", id, ", ", silent.size(), " of ", voters,
      " voters would be silent, and the cluster would stand still until they come back: ",
      ListOf(silent)));
}

absl::Status CheckAnswers(uint64_t id, const LocusdNode& leader,
                          const std::vector<LocusdMember>& missing) {
  size_t voters = 0;
  for (const LocusdMember& member : leader.members) voters += member.voter && member.id != id;
  if (voters - missing.size() > voters / 2) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("without node ", id, ", ", missing.size(), " of ", voters,
                   " voters would be missing, and the cluster would stand still until they come "
                   "back; just now these do not answer: ",
                   ListOf(missing)));
}

absl::StatusOr<uint64_t> NextLeader(std::optional<uint64_t> to, const LocusdNode& leader) {
  const LocusdMember* best = nullptr;
  for (const LocusdMember& member : leader.members) {
    if (!member.voter || member.id == leader.id) continue;
    auto worth = [](const LocusdMember& one) { return std::pair(!one.IsSilent(), one.match); };
    if (best == nullptr || worth(member) > worth(*best)) best = &member;
  }
  if (!to) {
    if (best != nullptr) return best->id;
    return absl::NotFoundError(absl::StrCat("node ", leader.id, " is the only voter"));
  }
  const LocusdMember* wanted = leader.Find(*to);
  if (wanted != nullptr && wanted->voter) return *to;
  return absl::NotFoundError(absl::StrCat(
      "node ", *to, wanted == nullptr ? " is no member" : " is a learner, and cannot lead"));
}

}  // namespace locusd
}  // namespace locus
