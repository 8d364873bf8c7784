// SPDX-License-Identifier: Apache-2.0
// Whole nodes but for threads, sockets and files, in simulated time: crashes that lose what was not
// synced, pauses, slow disks, cut links, transfers, members that come and go, under clients.
// shell_simulation_test --seed=N runs one seed, --seeds=N so many.
#include <map>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/raft/node/shell.h"
#include "tests/support/sanitizers.h"
#include "tests/support/simulation_main.h"

namespace locus::raft {
namespace {

using std::chrono::milliseconds;

uint64_t first_seed = 1;
uint64_t seeds = kUnderAsan ? 10 : 400;

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : random_(seed) {
    truth_.push_back("");
    Members members;
    for (NodeId id = 1; id <= 3; ++id) members.push_back({id, true, absl::StrCat("at ", id)});
    for (const Member& member : members) {
      Node& node = nodes_[member.id];
      node.disk = FirstNode(member.id, members);
      StartNode(member.id);
    }
  }

  std::string Run() {
    At(milliseconds(5), [this] { Client(); });
    At(milliseconds(100), [this] { Fault(); });
    RunFor(milliseconds(20'000));
    calm_ = true;
    cut_.clear();
    for (auto& [id, node] : nodes_) {
      node.paused_until = now_;
      node.disk_latency = milliseconds(1);
      if (node.shell == nullptr && !node.gone) StartNode(id);
    }
    RunFor(milliseconds(6'000));
    const size_t before = acknowledged_.size();
    RunFor(milliseconds(4'000));
    if (acknowledged_.size() < before + 50) Fail("few commands are answered although all is calm");
    clients_stopped_ = true;
    RunFor(milliseconds(3'000));
    for (auto& [id, node] : nodes_) {
      if (node.shell == nullptr || !IsVoter(nodes_.at(leader_).shell->core().members(), id))
        continue;
      if (node.machine.count != truth_.size() - 1) {
        Fail(absl::StrCat("node ", id, " has applied ", node.machine.count, " of ",
                          truth_.size() - 1, " commands at the end"));
      }
    }
    for (auto& [id, node] : nodes_) {
      if (node.shell != nullptr) node.shell->Stop(absl::UnavailableError("the end"));
    }
    if (asked_ != answered_) Fail(absl::StrCat(asked_, " asked, ", answered_, " were answered"));
    for (size_t i = 1; i < truth_.size(); ++i) {
      if (refused_.contains(truth_[i])) Fail(absl::StrCat(truth_[i], " was refused and applied"));
    }
    return failure_;
  }

  uint64_t acknowledged() const { return acknowledged_.size(); }
  uint64_t reads = 0, crashes = 0, snapshots = 0, changes = 0, transfers = 0, unknown = 0,
           removed = 0;

 private:
  // Its state: how many commands there were. They are compared with what other nodes applied.
  struct Machine : StateMachine {
    absl::StatusOr<std::string> Apply(Index, Term, std::string_view command) override {
      ++count;
      std::vector<std::string>& truth = simulation->truth_;
      if (count == truth.size()) truth.emplace_back(command);
      if (truth.at(count) != command) simulation->Fail("nodes apply different commands");
      return absl::StrCat(count);
    }
    absl::StatusOr<std::string> Fold(std::string_view state,
                                     const std::vector<std::string>& commands) const override {
      size_t before = 0;
      if (!state.empty() &&
          !absl::SimpleAtoi(absl::string_view(state.data(), state.size()), &before)) {
        simulation->Fail("a state that nobody made");
      }
      for (size_t i = 0; i < commands.size(); ++i) {
        if (simulation->truth_.at(before + i + 1) != commands[i]) {
          simulation->Fail("a snapshot is made of other commands");
        }
      }
      return absl::StrCat(before + commands.size());
    }
    absl::Status Restore(Term, std::string_view state) override {
      ++simulation->snapshots;
      if (!absl::SimpleAtoi(absl::string_view(state.data(), state.size()), &count)) {
        simulation->Fail("a state that nobody made");
      }
      return absl::OkStatus();
    }
    Simulation* simulation = nullptr;
    size_t count = 0;
  };
  struct Snapshot {
    SnapshotMark mark;
    std::string state;
  };
  using Task = std::variant<Write, Snapshot>;
  struct Node : Storage, Network {
    void Store(Write write) override { simulation->Enqueue(id, std::move(write)); }
    void StoreSnapshot(SnapshotMark mark, std::shared_ptr<const std::string> bytes) override {
      simulation->Enqueue(id, Snapshot{std::move(mark), *bytes});
    }
    // Now and then it takes longer than many other events.
    void Fold(std::function<FoldedState()> fold) override {
      simulation->AtNode(id, milliseconds(simulation->Draw(simulation->Draw(4) == 0 ? 1500 : 20)),
                         [fold](Node& node) { node.shell->Folded(fold()); });
    }
    void Send(NodeId to, const std::string& address, Message message) override {
      if (!address.empty() && address != absl::StrCat("at ", to)) {
        simulation->Fail("a wrong address");
      }
      simulation->Post(id, to, std::move(message));
    }

    Simulation* simulation = nullptr;
    NodeId id = 0;
    Remembered disk;
    std::string state;
    std::deque<Task> unsynced;
    milliseconds disk_latency{1};
    Machine machine;
    std::unique_ptr<Shell> shell;
    uint64_t life = 0;  // events of an earlier one are void
    TimePoint paused_until;
    TimePoint next_tick;
    uint64_t next_tick_life = ~uint64_t{0};
    bool writing = false;
    bool gone = false;  // removed, or never to be started
  };

  uint64_t Draw(uint64_t below) {
    uint64_t word = random_ += 0x9E3779B97F4A7C15;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
    return (word ^ (word >> 31)) % below;
  }
  void Fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }
  void At(std::chrono::microseconds after, std::function<void()> event) {
    agenda_.emplace(now_ + after, std::move(event));
  }
  // For a node in its present life; later if it is paused then.
  void AtNode(NodeId id, std::chrono::microseconds after, std::function<void(Node&)> event) {
    const uint64_t life = nodes_.at(id).life;
    At(after, [this, id, life, event = std::move(event)] {
      Node& node = nodes_.at(id);
      if (node.life != life || node.shell == nullptr) return;
      if (now_ < node.paused_until) {
        return AtNode(
            id, std::chrono::duration_cast<std::chrono::microseconds>(node.paused_until - now_),
            event);
      }
      event(node);
      Tick(node);
    });
  }
  void RunFor(milliseconds time) {
    const TimePoint end = now_ + time;
    while (!agenda_.empty() && agenda_.begin()->first <= end && failure_.empty()) {
      now_ = agenda_.begin()->first;
      const auto event = std::move(agenda_.extract(agenda_.begin()).mapped());
      event();
    }
    now_ = end;
  }

  void Tick(Node& node) {
    const TimePoint due = node.shell->Tick(now_);
    if (node.shell->core().role() == Role::kLeader) leader_ = node.id;
    for (const auto& [id, other] : nodes_) {
      if (node.shell->core().HasForgotten(id)) Fail("a node seems to have forgotten entries");
    }
    const auto after = std::chrono::duration_cast<std::chrono::microseconds>(
        std::min(due, now_ + std::chrono::hours(1)) - now_);
    // A node that is woken often arms a timer each time; timers that are too early do nothing.
    if (node.next_tick_life != node.life || due < node.next_tick || now_ >= node.next_tick) {
      node.next_tick = due;
      node.next_tick_life = node.life;
      AtNode(node.id, std::max(after, std::chrono::microseconds(1)), [](Node&) {});
    }
    if (node.shell->core().removed() && !node.gone) {
      node.gone = true;
      ++removed;
      node.shell->Stop(absl::UnavailableError("removed"));
      node.shell.reset();
    }
  }

  void Enqueue(NodeId id, Task task) {
    Node& node = nodes_.at(id);
    node.unsynced.push_back(std::move(task));
    if (!node.writing) Sync(node);
  }
  // All that waits now, after a while.
  void Sync(Node& node) {
    node.writing = true;
    const size_t count = node.unsynced.size();
    AtNode(node.id, node.disk_latency + std::chrono::microseconds(Draw(3000)),
           [this, count](Node& one) {
             uint64_t number = 0;
             for (size_t i = 0; i < count; ++i) number = std::max(number, WriteOne(one));
             one.writing = false;
             if (!one.unsynced.empty()) Sync(one);
             if (number != 0) one.shell->Written(now_, number);
           });
  }
  static uint64_t WriteOne(Node& node) {
    Remembered& disk = node.disk;
    const Task task = std::move(node.unsynced.front());
    node.unsynced.pop_front();
    if (const auto* snapshot = std::get_if<Snapshot>(&task)) {
      const auto drop = static_cast<ptrdiff_t>(snapshot->mark.index - disk.snapshot.index);
      disk.entries.erase(disk.entries.begin(), disk.entries.begin() + drop);
      disk.snapshot = snapshot->mark;
      node.state = snapshot->state;
      return 0;
    }
    const Write& write = std::get<Write>(task);
    if (write.vote) disk.vote = *write.vote;
    if (write.snapshot) {
      disk.snapshot = *write.snapshot;
      node.state = write.state;
      disk.entries.clear();
    }
    if (write.from != 0) {
      disk.entries.resize(write.from - disk.snapshot.index - 1);
      disk.entries.insert(disk.entries.end(), write.entries.begin(), write.entries.end());
    }
    return write.number;
  }

  void Post(NodeId from, NodeId to, Message message) {
    if (Draw(100) == 0) return;
    const int copies = Draw(100) == 0 ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      if (!nodes_.contains(to)) return;
      // Connections to a paused node break: most messages sent meanwhile are lost, and the first
      // message from a new leader may bring entries that are already committed.
      if (now_ < nodes_.at(to).paused_until && Draw(8) != 0) return;
      AtNode(to, std::chrono::microseconds(100 + Draw(Draw(20) == 0 ? 30'000 : 2'000)),
             [this, from, to, message](Node& node) {
               if (!cut_.contains({from, to})) node.shell->Receive(now_, from, message);
             });
    }
  }

  void StartNode(NodeId id) {
    Node& node = nodes_.at(id);
    node.simulation = node.machine.simulation = this;
    node.id = id;
    node.disk.self = id;
    node.machine.count = 0;
    ShellOptions options;
    options.compact_entries = 200;
    options.waiting_bytes = 1000;
    options.limits = {.append_bytes = 200, .window = 50, .snapshot_patience = 5, .kept = 20};
    auto shell = Shell::Start(node.disk, node.state, node.machine, node, node, options,
                              Draw(1u << 31), now_);
    if (!shell.ok()) return Fail(std::string(shell.status().message()));
    node.shell = *std::move(shell);
    Tick(node);
  }
  void Crash(Node& node) {
    ++crashes;
    // Some writes that were not synced may have reached the disk anyway.
    for (size_t kept = Draw(node.unsynced.size() + 1); kept > 0; --kept) WriteOne(node);
    node.unsynced.clear();
    node.writing = false;
    ++node.life;
    node.shell->Stop(absl::UnavailableError("this node ends"));
    node.shell.reset();
    const NodeId id = node.id;
    At(milliseconds(Draw(2000)), [this, id] {
      if (nodes_.at(id).shell == nullptr && !nodes_.at(id).gone) StartNode(id);
    });
  }

  Node& AnyNode() {
    auto node = nodes_.begin();
    std::advance(node, static_cast<ptrdiff_t>(Draw(nodes_.size())));
    return node->second;
  }

  void Client() {
    if (clients_stopped_) return;
    At(std::chrono::microseconds(1 + Draw(20'000)), [this] { Client(); });
    Node& node = Draw(5) == 0 || !nodes_.contains(leader_) ? AnyNode() : nodes_.at(leader_);
    if (node.shell == nullptr || now_ < node.paused_until) return;
    for (uint64_t left = 1 + Draw(4); left > 0; --left) {
      ++asked_;
      if (Draw(4) == 0) {
        const size_t floor = most_acknowledged_;
        node.shell->Read([this, &node, floor](const absl::Status& status) {
          ++answered_;
          if (!status.ok()) return;
          ++reads;
          if (node.machine.count < floor) Fail("a read does not see what was acknowledged");
        });
        continue;
      }
      const std::string command = absl::StrCat("command ", ++commands_);
      node.shell->Propose(command, [this, command](const absl::StatusOr<std::string>& answer) {
        ++answered_;
        if (!answer.ok()) {
          if (IsCommitUnknown(answer.status())) {
            ++unknown;
          } else {
            refused_.insert(command);
          }
          return;
        }
        size_t place = 0;
        if (!absl::SimpleAtoi(*answer, &place) || truth_.at(place) != command) {
          return Fail("the answer to another command");
        }
        most_acknowledged_ = std::max(most_acknowledged_, place);
        if (!acknowledged_.insert(place).second) Fail("a command was answered twice");
      });
    }
    Tick(node);
  }

  void Fault() {
    if (calm_) return;
    At(milliseconds(1 + Draw(600)), [this] { Fault(); });
    Node& node = AnyNode();
    switch (Draw(10)) {
      case 0:
      case 1:
        if (node.shell != nullptr) Crash(node);
        return;
      case 2:
        node.paused_until = now_ + milliseconds(Draw(3000));
        return;
      case 3:
        node.disk_latency = milliseconds(Draw(3) == 0 ? Draw(900) : 1);
        return;
      case 4:
      case 5: {
        const std::pair<NodeId, NodeId> link{node.id, AnyNode().id};
        if (!cut_.erase(link)) cut_.insert(link);
        return;
      }
      case 6:
        cut_.clear();
        return;
      case 7:
        if (node.shell == nullptr || now_ < node.paused_until) return;
        ++asked_;
        node.shell->Transfer(now_, 0, [this](const absl::Status& status) {
          ++answered_;
          transfers += status.ok();
        });
        return Tick(node);
      case 8:
        return SilenceLeader();
      default:
        return ChangeMembers();
    }
  }

  // Its proposals reach no node; then it is paused until another leader has committed entries in
  // their place.
  void SilenceLeader() {
    const NodeId leader = leader_;
    if (!nodes_.contains(leader)) return;
    for (const auto& [id, other] : nodes_) cut_.insert({leader, id});
    At(milliseconds(20 + Draw(200)), [this, leader] {
      cut_.clear();
      if (!calm_) nodes_.at(leader).paused_until = now_ + milliseconds(1500 + Draw(1500));
    });
  }

  void ChangeMembers() {
    if (!nodes_.contains(leader_)) return;
    Node& node = nodes_.at(leader_);
    if (node.shell == nullptr || now_ < node.paused_until) return;
    const Members& members = node.shell->core().members();
    MemberChange change;
    if (members.size() < 4) {
      change.id = nodes_.rbegin()->first + 1;
      change.address = absl::StrCat("at ", change.id);
      nodes_[change.id];
      StartNode(change.id);
    } else {
      const Member& one = members[Draw(members.size())];
      change.kind = one.voter ? MemberChange::Kind::kRemove : MemberChange::Kind::kPromote;
      change.id = one.id;
    }
    ++asked_;
    node.shell->ChangeMembers(now_, change, [this](const absl::Status& status) {
      ++answered_;
      changes += status.ok();
    });
    Tick(node);
  }

  uint64_t random_;
  TimePoint now_ = TimePoint() + std::chrono::hours(1);
  std::multimap<TimePoint, std::function<void()>> agenda_;
  std::map<NodeId, Node> nodes_;
  std::set<std::pair<NodeId, NodeId>> cut_;
  NodeId leader_ = 0;  // that was seen to lead last
  std::vector<std::string> truth_;
  std::set<size_t> acknowledged_;
  std::set<std::string> refused_;
  size_t most_acknowledged_ = 0;
  uint64_t commands_ = 0, asked_ = 0, answered_ = 0;
  bool calm_ = false, clients_stopped_ = false;
  std::string failure_;
};

TEST(ShellSimulationTest, Disturbed_LosesNothingThatWasAcknowledgedAndRecovers) {
  uint64_t acknowledged = 0, reads = 0, crashes = 0, snapshots = 0, changes = 0, transfers = 0,
           unknown = 0, removed = 0;
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    Simulation simulation(seed);
    const std::string what = simulation.Run();
    ASSERT_EQ(what, "") << "repeat it by --seed=" << seed;
    acknowledged += simulation.acknowledged();
    reads += simulation.reads;
    crashes += simulation.crashes;
    snapshots += simulation.snapshots;
    changes += simulation.changes;
    transfers += simulation.transfers;
    unknown += simulation.unknown;
    removed += simulation.removed;
  }
  std::cout << seeds << " seeds: " << acknowledged << " commands answered, " << unknown
            << " not known, " << reads << " reads, " << crashes << " crashes, " << snapshots
            << " snapshots restored, " << changes << " changes of members, " << transfers
            << " transfers, " << removed << " told that they are removed\n";
  EXPECT_GT(acknowledged, seeds * 500);
  if (seeds < 100) return;
  for (uint64_t count : {reads, crashes, snapshots, changes, transfers, unknown, removed}) {
    EXPECT_GT(count, seeds / 4);
  }
}

}  // namespace
}  // namespace locus::raft

int main(int argc, char** argv) {
  return locus::RunSimulation(argc, argv, locus::raft::first_seed, locus::raft::seeds);
}
