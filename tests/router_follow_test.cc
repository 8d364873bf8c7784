// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/router.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"
#include "locus/testing/memory_table_source.h"
#include "routing/follow_rules.h"
#include "routing/last_good_table.h"
#include "tests/no_more_threads.h"
#include "tests/private_server.h"
#include "tests/table_place.h"
#include "tests/temporary_directory.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = RouterEvent::Kind;
using Source = RouterStats::Source;
using SteadyClock = std::chrono::steady_clock;

SteadyClock::time_point In(absl::Duration duration) {
  return SteadyClock::now() + absl::ToChronoNanoseconds(duration);
}
SteadyClock::time_point Long() { return In(absl::Seconds(60)); }

// What a router told.
class Events {
 public:
  auto Listener() {
    return [this](const RouterEvent& event) {
      std::lock_guard lock(mutex_);
      events_.push_back(event);
    };
  }
  std::vector<Kind> kinds() const {
    std::lock_guard lock(mutex_);
    std::vector<Kind> kinds;
    for (const RouterEvent& event : events_) kinds.push_back(event.kind);
    return kinds;
  }
  int Count(Kind kind) const {
    std::vector<Kind> all = kinds();
    return static_cast<int>(std::count(all.begin(), all.end(), kind));
  }
  std::vector<RouterEvent> all() const {
    std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<RouterEvent> events_;
};

// A place in memory and routers that follow it.
class RouterFollowTest : public ::testing::Test {
 protected:
  void Put(uint64_t epoch) { place_->Put(TableOfEpoch(epoch).ToJson()); }

  absl::StatusOr<std::unique_ptr<Router>> TryOpen() {
    auto source = std::make_unique<testing::MemoryTableSource>(place_);
    source_ = source.get();
    source_->FailWith(at_first_);
    if (at_first_.ok()) source_->Heal();
    options_.on_event = events_.Listener();
    return Router::Open(std::move(source), options_);
  }
  // Fails the test where there is no router.
  std::unique_ptr<Router> Open() {
    absl::StatusOr<std::unique_ptr<Router>> router = TryOpen();
    EXPECT_TRUE(router.ok()) << router.status();
    return router.ok() ? *std::move(router) : nullptr;
  }
  // Makes faults that began meet the question under way.
  void Break(absl::Status status) {
    source_->FailWith(std::move(status));
    source_->LookNow();
  }
  static void ExpectInForce(const Router& router, uint64_t epoch) {
    EXPECT_EQ(router.epoch(), epoch);
    GeneRoute route = router.Route(ShardGene::FromUint16(uint16_t{0}));
    EXPECT_EQ(route.permyriad, TableOfEpoch(epoch).moves()[0].permyriad);
    EXPECT_EQ(route.owner->labels.at("epoch"), absl::StrCat(epoch));
  }
  static bool Reaches(Router& router, uint64_t epoch) {
    return WaitUntil([&] { return router.epoch() == epoch; });
  }

  TemporaryDirectory directory_;
  std::shared_ptr<testing::MemoryTablePlace> place_ = std::make_shared<testing::MemoryTablePlace>();
  absl::Status at_first_;                         // what the source answers from the start
  testing::MemoryTableSource* source_ = nullptr;  // of the router opened last
  RouterOptions options_;
  Events events_;
};

TEST_F(RouterFollowTest, Publications_AreInForceOneAfterTheOther) {
  Put(1);
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 1);
  for (uint64_t epoch : {2, 3, 10}) {
    Put(epoch);
    ASSERT_TRUE(Reaches(*router, epoch));
    ExpectInForce(*router, epoch);
  }
  EXPECT_TRUE(WaitUntil([&] { return events_.Count(Kind::kInstalled) == 4; }));
  RouterStats stats = router->Stats();
  EXPECT_EQ(stats.epoch, 10u);
  EXPECT_EQ(stats.installs, 4u);
  EXPECT_EQ(stats.refusals, 0u);
  EXPECT_EQ(stats.source, Source::kFollowing);
  EXPECT_FALSE(stats.from_last_good_file);
  EXPECT_LT(stats.age, absl::Minutes(1));
  EXPECT_GT(stats.installed_at, absl::UnixEpoch());
}

TEST_F(RouterFollowTest, SameTableAgain_IsAConfirmationNotARefusal) {
  Put(4);
  std::unique_ptr<Router> router = Open();
  Put(4);
  int looks = source_->calls();
  source_->LookNow();
  ASSERT_TRUE(WaitUntil([&] { return source_->calls() > looks + 1; }));
  RouterStats stats = router->Stats();
  EXPECT_EQ(stats.refusals, 0u);
  EXPECT_EQ(stats.installs, 1u);
  EXPECT_THAT(events_.kinds(), ElementsAre(Kind::kInstalled));
}

