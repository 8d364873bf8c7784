// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/node/cluster_node.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <iostream>
#include <map>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/node/test_cluster.h"
#include "tests/support/private_server.h"
#include "tests/worker/worker_lease_store_contract.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

class ClusterUnderTest : public WorkerStoreUnderTest {
 public:
  explicit ClusterUnderTest(int nodes) : cluster_(nodes, clock_) {}
  std::unique_ptr<WorkerLeaseStore> Connect() override { return cluster_.Connect(); }
  void LoseAll() override { cluster_.LoseAll(); }
  fakes::ManualClock& clock() override { return clock_; }
  bool is_open_to_many() const override { return true; }

 private:
  fakes::ManualClock clock_;
  TestCluster cluster_;
};

INSTANTIATE_TEST_SUITE_P(
    Raft, WorkerLeaseStoreContract,
    ::testing::Values(WorkerEngine{"one", [] { return std::make_unique<ClusterUnderTest>(1); }},
                      WorkerEngine{"three", [] { return std::make_unique<ClusterUnderTest>(3); }}));

class ClusterNodeTest : public ::testing::Test {
 protected:
  WorkerAcquire Wish(const std::string& nonce) {
    WorkerAcquire wish;
    wish.nonce = nonce;
    wish.term.ttl = absl::Seconds(10);
    wish.term.max_skew = absl::ZeroDuration();
    wish.caller_now = clock_.Now();
    return wish;
  }
  WorkerRenew RenewalOf(const WorkerGrant& grant, const std::string& nonce) {
    WorkerRenew renewal;
    renewal.worker = grant.worker;
    renewal.token = grant.token;
    renewal.ceiling = grant.ceiling;
    renewal.term = Wish(nonce).term;
    renewal.term.max_skew = absl::Seconds(10);
    renewal.nonce = nonce;
    renewal.caller_now = clock_.Now();
    return renewal;
  }
  static TestCluster::Adjust Gathering(absl::Duration gather) {
    return [gather](int, cluster_node::ClusterNodeOptions& options) { options.gather = gather; };
  }
  // Such a leader takes its time to notice that it is alone, also on a machine that is busy.
  static TestCluster::Adjust WithoutHaste() {
    return [](int, cluster_node::ClusterNodeOptions& options) {
      options.shell.election = std::chrono::seconds(4);
      options.pipeline = 1;
    };
  }
  uint64_t Held(TestCluster& cluster, int node) { return cluster.node(node)->stats().held; }

  fakes::ManualClock clock_;
  const SpaceName space_;
};

TEST_F(ClusterNodeTest, LeaderKilled_TheNextHasAllThatWasAcknowledged) {
  TestCluster cluster(3, clock_);
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  std::vector<WorkerGrant> grants;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 5; ++i) {
      auto grant = store->Acquire(space_, Wish("n" + std::to_string(grants.size())));
      ASSERT_TRUE(grant.ok()) << grant.status();
      for (const WorkerGrant& other : grants) EXPECT_NE(grant->worker, other.worker);
      grants.push_back(*grant);
    }
    const int leader = cluster.WaitForLeader();
    ASSERT_GE(leader, 0);
    cluster.Kill(leader);
    for (size_t i = 0; i < grants.size(); ++i) {
      auto renewed = store->Renew(space_, RenewalOf(grants[i], "n" + std::to_string(i)));
      ASSERT_TRUE(renewed.ok()) << renewed.status();
      EXPECT_EQ(renewed->token, grants[i].token);
      EXPECT_FALSE(renewed->loss_noticed);
      grants[i].ceiling = renewed->ceiling;
    }
    cluster.Start(leader);
  }
  EXPECT_EQ(store->Show(space_)->workers.size(), grants.size());
}

// Without any request, the leader ends the lease by itself.
TEST_F(ClusterNodeTest, LeaseThatIsNotRenewed_IsEndedByTheLeader) {
  TestCluster cluster(3, clock_);
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  auto grant = store->Acquire(space_, Wish("a"));
  ASSERT_TRUE(grant.ok()) << grant.status();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(WaitUntil([&] { return Held(cluster, i) == 1; })) << i;
  }
  clock_.Advance(absl::Seconds(11));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(WaitUntil([&] { return Held(cluster, i) == 0; })) << i;
  }
  EXPECT_EQ(store->Renew(space_, RenewalOf(*grant, "a")).status().code(),
            absl::StatusCode::kAborted);
}

