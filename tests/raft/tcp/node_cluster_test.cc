// SPDX-License-Identifier: Apache-2.0
// Nodes with their threads, files and sockets, all in this process.
#include <future>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/raft/node/node.h"
#include "src/raft/tcp/tcp_transport.h"
#include "tests/raft/tcp/list_machine.h"
#include "tests/support/fault_proxy.h"
#include "tests/support/private_server.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"

namespace locus::raft {
namespace {

using ::testing::HasSubstr;

constexpr char kCluster[] = "lists";

class NodeClusterTest : public ::testing::Test {
 protected:
  // A node, running or not. Others reach it through its proxy.
  struct Place {
    NodeId id = 0;
    std::string path;
    uint16_t port = 0;
    std::unique_ptr<FaultProxy> proxy;
    std::unique_ptr<ListMachine> machine;
    std::unique_ptr<TcpTransport> transport;
    std::unique_ptr<Node> node;
    std::string address() const { return absl::StrCat("127.0.0.1:", proxy->port()); }
  };

  // Makes the files; the nodes begin a cluster unless it is a newcomer.
  Place& Make(size_t number) {
    Place& place = places_[number];
    place.path = directory_ / absl::StrCat("log", number, "-", place.id % 1000);
    place.port = FreePort();
    place.proxy = std::make_unique<FaultProxy>(place.port);
    place.id = LogStore::Create(place.path, kCluster).value()->self();
    return place;
  }
  void Begin(size_t count) {
    for (size_t i = 0; i < count; ++i) Make(i);
    Members members;
    for (auto& [number, place] : places_) members.push_back({place.id, true, place.address()});
    std::sort(members.begin(), members.end(),
              [](const Member& a, const Member& b) { return a.id < b.id; });
    for (auto& [number, place] : places_) {
      const absl::Status status = LogStore::Open(place.path, kCluster).value()->Begin(members);
      ASSERT_TRUE(status.ok()) << status;
    }
    for (auto& [number, place] : places_) Start(place);
  }
  void Start(Place& place) {
    TcpOptions tcp;
    tcp.self = place.id;
    tcp.cluster = kCluster;
    tcp.listen = absl::StrCat("127.0.0.1:", place.port);
    tcp.advertise = place.address();
    auto transport = TcpTransport::Create(tcp);
    ASSERT_TRUE(transport.ok()) << transport.status();
    place.transport = *std::move(transport);
    place.machine = std::make_unique<ListMachine>();
    NodeOptions options;
    options.shell.compact_entries = 300;
    options.shell.limits.kept = 50;
    if (kUnderTsan || kUnderAsan) options.shell.election = std::chrono::milliseconds(1500);
    auto node = Node::Start(LogStore::Open(place.path, kCluster).value(), *place.machine,
                            *place.transport, options);
    ASSERT_TRUE(node.ok()) << node.status();
    place.node = *std::move(node);
  }
  static void Kill(Place& place) {
    place.node.reset();
    place.transport.reset();
  }
  Place* Leader() {
    Place* leader = nullptr;
    Term term = 0;
    for (auto& [number, place] : places_) {
      if (place.node == nullptr) continue;
      const NodeStatus status = place.node->Status();
      if (!status.leads_for_sure || status.term <= term) continue;
      leader = &place;
      term = status.term;
    }
    return leader;
  }
  Place& WaitForLeader(const Place* other_than = nullptr) {
    Place* leader = nullptr;
    EXPECT_TRUE(WaitUntil([&] {
      leader = Leader();
      return leader != nullptr && leader != other_than;
    }));
    return *leader;
  }

  static absl::StatusOr<std::string> Propose(Place& place, const std::string& command) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<std::string>>>();
    auto future = promise->get_future();
    place.node->Propose(command, [promise](absl::StatusOr<std::string> answer) {
      promise->set_value(std::move(answer));
    });
    return future.get();
  }
  template <typename Ask>
  static absl::Status Wait(const Ask& ask) {
    auto promise = std::make_shared<std::promise<absl::Status>>();
    auto future = promise->get_future();
    ask([promise](absl::Status status) { promise->set_value(std::move(status)); });
    return future.get();
  }
  static absl::Status Read(Place& place) {
    return Wait([&](Shell::Done done) { place.node->Read(std::move(done)); });
  }
  static absl::Status Change(Place& place, MemberChange change) {
    return Wait([&](Shell::Done done) { place.node->ChangeMembers(change, std::move(done)); });
  }
  // Asks again until it is answered; a command may then be in the list more than once.
  void Append(const std::string& command) {
    ASSERT_TRUE(WaitUntil([&] {
      Place* leader = Leader();
      return leader != nullptr && Propose(*leader, command).ok();
    })) << command;
    acknowledged_.push_back(command);
  }
  void AppendMany(size_t count) {
    for (size_t i = 0; i < count; ++i) Append(absl::StrCat("line ", ++appended_));
  }
  // All nodes that run have the same list, with all that was acknowledged, in that order.
  void ExpectAllEqual() {
    Append(absl::StrCat("last ", ++appended_));
    std::vector<std::string> first;
    EXPECT_TRUE(WaitUntil([&] {
      std::set<std::vector<std::string>> lists;
      for (auto& [number, place] : places_) {
        if (place.node != nullptr) lists.insert(place.machine->lines());
      }
      if (lists.size() != 1) return false;
      first = *lists.begin();
      return true;
    }));
    size_t next = 0;
    for (const std::string& line : first) {
      if (next < acknowledged_.size() && line == acknowledged_[next]) ++next;
    }
    EXPECT_EQ(next, acknowledged_.size()) << "lost: " << acknowledged_[next];
  }

