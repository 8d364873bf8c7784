// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_NODE_CLUSTER_TIME_H_
#define LOCUS_SRC_CLUSTER_NODE_CLUSTER_TIME_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "locus/clock.h"
#include "src/cluster/machine/command_clock.h"
#include "src/raft/core/types.h"
#include "src/raft/node/shell.h"

namespace locus::cluster_node {

// A node's CommandClock on its Clock, and the notes about clocks that it exchanges with other
// nodes.
// Thread safety: none.
class ClusterTime {
 public:
  // `clock` outlives it.
  explicit ClusterTime(Clock& clock) : clock_(clock) {}

  // As CommandClock's.
  void Lead(raft::Term term) { command_clock_.Lead(term, clock_.SinceBoot()); }
  void Applied(raft::Term term, absl::Time machine);
  bool ShouldYield() { return command_clock_.ShouldYield(machine_); }
  // This node's wall clock less the cluster's time. Of a node that does not lead: 0 where it does
  // not know the time, or knows of less than half a second.
  absl::Duration Off(bool leads) const;
  absl::Time OfCommand() { return command_clock_.Now(machine_, clock_.Now(), clock_.SinceBoot()); }

  // As CommandClock's.
  std::optional<absl::Time> Agreed() const {
    return command_clock_.Agreed(clock_.Now(), clock_.SinceBoot());
  }
  bool Leaps() const { return command_clock_.Leaps(machine_); }
  void Advance() { command_clock_.Advance(clock_.Now(), clock_.SinceBoot()); }

  void Note(const raft::NodeStatus& status);
  void SetVoters(const raft::Members& members);
  bool MayBegin();

  // The machine's time after the last command that was applied.
  absl::Time machine() const { return machine_; }

  // When the other nodes are to be asked next, and with which note.
  using TimePoint = std::chrono::steady_clock::time_point;
  TimePoint next_ask() const { return next_ask_; }
  std::string Ask();
  // A note has come. `term`: of this node; `leads`: it gives commands their times. Returns the
  // answer; empty: none.
  std::string Hear(raft::NodeId from, std::string_view note, raft::Term term, bool leads);

  // Whether a leader's clock is so far off that another node is to lead. True once a minute.
  bool ShouldHandOver();

 private:
  Clock& clock_;
  raft::NodeId self_ = 0;
  cluster_machine::CommandClock command_clock_;
  absl::Time machine_ = absl::UnixEpoch();
  TimePoint next_ask_;
  bool waits_ = false;  // MayBegin said no
  std::optional<absl::Duration> last_hand_over_;
};

}  // namespace locus::cluster_node

#endif  // LOCUS_SRC_CLUSTER_NODE_CLUSTER_TIME_H_
