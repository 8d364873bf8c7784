// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_CORE_CORE_H_
#define LOCUS_SRC_RAFT_CORE_CORE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/raft/core/types.h"

namespace locus::raft {

// The state that a node reads from its disk.
struct Remembered {
  NodeId self = 0;
  Vote vote;
  SnapshotMark snapshot;       // index 0: none
  std::vector<Entry> entries;  // behind the snapshot
};

// INVALID_ARGUMENT: not ascending by id, an id of 0, beyond the limits of types.h.
absl::Status CheckMembers(const Members& members);

// The state of each node of a new cluster: its members are the first entry. A node that joins later
// begins with nothing but its ID.
Remembered FirstNode(NodeId self, const Members& members);

// To be written to the disk: all of it or nothing, and one write after the other, in order. Several
// may be made durable by one fsync.
struct Write {
  uint64_t number = 0;
  std::optional<Vote> vote;
  // Replaces the state machine's state and the whole log: entries come behind it again.
  std::optional<SnapshotMark> snapshot;
  std::string state;
  // Entries from here on are dropped, and `entries` appended; 0: the log stays as it is.
  Index from = 0;
  std::vector<Entry> entries;
};

struct Send {
  NodeId to = 0;
  Message message;
  uint64_t after = 0;  // not before this write is durable; 0: at once
};

struct ReadAnswer {
  uint64_t read = 0;
  // Once the state machine has applied this, the read sees all that was acknowledged before it. 0:
  // this node does not lead, or no longer leads: ask the leader.
  Index index = 0;

  friend bool operator==(const ReadAnswer&, const ReadAnswer&) = default;
};

// The shell does this after an event. Only Write and Send prescribe an order. It also applies all
// entries up to Core::commit().
struct Actions {
  std::optional<Write> write;
  std::vector<Send> sends;
  // These nodes need the snapshot: the shell sends an InstallSnapshot with its newest one, the term
  // and the round that Core::SnapshotFor gives.
  std::vector<NodeId> snapshots_for;
  std::vector<ReadAnswer> reads;
  bool restart_election_timer = false;
  // 1: the message was a Note from a node that is known. It is for the state machine.
  int notes = 0;
  // The state machine's state is replaced by write->state before anything else is applied.
  bool restored = false;
};

enum class Role : uint8_t { kFollower, kPreCandidate, kCandidate, kLeader };
// "follower", "candidate" (also before it stands) or "leader".
std::string_view ToString(Role role);

struct CoreLimits {
  // Bytes of data of one Append, but at least one entry.
  size_t append_bytes = 1 << 20;
  // Entries sent to a follower that has not answered for them yet.
  Index window = 4096;
  // Heartbeats after which a snapshot without an answer is sent again.
  int snapshot_patience = 50;
  // Entries that Compact keeps in memory for followers that are a little behind.
  Index kept = 1024;
};

// One node of a Raft cluster: a function of what happened to it. It knows no clock, no network and
// no disk; a shell has them, reports each event to the core, and performs the Actions that come
// back. The shell also keeps the timers:
//   election timer   each node; restarted by restart_election_timer, to a random time in [T, 2T);
//                    when it runs out: ElectionTimeout
//   heartbeat timer  while it leads, each T / 10 or so: Heartbeat
//   quorum timer     while it leads, each T: CheckQuorum
// T is the least time without a leader after which another one is elected.
//
// A message leaves only when the state that it confirms is durable: Send::after. Elections have a
// pre-vote (9.6); a leader that does not hear a majority steps down (6.2); members change one voter
// at a time, and only after an entry of the leader's own term was committed (Ongaro's note of
// 2015).
//
// Thread safety: none. A copy is another node in the same state.
class Core {
 public:
  // DATA_LOSS: the log contradicts the vote or the snapshot: terms fall, or are above the vote's.
  static absl::StatusOr<Core> Restore(Remembered remembered, const CoreLimits& limits = {});

  // --- Events.

