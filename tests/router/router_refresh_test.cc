// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "locus/testing/manual_clock.h"
#include "routing/router/follow_rules.h"
#include "tests/router/router_follow_fixture.h"

// Routers whose users do not only route while they follow: they refresh, install, fork, end.

namespace locus {
namespace {

using Source = RouterStats::Source;

using RouterRefreshTest = RouterFollowTest;

TEST_F(RouterRefreshTest, RefreshToWhatIsInForce_AsksNobody) {
  Put(5);
  std::unique_ptr<Router> router = Open();
  ASSERT_TRUE(WaitUntil([&] { return source_->calls() == 2; }));
  EXPECT_TRUE(router->Refresh(5, In(-absl::Seconds(1))).ok());
  EXPECT_TRUE(router->Refresh(0, In(-absl::Seconds(1))).ok());
  EXPECT_EQ(source_->calls(), 2);
}

// By less than a pause after a failure, 25 ms at least, until that epoch is in force; twice, in
// case the pause began only after the first time.
void CutPauseShort(uint64_t epoch, testing::ManualClock& clock, const Router& router) {
  clock.Advance(FollowRules::kLeastPause);
  auto in_force = [&] { return router.epoch() == epoch; };
  if (!WaitUntil(in_force, absl::Seconds(10))) clock.Advance(FollowRules::kLeastPause);
}

TEST_F(RouterRefreshTest, RefreshDuringALongPause_CutsItShort) {
  Put(1);
  options_.longest_pause = absl::Hours(1);
  testing::ManualClock clock;  // no pause ends by itself
  options_.clock = &clock;
  std::unique_ptr<Router> router = Open();
  Break(absl::UnavailableError("memory: down"));
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().source == Source::kFailing; }));
  Put(2);
  source_->Heal();
  std::thread refreshing([&] { EXPECT_TRUE(router->Refresh(2, Long()).ok()); });
  CutPauseShort(2, clock, *router);
  refreshing.join();
  ExpectInForce(*router, 2);
}

// Hands a table out, and is asked to look while that is on its way.
class SlowAnswer : public TableSource {
 public:
  explicit SlowAnswer(std::shared_ptr<testing::MemoryTablePlace> place) : source_(place) {}

  absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known,
                                                   TimePoint deadline) override {
    absl::StatusOr<std::optional<SourcedTable>> answer = source_.Next(known, deadline);
    if (answer.ok() && answer->has_value() && !known.empty() && !held_.exchange(true)) {
      EXPECT_TRUE(WaitUntil([&] { return looked_.load(); }));
    }
    return answer;
  }
  void LookNow() override {
    source_.LookNow();
    looked_ = true;
  }
  std::string place() const override { return source_.place(); }
  bool held() const { return held_; }

 private:
  testing::MemoryTableSource source_;
  std::atomic<bool> held_ = false;
  std::atomic<bool> looked_ = false;
};

TEST_F(RouterRefreshTest, RefreshWhileARefusedTableIsOnItsWay_DoesNotSitOutThePause) {
  Put(5);
  testing::ManualClock clock;  // no pause ends by itself
  options_.clock = &clock;
  auto source = std::make_unique<SlowAnswer>(place_);
  SlowAnswer& slow = *source;
  std::unique_ptr<Router> router = Router::Open(std::move(source), options_).value();
  Put(4);
  ASSERT_TRUE(WaitUntil([&] { return slow.held(); }));
  Put(6);
  std::thread refreshing([&] { EXPECT_TRUE(router->Refresh(6, Long()).ok()); });
  EXPECT_TRUE(WaitUntil([&] { return router->Stats().refusals == 1; }));
  CutPauseShort(6, clock, *router);
  refreshing.join();
}

TEST_F(RouterRefreshTest, RefreshWithoutSuccess_NamesBothEpochsAndTheSourcesLastWord) {
  Put(3);
  options_.longest_pause = absl::Milliseconds(50);
  std::unique_ptr<Router> router = Open();
  auto message = [&] {
    absl::Status status = router->Refresh(4, In(absl::Milliseconds(20)));
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(message(), "epoch 4 is not in force in time, 3 is; memory has no newer table");
  Put(2);
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().refusals == 1; }));
  EXPECT_EQ(message(),
            "epoch 4 is not in force in time, 3 is; the table of memory is refused: epoch 2 is not "
            "greater than 3, the one in force");
  Break(absl::UnavailableError("memory: down"));
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().source == Source::kFailing; }));
  EXPECT_EQ(message(), "epoch 4 is not in force in time, 3 is; memory: down");
}

TEST_F(RouterRefreshTest, RefreshOfARouterWithoutASource_WaitsForInstall) {
  Router router(TableOfEpoch(1));
  EXPECT_EQ(router.Refresh(2, In(absl::Milliseconds(10))),
            absl::DeadlineExceededError(
                "epoch 2 is not in force in time, 1 is; the router has no source"));
  std::thread installing([&] { EXPECT_TRUE(router.Install(TableOfEpoch(2)).ok()); });
  EXPECT_TRUE(router.Refresh(2, Long()).ok());
  installing.join();
  RouterStats stats = router.Stats();
  EXPECT_EQ(stats.epoch, 2u);
  EXPECT_EQ(stats.installs, 2u);
  EXPECT_EQ(stats.source, Source::kNone);
  EXPECT_EQ(stats.age, absl::InfiniteDuration());
}