TEST_F(ClusterNodeTest, Follower_RefusesAndNamesTheLeader) {
  TestCluster cluster(3, clock_);
  int leader = -1;
  cluster_node::ClusterNode* follower = nullptr;
  absl::Status status;
  // Once more if the leader was another one before the answer came, as on a machine that is busy.
  ASSERT_TRUE(WaitUntil([&] {
    leader = cluster.WaitForLeader();
    const raft::Term term = cluster.node(leader)->Status().term;
    follower = cluster.node((leader + 1) % 3);
    std::promise<cluster_machine::Answer> promise;
    follower->Submit({std::nullopt, space_, cluster_machine::Create{{}, clock_.Now()}},
                     [&](cluster_machine::Answer answer) { promise.set_value(std::move(answer)); });
    status = promise.get_future().get().status;
    const raft::NodeStatus after = cluster.node(leader)->Status();
    return after.leads_for_sure && after.term == term;
  }));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_TRUE(WaitUntil([&] {
    const raft::NodeStatus follows = follower->Status();
    return follows.leader != 0 && follows.leader != follows.self && !follows.leader_address.empty();
  }));
}

// Many requests at once become few commands.
TEST_F(ClusterNodeTest, RequestsAtOnce_ShareCommands) {
  TestCluster cluster(1, clock_);
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  auto grant = store->Acquire(space_, Wish("a"));
  ASSERT_TRUE(grant.ok()) << grant.status();
  const cluster_node::ClusterNode::Stats before = cluster.node(0)->stats();
  constexpr int kRenewals = 5000;
  std::atomic<int> good = 0;
  std::promise<void> done;
  std::atomic<int> left = kRenewals;
  for (int i = 0; i < kRenewals; ++i) {
    cluster.node(0)->Submit({std::nullopt, space_, RenewalOf(*grant, "a")},
                            [&](const cluster_machine::Answer& answer) {
                              if (answer.status.ok()) ++good;
                              if (--left == 0) done.set_value();
                            });
  }
  done.get_future().wait();
  EXPECT_EQ(good, kRenewals);
  const cluster_node::ClusterNode::Stats after = cluster.node(0)->stats();
  EXPECT_EQ(after.requests - before.requests, static_cast<uint64_t>(kRenewals));
  EXPECT_LT(after.commands - before.commands, static_cast<uint64_t>(kRenewals) / 4);
}

// Renewals wait for others, but not without end, not behind a request that a client waits for, and
// not if many come.
TEST_F(ClusterNodeTest, Renewals_AreGathered) {
  TestCluster cluster(1, clock_, {}, Gathering(absl::Minutes(3)));
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  std::vector<WorkerGrant> grants;
  for (int i = 0; i < 5; ++i) {
    grants.push_back(store->Acquire(space_, Wish(absl::StrCat("n", i))).value());
  }
  cluster_node::ClusterNode& node = *cluster.node(0);
  std::atomic<int> answered = 0;
  auto renew = [&](int i) {
    node.Submit({std::nullopt, space_, RenewalOf(grants[i], absl::StrCat("n", i))},
                [&](const cluster_machine::Answer& answer) {
                  EXPECT_TRUE(answer.status.ok()) << answer.status;
                  ++answered;
                });
  };
  auto before = node.stats();
  for (int i = 0; i < 5; ++i) renew(i);
  EXPECT_EQ(answered, 0);
  const absl::Time asked = absl::Now();
  ASSERT_TRUE(store->Acquire(space_, Wish("more")).ok());
  EXPECT_TRUE(WaitUntil([&] { return answered == 5; }));
  EXPECT_LT(absl::Now() - asked, absl::Minutes(2));
  auto after = node.stats();
  EXPECT_EQ(after.requests - before.requests, 6u);
  EXPECT_EQ(after.commands - before.commands, 1u);
  // So many that they meet anyway.
  for (int i = 0; i < 16; ++i) renew(i % 5);
  EXPECT_TRUE(WaitUntil([&] { return answered == 21; }));
}

TEST_F(ClusterNodeTest, LoneRenewal_IsAnsweredWhenItsTimeHasCome) {
  TestCluster cluster(1, clock_, {}, Gathering(absl::Milliseconds(300)));
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  const WorkerGrant grant = store->Acquire(space_, Wish("n")).value();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(store->Renew(space_, RenewalOf(grant, "n")).ok());
  }
}