  Actions ElectionTimeout();
  Actions Heartbeat();
  Actions CheckQuorum();
  // `leader_is_alive`: this node heard its leader less than T ago. Of liveness only. A message that
  // cannot be true is dropped, and counted by refused().
  Actions Receive(NodeId from, const Message& message, bool leader_is_alive);
  // The write of this number, and all before it, are durable.
  Actions Written(uint64_t number);
  // Appends a command; its index and term are last_index() and term(). UNAVAILABLE: this node does
  // not lead, or hands its leadership over. INVALID_ARGUMENT: longer than kMostEntryBytes.
  absl::StatusOr<Actions> Propose(std::string data);
  // All of them, or none; the last one's index is last_index(). One write, and few messages.
  absl::StatusOr<Actions> ProposeAll(std::vector<std::string> commands);
  // Changes the members by one: adds a learner, makes a learner a voter, removes one, or gives one
  // another address. FAILED_PRECONDITION: more than one differs; a learner is too far behind to
  // vote; no voter would be left. UNAVAILABLE: as Propose; also while the previous change, or every
  // entry of this term, is not committed yet. INVALID_ARGUMENT: CheckMembers.
  absl::StatusOr<Actions> ProposeMembers(Members members);
  // Answers in Actions::reads, now or later. Several may be under way.
  Actions Read(uint64_t read);
  // Leadership goes to this voter as soon as it has the whole log; until then, and at most for T,
  // nothing is proposed. NOT_FOUND: no such voter. UNAVAILABLE: this node does not lead.
  absl::StatusOr<Actions> Transfer(NodeId to);
  // The state machine's state at `index` is durable: entries up to it are not needed. `index` is at
  // most commit() and durable(). The mark names the last entry that the snapshot replaces; the
  // caller may delete all entries up to it from the disk.
  SnapshotMark Compact(Index index);
  // The message that brings a follower a snapshot; nothing if it needs none any more.
  std::optional<InstallSnapshot> SnapshotFor(NodeId to) const;

  // --- State.

  NodeId self() const { return self_; }
  Role role() const { return role_; }
  Term term() const { return vote_.term; }
  // 0: not known.
  NodeId leader() const { return leader_; }
  Index commit() const { return commit_; }
  // The log up to here is on this node's disk.
  Index durable() const { return durable_; }
  Index last_index() const { return base_.index + log_.size(); }
  // The first entry that At may be asked for.
  Index first_index() const { return base_.index + 1; }
  const Entry& At(Index index) const { return log_[index - base_.index - 1]; }
  // 0: before the log.
  Term TermAt(Index index) const;
  // The latest members, committed or not.
  const Members& members() const { return members_.back().members; }
  Index members_index() const { return members_.back().index; }
  // Whether the committed members lack this node, which had been one: it is to end.
  bool removed() const { return removed_; }
  // Whether an entry of its own term is committed. Until then a leader does not know how far the
  // log is committed.
  bool LeadsForSure() const { return role_ == Role::kLeader && TermAt(commit_) == vote_.term; }
  bool transferring() const { return transfer_to_ != 0; }
  const SnapshotMark& snapshot() const { return snapshot_; }
  // How far a member has confirmed the log to this leader; 0: not known.
  Index MatchOf(NodeId id) const;
  // Whether a node lacks what it confirmed to its leader within a term: its disk is an older one
  // than it was. It gets the log, but neither votes nor counts, because it has forgotten its votes,
  // too. Of this node itself, and of others while this node leads. It remembers so while it runs.
  bool HasForgotten(NodeId id) const;
  // Messages that could not be true, and were dropped; and the ID under which the last one came.
  uint64_t refused() const { return refused_; }
  NodeId refused_from() const { return refused_from_; }

  // All that decides what the node does next, for visited sets.
  std::string Fingerprint() const;

 private:
  struct MembersAt {
    Index index = 0;
    Members members;
  };
  // A leader's view of another node. Invariant: match < next. The node has confirmed the log up to
  // match, unless it `forgot`.
  struct Peer {
    enum class Mode : uint8_t {
      kProbe,     // where its log agrees is not known: one message at a time
      kPipeline,  // entries are sent without waiting for answers
      kSnapshot,  // it gets a snapshot
    };
    Mode mode = Mode::kProbe;
    bool asked = false;  // kProbe: an answer is awaited
    bool heard = true;   // since the last CheckQuorum
    int waited = 0;      // kSnapshot: heartbeats
    Index match = 0;
    Index next = 1;
    uint64_t round = 0;   // the latest that it answered
    Index leaves_at = 0;  // for a removed member: the index of the members without it
    bool forgot = false;  // HasForgotten
  };
  struct PendingRead {
    uint64_t read = 0;
    uint64_t round = 0;
    Index index = 0;  // 0: nothing of this term is committed yet
  };
  struct PendingWrite {
    uint64_t number = 0;
    Index last = 0;  // the log is durable up to here when it is
  };

