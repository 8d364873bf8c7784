// SPDX-License-Identifier: Apache-2.0
// Elections and the transfer of leadership: sections 3.4, 3.6, 3.10, 6.2 and 9.6.
#include "src/raft/core/core.h"
#include "src/raft/core/flaw.h"

namespace locus::raft {

// A vote is given up only when the term rises.
void Core::BecomeFollower(Term term, NodeId leader, Actions& actions) {
  LOCUS_RAFT_CHECK(term >= vote_.term);  // terms never fall
  if (term > vote_.term) {
    vote_ = {term, 0};
    WriteOf(actions).vote = vote_;
    leader_ = 0;
  } else if (Has(Flaw::kVoteClearedAtStepDown) && role_ != Role::kFollower) {
    vote_.candidate = 0;
    WriteOf(actions).vote = vote_;
  }
  // Answered with 0: the caller asks the new leader.
  for (const PendingRead& read : reads_) actions.reads.push_back({read.read, 0});
  reads_.clear();
  if (role_ == Role::kLeader) actions.restart_election_timer = true;
  role_ = Role::kFollower;
  leader_ = leader;
  votes_.clear();
  vote_write_ = 0;
  peers_.clear();
  transfer_to_ = 0;
}

void Core::StandForPreVote(Actions& actions) {
  BecomeFollower(vote_.term, 0, actions);
  role_ = Role::kPreCandidate;
  votes_ = {self_};
  for (const Member& member : members()) {
    if (!member.voter || member.id == self_) continue;
    SendAtOnce(member.id,
               VoteRequest{vote_.term + 1, last_index(), TermAt(last_index()), true, false,
                           members_index()},
               actions);
  }
  CountVotes(actions);
}

void Core::Stand(bool transfer, Actions& actions) {
  BecomeFollower(vote_.term, 0, actions);
  role_ = Role::kCandidate;
  vote_ = {vote_.term + 1, self_};
  Write& write = WriteOf(actions);
  write.vote = vote_;
  vote_write_ = write.number;
  actions.restart_election_timer = true;
  for (const Member& member : members()) {
    if (!member.voter || member.id == self_) continue;
    SendAfterWrites(member.id,
                    VoteRequest{vote_.term, last_index(), TermAt(last_index()), false, transfer,
                                members_index()},
                    actions);
  }
}

void Core::CountVotes(Actions& actions) {
  if (!HasMajority(votes_)) return;
  if (role_ == Role::kPreCandidate) return Stand(false, actions);
  if (role_ == Role::kCandidate) Lead(actions);
}

void Core::Lead(Actions& actions) {
  role_ = Role::kLeader;
  leader_ = self_;
  votes_.clear();
  vote_write_ = 0;
  peers_ = PeersOf({});
  // Nothing of an earlier term counts as committed before something of this one is (3.6.2).
  AppendOwn({vote_.term, Entry::Kind::kNothing, "", {}}, actions);
  SendToAll(true, actions);
}

// The log that ends in the later term is the newer one; of equal terms, the longer one.
bool Core::IsUpToDate(Index last_index, Term last_term) const {
  if (Has(Flaw::kVoteForShorterLog)) return true;
  const Term own = TermAt(this->last_index());
  return last_term > own || (last_term == own && last_index >= this->last_index());
}

bool Core::HasCommittedMembersFrom(Index index) const {
  return members_index() >= index && members_index() <= commit_;
}

void Core::On(NodeId from, const VoteRequest& request, bool leader_is_alive, Actions& actions) {
  // A member that was removed may not know it yet, and would stand again and again.
  if (FindMember(members(), from) == nullptr && HasCommittedMembersFrom(request.members_index)) {
    SendAtOnce(from, Removed{vote_.term, members_index()}, actions);
    return;
  }
  // While a leader is heard, no other one is needed: a node that was cut off must not end the
  // leader's term (4.2.3).
  const bool leads = leader_is_alive || role_ == Role::kLeader;
  if (leads && !request.transfer) {
    if (request.pre) SendAtOnce(from, VoteReply{vote_.term, true, false}, actions);
    return;
  }
  // A node that lost part of its state may also have lost its vote in this term, so it grants none.
  const bool fresh = !forgot_ && IsUpToDate(request.last_index, request.last_term);
  if (request.pre) {
    const bool granted = fresh && request.term > vote_.term;
    SendAtOnce(from, VoteReply{granted ? request.term : vote_.term, true, granted}, actions);
    return;
  }
  if (request.term > vote_.term) BecomeFollower(request.term, 0, actions);
  const bool granted =
      request.term == vote_.term && fresh && (vote_.candidate == 0 || vote_.candidate == from);
  if (granted) {
    actions.restart_election_timer = true;
    // The reply waits for the write of the vote (SendAfterWrites): a vote that is forgotten could
    // be given twice.
    if (vote_.candidate == 0) {
      vote_.candidate = from;
      WriteOf(actions).vote = vote_;
    }
  }
  SendAfterWrites(from, VoteReply{vote_.term, false, granted}, actions);
}

void Core::On(NodeId from, const VoteReply& reply, bool, Actions& actions) {
  if (reply.term > vote_.term && !(reply.pre && reply.granted)) {
    return BecomeFollower(reply.term, 0, actions);
  }
  if (!reply.granted) return;
  const bool counts = reply.pre ? role_ == Role::kPreCandidate && reply.term == vote_.term + 1
                                : role_ == Role::kCandidate && reply.term == vote_.term;
  const bool mistaken =
      Has(Flaw::kPreVoteCounted) && role_ == Role::kCandidate && reply.term == vote_.term;
  if (!counts && !mistaken) return;
  votes_.insert(from);
  CountVotes(actions);
}

void Core::On(NodeId, const StandNow& message, bool, Actions& actions) {
  if (message.term != vote_.term || role_ == Role::kLeader || !MayStand()) return;
  Stand(true, actions);
}

void Core::On(NodeId, const Removed& message, bool, Actions&) {
  // Equal: it has the entry of its removal, and does not know since its restart that it is
  // committed.
  if (message.members_index >= members_index()) removed_ = true;
}

}  // namespace locus::raft