  TemporaryDirectory directory_;
  std::map<size_t, Place> places_;
  std::vector<std::string> acknowledged_;
  uint64_t appended_ = 0;
};

TEST_F(NodeClusterTest, OneNode_AppliesAndComesBack) {
  Begin(1);
  AppendMany(20);
  EXPECT_TRUE(Read(WaitForLeader()).ok());
  EXPECT_EQ(Wait([&](Shell::Done done) { places_[0].node->Transfer(0, done); }).code(),
            absl::StatusCode::kNotFound);
  Kill(places_[0]);
  Start(places_[0]);
  ExpectAllEqual();
}

TEST_F(NodeClusterTest, CommandThatTheLeaderDoesNotUnderstand_IsRefusedBeforeItIsAppended) {
  Begin(1);
  AppendMany(1);
  const Index last = places_[0].node->Status().last;
  EXPECT_EQ(Propose(places_[0], "? newer").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(places_[0].node->Status().last, last);
  ExpectAllEqual();
}

TEST_F(NodeClusterTest, NodesEndedInTurn_LoseNothing) {
  Begin(3);
  for (int round = 0; round < 6; ++round) {
    AppendMany(15);
    Place& victim = round % 2 == 0 ? WaitForLeader() : places_[static_cast<size_t>(round) % 3];
    Kill(victim);
    AppendMany(5);
    Start(victim);
  }
  for (auto& [number, place] : places_) Kill(place);
  for (auto& [number, place] : places_) Start(place);
  ExpectAllEqual();
}

TEST_F(NodeClusterTest, ManyCommandsAtOnce_AreFewWritesInOrder) {
  Begin(3);
  Place& leader = WaitForLeader();
  std::atomic<int> answered = 0, failed = 0;
  for (int i = 0; i < 5000; ++i) {
    leader.node->Propose(absl::StrCat(i), [&](const absl::StatusOr<std::string>& answer) {
      ++answered;
      failed += !answer.ok();
    });
  }
  ASSERT_TRUE(WaitUntil([&] { return answered == 5000; }));
  EXPECT_EQ(failed, 0);
  const std::vector<std::string> lines = leader.machine->lines();
  ASSERT_EQ(lines.size(), 5000u);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(lines[static_cast<size_t>(i)], absl::StrCat(i));
  EXPECT_GT(leader.node->Status().snapshot, 0u) << "nothing was compacted";
}

TEST_F(NodeClusterTest, LeaderCutOff_StepsDownAndReportsUnknownOutcomes) {
  Begin(3);
  AppendMany(3);
  Place& old = WaitForLeader();
  // It cannot reach any node, and no node can reach it.
  for (auto& [number, place] : places_) place.proxy->set_fault(FaultProxy::Fault::kDrop);
  absl::StatusOr<std::string> answer;
  EXPECT_TRUE(WaitUntil([&] {
    answer = Propose(old, "perhaps");
    return !answer.ok();
  }));
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(IsCommitUnknown(answer.status())) << answer.status();
  EXPECT_EQ(Read(old).code(), absl::StatusCode::kUnavailable);
  const auto refused = Propose(old, "certainly not");
  EXPECT_FALSE(IsCommitUnknown(refused.status())) << refused.status();
  for (auto& [number, place] : places_) place.proxy->set_fault(FaultProxy::Fault::kNone);
  ExpectAllEqual();
  for (const std::string& line : old.machine->lines()) EXPECT_NE(line, "certainly not");
}

TEST_F(NodeClusterTest, LeaderThatHearsNoNode_IsReplaced) {
  Begin(3);
  AppendMany(3);
  Place& old = WaitForLeader();
  const Term term = old.node->Status().term;
  // It is still heard by all nodes: only messages to it vanish.
  old.proxy->set_fault(FaultProxy::Fault::kDrop);
  Place& next = WaitForLeader(&old);
  EXPECT_GT(next.node->Status().term, term);
  AppendMany(3);
  old.proxy->set_fault(FaultProxy::Fault::kNone);
  ExpectAllEqual();
}

TEST_F(NodeClusterTest, Transfer_HandsOverAtOnce) {
  Begin(3);
  for (int round = 0; round < 4; ++round) {
    AppendMany(5);
    Place& old = WaitForLeader();
    const absl::Status status = Wait([&](Shell::Done done) { old.node->Transfer(0, done); });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_NE(old.node->Status().role, Role::kLeader);
    WaitForLeader(&old);
  }
  ExpectAllEqual();
}

TEST_F(NodeClusterTest, MembersComeAndGo) {
  Begin(3);
  AppendMany(400);  // more than what is compacted: a newcomer gets a snapshot
  Place& newcomer = Make(3);
  Start(newcomer);
  Place* leader = &WaitForLeader();
  const MemberChange add{MemberChange::Kind::kAddLearner, newcomer.id, newcomer.address()};
  ASSERT_TRUE(WaitUntil([&] { return Change(WaitForLeader(), add).ok(); }));
  ASSERT_TRUE(WaitUntil([&] {
    return Change(WaitForLeader(), {MemberChange::Kind::kPromote, newcomer.id, ""}).ok();
  }));
  AppendMany(5);
  EXPECT_GT(newcomer.node->Status().snapshot, 0u);

  leader = &WaitForLeader();
  const NodeStatus status = leader->node->Status();
  ASSERT_EQ(status.members.size(), 4u);
  for (const NodeStatus::OfMember& one : status.members) {
    EXPECT_TRUE(one.member.voter);
    EXPECT_GT(one.match, 400u);
    EXPECT_TRUE(one.silent_for.has_value());
  }
  EXPECT_EQ(Change(*leader, {MemberChange::Kind::kRemove, 12345, ""}).code(),
            absl::StatusCode::kNotFound);
  // The leader itself goes, and says so.
  const absl::Status removed = Change(*leader, {MemberChange::Kind::kRemove, leader->id, ""});
  EXPECT_TRUE(removed.ok()) << removed;
  EXPECT_TRUE(WaitUntil([&] { return leader->node->Status().removed; }));
  Kill(*leader);
  ExpectAllEqual();
  // A node that was away when it was removed learns of it when it comes back.
  Place& now = WaitForLeader();
  Place* away = nullptr;
  for (auto& [number, place] : places_) {
    if (place.node != nullptr && &place != &now && &place != &newcomer) away = &place;
  }
  Kill(*away);
  ASSERT_TRUE(WaitUntil([&] {
    return Change(WaitForLeader(), {MemberChange::Kind::kRemove, away->id, ""}).ok();
  }));
  Start(*away);
  EXPECT_TRUE(WaitUntil([&] { return away->node->Status().removed; }));
  Kill(*away);
  ExpectAllEqual();
}

TEST_F(NodeClusterTest, LostDisk_IsANewMemberAndNeverTheOldOne) {
  Begin(3);
  AppendMany(5);
  Place& place = places_[1];
  const NodeId old = place.id;
  Kill(place);
  const uint16_t port = place.port;
  auto proxy = std::move(place.proxy);
  Make(1);
  place.port = port;
  place.proxy = std::move(proxy);  // the same address
  ASSERT_NE(place.id, old);
  Start(place);
  AppendMany(5);
  // The others call the old node there, and get a refusal.
  Place& leader = WaitForLeader();
  EXPECT_TRUE(WaitUntil([&] {
    for (const TcpTransport::Link& link : leader.transport->Links()) {
      if (link.to == old && link.error.find("one that lost its disk") != std::string::npos) {
        return true;
      }
    }
    return false;
  }));
  EXPECT_EQ(place.node->Status().commit, 0u);
  ASSERT_TRUE(WaitUntil([&] {
    return Change(WaitForLeader(), {MemberChange::Kind::kRemove, old, ""}).ok();
  }));
  ASSERT_TRUE(WaitUntil([&] {
    return Change(WaitForLeader(), {MemberChange::Kind::kAddLearner, place.id, place.address()})
        .ok();
  }));
  ExpectAllEqual();
}

TEST_F(NodeClusterTest, EndOfANode_AnswersEverybody) {
  Begin(3);
  Place& leader = WaitForLeader();
  for (auto& [number, place] : places_) {
    if (&place != &leader) Kill(place);
  }
  std::atomic<int> answered = 0;
  for (int i = 0; i < 100; ++i) {
    leader.node->Propose("x", [&](const absl::StatusOr<std::string>& answer) {
      EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
      ++answered;
    });
    leader.node->Read([&](const absl::Status& status) {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      ++answered;
    });
  }
  Kill(leader);
  EXPECT_EQ(answered, 200);
}

}  // namespace
}  // namespace locus::raft
