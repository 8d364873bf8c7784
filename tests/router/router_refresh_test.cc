// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "locus/testing/manual_clock.h"
#include "routing/router/follow_schedule.h"
#include "tests/router/router_follow_fixture.h"

// Routers whose users do not only route while they follow: they refresh, install, fork, end.

namespace locus {
namespace {

using Source = RouterStats::Source;

using RouterRefreshTest = RouterFollowTest;

TEST_F(RouterRefreshTest, RefreshToTheEpochInForce_AsksNoSource) {
  Put(5);
  std::unique_ptr<Router> router = Open();
  ASSERT_TRUE(WaitUntil([&] { return source_->calls() == 2; }));
  EXPECT_TRUE(router->Refresh(5, In(-absl::Seconds(1))).ok());
  EXPECT_TRUE(router->Refresh(0, In(-absl::Seconds(1))).ok());
  EXPECT_EQ(source_->calls(), 2);
}

// By less than a pause after a failure, 25 ms at least, until that epoch is in force; twice, in
// case the pause began only after the first time.
void CutPauseShort(uint64_t epoch, fakes::ManualClock& clock, const Router& router) {
  clock.Advance(internal::FollowSchedule::kFirstWait);
  auto in_force = [&] { return router.epoch() == epoch; };
  if (!WaitUntil(in_force, absl::Seconds(10))) clock.Advance(internal::FollowSchedule::kFirstWait);
}

TEST_F(RouterRefreshTest, RefreshDuringALongPause_CutsItShort) {
  Put(1);
  options_.longest_pause = absl::Hours(1);
  fakes::ManualClock clock;  // no pause ends by itself
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
  explicit SlowAnswer(std::shared_ptr<fakes::MemoryTablePlace> place) : source_(place) {}

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
  fakes::MemoryTableSource source_;
  std::atomic<bool> held_ = false;
  std::atomic<bool> looked_ = false;
};

TEST_F(RouterRefreshTest, RefreshWhileARefusedTableIsOnItsWay_DoesNotSitOutThePause) {
  Put(5);
  fakes::ManualClock clock;  // no pause ends by itself
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
  EXPECT_EQ(message(),
            "epoch 4 was not in force by the deadline, epoch 3 is; memory has no newer table");
  Put(2);
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().refusals == 1; }));
  EXPECT_EQ(message(),
            "epoch 4 was not in force by the deadline, epoch 3 is; the table of memory is refused: "
            "epoch 2 is not greater than epoch 3, which is in force");
  Break(absl::UnavailableError("memory: down"));
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().source == Source::kFailing; }));
  EXPECT_EQ(message(), "epoch 4 was not in force by the deadline, epoch 3 is; memory: down");
}

TEST_F(RouterRefreshTest, RefreshOfARouterWithoutASource_WaitsForInstall) {
  Router router(TableOfEpoch(1));
  EXPECT_EQ(router.Refresh(2, In(absl::Milliseconds(10))),
            absl::DeadlineExceededError(
                "epoch 2 was not in force by the deadline, epoch 1 is; the router has no source"));
  std::thread installing([&] { EXPECT_TRUE(router.Install(TableOfEpoch(2)).ok()); });
  EXPECT_TRUE(router.Refresh(2, Long()).ok());
  installing.join();
  RouterStats stats = router.Stats();
  EXPECT_EQ(stats.epoch, 2u);
  EXPECT_EQ(stats.installs, 2u);
  EXPECT_EQ(stats.source, Source::kNone);
  EXPECT_EQ(stats.age, absl::InfiniteDuration());
}

// A place that is only read when it is asked, such as a database: news do not come by themselves.
class PolledSource : public TableSource {
 public:
  void Put(uint64_t epoch) {
    std::lock_guard lock(mutex_);
    document_ = TableOfEpoch(epoch).ToJson();
    version_ = absl::StrCat("v", epoch);
  }
  int reads() const {
    std::lock_guard lock(mutex_);
    return reads_;
  }
  int listening() const {
    std::lock_guard lock(mutex_);
    return listening_;
  }

  absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known,
                                                   TimePoint deadline) override {
    std::unique_lock lock(mutex_);
    ++reads_;
    ++listening_;
    if (version_ == known) look_.wait_until(lock, deadline, [&] { return look_now_; });
    --listening_;
    if (std::exchange(look_now_, false)) ++reads_;
    if (version_ == known) return std::nullopt;
    return SourcedTable{document_, version_};
  }
  void LookNow() override {
    std::lock_guard lock(mutex_);
    look_now_ = true;
    look_.notify_all();
  }
  std::string place() const override { return "a polled place"; }

 private:
  mutable std::mutex mutex_;
  std::condition_variable look_;
  bool look_now_ = false;
  std::string document_, version_;
  int reads_ = 0;
  int listening_ = 0;
};

class ManyWritersTest : public RouterRefreshTest {
 protected:
  ManyWritersTest() {
    auto source = std::make_unique<PolledSource>();
    polled_ = source.get();
    polled_->Put(1);
    options_.confirm_every = absl::Hours(1);
    router_ = Router::Open(std::move(source), options_).value();
    EXPECT_TRUE(WaitUntil([&] { return polled_->listening() == 1; }));
  }
  // `count` writers that were refused at one moment, each with a thread of its own.
  void Refresh(int count, uint64_t epoch, std::chrono::steady_clock::time_point deadline) {
    for (int i = 0; i < count; ++i) {
      writers_.emplace_back(
          [this, epoch, deadline] { reached_ += router_->Refresh(epoch, deadline).ok(); });
    }
  }
  void Join() {
    for (std::thread& writer : writers_) writer.join();
  }
  bool AllWait(int count) {
    return WaitUntil([&] { return router_->Stats().refreshing == static_cast<uint64_t>(count); });
  }

  PolledSource* polled_ = nullptr;
  std::unique_ptr<Router> router_;
  std::vector<std::thread> writers_;
  std::atomic<int> reached_ = 0;
};

constexpr int kManyWriters = kUnderTsan ? 200 : 2000;

TEST_F(ManyWritersTest, TableIsThere_OneReadForAll) {
  polled_->Put(2);
  int before = polled_->reads();
  Refresh(kManyWriters, 2, Long());
  Join();
  EXPECT_EQ(reached_, kManyWriters);
  // The look, the question that listens for the wait between looks, and the one after it.
  EXPECT_LE(polled_->reads() - before, 3);
  EXPECT_EQ(router_->Stats().refreshing, 0u);
}

TEST_F(ManyWritersTest, TableComesLate_ReadsDoNotDependOnTheNumberOfWriters) {
  int before = polled_->reads();
  auto began = std::chrono::steady_clock::now();
  Refresh(kManyWriters, 2, Long());
  ASSERT_TRUE(AllWait(kManyWriters));
  ASSERT_TRUE(WaitUntil([&] { return polled_->reads() >= before + 10; }));
  polled_->Put(2);
  Join();
  EXPECT_EQ(reached_, kManyWriters);
  auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  // Looks of a first second, after 10, 20, 40 ms ... each with a question that listens in between;
  // then two of each a second where jitter halves every wait.
  EXPECT_LE(polled_->reads() - before, 40 + 8 * seconds);
}

TEST_F(ManyWritersTest, WritersThatComeAgainAndAgain_ReadNoMoreThanThoseThatWait) {
  auto began = std::chrono::steady_clock::now();
  int before = polled_->reads();
  std::atomic<bool> done = false;
  for (int i = 0; i < 64; ++i) {
    writers_.emplace_back([&] {
      while (!done) EXPECT_FALSE(router_->Refresh(2, In(absl::Milliseconds(5))).ok());
    });
  }
  ASSERT_TRUE(WaitUntil([&] { return polled_->reads() >= before + 12; }));
  done = true;
  Join();
  auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  EXPECT_LE(polled_->reads() - before, 40 + 8 * seconds);
  RouterStats stats = router_->Stats();
  EXPECT_GE(stats.refreshes, 64u);
  EXPECT_EQ(stats.refresh_timeouts, stats.refreshes);
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
      const RoutedShard* owner = router->Route(ShardGene::FromUint16(uint16_t{0})).owner;
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
