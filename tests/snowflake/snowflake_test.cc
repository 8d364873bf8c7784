// SPDX-License-Identifier: Apache-2.0
#include "locus/snowflake.h"

#include <algorithm>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/testing/manual_clock.h"
#include "tests/support/child_process.h"
#include "tests/support/golden.h"
#include "tests/support/stringified.h"

namespace locus {
namespace {

using fakes::ManualClock;
using ::testing::HasSubstr;

using Default = Snowflake<>;
using Js53 = Snowflake<SnowflakeJs53Layout>;
using Short = Snowflake<SnowflakeLayout<20, 41, 2>>;  // 17 minutes, 4 IDs a millisecond

constexpr absl::Duration kMs = absl::Milliseconds(1);

static_assert(SnowflakeDefaultLayout::kWidths.total() == 63);
static_assert(SnowflakeOneWorkerLayout::kWidths.max_worker(0) == 1023);
static_assert(SnowflakeDefaultLayout::kWidths.max_worker(0) == 1023);
static_assert(SnowflakeDefaultLayout::kWidths.max_worker(1) == 31);
static_assert(SnowflakeJs53Layout::kWidths.max_id() == (uint64_t{1} << 53) - 1);
static_assert(SnowflakeLayout<40, 3, 5, 15>::kWidths.datacenter == 3);

int64_t TimeField(int64_t id) { return id >> 22; }

// Each test has an epoch of its own: a worker continues after its earlier IDs in this process.
class SnowflakeTest : public ::testing::Test {
 protected:
  SnowflakeTest() {
    static int tests = 0;
    epoch_ -= ++tests * kMs;
  }

  SnowflakeOptions Options(uint64_t worker = 5) {
    SnowflakeOptions options;
    options.worker = worker;
    options.epoch = epoch_;
    options.clock = &clock_;
    return options;
  }
  int64_t Millis() { return absl::ToInt64Milliseconds(clock_.Now() - epoch_); }

