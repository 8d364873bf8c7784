// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_NODE_SHELL_H_
#define LOCUS_SRC_RAFT_NODE_SHELL_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/raft/core/core.h"
#include "src/raft/core/types.h"
#include "src/raft/node/state_machine.h"

namespace locus::raft {

using TimePoint = std::chrono::steady_clock::time_point;

// Where a shell's writes go. They are made durable in the order of the calls; Call Shell::Written
// when they are, or Shell::Stop when one failed.
class Storage {
 public:
  virtual ~Storage() = default;
  virtual void Store(Write write) = 0;
  // The snapshot of a state, in place of the entries up to it. No message waits for it.
  virtual void StoreSnapshot(SnapshotMark mark, std::shared_ptr<const std::string> state) = 0;
  // Runs `fold` in the background; call Shell::Folded with its result. One at a time.
  using FoldedState = absl::StatusOr<std::string>;
  virtual void Fold(std::function<FoldedState()> fold) = 0;
};

// Takes messages to other nodes. They may get lost, come twice or in another order.
class Network {
 public:
  virtual ~Network() = default;
  // `address`: of the node as the members have it; empty: they do not have it.
  virtual void Send(NodeId to, const std::string& address, Message message) = 0;
  // The latest members that the node knows, committed or not; all other senders are strangers.
  virtual void NoteMembers(const Members& members) { static_cast<void>(members); }
};

struct ShellOptions {
  // T: without a leader for T to 2 T, a node stands for election; a leader that does not hear a
  // majority for T to 2 T steps down; heartbeats are sent each T / 10. Shorter: a dead leader is
  // replaced sooner, and so is one whose machine is merely busy.
  std::chrono::milliseconds election{600};
  // A snapshot is made, and the log dropped, after so many entries or bytes of commands.
  Index compact_entries = 10'000;
  size_t compact_bytes = 16 << 20;
  // Commands that are not answered yet: beyond it, proposals get RESOURCE_EXHAUSTED.
  size_t waiting_bytes = 64 << 20;
  CoreLimits limits;
};

struct MemberChange {
  enum class Kind : uint8_t {
    kAddLearner,  // or gives a member another address
    kPromote,     // a learner votes from now on
    kRemove,
  };
  Kind kind = Kind::kAddLearner;
  NodeId id = 0;
  std::string address;  // kAddLearner
};

struct NodeStatus {
  struct OfMember {
    Member member;
    Index match = 0;  // how far it has confirmed the log; known to the leader only
    // Core::HasForgotten; known to the leader and to the node itself.
    bool forgot = false;
    // Since its last message; nullopt: there was none. 0 for the node itself.
    std::optional<std::chrono::milliseconds> silent_for;
  };
  NodeId self = 0;
  Role role = Role::kFollower;
  bool leads_for_sure = false;  // an entry of its own term is committed
  bool transferring = false;
  bool removed = false;  // from the members: this node is to end
  Term term = 0;
  NodeId leader = 0;  // 0: not known
  std::string leader_address;
  Index commit = 0;
  Index applied = 0;
  Index last = 0;
  Index snapshot = 0;
  size_t waiting = 0;  // commands that are not answered
  // Core::refused and Core::refused_from.
  uint64_t refused = 0;
  NodeId refused_from = 0;
  uint64_t dropped = 0;  // messages that came faster than the node took them (Inbox)
  std::vector<OfMember> members;
  absl::Status failure;  // not OK: the node has stopped; its process is to end
};

// Whether a command that got this UNAVAILABLE may still be applied, now or later. False: it was not
// proposed, or another entry has replaced it.
bool IsCommitUnknown(const absl::Status& status);

// One node without threads, sockets and files: a core, its timers, the state machine, and the
// callers that wait. It is a function of its events and of the times that come with them, so a
// simulation can run it unchanged.
//
// Events gather work; Tick does it. Commands that came while a write was under way become one write
// and a few messages, and reads that came while others are being confirmed are confirmed together.
// Callbacks are called once each, within an event or Tick or Stop, and must not call the shell.
//
// Thread safety: none.
class Shell {
 public:
  using Answer = std::function<void(absl::StatusOr<std::string>)>;
  using Done = std::function<void(absl::Status)>;

