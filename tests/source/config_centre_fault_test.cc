// SPDX-License-Identifier: Apache-2.0
// Faults of a configuration centre never reach the traffic that routes by its tables, and routers
// follow again, by themselves, once it is back.
#include <array>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "locus/routing/router.h"
#include "locus/routing/table_change.h"
#include "tests/source/config_centre.h"
#include "tests/source/loopback_namespace.h"
#include "tests/source/table_place.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

// TableOfEpoch with other hosts in each of seven epochs.
RoutingTable TableOfHosts(uint64_t epoch) {
  RoutingTable table = TableOfEpoch(epoch);
  std::vector<Shard> shards = table.shards();
  for (Shard& shard : shards) {
    shard.endpoint = absl::StrCat("mysql://host-", epoch % 7, ":3306/orders-", shard.id);
  }
  return RoutingTable::Make(epoch, shards, table.ranges(), table.moves()).value();
}

// Threads that route all the time; TableOfHosts says what each answer must be.
class Traffic {
 public:
  // `published`: the highest epoch that an answer may come from.
  Traffic(const Router& router, const std::atomic<uint64_t>& published)
      : router_(router), published_(published) {
    for (unsigned seed = 1; seed <= 2; ++seed) threads_.emplace_back([this, seed] { Run(seed); });
  }
  ~Traffic() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    EXPECT_EQ(wrong_, 0u) << "answers that are of no table";
  }

  // Waits until every thread has routed thousands of orders more.
  void ExpectGoesOn() {
    for (const std::atomic<uint64_t>& routed : routed_) {
      uint64_t before = routed;
      EXPECT_TRUE(WaitUntil([&] { return routed >= before + 20'000; })) << "traffic stands still";
    }
  }

 private:
  void Run(unsigned seed) {
    std::mt19937_64 random(seed);
    while (!stop_) {
      auto id = OrderId::FromInt64(static_cast<int64_t>(random() >> 1)).value();
      const RoutedShard& shard = router_.Route(id);
      BuyerRoutes routes = router_.RoutesOf(BuyerKey::Uint64(random()));
      bool right = IsOfATable(shard);
      for (const BuyerRoute& route : routes) right = right && IsOfATable(*route.shard);
      if (!right) ++wrong_;
      ++routed_[seed - 1];
    }
  }

  bool IsOfATable(const RoutedShard& shard) const {
    for (uint64_t epoch = 1; epoch <= std::min<uint64_t>(published_.load(), 7); ++epoch) {
      if (shard.endpoint == absl::StrCat("mysql://host-", epoch % 7, ":3306/orders-", shard.id)) {
        return shard.name == absl::StrCat("orders-", shard.id);
      }
    }
    return false;
  }

  const Router& router_;
  const std::atomic<uint64_t>& published_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> wrong_{0};
  std::array<std::atomic<uint64_t>, 2> routed_{};
  std::vector<std::thread> threads_;
};

class ConfigCentreFaultTest : public ::testing::TestWithParam<ConfigCentreKind> {
 protected:
  void SetUp() override {
    centre_ = GetParam().make();
    ASSERT_TRUE(centre_->Start());
    Publish();
    Open();
  }

  void Open() {
    RouterOptions options;
    options.last_good_file = directory_ / "last_good";
    options.confirm_every = absl::Milliseconds(300);
    options.longest_pause = absl::Milliseconds(200);
    options.on_event = [this](const RouterEvent& event) {
      if (event.kind == RouterEvent::Kind::kStartedFromFile) ++started_from_file_;
    };
    auto router = Router::Open(centre_->Follow(), options);
    ASSERT_TRUE(router.ok()) << router.status();
    router_ = *std::move(router);
    traffic_ = std::make_unique<Traffic>(*router_, published_);
  }

  RoutingTable Next() {
    ++published_;
    return TableOfHosts(published_);
  }
  void Publish() { centre_->Publish(Next()); }

  void ExpectInstalled() {
    EXPECT_TRUE(WaitUntil([&] { return router_->epoch() == published_; }))
        << "epoch " << router_->epoch() << " of " << published_ << ", the source says "
        << router_->Stats().source_error;
  }
  void ExpectSource(RouterStats::Source state) {
    EXPECT_TRUE(WaitUntil([&] { return router_->Stats().source == state; }))
        << router_->Stats().source_error;
  }
  // That the table in force stayed, and traffic with it.
  void ExpectUntouched(uint64_t epoch) {
    traffic_->ExpectGoesOn();
    EXPECT_EQ(router_->epoch(), epoch);
  }
  void ExpectFollowsAgain() {
    Publish();
    ExpectInstalled();
    ExpectSource(RouterStats::Source::kFollowing);
    traffic_->ExpectGoesOn();
  }
  void ExpectRefusal(const std::string& what) {
    uint64_t before = refusals_;
    EXPECT_TRUE(WaitUntil([&] { return router_->Stats().refusals > before; })) << what;
    RouterStats stats = router_->Stats();
    refusals_ = stats.refusals;
    ASSERT_FALSE(stats.last_refusals.empty());
    EXPECT_THAT(std::string(stats.last_refusals[0].reason.message()), HasSubstr(what));
  }

  TemporaryDirectory directory_;
  std::unique_ptr<ConfigCentre> centre_;
  std::atomic<uint64_t> published_{0};
  std::atomic<int> started_from_file_{0};
  uint64_t refusals_ = 0;
  std::unique_ptr<Router> router_;
  std::unique_ptr<Traffic> traffic_;  // ends before the router
};

TEST_P(ConfigCentreFaultTest, KilledAndStartedAgain_TrafficNeverNotices) {
  centre_->KillHard();
  ExpectSource(RouterStats::Source::kFailing);
  ExpectUntouched(1);
  ASSERT_TRUE(centre_->Start());
  ExpectSource(RouterStats::Source::kFollowing);
  ExpectFollowsAgain();
}

TEST_P(ConfigCentreFaultTest, Emptied_TableStaysInForce) {
  Publish();
  ExpectInstalled();
  ASSERT_TRUE(centre_->Empty());
  ExpectSource(RouterStats::Source::kFailing);
  ExpectUntouched(2);
  // An operator begins again, at epoch 1.
  centre_->Put(TableOfHosts(1).ToJson());
  ExpectRefusal("epoch 1");
  ExpectUntouched(2);
  centre_->Put(Next().ToJson());
  ExpectInstalled();
  traffic_->ExpectGoesOn();
}

TEST_P(ConfigCentreFaultTest, FedBadTables_EachIsRefusedAndReported) {
  centre_->Put("{\"epoch\": 2, ");
  ExpectRefusal("line 1");
  std::string unknown_shard = TableOfHosts(3).ToJson();
  size_t at = unknown_shard.find("\"shard\": 3");
  ASSERT_NE(at, std::string::npos) << unknown_shard;
  centre_->Put(unknown_shard.replace(at, 10, "\"shard\": 9"));
  ExpectRefusal("/ranges/1/shard");
  ExpectUntouched(1);
  ExpectSource(RouterStats::Source::kRefused);
  centre_->Put(Next().ToJson());
  ExpectInstalled();
  ExpectFollowsAgain();
}

TEST_P(ConfigCentreFaultTest, RolledBackToAnOlderEpoch_IsRefused) {
  for (int i = 0; i < 4; ++i) {
    Publish();
    ExpectInstalled();
  }
  centre_->Put(TableOfHosts(2).ToJson());
  ExpectRefusal("epoch 2");
  ExpectUntouched(5);
  // Equal epoch, other contents.
  centre_->Put(WithEpoch(TableOfHosts(2), 5).value().ToJson());
  ExpectRefusal("epoch 5");
  ExpectUntouched(5);
  centre_->Put(TableOfHosts(5).ToJson());
  ExpectFollowsAgain();
}

TEST_P(ConfigCentreFaultTest, DownAtTheStart_LastGoodTableServes) {
  Publish();
  ExpectInstalled();
  traffic_.reset();
  router_.reset();
  centre_->KillHard();
  Open();
  EXPECT_EQ(started_from_file_, 1);
  EXPECT_TRUE(router_->Stats().from_last_good_file);
  ExpectUntouched(2);
  ASSERT_TRUE(centre_->Start());
  EXPECT_TRUE(WaitUntil([&] { return !router_->Stats().from_last_good_file; }));
  ExpectFollowsAgain();
}

// Where a process and a network are between the tables and their routers.
class ConfigServerFaultTest : public ConfigCentreFaultTest {};

TEST_P(ConfigServerFaultTest, Stalled_TrafficNeverNotices) {
  centre_->Stall();
  ExpectSource(RouterStats::Source::kFailing);
  ExpectUntouched(1);
  centre_->Resume();
  ExpectSource(RouterStats::Source::kFollowing);
  ExpectFollowsAgain();
}

TEST_P(ConfigServerFaultTest, NetworkCut_TrafficNeverNotices) {
  CutLoopback();
  ExpectSource(RouterStats::Source::kFailing);
  ExpectUntouched(1);
  MendLoopback();
  ExpectSource(RouterStats::Source::kFollowing);
  ExpectFollowsAgain();
}

std::string NameOf(const ::testing::TestParamInfo<ConfigCentreKind>& centre) {
  return centre.param.name;
}
INSTANTIATE_TEST_SUITE_P(, ConfigCentreFaultTest,
                         ::testing::Values(FileCentre(), EtcdCentre(), MariadbCentre(),
                                           HttpCentre()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(, ConfigServerFaultTest,
                         ::testing::Values(EtcdCentre(), MariadbCentre(), HttpCentre()), NameOf);

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  if (!locus::EnterLoopbackNamespace()) return 1;
  return RUN_ALL_TESTS();
}
