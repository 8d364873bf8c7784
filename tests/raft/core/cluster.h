// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_RAFT_CORE_CLUSTER_H_
#define LOCUS_TESTS_RAFT_CORE_CLUSTER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/raft/core/core.h"

namespace locus::raft {

// A node's disk: a naive model of the real node's store.
struct Disk {
  Vote vote;
  SnapshotMark snapshot;
  std::string state;
  std::vector<Entry> entries;

  void Do(const Write& write);
};

// Flaws of the simulated shell, beside those of the core.
enum class ShellFlaw {
  kNone,
  kRepliesBeforeFsync,
};

// Nodes with disks that lose what was not synced, and a network that loses, repeats and reorders
// messages. One seed is one run. Checked after each event: one leader a term at most; all nodes
// apply the same; a new leader has all that was applied before; reads see what was applied before
// they were asked for. At the end: equal terms at one index mean equal logs up to there, and once
// nothing is disturbed any more, something new is committed.
class Cluster {
 public:
  struct Options {
    size_t nodes = 3;
    size_t events = 300;
    uint64_t changes = 1;  // of members: percent of all events, at most 5
    uint64_t unrest = 0;  // percent of all events that are elections, crashes and restarts, besides
    ShellFlaw shell_flaw = ShellFlaw::kNone;
  };
  Cluster(uint64_t seed, const Options& options);

  // Returns the violation; empty: none.
  std::string Run();

  struct Counts {
    uint64_t elections = 0, applied = 0, reads = 0, crashes = 0, snapshots = 0, changes = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Applied {
    Term term = 0;
    uint64_t hash = 0;  // of all up to it
    Term known = 0;     // the lowest term of a node that applied it: committed by then
  };
  struct Node {
    std::optional<Core> core;  // none: it is down
    Disk disk;
    std::deque<Write> unsynced;
    std::deque<Send> held;  // until a write is durable
    Index applied = 0;
    uint64_t hash = 0;
    Term led = 0;  // the last term in which it was seen to lead
  };
  struct Parcel {
    NodeId from = 0;
    NodeId to = 0;
    Message message;
  };
  struct Question {
    Index floor = 0;  // had been applied somewhere when it was asked
  };

  // SplitMix64.
  uint64_t Draw(uint64_t below) {
    uint64_t word = random_ += 0x9E3779B97F4A7C15;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
    return (word ^ (word >> 31)) % below;
  }
  Node& AnyNode();
  Node& AnyLeader();
  void Event();
  void Disturb();
  void ChangeMembers(Node& node);
  void Do(Node& node, Actions actions);
  void Post(Node& node, const Send& send);
  void Sync(Node& node, size_t writes);
  void Crash(Node& node);
  void Start(Node& node);
  void Deliver(size_t at, bool keep);
  void Apply(Node& node);
  void Compact(Node& node);
  void CheckLogs();
  void CalmDown();
  void Fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }

  const Options options_;
  uint64_t random_;
  std::map<NodeId, Node> nodes_;
  std::vector<Parcel> network_;
  std::set<std::pair<NodeId, NodeId>> cut_;
  std::map<Term, NodeId> leaders_;
  std::vector<Applied> truth_;  // by index
  std::map<uint64_t, Question> questions_;
  uint64_t next_command_ = 1;
  NodeId next_node_ = 0;
  Counts counts_;
  bool calm_ = false;
  std::string failure_;
};

}  // namespace locus::raft

#endif  // LOCUS_TESTS_RAFT_CORE_CLUSTER_H_
