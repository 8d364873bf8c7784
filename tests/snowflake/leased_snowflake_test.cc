// SPDX-License-Identifier: Apache-2.0
#include "locus/leased_snowflake.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"
#include "nlohmann/json.hpp"
#include "tests/support/child_process.h"
#include "tests/worker/hooked_worker_store.h"

namespace locus {
namespace {

using fakes::ManualClock;
using fakes::ManualExecutor;
using ::testing::HasSubstr;
using Call = HookedWorkerStore::Call;

constexpr absl::Duration kSecond = absl::Seconds(1);
constexpr absl::Duration kMs = absl::Milliseconds(1);
constexpr absl::Duration kTtl = absl::Seconds(30);

// Each process that a test plays has an epoch of its own: a restarted process must not know what
// its predecessor did in this process.
absl::Time NextEpoch() {
  static int epochs = 0;
  return kSnowflakeEpoch - ++epochs * kMs;
}

class LeasedSnowflakeTest : public ::testing::Test {
 protected:
  LeasedSnowflakeOptions Options() {
    LeasedSnowflakeOptions options;
    options.lease.ttl = kTtl;
    options.lease.clock = &clock_;
    options.lease.executor = &executor_;
    options.lease.on_lost = [this](const absl::Status& why) { losses_.push_back(why); };
    options.epoch = NextEpoch();
    return options;
  }
  template <typename Layout = SnowflakeDefaultLayout>
  std::unique_ptr<LeasedSnowflake<Layout>> Create(const LeasedSnowflakeOptions& options) {
    auto made = LeasedSnowflake<Layout>::Create(store_, options);
    if (!made.ok()) {
      ADD_FAILURE() << made.status();
      return nullptr;
    }
    executor_.RunReady();
    return *std::move(made);
  }
  void Pass(absl::Duration time, absl::Duration step = kSecond) {
    for (; time > absl::ZeroDuration(); time -= step) {
      clock_.Advance(std::min(time, step));
      executor_.RunDelayed();
    }
  }
  absl::Time TimeOf(const AnyLeasedSnowflake& ids, int64_t id) { return ids.Decompose(id)->time; }