  // `seed`: of the timers' random part. DATA_LOSS: as Core::Restore and StateMachine::Restore.
  static absl::StatusOr<std::unique_ptr<Shell>> Start(Remembered remembered, std::string state,
                                                      StateMachine& machine, Storage& storage,
                                                      Network& network, const ShellOptions& options,
                                                      uint64_t seed, TimePoint now);

  // The state machine's answer once the command is applied. UNAVAILABLE: this node does not lead,
  // or no longer leads (IsCommitUnknown). INVALID_ARGUMENT: longer than kMostEntryBytes. Errors of
  // StateMachine::Check. RESOURCE_EXHAUSTED: ShellOptions::waiting_bytes.
  void Propose(std::string command, Answer answer);
  // OK: the state machine, as it is during the call of `done`, has all commands that were answered
  // before Read. UNAVAILABLE: this node does not lead, or no longer leads.
  void Read(Done done);
  // OK once the change is committed, or if there is nothing to change. NOT_FOUND: no such member.
  // Otherwise as Core::ProposeMembers, and UNAVAILABLE as Propose.
  void ChangeMembers(TimePoint now, const MemberChange& change, Done done);
  // Hands the leadership over; 0: to the voter that is furthest. OK: this node no longer leads, or
  // did not lead. NOT_FOUND: no such voter, or no other one. UNAVAILABLE: it did not take over
  // within T.
  void Transfer(TimePoint now, NodeId to, Done done);
  void Receive(TimePoint now, NodeId from, const Message& message);
  // To the state machine of this member, or of all others (0). At most kMostNoteBytes.
  void SendNote(NodeId to, std::string data);
  // All up to the write of this number is durable.
  void Written(TimePoint now, uint64_t number);
  // The result of Storage::Fold.
  void Folded(absl::StatusOr<std::string> state);
  // Answers all waiting callers with `why`. The shell ignores all later events.
  void Stop(absl::Status why);

  // Does the work that is due, and the work that events have gathered. Call it after events, and at
  // the time that the last call returned.
  TimePoint Tick(TimePoint now);

  NodeStatus Status(TimePoint now) const;
  const Core& core() const { return core_; }
  bool stopped() const { return !stopped_.ok(); }

 private:
  struct Pending {
    Index index = 0;
    Term term = 0;
    size_t bytes = 0;
    Answer answer;
  };
  struct Waiting {
    std::string command;
    Answer answer;
  };

  Shell(Core core, StateMachine& machine, Storage& storage, Network& network,
        const ShellOptions& options, uint64_t seed);
  void Do(TimePoint now, Actions actions);
  void Restore(const Write& write);
  void Post(const Send& send);
  void Apply();
  void AnswerPending(Index index, Term term, absl::StatusOr<std::string> said);
  void AnswerRead(const ReadAnswer& answer);
  void NoteRole(TimePoint now);
  void NoteTransfer();
  void SendOff(TimePoint now);
  void Compact();
  void NoteMembers();
  absl::Status NotLeading() const;
  void FailWaiting(const absl::Status& why, bool also_pending);
  TimePoint RandomDeadline(TimePoint now);
  std::string AddressOf(NodeId id) const;

  Core core_;
  StateMachine& machine_;
  Storage& storage_;
  Network& network_;
  const ShellOptions options_;
  uint64_t random_;
  absl::Status stopped_;

  TimePoint election_;
  TimePoint heartbeat_;  // while it leads; so is `quorum_`
  TimePoint quorum_;
  TimePoint heard_leader_;
  std::map<NodeId, TimePoint> heard_;
  Members members_;              // as NoteMembers passed them to the network
  Role role_ = Role::kFollower;  // as NoteRole saw it last; so is the term
  Term term_ = 0;

  Index applied_ = 0;         // Invariant: at most core_.commit()
  size_t applied_bytes_ = 0;  // since the snapshot
  Index folding_ = 0;         // up to where a snapshot is being made; 0: none is
  Index compact_from_ = 0;    // not before this index
  std::shared_ptr<const std::string> snapshot_;

  uint64_t last_write_ = 0;
  uint64_t written_ = 0;
  std::deque<Send> held_;  // until a write is durable; ascending

  std::deque<Waiting> waiting_;  // not proposed yet
  std::deque<Pending> pending_;  // not applied yet; ascending
  size_t waiting_bytes_ = 0;     // of both
  std::vector<Done> new_reads_;
  std::vector<Done> reads_;  // of the round that is under way
  uint64_t read_ = 0;
  Done transfer_done_;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_NODE_SHELL_H_
