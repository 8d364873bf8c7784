// SPDX-License-Identifier: Apache-2.0
// The verdict of examples/order_service on records and rows, without a server.
#include <cstdio>
#include <fstream>

#include "examples/order_service/buyers.h"
#include "examples/order_service/change.h"
#include "examples/order_service/expected.h"
#include "examples/order_service/record.h"
#include "examples/order_service/statistics.h"
#include "examples/order_service/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/key_ring.h"
#include "nlohmann/json.hpp"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using shop::Change;
using shop::ExpectedOrders;
using shop::Op;
using shop::OrderState;
using shop::Record;
using shop::ShardContents;
using shop::StoredOrder;
using shop::Style;
using shop::Verdict;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using What = Record::What;

constexpr OrderState kNone{};
constexpr OrderState kFirst{11, 1}, kSecond{22, 2};

// Vnodes 0..999 of shard a move to shard b, which has the cohorts below 5000.
class OrderVerdictTest : public ::testing::Test {
 protected:
  static OrderId IdIn(uint32_t from, uint32_t to) {
    for (uint64_t sequence = 1;; ++sequence) {
      OrderId id = OrderId::FromParts(ShardGene::FromUint16(uint16_t{7}), sequence).value();
      if (id.cohort() >= from && id.cohort() < to) return id;
    }
  }
  static uint64_t Number(const OrderId& id) { return static_cast<uint64_t>(*id.ToInt64()); }
  static RoutingTable TableWith(std::vector<VnodeMove> moves) {
    return RoutingTable::Make(1,
                              {{.id = 1, .name = "a", .endpoint = "mysql://a/o", .labels = {}},
                               {.id = 2, .name = "b", .endpoint = "mysql://b/o", .labels = {}}},
                              {{65535, 1}}, std::move(moves))
        .value();
  }
  void Take(What what, const OrderId& id, OrderState state, Op op = Op::kInsert) {
    expected_.Take({.what = what, .op = op, .order = Number(id), .state = state});
  }
  void Acknowledge(const OrderId& id, OrderState state, Op op = Op::kInsert) {
    Take(What::kIntent, id, state, op);
    Take(What::kAcknowledged, id, state, op);
  }
  void Store(size_t shard, const OrderId& id, OrderState state) {
    shards_[shard].orders[Number(id)] = {state.digest, state.version, codec_.Encode(id)->ToBytes()};
  }
  Verdict Judge(bool final = false) {
    return shop::Judge(expected_, shards_, Router(table_), codec_, final);
  }

  RoutingTable table_ = TableWith({{0, 999, 2, 5000, 3}});
  OrderNoCodec codec_ =
      OrderNoCodec::Create(KeyRing::FromKey(KeyVersion(), std::string(32, 'k')).value()).value();
  ExpectedOrders expected_;
  std::vector<ShardContents> shards_ = {{RoutedShard(table_.shards()[0]), {}},
                                        {RoutedShard(table_.shards()[1]), {}}};
  const OrderId on_a_ = IdIn(5000, 10000), on_b_ = IdIn(0, 5000);
};

TEST_F(OrderVerdictTest, NoOrderSeen_IsAFailure) {
  EXPECT_FALSE(Judge().ok());
  EXPECT_THAT(TextOf(Judge()), HasSubstr("FAILED"));
}

TEST_F(OrderVerdictTest, EveryOrderWhereItBelongs_IsOk) {
  Acknowledge(on_a_, kFirst);
  Acknowledge(on_b_, kFirst);
  Acknowledge(on_b_, kSecond, Op::kUpdate);
  Store(0, on_a_, kFirst);
  Store(1, on_b_, kSecond);
  const Verdict verdict = Judge(/*final=*/true);
  EXPECT_TRUE(verdict.ok()) << TextOf(verdict);
  EXPECT_EQ(verdict.there, 2u);
  EXPECT_EQ(verdict.counts.acknowledged(), 3u);
  EXPECT_EQ(nlohmann::json::parse(JsonOf(verdict))["updates"], 1);
}

TEST_F(OrderVerdictTest, RowMissing_IsLost) {
  Acknowledge(on_a_, kFirst);
  Store(1, on_a_, kFirst);  // a copy on the wrong shard does not count
  const Verdict verdict = Judge();
  EXPECT_EQ(verdict.lost, 1u);
  EXPECT_FALSE(verdict.ok());
  EXPECT_THAT(verdict.faults, ElementsAre(HasSubstr("shard a does not have it")));
}

