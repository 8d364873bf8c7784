// SPDX-License-Identifier: Apache-2.0
// The cluster's time where a node leads soon after it has started.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "locus/testing/manual_clock.h"
#include "tests/cluster/node/test_cluster.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

// Of elections: a node of the first kind stands several times before one of the second kind, which
// grants no vote until it has missed the leader for so long.
constexpr std::chrono::milliseconds kSoon(500);
constexpr std::chrono::milliseconds kLater(1200);

// A node's own: the true time and a skew, and another time since boot.
class NodeClock : public Clock {
 public:
  NodeClock(Clock& truth, absl::Duration boot_ahead) : truth_(truth), boot_ahead_(boot_ahead) {}
  absl::Time Now() override { return truth_.Now() + absl::Milliseconds(skew_ms_.load()); }
  absl::Duration SinceBoot() override { return truth_.SinceBoot() + boot_ahead_; }
  void SleepFor(absl::Duration duration) override { truth_.SleepFor(duration); }
  void Skew(absl::Duration skew) { skew_ms_ = absl::ToInt64Milliseconds(skew); }

 private:
  Clock& truth_;
  const absl::Duration boot_ahead_;
  std::atomic<int64_t> skew_ms_ = 0;
};

class ClusterNodeClockTest : public ::testing::Test {
 protected:
  // Of a lease that lasts 10 s and `max_skew`.
  WorkerAcquire Wish(const std::string& nonce, absl::Duration max_skew = {}) {
    WorkerAcquire wish;
    wish.nonce = nonce;
    wish.term.ttl = absl::Seconds(10);
    wish.term.max_skew = max_skew;
    wish.caller_now = clock_.Now();
    return wish;
  }
  TestCluster::Adjust Adjusted() {
    return [this](int node, cluster_node::ClusterNodeOptions& options) {
      options.clock = &clocks_[static_cast<size_t>(node)];
      if (adjust_) adjust_(node, options);
    };
  }
  NodeClock& ClockOf(int node) { return clocks_[static_cast<size_t>(node)]; }

  // The node has all that the leader has, and has heard it.
  static bool FollowsWithAll(TestCluster& cluster, int node, int leader) {
    const raft::NodeStatus of_leader = cluster.node(leader)->Status();
    const raft::NodeStatus status = cluster.node(node)->Status();
    return status.leader == of_leader.self && status.applied == of_leader.last &&
           status.last == of_leader.last;
  }
  static bool HasProposed(TestCluster& cluster, int node) {
    return cluster.node(node) != nullptr && cluster.node(node)->stats().commands > 0;
  }
  // How far the time of a command that is proposed now is ahead of the truth.
  absl::Duration Ahead(WorkerLeaseStore& store) {
    const absl::Status status = store.Create(space_, {.first_ever = true}, clock_.Now());
    EXPECT_TRUE(status.ok()) << status;
    return store.Show(space_)->now - clock_.Now();
  }
  void ExpectStillHeld(WorkerLeaseStore& store, const WorkerGrant& grant) {
    const auto other = store.Acquire(space_, Wish("another", absl::Seconds(20)));
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_NE(other->worker, grant.worker);
    const auto view = store.Show(space_);
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(view->workers.size(), 2u);
  }

  fakes::ManualClock clock_;
  std::array<NodeClock, 3> clocks_ = {NodeClock(clock_, absl::Hours(1)),
                                      NodeClock(clock_, absl::Hours(20)),
                                      NodeClock(clock_, absl::Minutes(1))};
  TestCluster::Adjust adjust_;
  const SpaceName space_;
};

class ClusterNodeSkewTest : public ClusterNodeClockTest,
                            public ::testing::WithParamInterface<std::tuple<int, bool>> {
 protected:
  absl::Duration skew() const { return absl::Milliseconds(std::get<0>(GetParam())); }
  bool from_snapshot() const { return std::get<1>(GetParam()); }
};