TEST_F(RouterFollowTest, BadOlderAndEqualEpochs_AreRefusedAndTheTableStays) {
  Put(5);
  std::unique_ptr<Router> router = Open();
  auto refusals = [&] { return router->Stats().refusals; };

  place_->Put("{\"epoch\": 6");
  ASSERT_TRUE(WaitUntil([&] { return refusals() == 1; }));
  TableRefusal bad = router->Stats().last_refusals.at(0);
  EXPECT_EQ(bad.epoch, 0u);
  EXPECT_TRUE(absl::IsInvalidArgument(bad.reason)) << bad.reason;
  EXPECT_FALSE(bad.version.empty());

  Put(4);
  ASSERT_TRUE(WaitUntil([&] { return refusals() == 2; }));
  TableRefusal older = router->Stats().last_refusals.at(0);
  EXPECT_EQ(older.epoch, 4u);
  EXPECT_EQ(older.reason, absl::AbortedError("epoch 4 is not greater than 5, the one in force"));

  place_->Put(RoutingTable::Make(5, TableOfEpoch(5).shards(), {{0, 1}})->ToJson());
  ASSERT_TRUE(WaitUntil([&] { return refusals() == 3; }));
  TableRefusal other = router->Stats().last_refusals.at(0);
  EXPECT_EQ(other.reason, absl::AbortedError("epoch 5 is in force with other content"));
  ExpectInForce(*router, 5);
  EXPECT_EQ(router->Stats().last_refusals.size(), 3u);
  EXPECT_EQ(router->Stats().source, Source::kFollowing);
  EXPECT_EQ(events_.Count(Kind::kRefused), 3);

  Put(6);
  ASSERT_TRUE(Reaches(*router, 6));
  ExpectInForce(*router, 6);
}

TEST_F(RouterFollowTest, RefusedDocument_IsNotFetchedAgain) {
  Put(5);
  options_.confirm_every = absl::Milliseconds(100);
  std::unique_ptr<Router> router = Open();
  place_->Put("no table");
  int looks = source_->calls();
  ASSERT_TRUE(WaitUntil([&] { return source_->calls() > looks + 5; }));
  RouterStats stats = router->Stats();
  EXPECT_EQ(stats.refusals, 1u);
  EXPECT_EQ(stats.last_refusals.at(0).times, 1u);
}

TEST_F(RouterFollowTest, MoreDescriptionsThanARouterHolds_AreRefused) {
  std::vector<std::pair<std::string, std::string>> names;
  for (size_t i = 0; i < RoutingTable::kMaxShards; ++i) names.emplace_back(absl::StrCat(i), "h");
  place_->Put(RoutingTable::MakeEven(names)->ToJson());
  std::unique_ptr<Router> router = Open();
  Put(2);
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().refusals == 1; }));
  EXPECT_TRUE(absl::IsOutOfRange(router->Stats().last_refusals.at(0).reason));
  EXPECT_EQ(router->epoch(), 1u);
}

TEST_F(RouterFollowTest, FailingSource_IsToldOnceAndRecovers) {
  Put(1);
  options_.longest_pause = absl::Milliseconds(50);
  std::unique_ptr<Router> router = Open();
  Break(absl::UnavailableError("memory: down"));
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().source == Source::kFailing; }));
  EXPECT_EQ(router->Stats().source_error, absl::UnavailableError("memory: down"));
  int looks = source_->calls();
  ASSERT_TRUE(WaitUntil([&] { return source_->calls() > looks + 3; }));
  EXPECT_EQ(events_.Count(Kind::kSourceFailed), 1);
  ExpectInForce(*router, 1);
  Put(2);
  source_->Heal();
  ASSERT_TRUE(Reaches(*router, 2));
  EXPECT_TRUE(WaitUntil([&] { return events_.Count(Kind::kInstalled) == 2; }));
  EXPECT_THAT(events_.kinds(), ElementsAre(Kind::kInstalled, Kind::kSourceFailed,
                                           Kind::kSourceRecovered, Kind::kInstalled));
  EXPECT_EQ(router->Stats().source, Source::kFollowing);
  EXPECT_TRUE(router->Stats().source_error.ok());
}

