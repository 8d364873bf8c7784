// SPDX-License-Identifier: Apache-2.0
// The log: sections 3.5, 3.6.2, 4.1, 5 and 6.4.
#include <algorithm>

#include "src/raft/core/core.h"
#include "src/raft/core/flaw.h"

namespace locus::raft {

std::map<NodeId, Core::Peer> Core::PeersOf(const std::map<NodeId, Peer>& known) const {
  std::map<NodeId, Peer> peers;
  for (const Member& member : members()) {
    if (member.id == self_) continue;
    const auto found = known.find(member.id);
    Peer peer;
    peer.next = last_index() + 1;
    if (found != known.end()) peer = found->second;
    peer.leaves_at = 0;
    peers.emplace(member.id, peer);
  }
  // A node that was removed still gets the log, until it has seen its removal.
  for (auto [id, peer] : known) {
    if (peers.contains(id)) continue;
    if (peer.leaves_at == 0) peer.leaves_at = members_index();
    peers.emplace(id, peer);
  }
  return peers;
}

void Core::AppendOwn(Entry entry, Actions& actions) {
  const bool members = entry.kind == Entry::Kind::kMembers;
  Write& write = WriteOf(actions);
  if (write.from == 0) write.from = last_index() + 1;
  write.entries.push_back(entry);
  log_.push_back(std::move(entry));
  pending_writes_.back().last = last_index();
  if (!members) return;
  members_.push_back({last_index(), log_.back().members});
  peers_ = PeersOf(peers_);
}

void Core::TruncateFrom(Index index) {
  LOCUS_RAFT_CHECK(index > commit_);  // what is committed is never dropped
  while (last_index() >= index) log_.pop_back();
  while (members_.back().index >= index && !Has(Flaw::kMembersKeptAtTruncation)) {
    members_.pop_back();
  }
  durable_ = std::min(durable_, index - 1);
  for (PendingWrite& write : pending_writes_) write.last = std::min(write.last, index - 1);
}

void Core::SendTo(NodeId to, Peer& peer, bool even_if_empty, Actions& actions) {
  if (peer.mode == Peer::Mode::kSnapshot) {
    // A heartbeat that any log matches.
    if (even_if_empty) {
      SendAtOnce(to, Append{vote_.term, 0, 0, {}, 0, round_, 0}, actions);
    }
    return;
  }
  if (peer.next <= base_.index) {
    peer.mode = Peer::Mode::kSnapshot;
    peer.waited = 0;
    actions.snapshots_for.push_back(to);
    return;
  }
  if (peer.mode == Peer::Mode::kProbe && peer.asked && !even_if_empty) return;
  do {
    Append append{vote_.term, peer.next - 1, TermAt(peer.next - 1), {}, commit_,
                  round_,     peer.match};
    size_t bytes = 0;
    for (Index i = peer.next; i <= last_index() && i <= peer.match + limits_.window; ++i) {
      bytes += At(i).data.size();
      if (!append.entries.empty() && bytes > limits_.append_bytes) break;
      append.entries.push_back(At(i));
    }
    if (append.entries.empty() && !even_if_empty) return;
    even_if_empty = false;
    peer.asked = true;
    const Index sent = append.entries.size();
    SendAtOnce(to, std::move(append), actions);
    if (peer.mode == Peer::Mode::kProbe) return;
    peer.next += sent;
  } while (peer.next <= last_index());
}

void Core::SendToAll(bool even_if_empty, Actions& actions) {
  for (auto& [id, peer] : peers_) SendTo(id, peer, even_if_empty, actions);
}

void Core::On(NodeId from, const Append& append, bool, Actions& actions) {
  if (append.term < vote_.term) {
    SendAtOnce(from, AppendReply{vote_.term, false, append.prev_index, 0, 0, forgot_}, actions);
    return;
  }
  // All that this node confirmed in the leader's term was on its disk, together with the term, and
  // a leader never drops an entry. If the leader counts on more than is here, this node's disk has
  // lost something.
  const Index has = append.term > vote_.term ? 0 : last_index();
  forgot_ = forgot_ || append.acked > has;
  if (append.term > vote_.term || role_ != Role::kFollower) {
    BecomeFollower(append.term, from, actions);
  }
  leader_ = from;
  actions.restart_election_timer = true;
  AppendReply reply{vote_.term, true, 0, 0, append.round, forgot_};

  // Behind the base the log is committed, and so the leader's.
  const Index skipped = append.prev_index < base_.index ? base_.index - append.prev_index : 0;
  const Index end = append.prev_index + append.entries.size();
  if (append.prev_index > last_index() ||
      (skipped == 0 && TermAt(append.prev_index) != append.prev_term)) {
    reply.matches = false;
    reply.index = append.prev_index;
    reply.continue_at = std::min(append.prev_index, last_index() + 1);
    // Skips all entries of the differing term, but none that is committed (3.5).
    const Term differs = TermAt(reply.continue_at);
    while (append.prev_index <= last_index() && reply.continue_at > commit_ + 1 &&
           TermAt(reply.continue_at - 1) == differs) {
      --reply.continue_at;
    }
    SendAfterWrites(from, reply, actions);
    return;
  }
  for (Index i = append.prev_index + 1 + skipped; i <= end; ++i) {
    const Entry& entry = append.entries[i - append.prev_index - 1];
    if (i <= last_index()) {
      if (At(i).term == entry.term) continue;
      TruncateFrom(i);
    }
    Write& write = WriteOf(actions);
    if (write.from == 0) write.from = i;
    write.entries.push_back(entry);
    log_.push_back(entry);
    pending_writes_.back().last = last_index();
    if (entry.kind == Entry::Kind::kMembers) members_.push_back({i, entry.members});
  }
  RaiseCommit(std::min(append.commit, end), actions);
  // The answer waits for the write: the leader counts these entries as stored here.
  reply.index = end;
  SendAfterWrites(from, reply, actions);
}

void Core::On(NodeId from, const AppendReply& reply, bool, Actions& actions) {
  if (reply.term > vote_.term) return BecomeFollower(reply.term, 0, actions);
  const auto found = peers_.find(from);
  if (reply.term < vote_.term || role_ != Role::kLeader || found == peers_.end()) return;
  Peer& peer = found->second;
  peer.heard = true;
  peer.round = std::max(peer.round, reply.round);
  peer.forgot = peer.forgot || reply.forgot;
  // Its earlier confirmations are void: it gets the log from the index that it names.
  if (peer.forgot && !reply.matches) peer.match = 0;
  AnswerReads(actions);
  if (!reply.matches) {
    const bool outdated =
        peer.mode == Peer::Mode::kSnapshot || reply.index <= peer.match ||
        (peer.mode == Peer::Mode::kProbe ? reply.index != peer.next - 1 : reply.index >= peer.next);
    if (outdated) return;
    peer.mode = Peer::Mode::kProbe;
    peer.next = std::max(peer.match + 1, std::min(reply.continue_at, reply.index));
    peer.asked = false;
    return SendTo(from, peer, true, actions);
  }
  if (peer.mode == Peer::Mode::kSnapshot && reply.index < base_.index) return;
  peer.asked = false;
  peer.match = std::max(peer.match, reply.index);
  if (peer.mode != Peer::Mode::kPipeline) peer.next = peer.match + 1;
  peer.next = std::max(peer.next, peer.match + 1);
  peer.mode = Peer::Mode::kPipeline;
  AdvanceCommit(actions);
  if (role_ != Role::kLeader) return;
  FinishTransfer(actions);
  // AdvanceCommit may have let this peer go.
  const auto still = peers_.find(from);
  if (still != peers_.end()) SendTo(from, still->second, false, actions);
}

void Core::On(NodeId from, const InstallSnapshot& install, bool, Actions& actions) {
  if (install.term < vote_.term) {
    SendAtOnce(from, AppendReply{vote_.term, false, 0, 0, 0, forgot_}, actions);
    return;
  }
  if (install.term > vote_.term || role_ != Role::kFollower) {
    BecomeFollower(install.term, from, actions);
  }
  leader_ = from;
  actions.restart_election_timer = true;
  // The leader has all that is committed here, so an older snapshot brings nothing, and restoring
  // it would undo what was applied. A log that contains the snapshot's last entry keeps the entries
  // behind it: they may have been acknowledged, and be committed.
  const Index index = install.mark.index;
  const bool goes_on = index <= last_index() && TermAt(index) == install.mark.term &&
                       !Has(Flaw::kSnapshotDropsTheLog);
  if ((index > commit_ && !goes_on) || Has(Flaw::kOldSnapshotInstalled)) {
    Write& write = WriteOf(actions);
    write.snapshot = install.mark;
    write.state = install.state;
    snapshot_ = install.mark;
    base_ = {index, install.mark.term};
    log_.clear();
    members_ = {{index, install.mark.members}};
    commit_ = index;
    // The new log is durable when this write is, whatever earlier writes said of the old one.
    durable_ = 0;
    for (PendingWrite& pending : pending_writes_) pending.last = 0;
    pending_writes_.back().last = index;
    actions.restored = true;
    NoteCommitted(install.mark.members);
  } else {
    RaiseCommit(index, actions);
  }
  SendAfterWrites(from, AppendReply{vote_.term, true, index, 0, install.round, forgot_}, actions);
}

// A new node gets the log from the first entry on, also members from before it was one.
void Core::NoteCommitted(const Members& members) {
  const bool is_member = FindMember(members, self_) != nullptr;
  removed_ = removed_ || (was_member_ && !is_member);
  was_member_ = was_member_ || is_member;
}

void Core::RaiseCommit(Index commit, Actions& actions) {
  if (commit <= commit_) return;
  const Index before = commit_;
  commit_ = commit;
  bool changed = false;
  for (const MembersAt& at : members_) {
    if (at.index <= before || at.index > commit_) continue;
    changed = true;
    NoteCommitted(at.members);
  }
  if (!changed || role_ != Role::kLeader) return;
  // Removed nodes learn of their removal from this message or, if it is lost, when they stand.
  SendToAll(true, actions);
  std::erase_if(peers_, [&](const auto& one) {
    return one.second.leaves_at != 0 && one.second.leaves_at <= commit_;
  });
  if (removed_) BecomeFollower(vote_.term, 0, actions);
}

// Only an entry of its own term is committed by counting; that commits all entries before it
// (3.6.2).
void Core::AdvanceCommit(Actions& actions) {
  const bool early = !LeadsForSure();
  std::vector<Index> matches;
  for (const Member& member : QuorumMembers()) {
    // A node that forgot may have lost entries that it confirmed, so it counts for none.
    if (member.voter) matches.push_back(HasForgotten(member.id) ? 0 : MatchOf(member.id));
  }
  std::sort(matches.rbegin(), matches.rend());
  const Index agreed = matches[matches.size() / 2];
  const bool own_term = TermAt(agreed) == vote_.term || Has(Flaw::kEarlierTermsCountedByIndex);
  if (agreed <= commit_ || !own_term) return;
  RaiseCommit(agreed, actions);
  if (role_ != Role::kLeader) return;
  for (PendingRead& read : reads_) {
    if (early && read.index == 0) read.index = commit_;
  }
  AnswerReads(actions);
}

void Core::AnswerReads(Actions& actions) {
  std::erase_if(reads_, [&](const PendingRead& read) {
    if (read.index == 0) return false;
    std::set<NodeId> confirmed = {self_};
    for (const auto& [id, peer] : peers_) {
      if (peer.round >= read.round && !peer.forgot) confirmed.insert(id);
    }
    if (!HasMajority(confirmed) && !Has(Flaw::kReadsWithoutMajority)) return false;
    actions.reads.push_back({read.read, read.index});
    return true;
  });
}

void Core::FinishTransfer(Actions& actions) {
  const auto peer = peers_.find(transfer_to_);
  if (transfer_to_ == 0 || peer == peers_.end() || peer->second.match < last_index()) return;
  SendAtOnce(transfer_to_, StandNow{vote_.term}, actions);
}

}  // namespace locus::raft
