// SPDX-License-Identifier: Apache-2.0
// Visits every state that three nodes can reach within a few terms, entries and crashes, whatever
// the network does: messages stay where they are once they were sent, so each may arrive at any
// time, many times, or never.
#include <array>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/raft/core/core.h"
#include "src/raft/core/flaw.h"
#include "tests/raft/core/cluster.h"

namespace locus::raft {
namespace {

constexpr size_t kNodes = 3;

struct Bounds {
  Term terms = 3;     // the nodes begin in term 1
  Index entries = 4;  // the first one is the members
  int crashes = 1;
  bool pre_votes = false;
};

// A node with its disk; unchanged ones are shared by states.
struct NodeState {
  Core core;
  Disk disk;
  std::string text;  // all of it; the disk is what the core knows

  void Describe() { text = core.Fingerprint(); }
};

struct Parcel {
  NodeId from = 0;
  NodeId to = 0;
  Message message;
};

struct State {
  std::array<std::shared_ptr<const NodeState>, kNodes> nodes;
  std::vector<uint32_t> sent;  // ascending, into the explorer's parcels
  int crashes = 0;
};

class Explorer {
 public:
  explicit Explorer(const Bounds& bounds) : bounds_(bounds) {}

  // The first violation; empty: none.
  std::string Run() {
    Members members;
    for (NodeId id = 1; id <= kNodes; ++id) members.push_back({id, true, ""});
    State first;
    for (NodeId id = 1; id <= kNodes; ++id) {
      Remembered remembered = FirstNode(id, members);
      NodeState node{
          Core::Restore(remembered).value(), {remembered.vote, {}, "", remembered.entries}, ""};
      node.Describe();
      first.nodes[id - 1] = std::make_shared<NodeState>(std::move(node));
    }
    Visit(std::move(first));
    while (!open_.empty() && failure_.empty()) {
      const State state = std::move(open_.front());
      open_.pop_front();
      try {
        Expand(state);
      } catch (const Contradiction& contradiction) {
        failure_ = contradiction.what;
      }
    }
    return failure_;
  }
  uint64_t states() const { return visited_.size(); }
  uint64_t leaders() const { return leaders_seen_; }
  Index committed() const { return most_committed_; }

 private:
  static Term TermOf(const Message& message) {
    return std::visit([](const auto& one) { return one.term; }, message);
  }

  void Expand(const State& state) {
    for (size_t i = 0; i < kNodes; ++i) {
      const NodeState& node = *state.nodes[i];
      if (node.core.role() != Role::kLeader && node.core.term() < bounds_.terms) {
        Try(state, i, [&](Core& core) {
          return bounds_.pre_votes ? core.ElectionTimeout()
                                   : core.Receive(0, StandNow{core.term()}, false);
        });
      }
      if (node.core.role() == Role::kLeader) {
        Try(
            state, i, [](Core& core) { return core.Heartbeat(); }, /*silent=*/false);
        if (node.core.last_index() < bounds_.entries) {
          Try(state, i, [](Core& core) { return core.Propose("").value_or(Actions{}); });
        }
      }
      if (state.crashes < bounds_.crashes) Crash(state, i);
    }
    for (uint32_t number : state.sent) {
      const Parcel& parcel = *parcels_[number];
      const NodeState& node = *state.nodes[parcel.to - 1];
      // It would be answered by a refusal, which only makes a node step down.
      const bool is_old = TermOf(parcel.message) < node.core.term();
      if (is_old) continue;
      Try(state, parcel.to - 1,
          [&](Core& core) { return core.Receive(parcel.from, parcel.message, false); });
    }
  }

  // `silent`: also if no node is sent anything new.
  void Try(const State& state, size_t at, const std::function<Actions(Core&)>& event,
           bool silent = true) {
    NodeState node = *state.nodes[at];
    State next = state;
    Actions actions = event(node.core);
    // Messages that need no write are sent, and the node crashes before the write is durable. No
    // node has seen the messages that wait for the write, so for them the crash comes before the
    // event.
    if (actions.write && state.crashes < bounds_.crashes) {
      State lost = state;
      for (const Send& send : actions.sends) {
        if (send.after == 0) Post(at, send, lost);
      }
      if (lost.sent != state.sent) Crash(lost, at);
    }
    while (true) {
      for (const Send& send : actions.sends) Post(at, send, next);
      if (!actions.write) break;
      node.disk.Do(*actions.write);
      actions = node.core.Written(actions.write->number);
    }
    if (silent || next.sent != state.sent) Put(std::move(node), at, std::move(next));
  }
  void Crash(const State& state, size_t at) {
    const Disk& disk = state.nodes[at]->disk;
    auto core = Core::Restore({at + 1, disk.vote, disk.snapshot, disk.entries});
    if (!core.ok()) {
      failure_ = std::string(core.status().message());
      return;
    }
    State next = state;
    ++next.crashes;
    Put({*std::move(core), disk, ""}, at, std::move(next));
  }

