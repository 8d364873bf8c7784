// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_NODE_STATE_MACHINE_H_
#define LOCUS_SRC_RAFT_NODE_STATE_MACHINE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/raft/core/types.h"

namespace locus::raft {

// The state that the nodes of a cluster agree on. All that it does follows from the commands: no
// clock, no random number, no order of a hash table. One thread calls it, and the node waits
// meanwhile; Fold is the exception.
class StateMachine {
 public:
  virtual ~StateMachine() = default;
  // Whether Apply would understand the command, whatever the state; a leader appends no other.
  virtual absl::Status Check(std::string_view command) const {
    static_cast<void>(command);
    return absl::OkStatus();
  }
  // `term`: of the leader that proposed the command. The answer goes to the caller that proposed
  // it, if it still waits. A command may come twice if a caller asked twice. An error must leave
  // the state as it was, and ends the node: without this command, which is committed, its state
  // would differ from the others'.
  virtual absl::StatusOr<std::string> Apply(Index index, Term term, std::string_view command) = 0;
  // The entry at this index, which is committed, gave the cluster these members.
  virtual void NoteMembers(Index index, const Members& members) {
    static_cast<void>(index);
    static_cast<void>(members);
  }
  // A note of another node's state machine, beside the log. Returns the note that it gets for an
  // answer; empty: none.
  virtual std::string Hear(NodeId from, std::string_view note) {
    static_cast<void>(from);
    static_cast<void>(note);
    return "";
  }
  // The state, all of it, in which a machine would be that was restored to `state` (empty: a new
  // one) and then applied these commands; at most kMostStateBytes. It follows from the arguments
  // alone: another thread calls it while the machine keeps working. Large states take seconds.
  virtual absl::StatusOr<std::string> Fold(std::string_view state,
                                           const std::vector<std::string>& commands) const = 0;
  // Replaces all of the state by what Fold returned, here or on another node. `term`: of the
  // last command in it. An error ends the node.
  virtual absl::Status Restore(Term term, std::string_view state) = 0;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_NODE_STATE_MACHINE_H_