TEST_P(ClusterNodeSkewTest, StartedNodeIsHandedTheLeadership_ContinuesTheClustersTime) {
  if (from_snapshot()) {
    adjust_ = [](int, cluster_node::ClusterNodeOptions& options) {
      options.shell.compact_entries = 1;
      options.shell.limits.kept = 1;
    };
  }
  TestCluster cluster(3, clock_, {}, Adjusted());
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  const int leader = cluster.WaitForLeader();
  ASSERT_GE(leader, 0);
  const int started = (leader + 1) % 3;
  cluster.Kill(started);
  const auto grant = store->Acquire(space_, Wish("a"));
  ASSERT_TRUE(grant.ok()) << grant.status();
  ClockOf(started).Skew(skew());
  cluster.Start(started);
  ASSERT_TRUE(WaitUntil([&] { return FollowsWithAll(cluster, started, leader); }));
  clock_.Advance(absl::Seconds(4));
  cluster.node(leader)->Transfer(cluster.node(started)->Status().self, [](const absl::Status&) {});
  ASSERT_TRUE(WaitUntil([&] { return HasProposed(cluster, started); }));
  EXPECT_LE(absl::AbsDuration(Ahead(*store)), absl::Milliseconds(60));

  clock_.Advance(absl::Seconds(5));
  EXPECT_LE(absl::AbsDuration(Ahead(*store)), absl::Milliseconds(60));
  ExpectStillHeld(*store, *grant);
}

TEST_P(ClusterNodeSkewTest, LeaderDies_TheStartedNodeIsBehindByATickAtMost) {
  // The started node stands for election long before the other one.
  std::atomic<int> soon = -1;
  adjust_ = [&](int node, cluster_node::ClusterNodeOptions& options) {
    options.shell.election = node == soon ? kSoon : kLater;
    if (!from_snapshot()) return;
    options.shell.compact_entries = 1;
    options.shell.limits.kept = 1;
  };
  TestCluster cluster(3, clock_, {}, Adjusted());
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  const int leader = cluster.WaitForLeader();
  ASSERT_GE(leader, 0);
  const int started = (leader + 1) % 3;
  cluster.Kill(started);
  const auto grant = store->Acquire(space_, Wish("a"));
  ASSERT_TRUE(grant.ok()) << grant.status();
  ClockOf(started).Skew(skew());
  soon = started;
  cluster.Start(started);
  ASSERT_TRUE(WaitUntil([&] { return FollowsWithAll(cluster, started, leader); }));
  if (from_snapshot()) {
    EXPECT_GT(cluster.node(started)->Status().snapshot, 0u);
  }

  const absl::Duration tick = cluster_node::ClusterNodeOptions().tick;
  auto expect_good_time = [&] {
    const absl::Duration ahead = Ahead(*store);
    EXPECT_LE(ahead, absl::Milliseconds(60));
    EXPECT_GE(ahead, -tick - absl::Milliseconds(60));
  };
  clock_.Advance(absl::Seconds(4));
  cluster.Kill(leader);
  ASSERT_TRUE(WaitUntil(
      [&] { return HasProposed(cluster, started) || HasProposed(cluster, (leader + 2) % 3); }));
  expect_good_time();
  clock_.Advance(absl::Seconds(5));
  expect_good_time();
  ExpectStillHeld(*store, *grant);
}

// It is elected again before the others have noticed that it was away: it knows of no other leader.
TEST_P(ClusterNodeSkewTest, LeaderStartsAtOnce_ANodeThatKnowsTheTimeLeads) {
  std::atomic<int> soon = -1;
  adjust_ = [&](int node, cluster_node::ClusterNodeOptions& options) {
    options.shell.election = node == soon ? kSoon : kLater;
    if (!from_snapshot()) return;
    options.shell.compact_entries = 1;
    options.shell.limits.kept = 1;
  };
  TestCluster cluster(3, clock_, {}, Adjusted());
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  const auto grant = store->Acquire(space_, Wish("a"));
  ASSERT_TRUE(grant.ok()) << grant.status();
  const int leader = cluster.WaitForLeader();
  ASSERT_GE(leader, 0);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(WaitUntil([&] { return i == leader || FollowsWithAll(cluster, i, leader); }));
  }
  clock_.Advance(absl::Seconds(4));
  cluster.Kill(leader);
  ClockOf(leader).Skew(skew());
  soon = leader;
  cluster.Start(leader);
  for (int round = 0; round < 2; ++round) {
    EXPECT_LE(absl::AbsDuration(Ahead(*store)), absl::Milliseconds(60));
    if (round == 0) clock_.Advance(absl::Seconds(5));
  }
  ExpectStillHeld(*store, *grant);
}

INSTANTIATE_TEST_SUITE_P(Skews, ClusterNodeSkewTest,
                         ::testing::Values(std::tuple{4'800, false}, std::tuple{4'800, true},
                                           std::tuple{3'600'000, false},
                                           std::tuple{-3'600'000, false}),
                         [](const auto& test) {
                           const int skew = std::get<0>(test.param);
                           return absl::StrCat(skew < 0 ? "Behind" : "Ahead", std::abs(skew),
                                               std::get<1>(test.param) ? "Snapshot" : "");
                         });