  void Post(size_t from, const Send& send, State& next) {
    // A refused vote changes no state.
    const auto* vote = std::get_if<VoteReply>(&send.message);
    if (vote != nullptr && !vote->granted) return;
    Message message = send.message;
    // Forgotten state is tested by the simulation; no disk here is put back.
    if (auto* append = std::get_if<Append>(&message)) append->acked = 0;
    std::string text = absl::StrCat(from, ">", send.to, " ", message.index());
    std::visit([&](const auto& one) { Describe(one, text); }, message);
    const auto [known, is_new] = numbers_.emplace(text, static_cast<uint32_t>(parcels_.size()));
    if (is_new) {
      parcels_.push_back(std::make_unique<Parcel>(Parcel{from + 1, send.to, message}));
    }
    const auto place = std::lower_bound(next.sent.begin(), next.sent.end(), known->second);
    if (place == next.sent.end() || *place != known->second) next.sent.insert(place, known->second);
  }
  static void Describe(const VoteRequest& one, std::string& text) {
    absl::StrAppend(&text, one.term, ".", one.last_index, ".", one.last_term, ".", one.pre);
  }
  static void Describe(const VoteReply& one, std::string& text) {
    absl::StrAppend(&text, one.term, ".", one.pre, ".", one.granted);
  }
  static void Describe(const Append& one, std::string& text) {
    absl::StrAppend(&text, one.term, ".", one.prev_index, ".", one.prev_term, ".", one.commit, "+");
    for (const Entry& entry : one.entries) absl::StrAppend(&text, entry.term, ",");
  }
  static void Describe(const AppendReply& one, std::string& text) {
    absl::StrAppend(&text, one.term, ".", one.matches, ".", one.index, ".", one.continue_at);
  }
  static void Describe(const StandNow& one, std::string& text) { absl::StrAppend(&text, one.term); }
  static void Describe(const Removed&, std::string&) {}
  static void Describe(const Note&, std::string&) {}
  static void Describe(const InstallSnapshot&, std::string&) {}

  void Put(NodeState node, size_t at, State next) {
    node.Describe();
    next.nodes[at] = std::make_shared<NodeState>(std::move(node));
    // A message that the node would refuse now, it refuses at any later time.
    const Term term = next.nodes[at]->core.term();
    std::erase_if(next.sent, [&](uint32_t number) {
      return parcels_[number]->to == at + 1 && TermOf(parcels_[number]->message) < term;
    });
    Check(next, at);
    Visit(std::move(next));
  }
  void Visit(State state) {
    std::string key = absl::StrCat(state.crashes);
    for (const auto& node : state.nodes) absl::StrAppend(&key, "|", node->text);
    for (uint32_t number : state.sent) absl::StrAppend(&key, ",", number);
    // Two hashes of 64 bits: a collision would hide a state.
    const std::pair<uint64_t, uint64_t> hashes = {std::hash<std::string>()(key),
                                                  std::hash<std::string>()(key + "#")};
    if (visited_.insert(hashes).second) open_.push_back(std::move(state));
  }

  // Of the node that has changed.
  void Check(const State& state, size_t at) {
    const Core& core = state.nodes[at]->core;
    most_committed_ = std::max(most_committed_, core.commit());
    for (size_t i = 0; i < kNodes && failure_.empty(); ++i) {
      const Core& other = state.nodes[i]->core;
      if (i == at) continue;
      if (core.role() == Role::kLeader) {
        ++leaders_seen_;
        if (other.role() == Role::kLeader && other.term() == core.term()) {
          failure_ = absl::StrCat("two leaders of term ", core.term());
        }
        // This node has all entries that a node of an earlier term knows as committed.
        for (Index k = 1; other.term() < core.term() && k <= other.commit(); ++k) {
          if (core.TermAt(k) != other.TermAt(k))
            failure_ = absl::StrCat("a leader lacks entry ", k);
        }
      }
      for (Index k = 1; k <= std::min(core.commit(), other.commit()); ++k) {
        if (core.TermAt(k) != other.TermAt(k)) {
          failure_ = absl::StrCat("two entries ", k, " are committed");
        }
      }
      bool same = false;
      for (Index k = std::min(core.last_index(), other.last_index()); k >= 1; --k) {
        if (same && core.TermAt(k) != other.TermAt(k)) failure_ = "logs differ below a match";
        same = same || core.TermAt(k) == other.TermAt(k);
      }
    }
    if (!failure_.empty()) {
      for (const auto& node : state.nodes) absl::StrAppend(&failure_, "\n  ", node->text);
    }
  }

  struct PairHash {
    size_t operator()(const std::pair<uint64_t, uint64_t>& pair) const { return pair.first; }
  };

  const Bounds bounds_;
  std::unordered_set<std::pair<uint64_t, uint64_t>, PairHash> visited_;
  std::deque<State> open_;
  std::vector<std::unique_ptr<const Parcel>> parcels_;
  std::unordered_map<std::string, uint32_t> numbers_;
  uint64_t leaders_seen_ = 0;
  Index most_committed_ = 0;
  std::string failure_;
};

void Explore(const char* name, const Bounds& bounds) {
  Explorer explorer(bounds);
  EXPECT_EQ(explorer.Run(), "");
  std::printf("%-34s %9llu states, up to entry %llu committed\n", name,
              static_cast<unsigned long long>(explorer.states()),
              static_cast<unsigned long long>(explorer.committed()));
  EXPECT_GT(explorer.leaders(), 0u);
}

TEST(RaftExplorerTest, PreVotes) {
  Explore("one election with pre-votes",
          {.terms = 2, .entries = 2, .crashes = 0, .pre_votes = true});
}
TEST(RaftExplorerTest, OneElectionOneCommandOneCrash) {
  Explore("one election, a command, a crash", {.terms = 2, .entries = 3, .crashes = 1});
}
TEST(RaftExplorerTest, TwoElectionsOneCrash) {
  Explore("two elections, a crash", {.terms = 3, .entries = 2, .crashes = 1});
}

}  // namespace
}  // namespace locus::raft
