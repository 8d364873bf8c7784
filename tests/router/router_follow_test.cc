// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "gmock/gmock.h"
#include "locus/routing/table_change.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"
#include "routing/router/follow_rules.h"
#include "tests/router/router_follow_fixture.h"
#include "tests/support/no_more_threads.h"

namespace locus {

using internal::FollowRules;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = RouterEvent::Kind;
using Source = RouterStats::Source;

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
  EXPECT_EQ(older.reason,
            absl::AbortedError("epoch 4 is not greater than epoch 5, which is in force"));

  place_->Put(RoutingTable::Make(5, TableOfEpoch(5).shards(), {{0, 1}})->ToJson());
  ASSERT_TRUE(WaitUntil([&] { return refusals() == 3; }));
  TableRefusal other = router->Stats().last_refusals.at(0);
  EXPECT_TRUE(absl::IsAborted(other.reason));
  EXPECT_THAT(std::string(other.reason.message()),
              HasSubstr("epoch 5 is in force with other contents"));
  ExpectInForce(*router, 5);
  EXPECT_EQ(router->Stats().last_refusals.size(), 3u);
  EXPECT_EQ(router->Stats().source, Source::kRefused);
  EXPECT_TRUE(WaitUntil([&] { return events_.Count(Kind::kRefused) == 3; }));

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
  Put(1);
  std::unique_ptr<Router> router = Open();
  std::vector<std::pair<std::string, std::string>> names;
  size_t room = RoutingTable::kMaxShards - TableOfEpoch(1).shards().size();
  for (size_t i = 0; i < room; ++i) names.emplace_back(absl::StrCat(i), absl::StrCat("h", i));
  RoutingTable full = WithEpoch(RoutingTable::MakeEven(names).value(), 2).value();
  ASSERT_TRUE(router->Install(full).ok());
  place_->Put(WithEpoch(RoutingTable::MakeEven({{"one", "more"}}).value(), 3)->ToJson());
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().refusals == 1; }));
  RouterStats stats = router->Stats();
  EXPECT_TRUE(absl::IsOutOfRange(stats.last_refusals.at(0).reason));
  EXPECT_EQ(stats.source, Source::kRefused);
  EXPECT_EQ(stats.descriptions, stats.max_descriptions);
  EXPECT_EQ(router->epoch(), 2u);
  EXPECT_TRUE(WaitUntil([&] { return events_.Count(Kind::kRefused) == 1; }));
}

TEST_F(RouterFollowTest, DescriptionsNearlyFull_IsReportedOnce) {
  Put(1);
  std::unique_ptr<Router> router = Open();
  auto put_with = [&](uint64_t epoch, size_t shards) {
    std::vector<std::pair<std::string, std::string>> names;
    for (size_t i = 0; i < shards; ++i) names.emplace_back(absl::StrCat(i), absl::StrCat("h", i));
    place_->Put(WithEpoch(RoutingTable::MakeEven(names).value(), epoch)->ToJson());
    // To read so many takes sanitizers seconds on an idle machine.
    ASSERT_TRUE(WaitUntil([&] { return router->epoch() == epoch; }, absl::Seconds(90)));
  };
  put_with(2, Router::kMaxDescriptions / 2);
  EXPECT_EQ(events_.Count(Kind::kDescriptionsNearlyFull), 0);
  put_with(3, Router::kMaxDescriptions / 100 * 95);
  EXPECT_TRUE(WaitUntil([&] { return events_.Count(Kind::kDescriptionsNearlyFull) == 1; }));
  put_with(4, Router::kMaxDescriptions / 100 * 96);
  EXPECT_TRUE(WaitUntil([&] { return events_.Count(Kind::kInstalled) == 4; }));
  EXPECT_EQ(events_.Count(Kind::kDescriptionsNearlyFull), 1);
}

TEST_F(RouterFollowTest, FailingSource_IsReportedOnceAndRecovers) {
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

TEST_F(RouterFollowTest, StalledSource_RoutingContinuesAndAgeRises) {
  fakes::ManualClock clock;
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

// A source that looked when it was asked may answer, with what it saw then, much later.
TEST_F(RouterFollowTest, AnswerThatComesLate_ConfirmsFromWhenItWasAskedFor) {
  fakes::ManualClock clock;
  options_.clock = &clock;
  options_.confirm_every = absl::Milliseconds(100);
  Put(1);
  std::unique_ptr<Router> router = Open();
  source_->HoldAnswers();
  ASSERT_TRUE(WaitUntil([&] { return source_->blocked() == 1; }));
  clock.Advance(absl::Minutes(1));
  int looks = source_->calls();
  source_->Stall();  // the answer held back comes, the next question does not get through
  ASSERT_TRUE(WaitUntil([&] { return source_->calls() > looks && source_->blocked() == 1; }));
  EXPECT_EQ(router->Stats().age, absl::Minutes(1));
  source_->Heal();
}

TEST_F(RouterFollowTest, OptionsOutOfRange_AreRefusedByName) {
  auto refused = [&](auto spoil) {
    RouterOptions options;
    spoil(options);
    absl::Status status =
        Router::Open(std::make_unique<fakes::MemoryTableSource>(place_), options).status();
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
  fakes::ManualClock clock;  // sleeping by it takes no time
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

TEST_F(RouterFollowTest, OpenedOnAnErrorThatOnlyPeopleRepair_FailsAtOnce) {
  fakes::ManualClock clock;
  options_.clock = &clock;
  absl::Duration begin = clock.SinceBoot();
  EXPECT_TRUE(absl::IsNotFound(TryOpen().status()));
  at_first_ = absl::FailedPreconditionError("memory: no rights");
  EXPECT_EQ(TryOpen().status(), at_first_);
  at_first_ = absl::OkStatus();
  place_->Put("{}");
  absl::Status refused = TryOpen().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("memory: its table is refused: member"));
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

TEST_F(RouterFollowTest, OnAnExecutor_FollowsByItsTasksAlone) {
  fakes::ManualExecutor executor;
  fakes::ManualClock clock;
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

}  // namespace
}  // namespace locus