TEST_F(ClusterNodeTest, NodeThatEnds_AnswersAllWaitingCallers) {
  TestCluster cluster(3, clock_, {}, WithoutHaste());
  const int leader = cluster.WaitForLeader();
  ASSERT_GE(leader, 0);
  for (int i = 0; i < 3; ++i) {
    if (i != leader) cluster.Kill(i);  // nothing is committed any more
  }
  std::promise<cluster_machine::Answer> promise;
  cluster.node(leader)->Submit(
      {std::nullopt, space_, cluster_machine::Create{{}, clock_.Now()}},
      [&](cluster_machine::Answer answer) { promise.set_value(std::move(answer)); });
  cluster.Kill(leader);
  EXPECT_EQ(promise.get_future().get().status.code(), absl::StatusCode::kUnavailable);
}

// As an API does, to say where the leader is.
TEST_F(ClusterNodeTest, NodeThatEnds_ShowsItsStatusToTheCallersItAnswers) {
  constexpr int kRequests = 3'000;  // more than the command under way takes
  TestCluster cluster(3, clock_, {}, WithoutHaste());
  const int leader = cluster.WaitForLeader();
  ASSERT_GE(leader, 0);
  for (int i = 0; i < 3; ++i) {
    if (i != leader) cluster.Kill(i);
  }
  cluster_node::ClusterNode* const node = cluster.node(leader);
  const raft::NodeId self = node->Status().self;
  std::atomic<int> answered = 0, others = 0;
  auto ask = [&] {
    if (node->Status().self != self) ++others;
    ++answered;
  };
  for (int i = 0; i < kRequests; ++i) {
    node->Submit({std::nullopt, space_, cluster_machine::Create{{}, clock_.Now()}},
                 [&](const cluster_machine::Answer&) { ask(); });
  }
  node->Show(space_, 0, SIZE_MAX, [&](const absl::StatusOr<WorkerSpaceView>&) { ask(); });
  EXPECT_LT(answered, kRequests);
  cluster.Kill(leader);
  EXPECT_EQ(answered, kRequests + 1);
  EXPECT_EQ(others, 0);
}

// As after a downgrade: the log contains a command that this version cannot apply.
TEST_F(ClusterNodeTest, CommittedCommandOfANewerVersion_StopsTheNodeAndNamesTheEntry) {
  TestCluster cluster(1, clock_);
  ASSERT_TRUE(cluster.Connect()->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  const raft::NodeStatus before = cluster.node(0)->Status();
  cluster.Kill(0);
  raft::Write newer;
  {
    auto store = cluster.OpenStore(0);
    const raft::Index last = store->Load()->remembered.entries.size();
    newer.from = last + 1;
    newer.entries = {{before.term, raft::Entry::Kind::kCommand, "\xFFnewer", {}}};
    ASSERT_TRUE(store->Apply({&newer, 1}).ok());
  }
  for (int life = 0; life < 2; ++life) {
    cluster.Start(0);
    EXPECT_TRUE(WaitUntil([&] { return !cluster.node(0)->Status().failure.ok(); }));
    const raft::NodeStatus status = cluster.node(0)->Status();
    EXPECT_EQ(status.failure.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.failure.message()),
                ::testing::AllOf(HasSubstr(absl::StrCat("entry ", newer.from, " of term ",
                                                        before.term, " is not understood")),
                                 HasSubstr("if a newer version wrote it")));
    EXPECT_EQ(status.applied, newer.from - 1);
    cluster.Kill(0);
  }
}