  absl::Time epoch_ = kSnowflakeEpoch;
  ManualClock clock_{absl::FromUnixSeconds(1767225600)};
};

TEST_F(SnowflakeTest, Layouts_PutEachFieldInItsPlace) {
  const int64_t millis = Millis();
  SnowflakeOptions options = Options(9);
  EXPECT_EQ(Snowflake<SnowflakeOneWorkerLayout>::Create(options).value()->Next().value(),
            millis << 22 | 9 << 12);
  EXPECT_EQ(Js53::Create(options).value()->Next().value(), millis << 12 | 9 << 7);
  options.datacenter = 3;
  auto ids = Default::Create(options).value();
  EXPECT_EQ(ids->Next().value(), millis << 22 | 3 << 17 | 9 << 12);
  EXPECT_EQ(ids->Next().value(), millis << 22 | 3 << 17 | 9 << 12 | 1);
  EXPECT_EQ(ids->NextString().value(), absl::StrCat(millis << 22 | 3 << 17 | 9 << 12 | 2));
}

TEST_F(SnowflakeTest, Decompose_IsTheInverse) {
  SnowflakeOptions options = Options(31);
  options.datacenter = 31;
  options.epoch = absl::FromUnixMillis(1288834974657);
  auto ids = Default::Create(options).value();
  ASSERT_TRUE(ids->Next().ok());
  SnowflakeParts parts = ids->Decompose(ids->Next().value()).value();
  EXPECT_EQ(parts, (SnowflakeParts{clock_.Now(), 31, 31, 1}));
}

TEST_F(SnowflakeTest, Decompose_GoldenIds) {
  nlohmann::json golden = golden::Load("snowflake.json");
  for (const auto& line : golden.at("valid")) {
    auto decompose = line.at("layout") == "js53" ? &SnowflakeJs53Layout::Decompose
                                                 : &SnowflakeDefaultLayout::Decompose;
    int64_t id = std::stoll(line.at("id").get<std::string>());
    SnowflakeParts parts = decompose(id, absl::FromUnixMillis(line.at("epoch_ms"))).value();
    EXPECT_EQ(absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", parts.time, absl::UTCTimeZone()),
              line.at("time"));
    EXPECT_EQ(parts.datacenter, line.at("datacenter"));
    EXPECT_EQ(parts.worker, line.at("worker"));
    EXPECT_EQ(parts.sequence, line.at("sequence"));
  }
}

TEST_F(SnowflakeTest, Decompose_KnownIds) {
  // Twitter's layout and epoch: the ID of a public post, and its time.
  SnowflakeParts post =
      SnowflakeDefaultLayout::Decompose(1541815603606036480, absl::FromUnixMillis(1288834974657))
          .value();
  EXPECT_EQ(absl::ToUnixMillis(post.time), 1656432460105);
  EXPECT_EQ(post.datacenter, 11u);
  EXPECT_EQ(post.worker, 26u);
  EXPECT_EQ(post.sequence, 0u);
  EXPECT_EQ(SnowflakeDefaultLayout::Decompose(0).value(),
            (SnowflakeParts{kSnowflakeEpoch, 0, 0, 0}));
  SnowflakeParts last =
      SnowflakeDefaultLayout::Decompose(std::numeric_limits<int64_t>::max()).value();
  EXPECT_EQ(last.time, kSnowflakeEpoch + absl::Milliseconds((int64_t{1} << 41) - 1));
  EXPECT_EQ(last.sequence, 4095u);
}

TEST_F(SnowflakeTest, Decompose_OutsideTheLayout_IsRefused) {
  absl::Status negative = SnowflakeDefaultLayout::Decompose(-1).status();
  EXPECT_TRUE(absl::IsInvalidArgument(negative)) << negative;
  EXPECT_THAT(negative.message(), HasSubstr("-1"));
  EXPECT_TRUE(SnowflakeJs53Layout::Decompose((int64_t{1} << 53) - 1).ok());
  absl::Status wide = SnowflakeJs53Layout::Decompose(int64_t{1} << 53).status();
  EXPECT_TRUE(absl::IsInvalidArgument(wide)) << wide;
  EXPECT_THAT(wide.message(), HasSubstr("9007199254740991"));
}

TEST_F(SnowflakeTest, Create_RefusesPartsThatDoNotFit) {
  struct Case {
    uint64_t datacenter, worker;
    bool fits;
  };
  for (const Case& each : {Case{0, 1023, true}, Case{0, 1024, false}, Case{1, 31, true},
                           Case{1, 32, false}, Case{31, 0, true}, Case{32, 0, false}}) {
    SnowflakeOptions options = Options(each.worker);
    options.datacenter = each.datacenter;
    absl::Status status = Default::Create(options).status();
    EXPECT_EQ(status.ok(), each.fits) << status;
    EXPECT_EQ(absl::IsInvalidArgument(status), !each.fits) << status;
  }
  SnowflakeOptions options = Options();
  options.datacenter = 1;
  EXPECT_TRUE(absl::IsInvalidArgument(Js53::Create(options).status())) << "it has no datacenter";
  options = Options();
  options.epoch += absl::Microseconds(1);
  EXPECT_TRUE(absl::IsInvalidArgument(Default::Create(options).status()));
  options.epoch = absl::InfinitePast();
  EXPECT_TRUE(absl::IsInvalidArgument(Default::Create(options).status()));
  options = Options();
  options.clock = nullptr;
  EXPECT_TRUE(absl::IsInvalidArgument(Default::Create(options).status()));
}

TEST_F(SnowflakeTest, SecondGeneratorOfAWorker_IsRefused) {
  auto ids = Default::Create(Options()).value();
  EXPECT_TRUE(absl::IsAlreadyExists(Default::Create(Options()).status()));
  EXPECT_TRUE(
      absl::IsAlreadyExists(Snowflake<SnowflakeOneWorkerLayout>::Create(Options()).status()))
      << "its IDs would be the same";
  SnowflakeOptions elsewhere = Options(1);
  auto of_elsewhere = Default::Create(elsewhere);
  EXPECT_TRUE(of_elsewhere.ok()) << "another worker";
  elsewhere = Options();
  elsewhere.epoch -= absl::Hours(1);
  EXPECT_TRUE(Default::Create(elsewhere).ok()) << "another epoch";
  EXPECT_TRUE(Js53::Create(Options()).ok()) << "another layout";
}

TEST_F(SnowflakeTest, OneAfterAnotherInOneMillisecond_RepeatsNothing) {
  std::set<int64_t> all;
  for (int i = 0; i < 5; ++i) {
    clock_.Jump(-3 * kMs);
    auto ids = Default::Create(Options()).value();
    for (int n = 0; n < 3; ++n) EXPECT_TRUE(all.insert(ids->Next().value()).second);
  }
}

TEST_F(SnowflakeTest, UsedUpMillisecond_WaitsForTheNext) {
  auto ids = Default::Create(Options()).value();
  int64_t start = Millis();
  int64_t before = 0;
  for (int64_t i = 0; i < 3 * 4096; ++i) {
    int64_t id = ids->Next().value();
    EXPECT_GT(id, before);
    EXPECT_EQ(TimeField(id), start + i / 4096);
    EXPECT_EQ(id & 4095, i % 4096);
    EXPECT_EQ(Millis(), TimeField(id)) << "never ahead of the clock";
    before = id;
  }
}

TEST_F(SnowflakeTest, Batch_IsARunPerMillisecond) {
  auto ids = Default::Create(Options()).value();
  std::vector<int64_t> batch(10000);
  ASSERT_EQ(ids->NextBatch(batch).value(), batch.size());
  EXPECT_TRUE(std::is_sorted(batch.begin(), batch.end()));
  EXPECT_EQ(TimeField(batch.back()) - TimeField(batch.front()), 2);
  EXPECT_EQ(batch[4096], (TimeField(batch[0]) + 1) << 22 | 5 << 12);
  EXPECT_EQ(ids->Next().value(), batch.back() + 1);
  EXPECT_EQ(ids->NextBatch({}).value(), 0u);
}

TEST_F(SnowflakeTest, ClockALittleBack_ContinuesFromTheLastTime) {
  auto ids = Default::Create(Options()).value();
  int64_t first = ids->Next().value();
  clock_.Jump(-AnySnowflake::kGoOnBehind);
  absl::Time back = clock_.Now();
  for (int64_t i = 1; i < 4096; ++i) EXPECT_EQ(ids->Next().value(), first + i);
  EXPECT_EQ(clock_.Now(), back) << "no wait while sequences last";
  EXPECT_EQ(TimeField(ids->Next().value()), TimeField(first) + 1);
  EXPECT_EQ(clock_.Now(), back + AnySnowflake::kGoOnBehind + kMs)
      << "then for the next millisecond";
}

TEST_F(SnowflakeTest, ClockBackByUpToASecond_IsWaitedFor) {
  for (absl::Duration back : {AnySnowflake::kGoOnBehind + kMs, AnySnowflake::kWaitBehind}) {
    auto ids = Default::Create(Options()).value();
    int64_t first = ids->Next().value();
    absl::Time before = clock_.Now();
    clock_.Jump(-back);
    EXPECT_EQ(ids->Next().value(), first + 1);
    EXPECT_GE(clock_.Now(), before - AnySnowflake::kGoOnBehind);
    EXPECT_LE(clock_.Now(), before);
    clock_.Advance(kMs);
  }
}

TEST_F(SnowflakeTest, ClockFurtherBack_IsRefusedUntilItIsRepaired) {
  auto ids = Default::Create(Options()).value();
  int64_t first = ids->Next().value();
  absl::Time before = clock_.Now();
  clock_.Jump(-AnySnowflake::kWaitBehind - kMs);
  absl::Status status = ids->Next().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("worker 5: the clock is more than 1000 ms behind "
                                          "2026-01-01T00:00:00.000Z"));
  EXPECT_EQ(clock_.Now(), before - AnySnowflake::kWaitBehind - kMs) << "at once";
  clock_.Advance(AnySnowflake::kWaitBehind + kMs);
  EXPECT_EQ(ids->Next().value(), first + 1);
}

TEST_F(SnowflakeTest, ClockBeforeTheEpoch_IsRefused) {
  ManualClock early(epoch_ - absl::Hours(1));
  SnowflakeOptions options = Options();
  options.clock = &early;
  auto ids = Default::Create(options).value();
  EXPECT_TRUE(absl::IsFailedPrecondition(ids->Next().status()));
  early.Advance(absl::Hours(1));
  EXPECT_EQ(ids->Next().value(), 1 << 22 | 5 << 12) << "the first millisecond after the epoch";
}

TEST_F(SnowflakeTest, InfiniteClocks_AreErrors) {
  class Broken : public ManualClock {
   public:
    absl::Time Now() override { return now; }
    absl::Time now;
  } broken;
  SnowflakeOptions options = Options();
  options.clock = &broken;
  auto ids = Default::Create(options).value();
  broken.now = absl::InfinitePast();
  EXPECT_TRUE(absl::IsFailedPrecondition(ids->Next().status()));
  broken.now = absl::InfiniteFuture();
  EXPECT_TRUE(absl::IsOutOfRange(ids->Next().status()));
}

TEST_F(SnowflakeTest, TimeFieldUsedUp_IsOutOfRangeAndSeenComing) {
  clock_.Advance(kSnowflakeEpoch - epoch_);  // as in Options(): an epoch of its own
  SnowflakeOptions options = Options();
  options.epoch = clock_.Now();
  auto ids = Short::Create(options).value();
  EXPECT_NEAR(ids->YearsLeft() * 365.2425 * 86400, 1048.575, 0.001);
  clock_.Advance(absl::Milliseconds((1 << 20) - 1));
  EXPECT_EQ(ids->YearsLeft(), 0);
  for (int i = 0; i < 4; ++i) EXPECT_GT(ids->Next().value(), 0);
  absl::Status status = ids->Next().status();
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("the 20 bits of time since 2026-01-01T00:00:00."));
  clock_.Advance(absl::Hours(24 * 365));
  EXPECT_TRUE(absl::IsOutOfRange(ids->Next().status()));
  EXPECT_EQ(ids->YearsLeft(), 0);
}