TEST_F(OrderVerdictTest, RowIsOlderThanAcknowledged_IsChanged) {
  Acknowledge(on_a_, kFirst);
  Acknowledge(on_a_, kSecond, Op::kUpdate);
  Store(0, on_a_, kFirst);
  EXPECT_EQ(Judge().changed, 1u);
}

TEST_F(OrderVerdictTest, DeletedOrderIsThere_IsForeign) {
  Acknowledge(on_a_, kFirst);
  Acknowledge(on_a_, kNone, Op::kDelete);
  EXPECT_TRUE(Judge().ok());
  Store(0, on_a_, kFirst);
  EXPECT_EQ(Judge().foreign, 1u);
}

TEST_F(OrderVerdictTest, NotInserted_IsForeign) {
  Acknowledge(on_a_, kFirst);
  Store(0, on_a_, kFirst);
  Store(1, on_b_, kFirst);
  EXPECT_EQ(Judge().foreign, 1u);
}

TEST_F(OrderVerdictTest, CopyOfAMove_IsDoubledOnceTheMovesAreOver) {
  Acknowledge(on_a_, kFirst);
  Store(0, on_a_, kFirst);
  Store(1, on_a_, kFirst);
  EXPECT_TRUE(Judge().ok());
  EXPECT_EQ(Judge().copies, 1u);
  EXPECT_EQ(Judge(/*final=*/true).doubled, 1u);
  table_ = TableWith({});  // without a move in the table, no shard may have copies
  EXPECT_EQ(Judge().doubled, 1u);
}

TEST_F(OrderVerdictTest, RowOnTheOtherShard_IsLostAndDoubled) {
  Acknowledge(on_a_, kFirst);
  Store(1, on_a_, kFirst);
  const Verdict verdict = Judge(/*final=*/true);
  EXPECT_EQ(verdict.lost, 1u);
  EXPECT_EQ(verdict.doubled, 1u);
  EXPECT_THAT(verdict.faults,
              ElementsAre(HasSubstr("shard a does not have it"),
                          HasSubstr("shard b has version 1; it belongs to shard a")));
}

TEST_F(OrderVerdictTest, OrderNoOfAnotherOrder_IsMisrouted) {
  Acknowledge(on_a_, kFirst);
  Store(0, on_a_, kFirst);
  shards_[0].orders[Number(on_a_)].no = codec_.Encode(on_b_)->ToBytes();
  EXPECT_THAT(Judge().faults,
              ElementsAre(HasSubstr(absl::StrCat("its order_no on shard a is that of order ",
                                                 Number(on_b_), " and leads to shard b"))));
  EXPECT_EQ(Judge().misrouted, 1u);
  for (const std::string& no : {std::string(16, 'x'), std::string(3, 'x'), std::string()}) {
    shards_[0].orders[Number(on_a_)].no = no;
    EXPECT_EQ(Judge().misrouted, 1u);
    EXPECT_FALSE(Judge().ok());
  }
}

TEST_F(OrderVerdictTest, RowsWithoutTheirOrder_AreChangedOrForeign) {
  Acknowledge(on_a_, kFirst);
  Store(0, on_a_, {77, 0});
  EXPECT_EQ(Judge().changed, 1u);
  EXPECT_THAT(Judge().faults, ElementsAre(HasSubstr("rows of it, but none in orders")));
  Acknowledge(on_a_, kNone, Op::kDelete);
  EXPECT_EQ(Judge().foreign, 1u);
  EXPECT_THAT(Judge().faults, ElementsAre(HasSubstr("but it was deleted")));
}

TEST_F(OrderVerdictTest, WriteWithoutAnswer_AllowsBothStates) {
  Acknowledge(on_a_, kFirst);
  Acknowledge(on_b_, kFirst);
  Take(What::kIntent, on_a_, kSecond, Op::kUpdate);
  Take(What::kUnknown, on_a_, kNone, Op::kUpdate);
  Take(What::kIntent, on_b_, kNone, Op::kDelete);
  for (const OrderState& state : {kFirst, kSecond}) {
    Store(0, on_a_, state);
    Store(1, on_b_, kFirst);
    EXPECT_TRUE(Judge().ok()) << TextOf(Judge());
    shards_[1].orders.clear();
    EXPECT_TRUE(Judge().ok()) << TextOf(Judge());
  }
  EXPECT_EQ(Judge().open, 2u);
  EXPECT_EQ(Judge().counts.unknown, 1u);
  Store(0, on_a_, {33, 3});
  EXPECT_EQ(Judge().changed, 1u);
}

