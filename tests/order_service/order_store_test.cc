// SPDX-License-Identifier: Apache-2.0
// How examples/order_service treats lost answers, and refusals of a shard.
#include "examples/order_service/order_store.h"

#include <atomic>
#include <thread>

#include "gmock/gmock.h"
#include "tests/order_service/two_shards.h"
#include "tests/source/losing_relay.h"

namespace locus {
namespace {

using shop::Change;
using shop::FencedStore;
using shop::OrderState;
using shop::PlainStore;
using shop::Style;
using shop::Written;
using Outcome = Written::Outcome;

class OrderStoreTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shards_ = new TwoShards;
    ASSERT_TRUE(shards_->Start(TableTo(shards_->server(0).port())));
  }
  static void TearDownTestSuite() { delete shards_; }

  // All vnodes are of the first shard, which is reached through a relay that may lose answers.
  static RoutingTable TableTo(uint16_t port) {
    std::vector<Shard> shards = shards_->Shards();
    shards[0].endpoint = absl::StrCat("mysql://127.0.0.1:", port, "/", TwoShards::kDatabase);
    return RoutingTable::Make(1, shards, {{65535, 1}}).value();
  }
  static std::unique_ptr<ShardPools> Pools() {
    ShardPoolsOptions options = PoolOptions();
    options.user = "shop";
    return MakePools(options);
  }
  Change New(Style style = Style::kTransactions) {
    const OrderId id = IdOf(7, ++sequence_);
    return shop::NewOrder(id, absl::StrCat("no of ", 1'000'000'000 + sequence_), {17850, 999},
                          "2026-01-02 03:04:05", style, random_);
  }
  // A change of so many statements.
  Change Next(const shop::Order& order, size_t statements, bool deletes = false) {
    while (true) {
      Change change = shop::NextChange(order, Style::kTransactions, random_);
      if (change.statements.size() == statements && change.after.has_value() != deletes) {
        return change;
      }
    }
  }
  // Writes while the first answer to `word` gets lost. By connections of its own: the relay looks
  // at the end of earlier requests as well.
  Written WriteLosing(const std::string& word, const Change& change) {
    std::unique_ptr<ShardPools> pools = Pools();
    FencedStore store(router_, *pools, stop_);
    const int before = relay_.lost();
    relay_.LoseAnswersTo(word);
    std::thread heals([&] {
      EXPECT_TRUE(WaitUntil([&] { return relay_.lost() > before; }));
      relay_.LoseAnswersTo("");
    });
    Written written = store.Write(change);
    heals.join();
    return written;
  }
  void ExpectStored(const Change& change) {
    std::unique_ptr<ShardPools> pools = Pools();
    auto read = FencedStore(router_, *pools, stop_).Read(change.id);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(read->fenced);
    EXPECT_EQ(read->state, change.state);
  }

  static inline TwoShards* shards_ = nullptr;
  static inline uint64_t sequence_ = 0;
  shop::Random random_{91};
  LosingRelay relay_{shards_->server(0).port()};
  Router router_{TableTo(relay_.port())};
  std::unique_ptr<ShardPools> pools_ = Pools();
  std::atomic<bool> stop_ = false;
  FencedStore store_{router_, *pools_, stop_};
};

TEST_F(OrderStoreTest, AnswerToCommitLost_IsAcknowledgedOnceItIsKnown) {
  const Change insert = New();
  Written written = WriteLosing("COMMIT", insert);
  EXPECT_EQ(written.outcome, Outcome::kAcknowledged) << written.status;
  EXPECT_GT(written.unknown, 0u);
  ExpectStored(insert);

  const Change change = Next(*insert.after, 2);
  written = WriteLosing("COMMIT", change);
  EXPECT_EQ(written.outcome, Outcome::kAcknowledged) << written.status;
  EXPECT_GT(written.unknown, 0u);
  ExpectStored(change);

  const Change update = Next(*change.after, 1);
  written = WriteLosing("UPDATE orders", update);
  EXPECT_EQ(written.outcome, Outcome::kAcknowledged) << written.status;
  EXPECT_GT(written.unknown, 0u);
  ExpectStored(update);

  size_t statements = 1;
  if (!update.after->items.empty()) ++statements;
  if (!update.after->payments.empty()) ++statements;
  const Change removal = Next(*update.after, statements, /*deletes=*/true);
  written = WriteLosing(statements == 1 ? "DELETE FROM orders" : "COMMIT", removal);
  EXPECT_EQ(written.outcome, Outcome::kAcknowledged) << written.status;
  EXPECT_GT(written.unknown, 0u);
  ExpectStored(removal);
}

TEST_F(OrderStoreTest, ConnectionLostBeforeCommit_IsRepeatedAndKnown) {
  const Change insert = New();
  const Written written = WriteLosing("INSERT INTO order_items", insert);
  EXPECT_EQ(written.outcome, Outcome::kAcknowledged) << written.status;
  EXPECT_EQ(written.unknown, 0u);
  ExpectStored(insert);
}

TEST_F(OrderStoreTest, AnswersKeepGettingLost_StaysOpen) {
  FencedStore hasty(router_, *pools_, stop_, std::chrono::milliseconds(500));
  relay_.LoseAnswersTo("INSERT INTO orders");
  const Change insert = New(Style::kStatements);  // one statement, which commits itself
  const Written written = hasty.Write(insert);
  EXPECT_EQ(written.outcome, Outcome::kOpen);
  EXPECT_GT(written.unknown, 1u);
  relay_.LoseAnswersTo("");
  ExpectStored(insert);  // the first attempt was
}

TEST_F(OrderStoreTest, OrderChangedByAnotherClient_IsAContradiction) {
  const Change insert = New();
  ASSERT_EQ(store_.Write(insert).outcome, Outcome::kAcknowledged);
  shards_->PastTheGuards(0, "UPDATE orders SET version = 9 WHERE order_id = " + Number(insert.id));
  const Written written = store_.Write(Next(*insert.after, 1));
  EXPECT_EQ(written.outcome, Outcome::kContradicted);
  EXPECT_EQ(written.found.version, 9u);
  EXPECT_EQ(store_.Write(insert).outcome, Outcome::kContradicted) << "its key is taken";
}

TEST_F(OrderStoreTest, NoShardAcceptsTheOrder_IsRefused) {
  const Change insert = New();
  shards_->Sql(0, "UPDATE locus_fence SET own_lo = 10000, step = 3, other = 'orders-b'");
  const Written written = store_.Write(insert);
  PlainStore plain(router_, *pools_);
  const Written by_plain = plain.Write(New(Style::kStatements));
  shards_->Sql(0, "UPDATE locus_fence SET own_lo = 0, step = 4");
  EXPECT_EQ(written.outcome, Outcome::kRefused) << written.status;
  EXPECT_GT(written.refusals, 0u);
  EXPECT_EQ(by_plain.outcome, Outcome::kRefused) << by_plain.status;
  EXPECT_EQ(by_plain.refusals, 1u);
  EXPECT_EQ(store_.Read(insert.id)->state, OrderState{});
}

TEST_F(OrderStoreTest, PlainClientLosesAnAnswer_TheRecordDoesNotSayThatNothingWasWritten) {
  PlainStore plain(router_, *pools_);
  const Change insert = New(Style::kStatements);
  relay_.LoseAnswersTo("INSERT INTO orders");
  EXPECT_EQ(plain.Write(insert).outcome, Outcome::kOpen);
  relay_.LoseAnswersTo("");
  ExpectStored(insert);
}

TEST_F(OrderStoreTest, ShardWithoutFence_IsReadWithoutOne) {
  const Change insert = New();
  ASSERT_EQ(store_.Write(insert).outcome, Outcome::kAcknowledged);
  shards_->PastTheGuards(0, "RENAME TABLE locus_fence TO locus_fence_away");
  auto read = store_.Read(insert.id);
  shards_->PastTheGuards(0, "RENAME TABLE locus_fence_away TO locus_fence");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->fenced);
  EXPECT_EQ(read->state, insert.state);
}

}  // namespace
}  // namespace locus
