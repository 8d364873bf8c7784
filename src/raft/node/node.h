// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_NODE_NODE_H_
#define LOCUS_SRC_RAFT_NODE_NODE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/raft/log/log_store.h"
#include "src/raft/node/shell.h"
#include "src/raft/node/state_machine.h"
#include "src/raft/node/transport.h"

namespace locus::raft {

struct NodeOptions {
  ShellOptions shell;
  // Called by the node's thread after its role, term or leader has changed, when it learns that it
  // is removed or that a member has forgotten (Core), when it fails, and at most once a minute when
  // it has refused messages. Must not wait for anything.
  std::function<void(const NodeStatus&)> on_change;
};

// A running node. Inside out: a Core decides (src/raft/core), a Shell adds timers and the state
// machine and turns its Actions into calls of Storage and Network, a Node gives the Shell threads,
// an Inbox, a LogStore (src/raft/log) and a Transport (src/raft/tcp).
//
// One thread runs the shell and the state machine; another one writes, all waiting writes in one
// transaction. A third one runs while a snapshot is made (StateMachine::Fold). Ending a node is
// like kill -9: writes that were not acknowledged may be lost.
//
// A write that failed, a state that could not be restored, or a committed command that the state
// machine does not understand (FAILED_PRECONDITION, with index and term) ends the node's work:
// NodeStatus::failure says why, all callers get it as their answer, and the process must end and
// start anew (LogStore).
//
// Thread safety: all methods may be called from any thread. Callbacks are called once each, by the
// node's thread or within the call, and must not wait; they may call the node, but not destroy it.
class Node {
 public:
  // The state machine and the transport must outlive the node. Errors of LogStore::Load,
  // Shell::Start and Transport::Start.
  static absl::StatusOr<std::unique_ptr<Node>> Start(std::unique_ptr<LogStore> store,
                                                     StateMachine& machine, Transport& transport,
                                                     NodeOptions options = {});
  // Stops the transport, and answers all waiting callers with UNAVAILABLE.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // As the methods of Shell of the same name.
  void Propose(std::string command, Shell::Answer answer);
  void Read(Shell::Done done);
  void ChangeMembers(MemberChange change, Shell::Done done);
  void Transfer(NodeId to, Shell::Done done);
  void SendNote(NodeId to, std::string data);
  // As of now. Waits for the node's thread, which never waits for a disk or a network.
  NodeStatus Status();

 private:
  class Rep;
  explicit Node(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_NODE_NODE_H_