TEST_F(OrderVerdictTest, RefusedWrite_LeavesTheAcknowledgedState) {
  Acknowledge(on_a_, kFirst);
  Take(What::kIntent, on_a_, kSecond, Op::kUpdate);
  Take(What::kRefused, on_a_, kSecond, Op::kUpdate);
  Store(0, on_a_, kSecond);
  EXPECT_EQ(Judge().changed, 1u);
  Store(0, on_a_, kFirst);
  EXPECT_TRUE(Judge().ok());
}

TEST_F(OrderVerdictTest, FencedReadOfAnOlderState_IsStale) {
  Acknowledge(on_a_, kFirst);
  Take(What::kRead, on_a_, kFirst);
  Acknowledge(on_a_, kSecond, Op::kUpdate);
  Store(0, on_a_, kSecond);
  EXPECT_TRUE(Judge().ok());
  Take(What::kUnfencedRead, on_a_, kFirst);  // promises nothing
  EXPECT_TRUE(Judge().ok());
  Take(What::kRead, on_a_, kFirst);
  EXPECT_EQ(Judge().counts.stale_reads, 1u);
  EXPECT_FALSE(Judge().ok());
}

TEST_F(OrderVerdictTest, AnswerWithoutAWrite_IsAContradiction) {
  Take(What::kAcknowledged, on_a_, kFirst);
  Store(0, on_a_, kFirst);
  EXPECT_EQ(Judge().counts.contradictions, 1u);
  Take(What::kIntent, on_a_, kSecond);
  Take(What::kIntent, on_a_, kSecond);
  EXPECT_EQ(Judge().counts.contradictions, 2u);
}

TEST(RecordTest, TornEnd_IsLeftOutAndDamageIsNot) {
  TemporaryDirectory directory;
  const std::string path = directory / "x.records";
  {
    auto recorder = shop::Recorder::Create(path);
    ASSERT_TRUE(recorder.ok());
    EXPECT_TRUE(absl::IsAlreadyExists(shop::Recorder::Create(path).status()));
    for (uint64_t order = 1; order <= 3; ++order) {
      ASSERT_TRUE(recorder
                      ->Append({.what = What::kAcknowledged,
                                .op = Op::kPay,
                                .refusals = 7,
                                .waited = 123456,
                                .order = order,
                                .state = {order << 60, order}})
                      .ok());
    }
  }
  EXPECT_THAT(shop::RecordFilesIn(directory.str()), ElementsAre(path));
  std::vector<Record> records;
  auto take = [&](const Record& record) { records.push_back(record); };
  ASSERT_TRUE(shop::ReadRecords(path, take).ok());
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[2].state, (OrderState{uint64_t{3} << 60, 3}));
  EXPECT_EQ(records[2].refusals, 7);
  EXPECT_EQ(records[2].waited, 123456u);
  EXPECT_EQ(records[2].op, Op::kPay);
  records.clear();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  ASSERT_TRUE(shop::ReadRecords(path, take).ok());
  EXPECT_EQ(records.size(), 2u);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(3).put('\x55');
  EXPECT_TRUE(absl::IsDataLoss(shop::ReadRecords(path, take)));
}