// It alone is left, with a command that only it has; it stays up, and leads again an hour later.
TEST_F(ClusterNodeClockTest, ClusterWasWithoutAMajorityForAnHour_ANodeThatStayedUpKnowsTheTime) {
  TestCluster cluster(3, clock_, {}, Adjusted());
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  const int first = cluster.WaitForLeader();
  ASSERT_GE(first, 0);
  const int left = (first + 1) % 3;
  ASSERT_TRUE(WaitUntil([&] { return FollowsWithAll(cluster, left, first); }));
  cluster.node(first)->Transfer(cluster.node(left)->Status().self, [](const absl::Status&) {});
  ASSERT_TRUE(WaitUntil([&] { return HasProposed(cluster, left); }));
  EXPECT_LE(absl::AbsDuration(Ahead(*store)), absl::Milliseconds(60));
  for (int i = 0; i < 3; ++i) {
    if (i != left) cluster.Kill(i);
  }
  const raft::Index last = cluster.node(left)->Status().last;
  cluster.node(left)->Submit({{}, space_, cluster_machine::Create{}},
                             [](cluster_machine::Answer) {});
  ASSERT_TRUE(WaitUntil([&] { return cluster.node(left)->Status().last > last; }));
  ASSERT_TRUE(WaitUntil([&] { return cluster.node(left)->Status().role != raft::Role::kLeader; }));
  clock_.Advance(absl::Hours(1));
  cluster.Start(first);
  ASSERT_EQ(cluster.WaitForLeader(), left);
  EXPECT_LE(absl::AbsDuration(Ahead(*store)), absl::Milliseconds(60));
}

// The last command is days old when the next leader takes over, and a leader was alive.
TEST_F(ClusterNodeClockTest,
       AllWereDownAndTheFirstLeaderDiesBeforeItsFirstCommand_WallClockCounts) {
  std::atomic<int> mute = -1;
  adjust_ = [&](int node, cluster_node::ClusterNodeOptions& options) {
    if (mute < 0) return;
    options.shell.election = node == mute ? kSoon : kLater;
    if (node != mute) return;
    options.pipeline = 0;  // it proposes nothing
    options.tick = absl::InfiniteDuration();
  };
  TestCluster cluster(3, clock_, {}, Adjusted());
  ASSERT_TRUE(cluster.Connect()->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  const int leader = cluster.WaitForLeader();
  ASSERT_GE(leader, 0);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(WaitUntil([&] { return FollowsWithAll(cluster, i, leader); }));
  for (int i = 0; i < 3; ++i) cluster.Kill(i);
  clock_.Advance(absl::Hours(72));

  mute = 0;
  cluster.Start(0);
  cluster.Start(1);
  ASSERT_TRUE(WaitUntil(
      [&] { return cluster.node(0)->Status().leads_for_sure && FollowsWithAll(cluster, 1, 0); }));
  cluster.Kill(0);
  cluster.Start(2);  // which lacks an entry of the leader that died, and cannot lead
  ASSERT_TRUE(WaitUntil([&] { return HasProposed(cluster, 1); }));
  EXPECT_LE(absl::AbsDuration(Ahead(*cluster.Connect())), absl::Milliseconds(60));
}

// Each of two may be wrong, so the third is waited for: by the test's clock, for ever.
TEST_F(ClusterNodeClockTest, AllWereDownAndTwoClocksDisagree_TheThirdDecides) {
  for (const absl::Duration off : {-absl::Hours(1), absl::Hours(1)}) {
    TestCluster cluster(3, clock_, {}, Adjusted());
    ASSERT_TRUE(cluster.Connect()->Create(space_, {.first_ever = true}, clock_.Now()).ok());
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(WaitUntil([&] { return FollowsWithAll(cluster, i, cluster.WaitForLeader()); }));
    }
    for (int i = 0; i < 3; ++i) cluster.Kill(i);
    clock_.Advance(absl::Hours(72));
    ClockOf(0).Skew(off);
    cluster.Start(0);
    cluster.Start(1);
    ASSERT_GE(cluster.WaitForLeader(), 0);
    cluster.Start(2);
    ASSERT_TRUE(WaitUntil([&] {
      return HasProposed(cluster, 0) || HasProposed(cluster, 1) || HasProposed(cluster, 2);
    }));
    EXPECT_LE(absl::AbsDuration(Ahead(*cluster.Connect())), absl::Milliseconds(60)) << off;
  }
}

