// SPDX-License-Identifier: Apache-2.0
// Drops messages that cannot be true. Any process that reaches the port can send one, and it must
// end neither this process nor its leadership. A sender that leads or stands may be unknown as a
// member: this node may be behind, and not know its leader's members yet (4.1).
#include <algorithm>

#include "src/raft/core/core.h"

namespace locus::raft {
namespace {

// No cluster gets there. Sums of two of them do not wrap.
constexpr uint64_t kMostNumber = uint64_t{1} << 62;
// A node that was away missed fewer elections, or entries, than this.
constexpr Term kMostTermsAhead = uint64_t{1} << 32;
constexpr Index kMostEntriesAhead = uint64_t{1} << 48;

bool Follow(Term before, const std::vector<Entry>& entries, Term most) {
  for (const Entry& entry : entries) {
    if (entry.term < before || entry.term > most) return false;
    before = entry.term;
  }
  return true;
}

}  // namespace

bool Core::IsCredible(NodeId from, const Message& message) const {
  const Term term = std::visit([](const auto& one) { return one.term; }, message);
  // A node without a log is new, and may come to a cluster of any age.
  const Term most = last_index() == 0 ? kMostNumber : vote_.term + kMostTermsAhead;
  if (from == self_ || term > std::min(most, kMostNumber)) return false;
  return std::visit([&](const auto& one) { return MayBe(from, one); }, message);
}

bool Core::MayBe(NodeId, const VoteRequest& request) const {
  return request.last_term <= request.term;
}

// Those that this node asks are voters that it knows.
bool Core::MayBe(NodeId from, const VoteReply&) const { return IsKnown(from); }

bool Core::MayBe(NodeId, const Append& append) const {
  if (append.term < vote_.term) return true;  // answered with the term
  if (append.term == vote_.term && role_ == Role::kLeader) return false;
  if (append.prev_index > kMostNumber || append.acked > append.prev_index ||
      !Follow(append.prev_term, append.entries, append.term)) {
    return false;
  }
  // The leader has all that is committed here, so it never sends anything else for these indexes.
  for (size_t i = 0; i < append.entries.size(); ++i) {
    const Index index = append.prev_index + 1 + i;
    if (index > std::min(commit_, last_index())) break;
    if (index > base_.index && At(index).term != append.entries[i].term) return false;
  }
  return true;
}

bool Core::MayBe(NodeId from, const AppendReply& reply) const {
  if (!IsKnown(from)) return false;
  if (reply.term != vote_.term || role_ != Role::kLeader) return true;
  // A follower has no more of this term than its leader.
  return reply.round <= round_ && (!reply.matches || reply.index <= last_index());
}

bool Core::MayBe(NodeId, const InstallSnapshot& install) const {
  if (install.term < vote_.term) return true;
  if (install.term == vote_.term && role_ == Role::kLeader) return false;
  return install.mark.index <= kMostNumber && install.mark.term <= install.term;
}

bool Core::MayBe(NodeId from, const StandNow&) const { return from == leader_ || IsKnown(from); }

// The answer of a voter to a candidate.
bool Core::MayBe(NodeId from, const Removed& removed) const {
  return (role_ == Role::kPreCandidate || role_ == Role::kCandidate) && IsKnown(from) &&
         removed.members_index <= last_index() + kMostEntriesAhead;
}

bool Core::MayBe(NodeId from, const Note&) const { return IsKnown(from); }

// Members, and nodes that were members until a moment ago.
bool Core::IsKnown(NodeId id) const {
  return FindMember(members(), id) != nullptr || peers_.contains(id);
}

}  // namespace locus::raft