// A leader whose wall clock jumps by an hour moves the cluster's time by next to nothing.
TEST_F(ClusterNodeTest, ClocksOfFollowers_FollowTheLeaders) {
  TestCluster cluster(3, clock_);
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  // All have applied the same, so a follower does so at the time at which the command was made.
  auto is_level = [&] {
    const raft::NodeStatus first = cluster.node(0)->Status();
    for (int i = 0; i < 3; ++i) {
      const raft::NodeStatus status = cluster.node(i)->Status();
      if (status.applied != status.last || status.last != first.last) return false;
    }
    return true;
  };
  // Followers see the time go by, twice at least.
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(WaitUntil(is_level));
    clock_.Advance(absl::Seconds(6));
    auto grant = store->Acquire(space_, Wish("n" + std::to_string(i)));
    ASSERT_TRUE(grant.ok()) << grant.status();
  }
  ASSERT_TRUE(WaitUntil(is_level));
  const absl::Time before = store->Show(space_)->now;
  const int leader = cluster.WaitForLeader();
  ASSERT_GE(leader, 0);
  clock_.Jump(absl::Hours(1));
  cluster.Kill(leader);
  // With the first command of a new leader. Its clock is wrong, so it soon hands over to the other
  // node, whose clock is also wrong.
  EXPECT_TRUE(WaitUntil([&] {
    for (int i = 0; i < 3; ++i) {
      if (i != leader && cluster.node(i)->stats().clock_off > absl::Minutes(59)) return true;
    }
    return false;
  }));
  EXPECT_LT(store->Show(space_)->now - before, absl::Minutes(1));
}

// That callers do not wait for it is tested in tests/raft/node; how long they do is measured in
// bench/cluster.
TEST_F(ClusterNodeTest, SnapshotOfALargeState_CallersAreAnsweredAndItIsRestored) {
  constexpr int kCounters = 1 << 17;
  TestCluster cluster(1, clock_, {}, [](int, cluster_node::ClusterNodeOptions& options) {
    options.shell.compact_entries = 200;
    options.shell.limits.kept = 1;
  });
  ASSERT_GE(cluster.WaitForLeader(), 0);
  auto call = [&](counter_machine::Call::Kind kind, const std::string& name, int64_t number,
                  std::function<void(cluster_machine::Answer)> answered) {
    counter_machine::Call one;
    one.kind = kind;
    one.name = name;
    one.number = number;
    if (kind == counter_machine::Call::Kind::kTake) {
      one.last_of_first = number;
      one.max_value = INT64_MAX;
    }
    cluster.node(0)->Submit({{}, space_, std::move(one)}, std::move(answered));
  };
  auto name = [](int i) { return absl::StrCat("a counter with a name of some length ", i); };
  std::atomic<int> stored = 0, failed = 0;
  for (int i = 0; i < kCounters; ++i) {
    ASSERT_TRUE(WaitUntil([&] { return i - stored < 20'000; }));
    call(counter_machine::Call::Kind::kStore, name(i), i,
         [&](const cluster_machine::Answer& answer) {
           if (!answer.status.ok()) ++failed;
           ++stored;
         });
  }
  ASSERT_TRUE(WaitUntil([&] { return stored == kCounters; }));
  ASSERT_EQ(failed, 0);
  const raft::Index before = cluster.node(0)->Status().applied;
  absl::Duration worst;
  int64_t taken = 0;
  while (cluster.node(0)->Status().snapshot < before) {
    std::promise<cluster_machine::Answer> promise;
    const absl::Time asked = absl::Now();
    call(counter_machine::Call::Kind::kTake, "busy", 1,
         [&](cluster_machine::Answer answer) { promise.set_value(std::move(answer)); });
    const cluster_machine::Answer answer = promise.get_future().get();
    worst = std::max(worst, absl::Now() - asked);
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    ++taken;
  }
  RecordProperty("worst_wait_ms", static_cast<int>(absl::ToInt64Milliseconds(worst)));
  std::cout << "worst wait " << worst << " of " << taken << " calls beside the snapshot\n";
  cluster.Kill(0);
  cluster.Start(0);
  ASSERT_GE(cluster.WaitForLeader(), 0);
  for (const auto& each : std::map<std::string, int64_t>{
           {"busy", taken}, {name(0), 0}, {name(kCounters - 1), kCounters - 1}}) {
    std::optional<int64_t> loaded;
    ASSERT_TRUE(WaitUntil([&] {
      std::promise<cluster_machine::Answer> promise;
      call(counter_machine::Call::Kind::kLoad, each.first, 0,
           [&](cluster_machine::Answer answer) { promise.set_value(std::move(answer)); });
      const cluster_machine::Answer answer = promise.get_future().get();
      if (answer.status.ok()) loaded = std::get<counter_machine::Reply>(answer.reply).value;
      return answer.status.ok();
    }));
    EXPECT_EQ(loaded, each.second) << each.first;
  }
}

}  // namespace
}  // namespace locus