  ManualClock clock_;
  ManualExecutor executor_;
  std::shared_ptr<HookedWorkerStore> store_ = std::make_shared<HookedWorkerStore>(clock_);
  std::vector<absl::Status> losses_;
};

TEST_F(LeasedSnowflakeTest, Ids_CarryTheLeasedWorker) {
  LeasedSnowflakeOptions options = Options();
  options.lease.preferred = 37;  // datacenter 1, worker 5
  auto ids = Create(options);
  EXPECT_EQ(ids->worker(), 37u);
  SnowflakeParts parts = ids->Decompose(ids->Next().value()).value();
  EXPECT_EQ(parts, (SnowflakeParts{clock_.Now(), 1, 5, 0}));
  EXPECT_EQ(ids->Decompose(std::stoll(ids->NextString().value()))->sequence, 1u);
  std::vector<int64_t> batch(10);
  EXPECT_EQ(ids->NextBatch(batch).value(), 10u);
  EXPECT_EQ(ids->Decompose(batch[9])->sequence, 11u);
  EXPECT_EQ(ids->Stats().ids.ids, 12u);
  EXPECT_EQ(ids->Stats().leases, 1u);
  EXPECT_TRUE(ids->held());
  EXPECT_EQ(store_->acquires()[0].range, (WorkerRange{0, 1023})) << "the layout's";
}

TEST_F(LeasedSnowflakeTest, Range_IsTheLayoutsOrTheDatacenters) {
  LeasedSnowflakeOptions options = Options();
  Create<SnowflakeJs53Layout>(options);
  EXPECT_EQ(store_->acquires().back().range, (WorkerRange{0, 31}));
  options = Options();
  options.datacenter = 3;
  auto ids = Create(options);
  EXPECT_EQ(store_->acquires().back().range, (WorkerRange{96, 127}));
  EXPECT_EQ(ids->Decompose(ids->Next().value())->datacenter, 3u);
  EXPECT_EQ(nlohmann::json::parse(store_->acquires().back().holder).at("datacenter"), 3);
  options.lease.range = WorkerRange{100, 101};
  options.epoch = NextEpoch();
  Create(options);
  EXPECT_EQ(store_->acquires().back().range, (WorkerRange{100, 101}));
  options = Options();
  Create<SnowflakeLayout<20, 41, 2>>(options);
  EXPECT_EQ(store_->acquires().back().range, (WorkerRange{0, kMostWorker}));
}

TEST_F(LeasedSnowflakeTest, OptionsThatDoNotFit_TakeNoLease) {
  auto refusal = [this](auto change, auto layout) {
    LeasedSnowflakeOptions options = Options();
    change(options);
    absl::Status status = LeasedSnowflake<decltype(layout)>::Create(store_, options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  SnowflakeDefaultLayout usual;
  EXPECT_THAT(refusal([](auto& o) { o.datacenter = 32; }, usual), HasSubstr("32 is above 31"));
  EXPECT_THAT(refusal([](auto& o) { o.datacenter = 1; }, SnowflakeJs53Layout()),
              HasSubstr("no datacenters"));
  EXPECT_THAT(refusal(
                  [](auto& o) {
                    o.lease.range = WorkerRange{1000, 1024};
                  },
                  usual),
              HasSubstr("1000..1024"));
  auto outside = [](auto& o) {
    o.datacenter = 2;
    o.lease.range = WorkerRange{63, 70};
  };
  EXPECT_THAT(refusal(outside, usual), HasSubstr("64..95"));
  EXPECT_THAT(refusal([](auto& o) { o.epoch += absl::Microseconds(1); }, usual),
              HasSubstr("epoch"));
  EXPECT_THAT(refusal([](auto& o) { o.lease.ttl = kSecond; }, usual), HasSubstr("ttl"));
  EXPECT_THAT(refusal([](auto& o) { o.lease.clock = nullptr; }, usual), HasSubstr("clock"));
  EXPECT_TRUE(store_->acquires().empty());
}

TEST_F(LeasedSnowflakeTest, WorkerWithAGeneratorAlready_IsGivenBack) {
  LeasedSnowflakeOptions options = Options();
  options.lease.range = WorkerRange{4, 4};
  SnowflakeOptions plain;
  plain.worker = 4;
  plain.epoch = options.epoch;
  auto other = Snowflake<>::Create(plain).value();
  EXPECT_TRUE(absl::IsAlreadyExists(LeasedSnowflake<>::Create(store_, options).status()));
  EXPECT_LT(store_->Record(4)->ceiling, clock_.Now()) << "at once";
}

TEST_F(LeasedSnowflakeTest, Ceiling_EndsTheIdsUntilARenewalRaisesIt) {
  LeasedSnowflakeOptions options = Options();
  auto ids = Create(options);
  const absl::Duration ahead = store_->Record(ids->worker())->ceiling + kMs - clock_.Now();
  clock_.Jump(ahead);
  absl::Status above = ids->Next().status();
  EXPECT_TRUE(absl::IsUnavailable(above)) << above;
  EXPECT_THAT(above.message(), HasSubstr("ceiling"));
  clock_.Jump(-ahead);
  Pass(11 * kSecond);
  clock_.Jump(ahead - 11 * kSecond);
  EXPECT_TRUE(ids->Next().ok());
}

TEST_F(LeasedSnowflakeTest, RestartWithTheClockSetBack_RepeatsNothing) {
  for (bool crash : {false, true}) {
    LeasedSnowflakeOptions options = Options();
    options.lease.range = WorkerRange{9, 9};
    auto first = Create(options);
    clock_.Jump(5 * kSecond);
    const absl::Time used = TimeOf(*first, first->Next().value());
    if (crash) store_->Before([](Call) { return absl::UnavailableError("killed"); });
    first.reset();
    store_->Before(nullptr);
    const absl::Time floor = store_->Record(9)->ceiling;
    EXPECT_GE(floor, used);
    EXPECT_EQ(floor == used, !crash);
    clock_.Jump(floor + kMs - clock_.Now());  // the store's, when the ID is free again
    options.epoch = NextEpoch();
    auto second = Create(options);
    EXPECT_EQ(second->floor(), floor);
    clock_.Jump(-5 * kSecond);
    EXPECT_TRUE(absl::IsFailedPrecondition(second->Next().status()));
    clock_.Jump(4 * kSecond + 500 * kMs);
    EXPECT_GT(TimeOf(*second, second->Next().value()), floor) << "waits for the clock";
    clock_.Jump(absl::Hours(1));
  }
}

TEST_F(LeasedSnowflakeTest, Rollbacks_AreReportedAndCounted) {
  LeasedSnowflakeOptions options = Options();
  std::vector<absl::Duration> told;
  options.on_rollback = [&](const SnowflakeRollback& each) { told.push_back(each.behind); };
  auto ids = Create(options);
  ASSERT_TRUE(ids->Next().ok());
  clock_.Jump(-3 * kMs);
  ASSERT_TRUE(ids->Next().ok());
  EXPECT_THAT(told, ::testing::ElementsAre(3 * kMs));
  EXPECT_EQ(ids->Stats().ids.rollbacks_went_on, 1u);
}

TEST_F(LeasedSnowflakeTest, Lost_EndsTheIdsAndSaysWhy) {
  auto ids = Create(Options());
  const uint64_t worker = ids->worker();
  store_->Before([](Call) { return absl::AbortedError("it has another holder"); });
  Pass(11 * kSecond);
  EXPECT_FALSE(ids->held());
  std::vector<int64_t> batch(3);
  for (const absl::Status& status :
       {ids->Next().status(), ids->NextString().status(), ids->NextBatch(batch).status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("its lease was lost: it has another holder"));
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("worker ", worker)));
  }
  store_->Before(nullptr);
  Pass(10 * kTtl);
  EXPECT_FALSE(ids->Next().ok()) << "it is not taken again";
  EXPECT_EQ(store_->acquires().size(), 1u);
  EXPECT_EQ(losses_.size(), 1u);
  EXPECT_EQ(ids->Stats().losses, 1u);
  EXPECT_EQ(ids->Release(), losses_[0]);
}

TEST_F(LeasedSnowflakeTest, Released_IsNamedInTheError) {
  auto ids = Create(Options());
  const absl::Time used = TimeOf(*ids, ids->Next().value());
  EXPECT_TRUE(ids->Release().ok());
  EXPECT_EQ(store_->Record(ids->worker())->ceiling, used);
  absl::Status status = ids->Next().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("released"));
  EXPECT_TRUE(ids->Release().ok());
  EXPECT_EQ(store_->releases().size(), 1u);
}

TEST_F(LeasedSnowflakeTest, Reacquire_ContinuesAboveTheNewFloor) {
  LeasedSnowflakeOptions options = Options();
  options.reacquire = true;
  options.lease.range = WorkerRange{6, 6};
  auto ids = Create(options);
  const uint64_t token = ids->token();
  const int64_t before = ids->Next().value();
  store_->Before([](Call) { return absl::UnavailableError("no route"); });
  Pass(kTtl);
  absl::Status away = ids->Next().status();
  EXPECT_TRUE(absl::IsUnavailable(away)) << away;
  EXPECT_THAT(away.message(), HasSubstr("not renewed for"));
  EXPECT_THAT(away.message(), HasSubstr("another one is being taken: UNAVAILABLE: no route"));
  EXPECT_EQ(losses_.size(), 1u);
  store_->Before(nullptr);
  const absl::Time ceiling = store_->Record(6)->ceiling;
  while (clock_.Now() <= ceiling) {
    EXPECT_FALSE(ids->Next().ok());
    Pass(kSecond);
  }
  Pass(11 * kSecond);
  EXPECT_EQ(ids->worker(), 6u) << "the same one, as soon as it is free";
  EXPECT_GT(ids->token(), token);
  EXPECT_EQ(ids->floor(), ceiling);
  EXPECT_TRUE(ids->held());
  const int64_t after = ids->Next().value();
  EXPECT_GT(after, before);
  EXPECT_GT(TimeOf(*ids, after), ceiling);
  LeasedSnowflakeStats stats = ids->Stats();
  EXPECT_EQ(stats.leases, 2u);
  EXPECT_EQ(stats.losses, 1u);
  EXPECT_EQ(stats.ids.ids, 2u);
  std::vector<int64_t> batch(3);
  EXPECT_EQ(ids->NextBatch(batch).value(), 3u);
  EXPECT_TRUE(ids->Release().ok());
  EXPECT_EQ(store_->Record(6)->ceiling, TimeOf(*ids, batch[2]));
}

TEST_F(LeasedSnowflakeTest, Reacquire_LostAgain_TakesAThird) {
  LeasedSnowflakeOptions options = Options();
  options.reacquire = true;
  auto ids = Create(options);
  for (size_t i = 1; i <= 3; ++i) {
    const uint64_t before = ids->worker();
    store_->Before([&](Call call) {
      return call == Call::kRenew ? absl::AbortedError("ended") : absl::OkStatus();
    });
    while (losses_.size() < i) Pass(kSecond);
    store_->Before(nullptr);
    executor_.RunReady();
    EXPECT_TRUE(ids->held());
    EXPECT_TRUE(ids->Next().ok());
    EXPECT_EQ(ids->Stats().leases, i + 1);
    EXPECT_EQ(store_->acquires()[i].preferred, before) << "the same ID, if it is free";
  }
}

// A clock that lets something happen in the middle of a call.
class HookedClock : public ManualClock {
 public:
  int64_t UnixMillis() override {
    const int64_t now = ManualClock::UnixMillis();
    if (hook) std::exchange(hook, nullptr)();
    return now;
  }
  std::function<void()> hook;
};

TEST_F(LeasedSnowflakeTest, Reacquire_DuringACall_ItGetsAnIdOfTheNewLease) {
  HookedClock clock;
  LeasedSnowflakeOptions options = Options();
  options.reacquire = true;
  options.lease.clock = &clock;
  auto store = std::make_shared<HookedWorkerStore>(clock);
  auto ids = LeasedSnowflake<>::Create(store, options).value();
  executor_.RunReady();
  auto lose = [&] {
    const uint64_t leases = ids->Stats().leases;
    store->Before([&](Call call) {
      return call == Call::kRenew ? absl::AbortedError("ended") : absl::OkStatus();
    });
    while (ids->Stats().leases == leases) {
      clock.Advance(kSecond);
      executor_.RunDelayed();
    }
    store->Before(nullptr);
  };
  clock.hook = lose;
  absl::StatusOr<int64_t> id = ids->Next();
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(ids->Decompose(*id)->datacenter * 32 + ids->Decompose(*id)->worker, ids->worker());
  clock.hook = lose;
  std::vector<int64_t> batch(3);
  EXPECT_EQ(ids->NextBatch(batch).value(), 3u);
  EXPECT_EQ(ids->Stats().leases, 3u);
  ids.reset();
}

TEST_F(LeasedSnowflakeTest, Reacquire_NotWhileUnhealthy) {
  bool healthy = true;
  LeasedSnowflakeOptions options = Options();
  options.reacquire = true;
  options.lease.healthy = [&] { return healthy; };
  auto ids = Create(options);
  healthy = false;
  Pass(3 * kTtl);
  EXPECT_FALSE(ids->held());
  EXPECT_THAT(ids->Next().status().message(), HasSubstr("not healthy"));
  EXPECT_EQ(store_->acquires().size(), 1u);
  healthy = true;
  Pass(11 * kSecond);
  EXPECT_TRUE(ids->Next().ok());
}

TEST_F(LeasedSnowflakeTest, Reacquire_NotAfterRelease) {
  LeasedSnowflakeOptions options = Options();
  options.reacquire = true;
  auto ids = Create(options);
  store_->Before([](Call) { return absl::AbortedError("ended"); });
  Pass(11 * kSecond);
  EXPECT_TRUE(absl::IsAborted(ids->Release()));
  store_->Before(nullptr);
  Pass(kTtl);
  EXPECT_EQ(store_->acquires().size(), 1u);
  EXPECT_TRUE(absl::IsFailedPrecondition(ids->Next().status()));
}

// Threads of their own, the system's clock: IDs are made while the lease is released, lost, taken
// again. The times that the store gets must be right whatever the threads do.
class LeasedSnowflakeThreadsTest : public ::testing::Test {
 protected:
  LeasedSnowflakeOptions Options() {
    LeasedSnowflakeOptions options;
    options.lease.ttl = absl::Seconds(10);
    options.epoch = NextEpoch();
    return options;
  }

