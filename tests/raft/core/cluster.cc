// SPDX-License-Identifier: Apache-2.0
#include "tests/raft/core/cluster.h"

#include <algorithm>
#include <functional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/raft/core/flaw.h"

namespace locus::raft {

void Disk::Do(const Write& write) {
  if (write.vote) vote = *write.vote;
  if (write.snapshot) {
    snapshot = *write.snapshot;
    state = write.state;
    entries.clear();
  }
  if (write.from == 0) return;
  entries.resize(write.from - snapshot.index - 1);
  entries.insert(entries.end(), write.entries.begin(), write.entries.end());
}

Cluster::Cluster(uint64_t seed, const Options& options) : options_(options), random_(seed) {
  Members members;
  for (NodeId id = 1; id <= options.nodes; ++id) members.push_back({id, true, ""});
  next_node_ = options.nodes + 1;
  truth_.push_back({});
  for (const Member& member : members) {
    Node& node = nodes_[member.id];
    const Remembered first = FirstNode(member.id, members);
    node.disk.vote = first.vote;
    node.disk.entries = first.entries;
    Start(node);
  }
}

std::string Cluster::Run() {
  try {
    for (size_t i = 0; i < options_.events && failure_.empty(); ++i) Event();
    CheckLogs();
    if (failure_.empty()) CalmDown();
    CheckLogs();
  } catch (const Contradiction& contradiction) {
    Fail(absl::StrCat("a core contradicts itself: ", contradiction.what));
  }
  return failure_;
}

Cluster::Node& Cluster::AnyNode() {
  auto node = nodes_.begin();
  std::advance(node, static_cast<ptrdiff_t>(Draw(nodes_.size())));
  return node->second;
}

// One that believes so, where there is one.
Cluster::Node& Cluster::AnyLeader() {
  std::vector<Node*> leaders;
  for (auto& [id, node] : nodes_) {
    if (node.core && node.core->role() == Role::kLeader) leaders.push_back(&node);
  }
  return leaders.empty() ? AnyNode() : *leaders[Draw(leaders.size())];
}

void Cluster::Event() {
  if (Draw(100) < options_.unrest) {
    Node& node = AnyNode();
    if (Draw(3) == 0 && node.core) return Crash(node);
    if (!node.core) return Start(node);
    return Do(node, node.core->ElectionTimeout());
  }
  const uint64_t kind = Draw(100);
  if (kind < 55 && !network_.empty()) {
    // Mostly the oldest, so that something gets done.
    const size_t at = Draw(3) == 0 ? Draw(network_.size()) : 0;
    return Deliver(at, Draw(20) == 0);
  }
  if (kind < 58) {
    if (!network_.empty())
      network_.erase(network_.begin() + static_cast<ptrdiff_t>(Draw(network_.size())));
    return;
  }
  if (kind < 75) {
    Node& node = AnyNode();
    return Sync(node, node.unsynced.empty() ? 0 : 1 + Draw(node.unsynced.size()));
  }
  Node& leader = AnyLeader();
  if (kind < 84) {
    if (!leader.core) return;
    auto actions = leader.core->Propose(absl::StrCat(next_command_++));
    if (actions.ok()) Do(leader, *std::move(actions));
    return;
  }
  if (kind < 88) {
    if (leader.core) Do(leader, leader.core->Heartbeat());
    return;
  }
  if (kind < 91) {
    if (!leader.core) return;
    const uint64_t read = next_command_++;
    questions_[read] = {truth_.size() - 1};
    return Do(leader, leader.core->Read(read));
  }
  if (kind < 94) {
    Node& node = AnyNode();
    if (node.core) Compact(node);
    return;
  }
  if (kind < 94 + options_.changes) return ChangeMembers(AnyLeader());
  Disturb();
}

void Cluster::Disturb() {
  Node& node = AnyNode();
  switch (Draw(7)) {
    case 0:
    case 1:
    case 2:
      if (node.core) Do(node, node.core->ElectionTimeout());
      return;
    case 3:
      if (Draw(3) != 0) return;
      if (!node.core) return Start(node);
      return Crash(node);
    case 4: {
      const NodeId from = AnyNode().disk.vote.term == 0 ? 1 : 1 + Draw(next_node_);
      const NodeId to = 1 + Draw(next_node_);
      if (!cut_.erase({from, to})) cut_.insert({from, to});
      return;
    }
    case 5: {
      Node& leader = AnyLeader();
      if (leader.core) Do(leader, leader.core->CheckQuorum());
      return;
    }
    case 6: {
      Node& leader = AnyLeader();
      if (!leader.core || leader.core->members().empty()) return;
      const Members& members = leader.core->members();
      auto actions = leader.core->Transfer(members[Draw(members.size())].id);
      if (actions.ok()) Do(leader, *std::move(actions));
      return;
    }
  }
}

void Cluster::ChangeMembers(Node& node) {
  if (!node.core || node.core->role() != Role::kLeader) return;
  Members members = node.core->members();
  const size_t at = Draw(members.size() + 1);
  const bool is_new = at == members.size();
  if (is_new) {
    if (nodes_.size() >= options_.nodes + 3) return;
    members.push_back({next_node_, false, ""});
  } else if (!members[at].voter) {
    members[at].voter = true;
  } else if (members.size() > 2) {
    members.erase(members.begin() + static_cast<ptrdiff_t>(at));
  }
  auto actions = node.core->ProposeMembers(members);
  if (!actions.ok()) return;
  ++counts_.changes;
  if (is_new) {
    Node& added = nodes_[next_node_++];
    Start(added);
  }
  Do(node, *std::move(actions));
}

void Cluster::Do(Node& node, Actions actions) {
  if (actions.restored) {
    if (!absl::SimpleAtoi(actions.write->state, &node.hash)) Fail("a snapshot without a state");
    node.applied = actions.write->snapshot->index;
    if (node.applied >= truth_.size() || truth_[node.applied].hash != node.hash) {
      Fail(absl::StrCat("a snapshot of ", node.applied, " that nobody applied"));
    }
    ++counts_.snapshots;
  }
  if (actions.write) node.unsynced.push_back(*std::move(actions.write));
  for (const Send& send : actions.sends) {
    const bool now = send.after == 0 || node.unsynced.empty() ||
                     send.after < node.unsynced.front().number ||
                     options_.shell_flaw == ShellFlaw::kRepliesBeforeFsync;
    if (now) {
      Post(node, send);
    } else {
      node.held.push_back(send);
    }
  }
  for (NodeId to : actions.snapshots_for) {
    auto install = node.core->SnapshotFor(to);
    if (!install) continue;
    install->state = node.disk.state;
    Post(node, {to, *std::move(install), 0});
  }
  for (const ReadAnswer& answer : actions.reads) {
    const auto question = questions_.find(answer.read);
    if (question == questions_.end()) Fail("a read was answered twice");
    if (answer.index != 0 && answer.index < question->second.floor) {
      Fail(absl::StrCat("a read sees ", answer.index, ", and ", question->second.floor,
                        " had been applied before"));
    }
    ++counts_.reads;
    questions_.erase(answer.read);
  }
  const Core& core = *node.core;
  for (const auto& [id, other] : nodes_) {
    if (core.HasForgotten(id)) Fail(absl::StrCat("node ", id, " seems to have forgotten entries"));
  }
  if (core.role() == Role::kLeader && node.led != core.term()) {
    node.led = core.term();
    ++counts_.elections;
    const auto [leader, is_new] = leaders_.emplace(core.term(), core.self());
    if (!is_new && leader->second != core.self()) {
      Fail(
          absl::StrCat("nodes ", leader->second, " and ", core.self(), " lead term ", core.term()));
    }
    // It may lack entries committed in its own term, or in a later one whose votes were faster.
    for (Index i = core.first_index(); i < truth_.size() && truth_[i].known < core.term(); ++i) {
      if (core.TermAt(i) != truth_[i].term) {
        Fail(absl::StrCat("leader ", core.self(), " of term ", core.term(), " lacks entry ", i));
      }
    }
  }
  Apply(node);
}

void Cluster::Post(Node& node, const Send& send) {
  if (cut_.contains({node.core->self(), send.to})) return;
  if (network_.size() < 200) network_.push_back({node.core->self(), send.to, send.message});
}

void Cluster::Sync(Node& node, size_t writes) {
  if (!node.core || writes == 0) return;
  uint64_t number = 0;
  for (; writes > 0; --writes) {
    node.disk.Do(node.unsynced.front());
    number = node.unsynced.front().number;
    node.unsynced.pop_front();
  }
  while (!node.held.empty() && node.held.front().after <= number) {
    Post(node, node.held.front());
    node.held.pop_front();
  }
  Do(node, node.core->Written(number));
}

void Cluster::Crash(Node& node) {
  ++counts_.crashes;
  // Some writes that were not synced may have reached the disk anyway, in order.
  size_t kept = node.unsynced.empty() ? 0 : Draw(node.unsynced.size() + 1);
  for (; kept > 0; --kept) {
    node.disk.Do(node.unsynced.front());
    node.unsynced.pop_front();
  }
  node.unsynced.clear();
  node.held.clear();
  node.core.reset();
}

void Cluster::Start(Node& node) {
  NodeId self = 0;
  for (const auto& [id, one] : nodes_) {
    if (&one == &node) self = id;
  }
  auto core = Core::Restore({self, node.disk.vote, node.disk.snapshot, node.disk.entries},
                            {.append_bytes = 40, .window = 8, .snapshot_patience = 1, .kept = 1});
  if (!core.ok()) return Fail(std::string(core.status().message()));
  node.core = *std::move(core);
  node.applied = node.disk.snapshot.index;
  node.hash = 0;
  if (node.applied > 0 && !absl::SimpleAtoi(node.disk.state, &node.hash)) Fail("a lost state");
  node.led = 0;
}

void Cluster::Deliver(size_t at, bool keep) {
  const Parcel parcel = network_[at];
  if (!keep) network_.erase(network_.begin() + static_cast<ptrdiff_t>(at));
  const auto to = nodes_.find(parcel.to);
  if (to == nodes_.end() || !to->second.core || cut_.contains({parcel.from, parcel.to})) return;
  // Whatever the node believes of its leader must do no harm.
  Do(to->second, to->second.core->Receive(parcel.from, parcel.message, !calm_ && Draw(4) == 0));
}

void Cluster::Apply(Node& node) {
  for (const Core& core = *node.core; node.applied < core.commit();) {
    const Index index = node.applied + 1;
    if (index < core.first_index())
      return Fail("committed entries are gone before they are applied");
    const Entry& entry = core.At(index);
    node.hash = std::hash<std::string>()(absl::StrCat(node.hash, "/", entry.term, "/", entry.data));
    node.applied = index;
    ++counts_.applied;
    if (index == truth_.size()) truth_.push_back({entry.term, node.hash, core.term()});
    truth_[index].known = std::min(truth_[index].known, core.term());
    if (truth_[index].hash != node.hash) {
      return Fail(
          absl::StrCat("node ", core.self(), " applies another entry ", index, " than the others"));
    }
  }
}

void Cluster::Compact(Node& node) {
  const Index index = std::min(node.applied, node.core->durable());
  if (index <= node.disk.snapshot.index || !node.unsynced.empty() || index != node.applied) return;
  const Index before = node.disk.snapshot.index;
  node.disk.snapshot = node.core->Compact(index);
  node.disk.state = absl::StrCat(node.hash);
  node.disk.entries.erase(node.disk.entries.begin(),
                          node.disk.entries.begin() + static_cast<ptrdiff_t>(index - before));
}

void Cluster::CheckLogs() {
  for (auto one = nodes_.begin(); one != nodes_.end(); ++one) {
    for (auto other = std::next(one); other != nodes_.end(); ++other) {
      if (!one->second.core || !other->second.core) continue;
      const Core& a = *one->second.core;
      const Core& b = *other->second.core;
      bool same = false;
      for (Index i = std::min(a.last_index(), b.last_index());
           i >= std::max(a.first_index(), b.first_index()); --i) {
        if (same && a.At(i) != b.At(i)) {
          return Fail(absl::StrCat("logs of ", a.self(), " and ", b.self(), " differ at ", i,
                                   ", and agree behind it"));
        }
        same = same || a.At(i).term == b.At(i).term;
      }
    }
  }
}

// All nodes run and hear each other: a leader is elected, and what it proposes is committed.
void Cluster::CalmDown() {
  cut_.clear();
  calm_ = true;
  for (auto& [id, node] : nodes_) {
    if (!node.core) Start(node);
  }
  const size_t before = truth_.size();
  bool proposed = false;
  for (int round = 0; round < 400 && failure_.empty(); ++round) {
    for (int i = 0; i < 60 && !network_.empty(); ++i) Deliver(0, false);
    for (auto& [id, node] : nodes_) Sync(node, node.unsynced.size());
    Node* leader = nullptr;
    for (auto& [id, node] : nodes_) {
      if (round % 16 == 15) Do(node, node.core->CheckQuorum());
      const bool later = leader == nullptr || node.core->term() > leader->core->term();
      if (node.core->LeadsForSure() && later) leader = &node;
    }
    if (leader == nullptr) {
      Node& node = AnyNode();
      if (round % 8 == 4) Do(node, node.core->ElectionTimeout());
      for (auto& [id, one] : nodes_) Do(one, one.core->Heartbeat());
      continue;
    }
    if (!proposed || round % 50 == 0) {
      auto actions = leader->core->Propose("calm");
      proposed = actions.ok();
      if (proposed) Do(*leader, *std::move(actions));
    }
    Do(*leader, leader->core->Heartbeat());
    if (truth_.size() > before && proposed && truth_.size() - 1 == leader->core->last_index()) {
      return;
    }
  }
  std::string states;
  for (const auto& [id, node] : nodes_)
    absl::StrAppend(&states, "\n  ", id, ": ", node.core->Fingerprint());
  Fail(absl::StrCat("nothing is committed although nothing is disturbed", states));
}

}  // namespace locus::raft