TEST_F(SnowflakeTest, YearsLeft_OfTheDefaultLayout) {
  auto ids = Default::Create(Options()).value();
  EXPECT_NEAR(ids->YearsLeft(), 69.68 - 3.0, 0.01);
}

TEST_F(SnowflakeTest, Floor_IsBelowEveryId) {
  SnowflakeOptions options = Options();
  options.floor = clock_.Now() + 2 * kMs + absl::Microseconds(1);
  int64_t floor = Millis() + 2;
  auto ids = Default::Create(options).value();
  EXPECT_EQ(TimeField(ids->Next().value()), floor + 1);
  options = Options(6);
  options.floor = clock_.Now() + absl::Hours(1);
  auto far = Default::Create(options).value();
  EXPECT_TRUE(absl::IsFailedPrecondition(far->Next().status()));
}

TEST_F(SnowflakeTest, Ceiling_IsTheLastTimeUntilItIsRaised) {
  SnowflakeOptions options = Options();
  options.ceiling = clock_.Now() + absl::Microseconds(1500);
  auto ids = Default::Create(options).value();
  clock_.Advance(kMs);
  std::vector<int64_t> batch(5000);
  EXPECT_EQ(ids->NextBatch(batch).value(), 4096u) << "up to the ceiling, not further";
  EXPECT_EQ(TimeField(batch[0]), Millis());
  absl::Time before = clock_.Now();
  absl::Status status = ids->Next().status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("2026-01-01T00:00:00.002Z is above "
                                          "2026-01-01T00:00:00.001Z"));
  EXPECT_EQ(clock_.Now(), before) << "no use in waiting";
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(absl::IsUnavailable(ids->Next().status()));
  ids->RaiseCeiling(clock_.Now());
  EXPECT_EQ(TimeField(ids->Next().value()), Millis());
  ids->RaiseCeiling(clock_.Now() - absl::Seconds(1));
  EXPECT_TRUE(ids->Next().ok()) << "it is never lowered";
}