// The time is set ahead by more than the ttl of a counter, of which a process holds numbers.
TEST_F(ClusterNodeClockTest, TimeIsSetAhead_NoCounterIsForgottenBefore) {
  using TimeView = cluster_node::ClusterNode::TimeView;
  TestCluster cluster(3, clock_, {}, Adjusted());
  auto take = [&] {
    counter_machine::Call call;
    call.kind = counter_machine::Call::Kind::kTake;
    call.name = "a";
    call.number = call.last_of_first = 1;
    call.ttl = absl::Minutes(10);
    cluster_machine::Answer answer;
    EXPECT_TRUE(WaitUntil([&] {
      std::promise<cluster_machine::Answer> promise;
      cluster.node(cluster.WaitForLeader())
          ->Submit({std::nullopt, space_, call}, [&promise](cluster_machine::Answer said) {
            promise.set_value(std::move(said));
          });
      answer = promise.get_future().get();
      return answer.status.ok();
    })) << answer.status;
    return std::get<counter_machine::Reply>(answer.reply).value.value_or(0);
  };
  const int64_t first = take();
  clock_.Jump(absl::Hours(1));
  absl::Duration advanced;
  ASSERT_TRUE(WaitUntil([&] {
    std::promise<absl::StatusOr<TimeView>> promise;
    cluster.node(cluster.WaitForLeader())
        ->AdvanceTime(absl::Hours(2), [&promise](absl::StatusOr<TimeView> view) {
          promise.set_value(std::move(view));
        });
    const auto before = promise.get_future().get();
    if (before.ok()) advanced = *before->agreed - before->time;
    return advanced > absl::Minutes(59);
  }));
  const int64_t second = take();
  EXPECT_GT(second, first);

  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(WaitUntil([&] { return FollowsWithAll(cluster, i, cluster.WaitForLeader()); }));
  }
  for (int i = 0; i < 3; ++i) cluster.Kill(i);
  clock_.Jump(absl::Hours(1));
  for (int i = 0; i < 3; ++i) cluster.Start(i);
  EXPECT_GT(take(), second) << "all were down, and their clocks are ahead";
  EXPECT_LE(absl::AbsDuration(Ahead(*cluster.Connect())), absl::Milliseconds(60));
}

// The time that all nodes had was an hour behind, and their clocks were mended.
TEST_F(ClusterNodeClockTest, OperatorAdvancesATimeThatIsBehind_LeasesEndAndNoCeilingFalls) {
  using TimeView = cluster_node::ClusterNode::TimeView;
  TestCluster cluster(3, clock_, {}, Adjusted());
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  const auto grant = store->Acquire(space_, Wish("a"));
  ASSERT_TRUE(grant.ok()) << grant.status();
  clock_.Jump(absl::Hours(1));
  int leader = 0;  // which hands over while it knows the others' clocks from before
  auto call = [&](auto ask) {
    std::promise<absl::StatusOr<TimeView>> promise;
    ask([&promise](absl::StatusOr<TimeView> view) { promise.set_value(std::move(view)); });
    return promise.get_future().get();
  };
  auto advance = [&](absl::Duration most) {
    absl::StatusOr<TimeView> before;
    EXPECT_TRUE(WaitUntil([&] {
      leader = cluster.WaitForLeader();
      before = call([&](auto said) { cluster.node(leader)->AdvanceTime(most, said); });
      return !absl::IsUnavailable(before.status());
    }));
    return before;
  };
  absl::StatusOr<TimeView> view;
  ASSERT_TRUE(WaitUntil([&] {
    leader = cluster.WaitForLeader();
    view = call([&](auto said) { cluster.node(leader)->ShowTime(said); });
    return view.ok() && view->agreed && *view->agreed - view->time > absl::Minutes(59);
  })) << view.status();
  EXPECT_EQ(view->ending, 1u);
  const auto refused = advance(absl::Minutes(50));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_GT(clock_.Now() - store->Show(space_)->now, absl::Minutes(59));

  ASSERT_TRUE(advance(absl::Minutes(61)).ok());
  EXPECT_LE(absl::AbsDuration(store->Show(space_)->now - clock_.Now()), absl::Milliseconds(60));
  const auto again = advance(absl::Minutes(61));
  EXPECT_TRUE(again.ok() && again->ending == 0) << again.status();
  EXPECT_EQ(store->Show(space_)->workers[0].nonce, "") << "its lease has ended";
  const auto next = store->Acquire(space_, Wish("b"));
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->worker, grant->worker);
  EXPECT_GE(next->floor, grant->ceiling);
  EXPECT_GT(next->token, grant->token);
  // The next leader continues from there.
  cluster.Kill(leader);
  EXPECT_LE(absl::AbsDuration(store->Show(space_)->now - clock_.Now()), absl::Milliseconds(60));
}

}  // namespace
}  // namespace locus