// The digest of rows does not depend on their order, and depends on every field.
TEST(ChangeTest, ManyChanges_RaiseTheVersionAndChangeTheDigest) {
  for (const Style style : {Style::kTransactions, Style::kStatements}) {
    shop::Random random(91);
    const OrderId id = OrderId::FromParts(ShardGene::FromUint16(uint16_t{5}), 99).value();
    Change change = shop::NewOrder(id, std::string(16, 'n'), {17850, 12345}, "2026-01-02 03:04:05",
                                   style, random);
    ASSERT_TRUE(change.after);
    EXPECT_EQ(change.before, kNone);
    size_t deletions = 0;
    shop::Order order = *change.after;
    for (int i = 0; i < 1000; ++i) {
      change = shop::NextChange(order, style, random);
      EXPECT_EQ(change.before, StateOf(order));
      EXPECT_NE(change.state.digest, change.before.digest);
      EXPECT_TRUE(style == Style::kTransactions || change.statements.size() == 1);
      if (!change.after) {
        EXPECT_EQ(change.state, kNone);
        ++deletions;
        continue;
      }
      EXPECT_TRUE(style == Style::kStatements || change.after->version == order.version + 1);
      EXPECT_EQ(change.state, StateOf(*change.after));
      order = *change.after;
      std::reverse(order.items.begin(), order.items.end());
      EXPECT_EQ(StateOf(order), change.state);
    }
    EXPECT_GT(deletions, 5u);
  }
}

TEST(BuyersTest, CsvOfOrders_GivesBuyersAndAmounts) {
  TemporaryDirectory directory;
  const std::string path = directory / "orders.csv";
  std::ofstream(path) << "\"InvoiceNo\",\"CustomerID\",\"Country\",\"total\"\n"
                         "1,17850,\"Korea, \"\"South\"\"\",139.12\r\n"
                         "2,,France,5.00\n"
                         "C3,12345,France,-5.00\n"
                         "4,12345,France,22.2\n";
  auto buyers = shop::ReadBuyers(path, {});
  ASSERT_TRUE(buyers.ok()) << buyers.status();
  ASSERT_EQ(buyers->size(), 2u);
  EXPECT_EQ((*buyers)[0].buyer, 17850u);
  EXPECT_EQ((*buyers)[0].amount, 13912);
  EXPECT_EQ((*buyers)[1].amount, 2220);
  const uint16_t gene = ShardGene::Of(BuyerKey::Uint64(12345)).value();
  EXPECT_EQ(shop::ReadBuyers(path, {gene, gene})->size(), 1u);
  EXPECT_TRUE(absl::IsNotFound(shop::ReadBuyers(directory / "none", {}).status()));
  std::ofstream(path) << "a,b\n1,2\n";
  EXPECT_TRUE(absl::IsInvalidArgument(shop::ReadBuyers(path, {}).status()));
}

TEST(BuyersTest, MadeUpBuyers_AreOfTheVnodes) {
  for (const shop::BuyerRow& row : shop::MakeBuyers({100, 199}, 20)) {
    const uint16_t gene = ShardGene::Of(BuyerKey::Uint64(row.buyer)).value();
    EXPECT_TRUE(gene >= 100 && gene <= 199) << gene;
  }
}

TEST(StatisticsTest, TwoProcesses_AddUp) {
  TemporaryDirectory directory;
  EXPECT_TRUE(absl::IsNotFound(shop::StatusText(directory.str(), true).status()));
  for (const char* name : {"run1-0", "run1-1"}) {
    shop::Statistics statistics;
    shop::Written written{
        .outcome = shop::Written::Outcome::kAcknowledged, .status = {}, .refusals = 2, .found = {}};
    statistics.Count(written, true, absl::Milliseconds(30));
    ASSERT_TRUE(shop::WriteStatus(absl::StrCat(directory / name, ".status"),
                                  {.kind = "follows",
                                   .pid = 1,
                                   .epoch = 1,
                                   .running = absl::Seconds(1),
                                   .writes_a_second = 1.5,
                                   .counts = statistics.counts()})
                    .ok());
  }
  const auto sum = nlohmann::json::parse(*shop::StatusText(directory.str(), true));
  EXPECT_EQ(sum["writes"], 2);
  EXPECT_EQ(sum["refusals"], 4);
  EXPECT_EQ(sum["waits"]["max_us"], 30000);
  EXPECT_EQ(sum["waits"]["p99_us"], 30000);
  EXPECT_EQ(sum["clients"].size(), 2u);
  EXPECT_THAT(*shop::StatusText(directory.str(), false), HasSubstr("together"));
}

TEST(PercentileTest, Shares_AreOfTheSortedValues) {
  EXPECT_EQ(shop::Percentile({}, 0.5), 0u);
  EXPECT_EQ(shop::Percentile({3, 1, 2}, 0.5), 2u);
  EXPECT_EQ(shop::Percentile({3, 1, 2}, 1), 3u);
}

}  // namespace
}  // namespace locus
