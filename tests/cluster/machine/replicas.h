// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLUSTER_MACHINE_REPLICAS_H_
#define LOCUS_TESTS_CLUSTER_MACHINE_REPLICAS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/cluster/machine/command_clock.h"
#include "src/cluster/machine/machine.h"
#include "src/raft/core/core.h"
#include "tests/raft/core/cluster.h"

namespace locus::cluster_machine {

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Below(uint64_t end) {
    uint64_t word = state_ += 0x9E3779B97F4A7C15;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
    return (word ^ (word >> 31)) % end;
  }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  uint64_t state_;
};

// Mistakes of the shell around the machine, and of its clients.
enum class ShellFlaw : uint8_t {
  kNone,
  kAnswersBeforeCommit,          // the ceiling is used before it is stored
  kAppliesWithLocalTime,         // instead of the command's
  kExpiresByLocalClock,          // each node by itself
  kReadsFromAnyNode,             // without asking whether it leads
  kUsesIdsAfterReleaseBegan,     // the holder's: sends its last time, and keeps making IDs
  kTrustsItsClockAfterARestart,  // although it has heard the leader
};

// Nodes that run the machine over the real Raft core, with disks that lose what was not synced, a
// network that loses, repeats and reorders, and clocks that drift and jump. Checks that all nodes
// are equal after each entry, and that the machine's time never falls.
class Replicas {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // For each command once, when the first node applies it. `proposed`: the true time, in ms.
    virtual void OnApplied(int64_t proposed, const Machine::Applied& applied) = 0;
    virtual void OnAnswer(uint64_t tag, const Answer& answer) = 0;
    // The machine at a moment between the call of Read and now.
    virtual void OnRead(uint64_t tag, const Machine& machine) = 0;
    virtual void OnFailure(const std::string& what) = 0;
  };
  struct Options {
    size_t nodes = 3;
    // Leases never end early: one node restarts at a time, if there are others, and stands for
    // election only once it knows the cluster's time exactly. Otherwise nodes restart at any time,
    // and cannot know how long all were down.
    bool steady = false;
    // Wall clocks are right, but for that of the first of three nodes or more. So the cluster's
    // time is right in steady runs, and never ahead in the others.
    bool true_clocks = false;
    ShellFlaw flaw = ShellFlaw::kNone;
  };
  struct Counts {
    uint64_t leaders = 0, applied = 0, crashes = 0, installed = 0, jumps = 0, restored = 0;
  };

  Replicas(Random& random, const Options& options, Listener& listener);

  // Something happens to one of the nodes at this true time.
  void Event(int64_t now);
  // A client's request reaches a node, which answers some time, or never.
  void Submit(raft::NodeId node, uint64_t tag, const Request& request);
  // A client reads at a node, which answers some time, or never.
  void Read(raft::NodeId node, uint64_t tag);
  raft::NodeId AnyNode() { return 1 + random_.Below(options_.nodes); }
  // One that leads, where there is one.
  raft::NodeId Leader();
  // Of the node that is furthest; 1970 at first.
  absl::Time MachineTime() const;
  const Counts& counts() const { return counts_; }

 private:
  struct Node {
    std::optional<raft::Core> core;  // none: it is down
    raft::Disk disk;
    std::deque<raft::Write> unsynced;
    std::deque<raft::Send> held;
    Machine machine;
    CommandClock clock;
    raft::Index applied = 0;
    bool restarted = false;
    raft::Term led = 0;
    raft::Term proposed_in = 0;  // the last term in which it set the clock
    raft::Term ready_in = 0;     // and that was applied
    int64_t wall_ahead = 0;
    int64_t boot_ahead = 0;
    int64_t boot_drift = 0;  // parts in a million
    std::vector<std::pair<uint64_t, Request>> waiting;
    struct Proposed {
      raft::Term term = 0;
      std::vector<uint64_t> tags;
      std::map<uint64_t, absl::Status> refusals;  // by tag, of what was screened
    };
    std::map<raft::Index, Proposed> proposed;
    std::set<uint64_t> reads;
    std::vector<std::pair<raft::Index, uint64_t>> confirmed;  // reads
  };
  struct Parcel {
    raft::NodeId from = 0;
    raft::NodeId to = 0;
    raft::Message message;
  };

  absl::Time Wall(const Node& node) const { return absl::FromUnixMillis(now_ + node.wall_ahead); }
  absl::Duration Boot(const Node& node) const;
  bool Ready(const Node& node) const;
  // Of steady runs.
  bool MayCrash(const Node& node) const;
  bool MayStand(const Node& node) const {
    return node.clock.exact() || options_.flaw == ShellFlaw::kTrustsItsClockAfterARestart ||
           (!node.restarted && node.machine.now() == absl::UnixEpoch());
  }
  void AskClocks(Node& node);
  void Hear(Node& node, raft::NodeId from, const raft::Note& note);
  void Disturb(Node& node);
  void Deliver();
  void Do(Node& node, raft::Actions actions);
  void NoteLeader(Node& node);
  void NoteCommandOf(Node& node, raft::Term term);
  void Post(Node& node, const raft::Send& send);
  void Sync(Node& node);
  void Crash(Node& node);
  void Start(raft::NodeId id, Node& node);
  void Propose(Node& node);
  void Apply(Node& node);
  void ApplyOne(Node& node, raft::Index index);
  void AnswerReads(Node& node);
  void Compact(Node& node);
  void Agree(Node& node, size_t facts, int64_t proposed, const Machine::Applied* applied);

  struct Truth {
    size_t state = 0;
    size_t facts = 0;
  };

  Random& random_;
  const Options options_;
  Listener& listener_;
  int64_t now_ = 0;
  bool guessed_ = false;  // a leader did not know the cluster's time
  std::map<raft::NodeId, Node> nodes_;
  std::vector<Parcel> network_;
  std::set<std::pair<raft::NodeId, raft::NodeId>> cut_;
  std::vector<Truth> truth_ = {{}};                                 // by index
  std::map<std::pair<raft::Index, raft::Term>, int64_t> proposed_;  // true times
  Counts counts_;
};

}  // namespace locus::cluster_machine

#endif  // LOCUS_TESTS_CLUSTER_MACHINE_REPLICAS_H_
