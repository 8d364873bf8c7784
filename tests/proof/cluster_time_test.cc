// SPDX-License-Identifier: Apache-2.0
// The time of a cluster of three processes, while some of them are paused or have a wrong clock.
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd.h"
#include "locus/engine/locusd_cluster.h"
#include "tests/proof/cluster.h"
#include "tests/proof/network.h"
#include "tests/proof/seeds.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::proof {
namespace {

using ::testing::IsEmpty;

constexpr int kNodes = 3;

class ClusterTimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto network = MakeNetwork(kNodes, directory_.str());
    ASSERT_TRUE(network.ok()) << network.status();
    network_ = *std::move(network);
    cluster_ = std::make_unique<Cluster>(*network_, directory_.str(), secrets_, kNodes, 64 << 20);
    ASSERT_TRUE(cluster_->Begin(kNodes)) << cluster_->wrong().front();
    LocusdOptions options;
    options.endpoints = cluster_->EndpointsFromHere();
    options.token = secrets_.token;
    options.tls = {true, secrets_.authority};
    options.timeout = absl::Seconds(2);
    auto leases = LocusdWorkerLeaseStore::Open(options);
    ASSERT_TRUE(leases.ok()) << leases.status();
    leases_ = *std::move(leases);
    const absl::Status created = leases_->Create(space_, {.first_ever = true}, absl::Now());
    ASSERT_TRUE(created.ok()) << created;
  }
  void TearDown() override {
    cluster_->End();
    EXPECT_THAT(cluster_->wrong(), IsEmpty());
  }

  // How far the cluster's time is ahead of this process's, give or take what the answer took.
  absl::Duration Ahead() {
    absl::Duration ahead = absl::InfiniteDuration();
    WaitUntil(
        [&] {
          cluster_->Supervise();
          const absl::Time asked = absl::Now();
          const auto view = leases_->Show(space_);
          if (view.ok()) ahead = view->now - (asked + (absl::Now() - asked) / 2);
          return view.ok();
        },
        absl::Minutes(2));
    return ahead;
  }
  // With the scope read; empty: it is ready.
  std::string WhyNotReady(int node) {
    const auto said = cluster_->Get(node, "/readyz");
    return said.ok() ? "" : std::string(said.status().message());
  }
  std::unique_ptr<LocusdCluster> Operator() {
    LocusdOptions options;
    options.endpoints = cluster_->EndpointsFromHere();
    options.token = secrets_.token;
    options.tls = {true, secrets_.authority};
    auto opened = LocusdCluster::Open(options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  absl::StatusOr<WorkerGrant> Acquire() {
    WorkerAcquire wish;
    wish.nonce = absl::StrCat("n", ++nonces_);
    wish.range = {0, 1023};
    wish.caller_now = absl::Now();
    return leases_->Acquire(space_, wish);
  }

  TemporaryDirectory directory_;
  Secrets secrets_{directory_.str()};
  std::unique_ptr<Network> network_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<WorkerLeaseStore> leases_;
  const SpaceName space_;
  std::atomic<int> nonces_ = 0;
};

// They apply what the leader proposed before, and one of them leads.
TEST_F(ClusterTimeTest, FollowersPausedWhileCommandsAreUnderWay_TheTimeIsNotSetBack) {
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) {
      const auto grant = Acquire();
      if (grant.ok()) (void)leases_->Release(space_, {grant->worker, grant->token, absl::Now()});
    }
  });
  for (int round = 0; round < 4; ++round) {
    const int leader = cluster_->WaitForLeader();
    ASSERT_GE(leader, 0);
    ASSERT_TRUE(WaitUntil([&] { return cluster_->Agrees(); }));
    const int before = nonces_;
    ASSERT_TRUE(WaitUntil([&] { return nonces_ > before + 20; }));
    for (int i = 0; i < kNodes; ++i) {
      if (i != leader) cluster_->Stall(i);
    }
    const absl::Time until = absl::Now() + absl::Seconds(4);
    WaitUntil([&] { return absl::Now() >= until; });
    for (int i = 0; i < kNodes; ++i) {
      if (i != leader) cluster_->Resume(i);
    }
    EXPECT_LE(absl::AbsDuration(Ahead()), absl::Seconds(1)) << round;
  }
  stop = true;
  writer.join();
}

// Two clocks disagree, so the right one is unknown: the earlier one counts. Then the third node
// starts.
class FirstNodeTest : public ClusterTimeTest, public ::testing::WithParamInterface<int> {};