  std::shared_ptr<HookedWorkerStore> store_ = std::make_shared<HookedWorkerStore>(Clock::System());
};

TEST_F(LeasedSnowflakeThreadsTest, ReleaseWhileIdsAreMade_ReportsNoEarlierTime) {
  for (int round = 0; round < 30; ++round) {
    auto ids = LeasedSnowflake<>::Create(store_, Options()).value();
    std::atomic<int> made{0};
    std::atomic<int64_t> highest{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        int64_t last = 0;
        while (true) {
          absl::StatusOr<int64_t> id = ids->Next();
          if (!id.ok()) {
            EXPECT_TRUE(absl::IsFailedPrecondition(id.status())) << id.status();
            break;
          }
          EXPECT_GT(*id, last);
          last = *id;
          made.fetch_add(1, std::memory_order_relaxed);
        }
        int64_t before = highest.load();
        while (before < last && !highest.compare_exchange_weak(before, last)) {
        }
      });
    }
    while (made.load() < 100) std::this_thread::yield();
    EXPECT_TRUE(ids->Release().ok());
    for (std::thread& thread : threads) thread.join();
    const absl::Time last = ids->Decompose(highest.load())->time;
    EXPECT_EQ(store_->releases().back().last_used, last);
  }
}

TEST_F(LeasedSnowflakeThreadsTest, LossesWhileIdsAreMade_RepeatNothing) {
  // Every renewal says that the lease has ended: about one loss in each of the first seconds.
  std::atomic<int> acquired{0};
  store_->Before([&](Call call) {
    if (call == Call::kAcquire) ++acquired;
    return call == Call::kRenew ? absl::AbortedError("ended") : absl::OkStatus();
  });
  LeasedSnowflakeOptions options = Options();
  options.reacquire = true;
  auto ids = LeasedSnowflake<>::Create(store_, options).value();
  std::vector<std::vector<int64_t>> got(2);
  std::vector<std::thread> threads;
  std::atomic<bool> stop{false};
  for (auto& mine : got) {
    threads.emplace_back([&] {
      while (!stop) {
        absl::StatusOr<int64_t> id = ids->Next();
        if (id.ok()) {
          mine.push_back(*id);
        } else {
          EXPECT_TRUE(absl::IsUnavailable(id.status())) << id.status();
        }
        if (mine.size() % 64 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  const absl::Time give_up = Clock::System().Now() + absl::Seconds(60);
  while (acquired < 3 && Clock::System().Now() < give_up) {
    ids->Stats();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GE(acquired, 3);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::vector<int64_t> all;
  for (const auto& mine : got) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_EQ(ids->Stats().ids.ids, all.size());
}

TEST_F(LeasedSnowflakeThreadsTest, InAForkedChild_MakesNothing) {
  LeasedSnowflakeOptions options = Options();
  options.reacquire = true;
  auto ids = LeasedSnowflake<>::Create(store_, options).value();
  const uint64_t worker = ids->worker();
  int answer = ChildProcess([&] {
                 std::vector<int64_t> batch(3);
                 if (!absl::IsFailedPrecondition(ids->Next().status())) return 1;
                 if (!absl::IsFailedPrecondition(ids->NextBatch(batch).status())) return 2;
                 if (!absl::IsFailedPrecondition(ids->Release())) return 3;
                 if (ids->held() || ids->token() != 0 || ids->Stats().leases != 0) return 4;
                 ids.reset();
                 return store_->releases().empty() ? 0 : 5;
               }).Wait();
  EXPECT_EQ(answer, 0);
  EXPECT_TRUE(ids->Next().ok());
  EXPECT_EQ(ids->worker(), worker);
}

}  // namespace
}  // namespace locus