TEST_F(SnowflakeTest, Close_ReturnsTheLastTimeUsed) {
  auto ids = Default::Create(Options()).value();
  absl::Time used = clock_.Now();
  ASSERT_TRUE(ids->Next().ok());
  clock_.Advance(absl::Seconds(3));
  EXPECT_EQ(ids->Close(), used);
  EXPECT_EQ(ids->Close(), used);
  absl::Status status = ids->Next().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("closed"));
  ids->RaiseCeiling(absl::InfiniteFuture());
  EXPECT_FALSE(ids->Next().ok());
  SnowflakeOptions options = Options(6);
  options.floor = clock_.Now();
  EXPECT_EQ(Default::Create(options).value()->Close(), clock_.Now()) << "none used: the floor";
  EXPECT_EQ(Default::Create(Options(7)).value()->Close(), epoch_);
}

TEST_F(SnowflakeTest, Rollback_ReportsHowFarAndTheReaction) {
  using Action = SnowflakeRollback::Action;
  std::vector<std::pair<int64_t, Action>> told;
  SnowflakeOptions options = Options();
  options.on_rollback = [&](const SnowflakeRollback& rollback) {
    told.emplace_back(absl::ToInt64Milliseconds(rollback.behind), rollback.action);
  };
  // Four IDs a millisecond, so that it can be used up.
  options.epoch = clock_.Now() - absl::Minutes(1);
  auto ids = Short::Create(options).value();
  std::vector<int64_t> batch(4);
  ASSERT_EQ(ids->NextBatch(batch).value(), 4u);
  ASSERT_TRUE(ids->Next().ok());  // waits for the next millisecond: no rollback
  EXPECT_THAT(told, ::testing::IsEmpty());
  clock_.Jump(-5 * kMs);
  ASSERT_TRUE(ids->Next().ok());
  EXPECT_THAT(told, ::testing::ElementsAre(std::pair(5, Action::kWentOn)));
  ASSERT_EQ(ids->NextBatch(std::span(batch).first(2)).value(), 2u);
  told.clear();
  ASSERT_TRUE(ids->Next().ok()) << "the millisecond is used up";
  EXPECT_THAT(told, ::testing::ElementsAre(std::pair(5, Action::kWaited)));
  told.clear();
  clock_.Jump(-900 * kMs);
  ASSERT_TRUE(ids->Next().ok());
  EXPECT_THAT(told, ::testing::ElementsAre(std::pair(900, Action::kWaited)));
  told.clear();
  clock_.Jump(-1001 * kMs);
  ASSERT_FALSE(ids->Next().ok());
  EXPECT_THAT(told, ::testing::ElementsAre(std::pair(1001, Action::kRefused)));
  SnowflakeStats stats = ids->Stats();
  EXPECT_EQ(stats.rollbacks, 5u);
  EXPECT_EQ(stats.rollbacks_went_on, 2u);
  EXPECT_EQ(stats.rollbacks_waited, 2u);
  EXPECT_EQ(stats.rollbacks_refused, 1u);
  EXPECT_EQ(stats.furthest_rollback, 1001 * kMs);
  EXPECT_EQ(Stringified(Action::kRefused), "refused");
}