TEST_F(RouterFollowTest, Emptied_IsFailingAndTheTableStaysUntilANewerOne) {
  Put(8);
  options_.longest_pause = absl::Milliseconds(50);
  std::unique_ptr<Router> router = Open();
  place_->Empty();
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().source == Source::kFailing; }));
  EXPECT_TRUE(absl::IsNotFound(router->Stats().source_error));
  ExpectInForce(*router, 8);
  Put(3);
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().refusals == 1; }));
  ExpectInForce(*router, 8);
  Put(9);
  ASSERT_TRUE(Reaches(*router, 9));
}

TEST_F(RouterFollowTest, EmptiedAndFilledWithTheSame_IsConfirmed) {
  Put(8);
  options_.longest_pause = absl::Milliseconds(50);
  std::unique_ptr<Router> router = Open();
  place_->Empty();
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().source == Source::kFailing; }));
  Put(8);
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().source == Source::kFollowing; }));
  EXPECT_EQ(router->Stats().refusals, 0u);
}

TEST_F(RouterFollowTest, StalledSource_RoutingGoesOnAndAgeRises) {
  testing::ManualClock clock;
  options_.clock = &clock;
  Put(1);
  std::unique_ptr<Router> router = Open();
  source_->Stall();
  source_->LookNow();
  ASSERT_TRUE(WaitUntil([&] { return source_->blocked() == 1; }));
  absl::Duration before = router->Stats().age;
  clock.Advance(absl::Hours(2));
  EXPECT_EQ(router->Stats().age - before, absl::Hours(2));
  ExpectInForce(*router, 1);
  absl::Status refreshed = router->Refresh(2, In(absl::Milliseconds(50)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(refreshed)) << refreshed;
  source_->Heal();
  EXPECT_TRUE(WaitUntil([&] { return router->Stats().age < absl::Seconds(1); }));
}

TEST_F(RouterFollowTest, OptionsOutOfRange_AreRefusedByName) {
  auto refused = [&](auto spoil) {
    RouterOptions options;
    spoil(options);
    absl::Status status =
        Router::Open(std::make_unique<testing::MemoryTableSource>(place_), options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(refused([](RouterOptions& o) { o.open_timeout = -absl::Seconds(1); }),
            "open_timeout -1s is not between 0 and 1h");
  EXPECT_EQ(refused([](RouterOptions& o) { o.confirm_every = absl::Milliseconds(99); }),
            "confirm_every 99ms is not between 100ms and 1h");
  EXPECT_EQ(refused([](RouterOptions& o) { o.confirm_every = absl::InfiniteDuration(); }),
            "confirm_every inf is not between 100ms and 1h");
  EXPECT_EQ(refused([](RouterOptions& o) { o.longest_pause = absl::Milliseconds(49); }),
            "longest_pause 49ms is not between 50ms and 1h");
  refused([](RouterOptions& o) { o.clock = nullptr; });
  EXPECT_TRUE(absl::IsInvalidArgument(Router::Open(nullptr).status()));
}

TEST_F(RouterFollowTest, NoThreadToHave_IsUnavailable) {
  Put(1);
  NoMoreThreads none;
  EXPECT_TRUE(absl::IsUnavailable(TryOpen().status()));
}

// Opening.

TEST_F(RouterFollowTest, OpenedWhileTheSourceFails_TriesUntilTheTimeIsOver) {
  testing::ManualClock clock;  // sleeping by it takes no time
  options_.clock = &clock;
  at_first_ = absl::UnavailableError("memory: down");
  absl::Duration begin = clock.SinceBoot();
  EXPECT_EQ(TryOpen().status(), at_first_);
  EXPECT_EQ(clock.SinceBoot() - begin, options_.open_timeout);
  EXPECT_EQ(events_.Count(Kind::kSourceFailed), 1);
  EXPECT_EQ(events_.kinds().size(), 1u);
}

TEST_F(RouterFollowTest, OpenedWithoutPatience_AsksOnce) {
  options_.open_timeout = absl::ZeroDuration();
  at_first_ = absl::UnavailableError("memory: down");
  EXPECT_EQ(TryOpen().status(), at_first_);
  at_first_ = absl::OkStatus();
  Put(1);
  ExpectInForce(*Open(), 1);
}

TEST_F(RouterFollowTest, OpenedOnWhatOnlyPeopleRepair_FailsAtOnce) {
  testing::ManualClock clock;
  options_.clock = &clock;
  absl::Duration begin = clock.SinceBoot();
  EXPECT_TRUE(absl::IsNotFound(TryOpen().status()));
  at_first_ = absl::FailedPreconditionError("memory: no rights");
  EXPECT_EQ(TryOpen().status(), at_first_);
  at_first_ = absl::OkStatus();
  place_->Put("{}");
  absl::Status refused = TryOpen().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("memory: its table is refused: : member"));
  EXPECT_EQ(clock.SinceBoot(), begin);
}

TEST_F(RouterFollowTest, SourceComesBackWhileOpening_IsUsed) {
  Put(1);
  at_first_ = absl::UnavailableError("memory: down");
  options_.open_timeout = absl::Minutes(1);
  std::thread healing([this] {
    EXPECT_TRUE(WaitUntil([&] { return events_.Count(Kind::kSourceFailed) == 1; }));
    source_->Heal();
  });
  std::unique_ptr<Router> router = Open();
  healing.join();
  ExpectInForce(*router, 1);
  EXPECT_THAT(events_.kinds(),
              ElementsAre(Kind::kSourceFailed, Kind::kSourceRecovered, Kind::kInstalled));
}

// The last good file.

class LastGoodFileTest : public RouterFollowTest {
 protected:
  LastGoodFileTest() {
    options_.last_good_file = file_;
    options_.open_timeout = absl::ZeroDuration();
    options_.longest_pause = absl::Milliseconds(50);
  }
  uint64_t EpochInFile() const {
    absl::StatusOr<RoutingTable> table = ReadLastGoodTable(file_);
    return table.ok() ? table->epoch() : 0;
  }

  const std::string file_ = directory_ / "last-good";
};

TEST_F(LastGoodFileTest, EachInstall_IsWritten) {
  Put(1);
  std::unique_ptr<Router> router = Open();
  EXPECT_EQ(EpochInFile(), 1u);
  for (uint64_t epoch : {2, 3}) {
    Put(epoch);
    EXPECT_TRUE(WaitUntil([&] { return EpochInFile() == epoch; }));
  }
  EXPECT_TRUE(router->Stats().last_good_error.ok());
}

TEST_F(LastGoodFileTest, SourceDownAtTheStart_BeginsFromTheFileAndSaysSo) {
  Put(7);
  Open();
  at_first_ = absl::UnavailableError("memory: down");
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 7);
  RouterStats stats = router->Stats();
  EXPECT_TRUE(stats.from_last_good_file);
  EXPECT_EQ(stats.installs, 1u);
  EXPECT_EQ(stats.age, absl::InfiniteDuration());
  EXPECT_EQ(stats.source, Source::kFailing);
  RouterEvent told = events_.all().back();
  EXPECT_EQ(told.kind, Kind::kStartedFromFile);
  EXPECT_EQ(told.epoch, 7u);
  EXPECT_EQ(told.status, at_first_);

  source_->Heal();
  EXPECT_TRUE(WaitUntil([&] { return !router->Stats().from_last_good_file; })) << "not confirmed";
  stats = router->Stats();
  EXPECT_EQ(stats.epoch, 7u);
  EXPECT_EQ(stats.installs, 1u);
  EXPECT_LT(stats.age, absl::Minutes(1));
}

TEST_F(LastGoodFileTest, SourceNewerThanTheFile_IsInstalled) {
  Put(7);
  Open();
  Put(8);
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 8);
  EXPECT_FALSE(router->Stats().from_last_good_file);
  EXPECT_EQ(router->Stats().installs, 1u);
  EXPECT_EQ(EpochInFile(), 8u);
  EXPECT_EQ(events_.Count(Kind::kStartedFromFile), 0);
}