TEST_P(FirstNodeTest, AllWereDownAndTheFirstNodesClockIsWrong_ItDoesNotSetTheTime) {
  for (int i = 0; i < kNodes; ++i) cluster_->Kill(i);
  cluster_->Page(2)->clock_shift_ns = absl::ToInt64Nanoseconds(GetParam() * absl::Hours(1));
  cluster_->Start(2);
  ASSERT_TRUE(WaitUntil([&] { return cluster_->StatusOf(2).has_value(); }));
  cluster_->Start(0);
  ASSERT_GE(cluster_->WaitForLeader(), 0);
  EXPECT_TRUE(WaitUntil([&] { return Ahead() <= absl::Seconds(1); }));
  cluster_->Start(1);
  ASSERT_TRUE(WaitUntil([&] { return cluster_->Agrees(); }));
  EXPECT_TRUE(WaitUntil([&] {
    const absl::Duration ahead = Ahead();
    EXPECT_LE(ahead, absl::Seconds(1));
    return ahead >= -absl::Seconds(1);
  }));
  const auto grant = Acquire();
  EXPECT_TRUE(grant.ok()) << grant.status();
  // The status names the node and the remedy.
  const std::string which = GetParam() > 0 ? "ahead of the cluster's time" : "behind the cluster's";
  EXPECT_TRUE(WaitUntil([&] {
    const std::string said = WhyNotReady(2);
    return absl::StrContains(said, which) && absl::StrContains(said, cluster_->ApiOf(2)) &&
           absl::StrContains(said, "mend its NTP") && absl::StrContains(said, "locus cluster time");
  })) << WhyNotReady(2);
  EXPECT_EQ(WhyNotReady(0), "");
  const absl::Status health = Operator()->Show().Health();
  EXPECT_TRUE(absl::StrContains(health.message(), which)) << health;
}

// TLS between nodes also depends on clocks.
TEST_F(ClusterTimeTest, CertificatesAreNotYetValidForANodesClock_ItReportsItsClock) {
  cluster_->Kill(2);
  cluster_->Page(2)->clock_shift_ns = -absl::ToInt64Nanoseconds(Secrets::kAge + absl::Hours(1));
  cluster_->Start(2);
  const std::string day = absl::FormatTime("%Y-%m-%d", absl::Now() - Secrets::kAge - absl::Hours(1),
                                           absl::UTCTimeZone());
  EXPECT_TRUE(WaitUntil([&] {
    const std::string said = WhyNotReady(2);
    return absl::StrContains(said,
                             "certificate is not yet valid (this machine's clock shows " + day);
  })) << WhyNotReady(2);
  EXPECT_TRUE(Acquire().ok());
}

INSTANTIATE_TEST_SUITE_P(Hours, FirstNodeTest, ::testing::Values(1, -1),
                         [](const auto& test) { return test.param > 0 ? "Ahead" : "Behind"; });

// A second clock was wrong as well, and is mended.
TEST_F(ClusterTimeTest, MajorityContradictsTheTime_ItIsCorrected) {
  for (int i = 0; i < kNodes; ++i) {
    cluster_->Kill(i);
    cluster_->Page(i)->clock_shift_ns = absl::ToInt64Nanoseconds(absl::Seconds(20));
  }
  for (int i = 0; i < kNodes; ++i) cluster_->Start(i);
  // A leader answers with the time of the last command until its own first one.
  EXPECT_TRUE(WaitUntil([&] { return Ahead() >= absl::Seconds(15); }));
  for (int i = 0; i < 2; ++i) cluster_->Page(i)->clock_shift_ns = 0;
  EXPECT_TRUE(WaitUntil([&] { return Ahead() <= absl::Seconds(2); }, absl::Minutes(3)));
  const auto grant = Acquire();
  EXPECT_TRUE(grant.ok()) << grant.status();
}

// All clocks were an hour behind, and are mended: by itself it would take 16 hours.
TEST_F(ClusterTimeTest, TimeIsAnHourBehind_AnOperatorAdvancesIt) {
  for (int i = 0; i < kNodes; ++i) {
    cluster_->Page(i)->clock_shift_ns = absl::ToInt64Nanoseconds(absl::Hours(1));
  }
  const auto cluster = Operator();
  ASSERT_TRUE(Acquire().ok());
  absl::StatusOr<LocusdTime> time;
  ASSERT_TRUE(WaitUntil([&] {
    time = cluster->ShowTime();
    return time.ok() && time->agreed && *time->agreed - time->time > absl::Minutes(59);
  })) << time.status();
  EXPECT_EQ(time->ending, 1u);
  // The leader may change at any moment, and a new one has yet to hear the clocks.
  absl::Status advanced;
  ASSERT_TRUE(WaitUntil([&] {
    advanced = cluster->AdvanceTime(absl::Hours(2)).status();
    return advanced.ok();
  })) << advanced;
  EXPECT_LE(absl::AbsDuration(Ahead() - absl::Hours(1)), absl::Seconds(2));
}

}  // namespace
}  // namespace locus::proof
