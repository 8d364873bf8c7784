// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <set>
#include <thread>

#include "gtest/gtest.h"
#include "locus/order_id_generator.h"
#include "locus/testing/faulty_segment_store.h"
#include "tests/support/child_process.h"
#include "tests/support/no_more_threads.h"

namespace locus {
namespace {

using fakes::FaultySegmentStore;

std::chrono::steady_clock::time_point Soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}
std::chrono::steady_clock::time_point Past() { return std::chrono::steady_clock::now(); }

const BuyerKey kBuyer = BuyerKey::Uint64(17850);

int InChild(const std::function<int()>& body) { return ChildProcess(body).Wait(); }

// With a thread of its own and a system clock.
class OwnThreadTest : public ::testing::Test {
 protected:
  OwnThreadTest() { options_.create_space = true; }
  std::shared_ptr<FaultySegmentStore> store_ = std::make_shared<FaultySegmentStore>();
  OrderIdGenerator::Options options_;
};

TEST_F(OwnThreadTest, Next_WaitsForTheStore) {
  auto generator = OrderIdGenerator::Create(store_, options_).value();
  EXPECT_TRUE(generator->Next(kBuyer, Soon()).ok());
  EXPECT_GE(generator->Stats().waits, 1u);
}

TEST_F(OwnThreadTest, NoThreadToBeHadAtFirst_TheNextCallTriesAgain) {
  auto generator = OrderIdGenerator::Create(store_, options_).value();
  std::vector<OrderId> ids(1);
  {
    NoMoreThreads none;
    EXPECT_TRUE(absl::IsUnavailable(generator->TryNext(kBuyer).status()));
    EXPECT_TRUE(absl::IsUnavailable(generator->NextBatch({&kBuyer, 1}, ids).status()));
  }
  EXPECT_TRUE(generator->Next(kBuyer, Past() + std::chrono::seconds(2)).ok());
}

TEST_F(OwnThreadTest, Next_AtItsDeadlineNamesTheStoresError) {
  auto generator = OrderIdGenerator::Create(store_, options_).value();
  store_->FailWith(absl::UnavailableError("connection refused"));
  absl::Status status;
  do {
    status = generator->Next(kBuyer, Past() + std::chrono::milliseconds(5)).status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  } while (status.message() != "connection refused");
  store_->Heal();
  EXPECT_TRUE(generator->Next(kBuyer, Soon()).ok());
}

TEST_F(OwnThreadTest, BatchWithADeadline_FillsAllOfIt) {
  auto generator = OrderIdGenerator::Create(store_, options_).value();
  std::vector<BuyerKey> buyers(100000, kBuyer);
  std::vector<OrderId> ids(buyers.size());
  EXPECT_EQ(generator->NextBatch(buyers, ids, Soon()).value(), buyers.size());
  EXPECT_EQ(std::set<OrderId>(ids.begin(), ids.end()).size(), ids.size());
}

TEST_F(OwnThreadTest, ManyThreadsAndLateAnswers_NoIdTwice) {
  auto generator = OrderIdGenerator::Create(store_, options_).value();
  std::vector<std::vector<OrderId>> got(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < got.size(); ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      while (got[t].size() < 20000) {
        BuyerKey buyer = BuyerKey::Uint64(random() % 20);
        absl::StatusOr<OrderId> id = generator->Next(buyer, Soon());
        ASSERT_TRUE(id.ok()) << id.status();
        got[t].push_back(*id);
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    store_->HoldAnswers();
    std::this_thread::yield();
    store_->Heal();
  }
  for (std::thread& thread : threads) thread.join();
  std::set<OrderId> all;
  for (auto& mine : got) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 60000u);
}

TEST_F(OwnThreadTest, DestroyedWhileTheStoreStalls_WaitsForTheCall) {
  auto generator = OrderIdGenerator::Create(store_, options_).value();
  store_->Stall();
  EXPECT_FALSE(generator->TryNext(kBuyer).ok());
  while (store_->blocked() == 0) std::this_thread::yield();
  std::thread healer([&] { store_->Heal(); });
  generator.reset();
  healer.join();
}

TEST_F(OwnThreadTest, ForkedChild_IsRefusedEverywhereAndMayDestroy) {
  auto generator = OrderIdGenerator::Create(store_, options_).value();
  OrderId before = generator->Next(kBuyer, Soon()).value();
  EXPECT_EQ(InChild([&] {
              std::vector<BuyerKey> buyers(3, kBuyer);
              std::vector<OrderId> ids(3);
              if (!absl::IsFailedPrecondition(generator->TryNext(kBuyer).status())) return 1;
              if (!absl::IsFailedPrecondition(generator->Next(kBuyer, Soon()).status())) return 2;
              if (!absl::IsFailedPrecondition(generator->NextBatch(buyers, ids).status())) return 3;
              if (!absl::IsFailedPrecondition(generator->TryNext(BuyerKey::Uint64(99)).status())) {
                return 4;
              }
              generator->Stats();
              generator.reset();
              return 0;
            }),
            0);
  EXPECT_GT(generator->Next(kBuyer, Soon()).value(), before) << "the parent continues";
}

TEST_F(OwnThreadTest, ForkedWhileTheLoaderWaits_ChildDestroysAtOnce) {
  auto generator = OrderIdGenerator::Create(store_, options_).value();
  store_->Stall();
  EXPECT_FALSE(generator->TryNext(kBuyer).ok());
  while (store_->blocked() == 0) std::this_thread::yield();
  EXPECT_EQ(InChild([&] {
              generator.reset();
              return 0;
            }),
            0);
  store_->Heal();
  EXPECT_TRUE(generator->Next(kBuyer, Soon()).ok());
}

}  // namespace
}  // namespace locus