TEST_F(SnowflakeTest, Closed_LeavesTheWorkerToTheNextOne) {
  auto ids = Default::Create(Options()).value();
  const int64_t before = ids->Next().value();
  EXPECT_FALSE(ids->closed());
  ids->Close();
  EXPECT_TRUE(ids->closed());
  auto next = Default::Create(Options()).value();
  clock_.Jump(-3 * kMs);
  EXPECT_GT(next->Next().value(), before) << "it continues after the closed one";
  ids->Close();
  ids.reset();
  EXPECT_TRUE(absl::IsAlreadyExists(Default::Create(Options()).status()))
      << "the closed one must not end the claim of the next one";
}

TEST_F(SnowflakeTest, ForkedChild_IsRefusedAndMayDestroy) {
  auto ids = Default::Create(Options()).value();
  int64_t before = ids->Next().value();
  ChildProcess child([&] {
    std::vector<int64_t> batch(3);
    if (!absl::IsFailedPrecondition(ids->Next().status())) return 1;
    if (!absl::IsFailedPrecondition(ids->NextString().status())) return 2;
    if (!absl::IsFailedPrecondition(ids->NextBatch(batch).status())) return 3;
    if (ids->Close() != epoch_) return 4;
    if (!absl::IsFailedPrecondition(ids->Next().status())) return 5;
    ids.reset();
    if (!absl::IsAlreadyExists(Default::Create(Options()).status())) return 6;  // the parent's
    return Default::Create(Options(6)).value()->Next().ok() ? 0 : 7;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(ids->Next().value(), before + 1) << "the parent continues";
}

TEST(SnowflakeSystemClockTest, ManyThreads_NoIdTwiceAndRisingInEach) {
  SnowflakeOptions options;
  auto ids = Snowflake<SnowflakeLayout<41, 14, 8>>::Create(options).value();
  constexpr int kThreads = 4;
  std::vector<std::vector<int64_t>> got(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      auto& mine = got[static_cast<size_t>(t)];
      std::vector<int64_t> batch(100);
      while (mine.size() < 5000) {
        mine.push_back(ids->Next().value());
        ASSERT_EQ(ids->NextBatch(batch).value(), batch.size());
        mine.insert(mine.end(), batch.begin(), batch.end());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int64_t> all;
  for (const auto& mine : got) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(SnowflakeSystemClockTest, CeilingRaisedAndClosedByAnotherThread) {
  SnowflakeOptions options;
  options.ceiling = absl::Now() + absl::Milliseconds(5);
  auto ids = Default::Create(options).value();
  std::vector<int64_t> got;
  absl::Status end;
  std::thread maker([&] {
    while (true) {
      absl::StatusOr<int64_t> id = ids->Next();
      if (absl::IsUnavailable(id.status())) continue;
      if (!id.ok()) {
        end = id.status();
        return;
      }
      got.push_back(*id);
    }
  });
  absl::Time ceiling = options.ceiling;
  for (int i = 0; i < 20; ++i) {
    ceiling += absl::Milliseconds(2);
    ids->RaiseCeiling(ceiling);
    std::this_thread::yield();
  }
  absl::Time last = ids->Close();
  maker.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(end)) << end;
  EXPECT_LE(last, ceiling);
  for (int64_t id : got) EXPECT_LE(ids->Decompose(id).value().time, last);
}

TEST_F(SnowflakeTest, Stats_CountIdsWaitsRollbacksAndRefusals) {
  epoch_ = clock_.Now() - absl::Seconds(7);  // 20 bits of time are 17 minutes
  auto ids = Short::Create(Options(1)).value();
  EXPECT_EQ(ids->Stats().ids, 0u);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(ids->Next().ok());
  EXPECT_EQ(ids->Stats().ids, 4u);
  EXPECT_EQ(ids->Stats().waits, 0u);
  ASSERT_TRUE(ids->Next().ok()) << "the millisecond is used up: waits for the next";
  std::vector<int64_t> batch(7);
  ASSERT_EQ(ids->NextBatch(batch).value(), 7u);
  SnowflakeStats stats = ids->Stats();
  EXPECT_EQ(stats.ids, 12u);
  EXPECT_EQ(stats.waits, 2u);
  EXPECT_EQ(stats.rollbacks, 0u);
  EXPECT_GT(stats.years_left, 0);

  clock_.Advance(kMs);
  ASSERT_TRUE(ids->Next().ok());
  clock_.Jump(-3 * kMs);
  ASSERT_TRUE(ids->Next().ok()) << "continues after the last time";
  EXPECT_EQ(ids->Stats().rollbacks, 1u);
  clock_.Jump(-absl::Seconds(5));
  EXPECT_FALSE(ids->Next().ok());
  stats = ids->Stats();
  EXPECT_EQ(stats.ids, 14u);
  EXPECT_EQ(stats.rollbacks, 2u);
  EXPECT_EQ(stats.refusals, 1u);
  ids->Close();
  EXPECT_EQ(ids->Stats().ids, 14u);
}

}  // namespace
}  // namespace locus