TEST_F(LastGoodFileTest, SourceOlderOrBadAtTheStart_IsRefusedAndTheFileUsed) {
  Put(7);
  Open();
  for (const std::string& document : {TableOfEpoch(6).ToJson(), std::string("no table")}) {
    place_->Put(document);
    std::unique_ptr<Router> router = Open();
    ExpectInForce(*router, 7);
    RouterStats stats = router->Stats();
    EXPECT_TRUE(stats.from_last_good_file);
    EXPECT_EQ(stats.refusals, 1u);
    EXPECT_EQ(stats.source, Source::kFollowing);
    EXPECT_EQ(events_.all().back().kind, Kind::kStartedFromFile);
    Put(9);
    ASSERT_TRUE(Reaches(*router, 9));
    EXPECT_FALSE(router->Stats().from_last_good_file);
    ASSERT_TRUE(WaitUntil([&] { return EpochInFile() == 9; }));
    ASSERT_TRUE(WriteLastGoodTable(file_, TableOfEpoch(7)).ok());
  }
}

TEST_F(LastGoodFileTest, DamagedFile_IsDataLossOnlyWhereTheSourceFails) {
  Put(7);
  Open();
  ASSERT_EQ(truncate(file_.c_str(), 100), 0);
  at_first_ = absl::UnavailableError("memory: down");
  absl::Status status = TryOpen().status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(file_));
  EXPECT_THAT(std::string(status.message()), HasSubstr("memory: down"));
  at_first_ = absl::OkStatus();
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 7);
  EXPECT_TRUE(router->Stats().last_good_error.ok());
  EXPECT_EQ(EpochInFile(), 7u) << "written anew";
}