TEST_F(RouterRefreshTest, BurstOfRefreshes_SharesTheLooks) {
  Put(1);
  std::unique_ptr<Router> router = Open();
  ASSERT_TRUE(WaitUntil([&] { return source_->calls() == 2; }));
  source_->HoldAnswers();
  source_->LookNow();
  ASSERT_TRUE(WaitUntil([&] { return source_->blocked() == 1; }));
  int looks = source_->calls();
  constexpr int kThreads = 50;
  std::atomic<int> begun = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      ++begun;
      EXPECT_TRUE(router->Refresh(2, Long()).ok());
    });
  }
  ASSERT_TRUE(WaitUntil([&] { return begun == kThreads; }));
  Put(2);
  source_->Heal();
  for (std::thread& thread : threads) thread.join();
  // The one that began before, the one that all share, one for those who came during it, the one
  // that waits for news, and what the place's changes cost.
  EXPECT_LE(source_->calls() - looks, 8);
  EXPECT_EQ(router->epoch(), 2u);
}

TEST_F(RouterRefreshTest, RefreshesWithoutEnd_DoNotAskWithoutPause) {
  Put(1);
  std::unique_ptr<Router> router = Open();
  auto begin = std::chrono::steady_clock::now();
  int before = source_->calls();
  std::chrono::nanoseconds past{0};
  while (past < std::chrono::milliseconds(300)) {
    EXPECT_FALSE(router->Refresh(2, begin).ok());
    std::this_thread::yield();
    past = std::chrono::steady_clock::now() - begin;
  }
  // A look and a wait for the next one in each 10 ms; a look is two calls where it ends a wait.
  EXPECT_LE(source_->calls() - before, 4 * (past / std::chrono::milliseconds(10)) + 8);
}

TEST_F(RouterRefreshTest, InstalledByHandMeanwhile_TheHighestEpochStays) {
  constexpr uint64_t kLast = 100;
  Put(1);
  std::unique_ptr<Router> router = Open();
  std::thread by_hand([&] {
    for (uint64_t epoch = 2; epoch <= kLast; epoch += 2) {
      absl::Status status = router->Install(TableOfEpoch(epoch));
      EXPECT_TRUE(status.ok() || absl::IsAborted(status)) << status;
    }
  });
  for (uint64_t epoch = 2; epoch <= kLast + 1; ++epoch) Put(epoch);
  by_hand.join();
  ASSERT_TRUE(Reaches(*router, kLast + 1));
  ExpectInForce(*router, kLast + 1);
}

TEST_F(RouterRefreshTest, TableInstalledByHandThenGivenByTheSource_IsConfirmed) {
  Put(1);
  std::unique_ptr<Router> router = Open();
  ASSERT_TRUE(router->Install(TableOfEpoch(2)).ok());
  Put(2);
  ASSERT_TRUE(router->Refresh(2, Long()).ok());
  int looks = source_->calls();
  source_->LookNow();
  ASSERT_TRUE(WaitUntil([&] { return source_->calls() > looks; }));
  EXPECT_EQ(router->Stats().refusals, 0u);
  EXPECT_EQ(router->Stats().installs, 2u);
}

TEST_F(RouterRefreshTest, DestroyedDuringAPauseOrAWait_ReturnsSoon) {
  Put(1);
  options_.longest_pause = absl::Hours(1);
  options_.confirm_every = absl::Hours(1);
  Open();  // destroyed while it waits for news
  std::unique_ptr<Router> router = Open();
  Break(absl::UnavailableError("memory: down"));
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().source == Source::kFailing; }));
  router.reset();
}

TEST_F(RouterRefreshTest, ForkedChild_RoutesAndTouchesNothingElse) {
  options_.last_good_file = directory_ / "last-good";
  Put(1);
  std::unique_ptr<Router> router = Open();
  for (int i = 0; i < 20; ++i) {
    Put(2 + static_cast<uint64_t>(i));
    pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      alarm(60);
      const Shard* owner = router->Route(ShardGene::FromUint16(uint16_t{0})).owner;
      bool routed = owner != nullptr && owner->id == 1;
      RouterStats stats = router->Stats();
      uint64_t epoch = router->epoch();
      bool refused = absl::IsFailedPrecondition(router->Refresh(1000, Long())) &&
                     absl::IsFailedPrecondition(router->Install(TableOfEpoch(1000)));
      bool in_force = router->Refresh(epoch, Long()).ok();
      router.reset();
      _exit(routed && refused && in_force && stats.epoch == epoch ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_TRUE(Reaches(*router, 21));
}

}  // namespace
}  // namespace locus