  Core() = default;

  // Elections: election.cc.
  void BecomeFollower(Term term, NodeId leader, Actions& actions);
  void StandForPreVote(Actions& actions);
  void Stand(bool transfer, Actions& actions);
  void Lead(Actions& actions);
  void CountVotes(Actions& actions);
  void On(NodeId from, const VoteRequest& request, bool leader_is_alive, Actions& actions);
  void On(NodeId from, const VoteReply& reply, bool, Actions& actions);
  void On(NodeId from, const StandNow& message, bool, Actions& actions);
  void On(NodeId from, const Removed& message, bool, Actions& actions);
  void On(NodeId, const Note&, bool, Actions& actions) { ++actions.notes; }
  bool IsUpToDate(Index last_index, Term last_term) const;

  // The log: replication.cc.
  void On(NodeId from, const Append& append, bool, Actions& actions);
  void On(NodeId from, const AppendReply& reply, bool, Actions& actions);
  void On(NodeId from, const InstallSnapshot& install, bool, Actions& actions);
  void AppendOwn(Entry entry, Actions& actions);
  void TruncateFrom(Index index);
  void SendTo(NodeId to, Peer& peer, bool even_if_empty, Actions& actions);
  void SendToAll(bool even_if_empty, Actions& actions);
  void RaiseCommit(Index commit, Actions& actions);
  void NoteCommitted(const Members& members);
  void AdvanceCommit(Actions& actions);
  void AnswerReads(Actions& actions);
  void FinishTransfer(Actions& actions);

  // Whether a message can be true: belief.cc.
  bool IsCredible(NodeId from, const Message& message) const;
  bool MayBe(NodeId from, const VoteRequest& request) const;
  bool MayBe(NodeId from, const VoteReply& reply) const;
  bool MayBe(NodeId from, const Append& append) const;
  bool MayBe(NodeId from, const AppendReply& reply) const;
  bool MayBe(NodeId from, const InstallSnapshot& install) const;
  bool MayBe(NodeId from, const StandNow& message) const;
  bool MayBe(NodeId from, const Removed& removed) const;
  bool MayBe(NodeId from, const Note& note) const;
  bool IsKnown(NodeId id) const;

  const Members& QuorumMembers() const;
  bool MayStand() const;
  bool HasMajority(const std::set<NodeId>& of) const;
  bool HasCommittedMembersFrom(Index index) const;
  Write& WriteOf(Actions& actions);
  static void SendAtOnce(NodeId to, Message message, Actions& actions);
  void SendAfterWrites(NodeId to, Message message, Actions& actions);
  std::map<NodeId, Peer> PeersOf(const std::map<NodeId, Peer>& known) const;

  NodeId self_ = 0;
  CoreLimits limits_;

  Vote vote_;
  SnapshotMark snapshot_;
  struct {
    Index index = 0;
    Term term = 0;
  } base_;  // of the entry before the log's first
  std::deque<Entry> log_;
  std::vector<MembersAt> members_;  // ascending; the first one is at or before the snapshot

  Role role_ = Role::kFollower;
  NodeId leader_ = 0;
  Index commit_ = 0;         // snapshot_.index <= commit_ <= last_index()
  bool was_member_ = false;  // by committed members
  bool removed_ = false;
  bool forgot_ = false;  // HasForgotten
  uint64_t refused_ = 0;
  NodeId refused_from_ = 0;

  uint64_t writes_ = 0;  // number of the last write
  std::deque<PendingWrite> pending_writes_;
  Index durable_ =
      0;  // the disk has the log, in its present form, up to here; falls when the log is cut

  std::set<NodeId> votes_;
  uint64_t vote_write_ = 0;  // candidate: when this is durable, its own vote counts

  std::map<NodeId, Peer> peers_;
  uint64_t round_ = 0;
  std::vector<PendingRead> reads_;
  NodeId transfer_to_ = 0;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_CORE_CORE_H_