TEST_F(LastGoodFileTest, FileThatCannotBeWritten_StopsNothingAndIsTriedAgain) {
  options_.last_good_file = directory_ / "missing/last-good";
  options_.confirm_every = absl::Milliseconds(100);
  Put(1);
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 1);
  EXPECT_FALSE(router->Stats().last_good_error.ok());
  Put(2);
  ASSERT_TRUE(Reaches(*router, 2));
  EXPECT_THAT(events_.kinds(), ::testing::Contains(Kind::kLastGoodFileFailed));
  ASSERT_EQ(mkdir((directory_ / "missing").c_str(), 0755), 0);
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().last_good_error.ok(); }));
  EXPECT_EQ(ReadLastGoodTable(options_.last_good_file)->epoch(), 2u);
}

// Refresh.

TEST_F(RouterFollowTest, RefreshToWhatIsInForce_AsksNobody) {
  Put(5);
  std::unique_ptr<Router> router = Open();
  ASSERT_TRUE(WaitUntil([&] { return source_->calls() == 2; }));
  EXPECT_TRUE(router->Refresh(5, In(-absl::Seconds(1))).ok());
  EXPECT_TRUE(router->Refresh(0, In(-absl::Seconds(1))).ok());
  EXPECT_EQ(source_->calls(), 2);
}

TEST_F(RouterFollowTest, RefreshDuringALongPause_CutsItShort) {
  Put(1);
  options_.longest_pause = absl::Hours(1);
  testing::ManualClock clock;  // no pause ends by itself
  options_.clock = &clock;
  std::unique_ptr<Router> router = Open();
  Break(absl::UnavailableError("memory: down"));
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().source == Source::kFailing; }));
  Put(2);
  source_->Heal();
  clock.Advance(FollowRules::kLeastPause);
  ASSERT_TRUE(router->Refresh(2, Long()).ok());
  ExpectInForce(*router, 2);
}

TEST_F(RouterFollowTest, RefreshWithoutSuccess_NamesBothEpochsAndTheSourcesLastWord) {
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

TEST_F(RouterFollowTest, RefreshOfARouterWithoutASource_WaitsForInstall) {
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

TEST_F(RouterFollowTest, BurstOfRefreshes_SharesTheLooks) {
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

// Who calls what meanwhile.

TEST_F(RouterFollowTest, InstalledByHandMeanwhile_TheHighestEpochStays) {
  constexpr uint64_t kLast = 200;
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

TEST_F(RouterFollowTest, TableInstalledByHandThenGivenByTheSource_IsConfirmed) {
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

TEST_F(RouterFollowTest, DestroyedDuringAPauseOrAWait_ReturnsSoon) {
  Put(1);
  options_.longest_pause = absl::Hours(1);
  options_.confirm_every = absl::Hours(1);
  Open();  // destroyed while it waits for news
  std::unique_ptr<Router> router = Open();
  Break(absl::UnavailableError("memory: down"));
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().source == Source::kFailing; }));
  router.reset();
}

TEST_F(RouterFollowTest, OnAnExecutor_FollowsByItsTasksAlone) {
  testing::ManualExecutor executor;
  testing::ManualClock clock;
  options_.executor = &executor;
  options_.clock = &clock;
  options_.confirm_every = absl::Milliseconds(100);
  Put(1);
  std::unique_ptr<Router> router = Open();
  Put(2);
  ExpectInForce(*router, 1);
  EXPECT_EQ(executor.RunReady(), 1);
  ExpectInForce(*router, 2);
  source_->FailWith(absl::UnavailableError("memory: down"));
  executor.RunDelayed();
  EXPECT_EQ(router->Stats().source, Source::kFailing);
  int looks = source_->calls();
  executor.RunDelayed();
  EXPECT_EQ(source_->calls(), looks) << "asked during the pause";
  clock.Advance(FollowRules::kFirstPause);
  executor.RunDelayed();
  EXPECT_EQ(source_->calls(), looks + 1);
  router.reset();
  executor.RunDelayed();  // what is left does nothing
}

TEST_F(RouterFollowTest, ForkedChild_RoutesAndTouchesNothingElse) {
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
