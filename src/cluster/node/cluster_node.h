// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_NODE_CLUSTER_NODE_H_
#define LOCUS_SRC_CLUSTER_NODE_CLUSTER_NODE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/segment_store.h"
#include "locus/worker_lease_store.h"
#include "src/cluster/machine/command.h"
#include "src/raft/log/log_store.h"
#include "src/raft/node/node.h"

namespace locus::cluster_machine {
class Machine;
}

namespace locus::cluster_node {

struct ClusterNodeOptions {
  raft::ShellOptions shell;
  // Commands that are under way at once; requests that come meanwhile share the next one.
  size_t pipeline = 8;
  // While fewer than 16 requests come in 20 ms, and fewer than 16 wait, renewals wait for others
  // until so long after the last command: a commit of the cluster costs much more than a request,
  // and no caller waits for a renewal. Longer: less work for few holders, and slower renewals. 0:
  // they do not wait.
  absl::Duration gather = absl::Milliseconds(50);
  // A leader without requests proposes its time this often, so that followers know it.
  absl::Duration tick = absl::Seconds(5);
  // Of this node. Outlives it.
  Clock* clock = &Clock::System();
  // Called for each fact of each command, in order, by the node's thread, on every node: `index`
  // and `place` name the fact. After a restart facts of the log come again. `leads`: this node
  // proposed the command, or is the leader by now. Must not wait, nor call the node.
  std::function<void(raft::Index index, size_t place, const cluster_machine::Fact& fact,
                     bool leads)>
      on_fact;
  // Called as on_fact for each change of the cluster's members, its first ones included. `time`:
  // the machine's or, before the cluster's first command, the time of that command.
  std::function<void(raft::Index index, absl::Time time, const raft::Members& members)> on_members;
  // As NodeOptions::on_change.
  std::function<void(const raft::NodeStatus&)> on_change;
};

// A cluster node: the machine (src/cluster/machine) on a node of Raft (src/raft/node). While it
// leads, it gives commands their time (ClusterTime, a CommandClock), gathers requests into commands
// (Batch, Arrivals), ends leases that are due, and hands its leadership over if its clock turns out
// to be wrong. Views answer reads. The HTTP API (src/cluster/api) and the health probe
// (src/cluster/probe) call it.
//
// Thread safety: all methods may be called from any thread. Callbacks are called once each, by the
// node's thread or within the call, and must not wait; they may call the node, but not destroy it.
class ClusterNode {
 public:
  // As raft::Node::Start. The transport must outlive the node.
  static absl::StatusOr<std::unique_ptr<ClusterNode>> Start(std::unique_ptr<raft::LogStore> store,
                                                            raft::Transport& transport,
                                                            const ClusterNodeOptions& options);
  ~ClusterNode();
  ClusterNode(const ClusterNode&) = delete;
  ClusterNode& operator=(const ClusterNode&) = delete;

  using Answered = std::function<void(cluster_machine::Answer)>;
  // Carries a request out. UNAVAILABLE: this node does not lead (Status names the leader), or no
  // longer leads; raft::IsCommitUnknown shows whether the request may have been carried out. Send
  // it again with the same RequestId. RESOURCE_EXHAUSTED: too much is under way.
  void Submit(cluster_machine::Request request, Answered answered);
  template <typename Shown>
  using Showed = std::function<void(absl::StatusOr<Shown>)>;
  // A linearizable view of at most `limit` leases from worker ID `from` on. UNAVAILABLE as Submit.
  // NOT_FOUND: no such space.
  void Show(const SpaceName& space, uint64_t from, size_t limit, Showed<WorkerSpaceView> answered);
  // Linearizable, of order IDs. UNAVAILABLE as Submit. NOT_FOUND: no such space.
  void ShowSegments(const SpaceName& space, Showed<SpaceView> answered);
  // Linearizable: the sequence types, by name; of one name, or of all (empty). UNAVAILABLE as
  // Submit.
  using Types = std::map<std::string, type_machine::Type>;
  void ShowTypes(std::string name, Showed<Types> answered);
  // Linearizable, of strict sequences. UNAVAILABLE as Submit. NOT_FOUND: no such set.
  void ShowStrictSet(const SpaceName& set, Showed<strict_machine::View> answered);
  // All leases, as Show has them, with a holder whose text contains `part`. Reads all texts.
  void Holders(std::string part, Showed<std::vector<cluster_machine::HeldLease>> answered);
  // The cluster's time, and what an operator may do about one that is behind. Linearizable.
  // UNAVAILABLE as Submit.
  struct TimeView {
    absl::Time time;
    std::optional<absl::Time> agreed;  // the wall clock on which a majority of the voters agrees
    size_t ending = 0;                 // Machine::EndingBetween these two
  };
  void ShowTime(Showed<TimeView> answered);
  // Advances the time to the wall clock on which a majority agrees, by a command, so that the
  // leases counted by `ending` end. One that is behind by less than a second, or ahead, is left as
  // it is. The answer is the time before. FAILED_PRECONDITION: none is agreed on, or the time is
  // behind by more than `most`. UNAVAILABLE as Submit.
  void AdvanceTime(absl::Duration most, Showed<TimeView> answered);
  // As raft::Node's.
  void ChangeMembers(raft::MemberChange change, raft::Shell::Done done);
  void Transfer(raft::NodeId to, raft::Shell::Done done);
  raft::NodeStatus Status();

  struct Stats {
    uint64_t commands = 0;  // proposed by this node
    uint64_t requests = 0;  // in them
    uint64_t workers = 0;   // of the machine: ever granted
    uint64_t held = 0;
    uint64_t remembered = 0;  // requests whose answers are kept
    uint64_t counters = 0;
    uint64_t sections = 0;           // of order IDs, with an allocation
    uint64_t types = 0;              // sequence types
    uint64_t strict_sections = 0;    // of strict sequences, that were ever owned
    uint64_t strict_owners = 0;      // of these, and successors
    uint64_t sessions = 0;           // of clients of these, whose last answers are kept
    uint64_t grants_remembered = 0;  // of sections, in these answers
    absl::Duration clock_off;        // this node's clock less the cluster's time, if known
  };
  Stats stats() const;

 private:
  class Rep;
  // The machine is only there where the status is OK.
  using ReadMachine =
      std::function<void(const absl::Status&, const cluster_machine::Machine&, absl::Time)>;
  void Read(ReadMachine of);
  // Answers with what `of` finds in the machine.
  template <typename Answered, typename Of>
  void ReadFor(Answered answered, Of of) {
    Read([answered = std::move(answered), of = std::move(of)](
             const absl::Status& status, const cluster_machine::Machine& machine, absl::Time now) {
      if (!status.ok()) return answered(status);
      answered(of(machine, now));
    });
  }
  explicit ClusterNode(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::cluster_node

#endif  // LOCUS_SRC_CLUSTER_NODE_CLUSTER_NODE_H_
