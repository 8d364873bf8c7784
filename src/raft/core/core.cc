// SPDX-License-Identifier: Apache-2.0
// The part that elections and the log share: restoring a node, its events, its writes, its members.
#include "src/raft/core/core.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/raft/core/flaw.h"

namespace locus::raft {

namespace {

absl::Status Forgetful(NodeId id) {
  return absl::FailedPreconditionError(
      absl::StrCat("node ", id,
                   " has forgotten what it had confirmed: its data is an older copy; "
                   "remove it, and add a node with an empty data directory in its place"));
}

}  // namespace

const Member* FindMember(const Members& members, NodeId id) {
  const auto found =
      std::lower_bound(members.begin(), members.end(), id,
                       [](const Member& member, NodeId wanted) { return member.id < wanted; });
  return found != members.end() && found->id == id ? &*found : nullptr;
}

std::string_view ToString(Role role) {
  switch (role) {
    case Role::kFollower:
      return "follower";
    case Role::kPreCandidate:
    case Role::kCandidate:
      return "candidate";
    case Role::kLeader:
      return "leader";
  }
  return "?";
}

absl::Status CheckMembers(const Members& members) {
  if (members.size() > kMostMembers) {
    return absl::InvalidArgumentError(
        absl::StrCat(members.size(), " members; the most are ", kMostMembers));
  }
  NodeId last = 0;
  for (const Member& member : members) {
    if (member.id <= last) {
      return absl::InvalidArgumentError(
          absl::StrCat("member ", member.id, " is 0, or not above the one before, ", last));
    }
    last = member.id;
    if (member.address.size() > kMostAddressBytes) {
      return absl::InvalidArgumentError(absl::StrCat("the address of member ", member.id, " has ",
                                                     member.address.size(), " bytes; the most are ",
                                                     kMostAddressBytes));
    }
  }
  return absl::OkStatus();
}

Remembered FirstNode(NodeId self, const Members& members) {
  return {self, {1, 0}, {}, {{1, Entry::Kind::kMembers, "", members}}};
}

absl::StatusOr<Core> Core::Restore(Remembered remembered, const CoreLimits& limits) {
  Core core;
  core.self_ = remembered.self;
  core.limits_ = limits;
  core.vote_ = remembered.vote;
  core.snapshot_ = std::move(remembered.snapshot);
  core.base_ = {core.snapshot_.index, core.snapshot_.term};
  core.members_ = {{core.snapshot_.index, core.snapshot_.members}};
  core.commit_ = core.snapshot_.index;
  Term last = core.snapshot_.term;
  for (Entry& entry : remembered.entries) {
    const Index index = core.last_index() + 1;
    if (entry.term < last || entry.term > core.vote_.term) {
      return absl::DataLossError(absl::StrCat(
          "the log of node ", core.self_, " contradicts itself: entry ", index, " has term ",
          entry.term, ", the one before it ", last, ", and the node is at term ", core.vote_.term));
    }
    last = entry.term;
    if (entry.kind == Entry::Kind::kMembers) core.members_.push_back({index, entry.members});
    core.log_.push_back(std::move(entry));
  }
  if (core.snapshot_.term > core.vote_.term) {
    return absl::DataLossError(absl::StrCat("the snapshot of node ", core.self_, " has term ",
                                            core.snapshot_.term, ", and the node is at term ",
                                            core.vote_.term));
  }
  core.durable_ = core.last_index();
  core.NoteCommitted(core.snapshot_.members);
  return core;
}

Actions Core::ElectionTimeout() {
  Actions actions;
  if (role_ == Role::kLeader) return actions;
  actions.restart_election_timer = true;
  if (MayStand()) StandForPreVote(actions);
  return actions;
}

Actions Core::Heartbeat() {
  Actions actions;
  if (role_ != Role::kLeader) return actions;
  for (auto& [id, peer] : peers_) {
    peer.asked = false;
    // The snapshot or its answer may be lost, and is never repeated by itself: asking where the log
    // agrees finds out, and sends another one if it is needed.
    if (peer.mode == Peer::Mode::kSnapshot && ++peer.waited > limits_.snapshot_patience) {
      peer.mode = Peer::Mode::kProbe;
    }
    SendTo(id, peer, true, actions);
  }
  return actions;
}

Actions Core::CheckQuorum() {
  Actions actions;
  if (role_ != Role::kLeader) return actions;
  transfer_to_ = 0;
  std::set<NodeId> heard = {self_};
  for (auto& [id, peer] : peers_) {
    if (peer.heard) heard.insert(id);
    peer.heard = false;
  }
  // In its own term: its vote stays.
  if (!HasMajority(heard)) BecomeFollower(vote_.term, 0, actions);
  return actions;
}

Actions Core::Receive(NodeId from, const Message& message, bool leader_is_alive) {
  Actions actions;
  if (removed_) return actions;
  if (!IsCredible(from, message)) {
    ++refused_;
    refused_from_ = from;
    return actions;
  }
  std::visit([&](const auto& one) { On(from, one, leader_is_alive, actions); }, message);
  return actions;
}

Actions Core::Written(uint64_t number) {
  Actions actions;
  // Writes become durable in order, and one fsync may confirm several.
  while (!pending_writes_.empty() && pending_writes_.front().number <= number) {
    durable_ = std::max(durable_, pending_writes_.front().last);
    pending_writes_.pop_front();
  }
  // A candidate's vote for itself counts only once it is on the disk: a node that forgot it could
  // vote for another candidate in the same term.
  if (role_ == Role::kCandidate && vote_write_ <= number) {
    votes_.insert(self_);
    CountVotes(actions);
  }
  if (role_ == Role::kLeader) AdvanceCommit(actions);
  return actions;
}

absl::StatusOr<Actions> Core::Propose(std::string data) {
  std::vector<std::string> one;
  one.push_back(std::move(data));
  return ProposeAll(std::move(one));
}

absl::StatusOr<Actions> Core::ProposeAll(std::vector<std::string> commands) {
  for (const std::string& command : commands) {
    if (command.size() > kMostEntryBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a command of ", command.size(), " bytes; the most are ", kMostEntryBytes));
    }
  }
  if (role_ != Role::kLeader || transferring()) {
    return absl::UnavailableError("this node does not lead");
  }
  Actions actions;
  for (std::string& command : commands) {
    AppendOwn({vote_.term, Entry::Kind::kCommand, std::move(command), {}}, actions);
  }
  SendToAll(false, actions);
  return actions;
}

absl::StatusOr<Actions> Core::ProposeMembers(Members members) {
  LOCUS_RETURN_IF_ERROR(CheckMembers(members));
  if (role_ != Role::kLeader || transferring()) {
    return absl::UnavailableError("this node does not lead");
  }
  const Members& now = this->members();
  // Otherwise two leaders in a row could change the members differently, with majorities that share
  // no node (Ongaro's note of 2015).
  if (!LeadsForSure() && !Has(Flaw::kMembersBeforeOwnEntry)) {
    return absl::UnavailableError("no entry of this leader is committed yet");
  }
  if (members_index() > commit_ && !Has(Flaw::kTwoChangesOfMembers)) {
    return absl::UnavailableError("the change of members before is not committed yet");
  }
  int changes = 0;
  for (const Member& member : members) {
    const Member* before = FindMember(now, member.id);
    if (before != nullptr && *before == member) continue;
    ++changes;
    if (before == nullptr && member.voter) {
      return absl::FailedPreconditionError(
          absl::StrCat("node ", member.id, " is new: it is a learner before it votes"));
    }
    if (before == nullptr || before->voter || !member.voter) continue;
    const auto peer = peers_.find(member.id);
    if (HasForgotten(member.id)) return Forgetful(member.id);
    if (peer == peers_.end() || peer->second.mode != Peer::Mode::kPipeline ||
        peer->second.match + limits_.window < last_index()) {
      return absl::FailedPreconditionError(
          absl::StrCat("node ", member.id, " is too far behind to vote"));
    }
  }
  for (const Member& before : now) {
    const Member* after = FindMember(members, before.id);
    if (after == nullptr) ++changes;
    if (after != nullptr && before.voter && !after->voter) {
      return absl::FailedPreconditionError(
          absl::StrCat("node ", before.id, " votes; remove it instead of making it a learner"));
    }
  }
  if (changes != 1) {
    return absl::FailedPreconditionError(
        absl::StrCat(changes, " members differ; they change one at a time"));
  }
  if (std::none_of(members.begin(), members.end(), [](const Member& one) { return one.voter; })) {
    return absl::FailedPreconditionError("no voter would be left");
  }
  Actions actions;
  AppendOwn({vote_.term, Entry::Kind::kMembers, "", std::move(members)}, actions);
  SendToAll(false, actions);
  return actions;
}

Actions Core::Read(uint64_t read) {
  Actions actions;
  if (role_ != Role::kLeader) {
    actions.reads.push_back({read, 0});
    return actions;
  }
  // A new round: only answers to messages that are sent from here on prove that this node still
  // leads.
  reads_.push_back({read, ++round_, LeadsForSure() ? commit_ : 0});
  AnswerReads(actions);
  SendToAll(true, actions);
  return actions;
}

absl::StatusOr<Actions> Core::Transfer(NodeId to) {
  if (role_ != Role::kLeader) return absl::UnavailableError("this node does not lead");
  if (!IsVoter(members(), to)) {
    return absl::NotFoundError(absl::StrCat("node ", to, " is no voter of this cluster"));
  }
  if (HasForgotten(to)) return Forgetful(to);
  Actions actions;
  if (to == self_) return actions;
  transfer_to_ = to;
  FinishTransfer(actions);
  return actions;
}

SnapshotMark Core::Compact(Index index) {
  LOCUS_RAFT_CHECK(index <= commit_ && index <= durable_);  // a snapshot of what is not committed
  if (index <= snapshot_.index) return snapshot_;
  SnapshotMark mark{index, TermAt(index), {}};
  for (const MembersAt& at : members_) {
    if (at.index <= index) mark.members = at.members;
  }
  snapshot_ = mark;
  while (base_.index + limits_.kept < index) {
    base_ = {base_.index + 1, log_.front().term};
    log_.pop_front();
  }
  while (members_.size() > 1 && members_[1].index <= base_.index) members_.erase(members_.begin());
  return mark;
}

std::optional<InstallSnapshot> Core::SnapshotFor(NodeId to) const {
  const auto peer = peers_.find(to);
  if (role_ != Role::kLeader || peer == peers_.end() ||
      peer->second.mode != Peer::Mode::kSnapshot) {
    return std::nullopt;
  }
  return InstallSnapshot{vote_.term, snapshot_, "", round_};
}

Term Core::TermAt(Index index) const {
  if (index == base_.index) return base_.term;
  if (index == snapshot_.index) return snapshot_.term;
  return index > base_.index && index <= last_index() ? At(index).term : 0;
}

Index Core::MatchOf(NodeId id) const {
  if (role_ != Role::kLeader) return 0;
  if (id == self_) return Has(Flaw::kOwnEntriesCountedEarly) ? last_index() : durable_;
  const auto peer = peers_.find(id);
  return peer == peers_.end() ? 0 : peer->second.match;
}

bool Core::HasForgotten(NodeId id) const {
  if (id == self_) return forgot_;
  const auto peer = peers_.find(id);
  return peer != peers_.end() && peer->second.forgot;
}

// A node that is absent from its latest members may still stand while they are not committed: it
// may be the only one whose log is new enough (4.2.2).
bool Core::MayStand() const {
  if (removed_ || forgot_) return false;
  for (auto at = members_.rbegin(); at != members_.rend(); ++at) {
    if (IsVoter(at->members, self_)) return true;
    if (at->index <= commit_) break;
  }
  return false;
}

// Those that are appended, committed or not (4.1).
const Members& Core::QuorumMembers() const {
  if (!Has(Flaw::kQuorumOfOldMembers)) return members();
  const MembersAt* committed = &members_.front();
  for (const MembersAt& at : members_) {
    if (at.index <= commit_) committed = &at;
  }
  return committed->members.empty() ? members() : committed->members;
}

bool Core::HasMajority(const std::set<NodeId>& of) const {
  size_t voters = 0, counted = 0;
  for (const Member& member : QuorumMembers()) {
    if (!member.voter) continue;
    ++voters;
    counted += of.count(member.id);
  }
  return counted > voters / 2;
}

Write& Core::WriteOf(Actions& actions) {
  if (!actions.write) {
    actions.write.emplace();
    actions.write->number = ++writes_;
    pending_writes_.push_back({writes_, durable_});
  }
  return *actions.write;
}

void Core::SendAtOnce(NodeId to, Message message, Actions& actions) {
  actions.sends.push_back({to, std::move(message), 0});
}

void Core::SendAfterWrites(NodeId to, Message message, Actions& actions) {
  actions.sends.push_back(
      {to, std::move(message), pending_writes_.empty() ? 0 : pending_writes_.back().number});
}

std::string Core::Fingerprint() const {
  std::string text =
      absl::StrCat(vote_.term, ".", vote_.candidate, " ", snapshot_.index, " ", base_.index, ".",
                   base_.term, " ", static_cast<int>(role_), " ", leader_, " ", commit_, " ",
                   was_member_, removed_, " ", durable_, forgot_ ? "f" : "", " ",
                   vote_write_ == 0 ? 0 : writes_ - vote_write_ + 1, " ", transfer_to_, " L");
  for (const Entry& entry : log_) {
    absl::StrAppend(&text, entry.term, entry.kind == Entry::Kind::kMembers ? "m" : ":", entry.data,
                    ",");
    for (const Member& member : entry.members) {
      absl::StrAppend(&text, member.id, member.voter ? "v" : "l");
    }
  }
  absl::StrAppend(&text, " W");
  for (const PendingWrite& write : pending_writes_) {
    absl::StrAppend(&text, writes_ - write.number, ":", write.last, ",");
  }
  absl::StrAppend(&text, " V");
  for (NodeId vote : votes_) absl::StrAppend(&text, vote, ",");
  if (role_ != Role::kLeader) return text;
  absl::StrAppend(&text, " P");
  for (const auto& [id, peer] : peers_) {
    absl::StrAppend(&text, id, "/", static_cast<int>(peer.mode), peer.asked, peer.heard, " ",
                    peer.match, peer.forgot ? "f" : "", " ", peer.next, " ", round_ - peer.round,
                    ",");
  }
  for (const PendingRead& read : reads_) {
    absl::StrAppend(&text, " R", read.read, "@", round_ - read.round, ":", read.index);
  }
  return text;
}

}  // namespace locus::raft
