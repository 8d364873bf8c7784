// SPDX-License-Identifier: Apache-2.0
// Processes of examples/order_service on two shards without a move: the verdict is OK, and every
// planted fault turns it red.
#include <signal.h>

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "examples/order_service/record.h"
#include "gmock/gmock.h"
#include "tests/order_service/two_shards.h"

namespace locus {
namespace {

using nlohmann::json;
using shop::Op;
using shop::Record;
using ::testing::AllOf;
using ::testing::HasSubstr;

class OrderServiceTest : public ::testing::Test {
 protected:
  // The traffic that the tests plant faults into; each takes its own back.
  static void SetUpTestSuite() {
    shards_ = new TwoShards;
    table_ = std::make_unique<RoutingTable>(
        RoutingTable::Make(1, shards_->Shards(), {{32767, 1}, {65535, 2}}).value());
    ASSERT_TRUE(shards_->Start(*table_));
    auto traffic = shards_->StartTraffic({"--rate", "1500", "--threads", "2", "--late-by", "1"});
    ASSERT_TRUE(WaitUntil([] { return shards_->Writes() > 1500; })) << traffic->LogTail();
    TwoShards::StopWell(*traffic);
  }
  static void TearDownTestSuite() { delete shards_; }

  // An order that is on this server, with items.
  static std::string OrderOn(size_t server) {
    return shards_->server(server).Value(
        "SELECT MIN(order_id) FROM locus_shop.order_items JOIN locus_shop.orders USING (order_id)");
  }
  // Statements that delete an order's rows, of all three tables.
  static std::string Deletion(const std::string& id) {
    std::string statements;
    for (const shop::Table table : shop::kTables) {
      absl::StrAppend(&statements, "DELETE FROM ", NameOf(table), " WHERE order_id = ", id, ";");
    }
    return statements;
  }
  // Statements that copy an order's rows from tables named `from`... to those named `to`...
  static std::string Copying(const std::string& id, const std::string& from,
                             const std::string& to) {
    std::string statements;
    for (const shop::Table table : shop::kTables) {
      const std::string columns = absl::StrCat(
          ColumnsOf(table), table == shop::Table::kOrders ? "" : ", version");  // for both triggers
      absl::StrAppend(&statements, "INSERT INTO ", to, NameOf(table), " (", columns, ") SELECT ",
                      columns, " FROM ", from, NameOf(table), " WHERE order_id = ", id, ";");
    }
    return statements;
  }
  // The verdict while statements are in force on the servers that change this order of server 0, as
  // the account that guards let pass.
  static json VerdictWith(const std::string& id, const std::string& on_0, const std::string& on_1,
                          const std::vector<std::string>& words = {}) {
    std::string keep = "CREATE OR REPLACE DATABASE kept;";
    for (const shop::Table table : shop::kTables) {
      absl::StrAppend(&keep, "CREATE TABLE kept.", NameOf(table), " LIKE ", NameOf(table), ";");
    }
    shards_->PastTheGuards(0, absl::StrCat(keep, Copying(id, "", "kept."), on_0));
    shards_->PastTheGuards(1, on_1);
    json verdict = shards_->Verdict(words);
    shards_->PastTheGuards(0, absl::StrCat(Deletion(id), Copying(id, "kept.", "")));
    shards_->PastTheGuards(1, Deletion(id));
    EXPECT_EQ(shards_->Verdict(words)["exit"], 0) << "it was not taken back";
    return verdict;
  }
  // A copy of the record, to which a test adds records.
  static std::string CopiedRecord() {
    const std::string copy = shards_->path("copy");
    std::filesystem::remove_all(copy);
    std::filesystem::copy(shards_->record(), copy);
    return copy;
  }
  // Statements that insert the rows of an order of server 0 elsewhere.
  static std::string Inserting(const std::string& id) {
    std::string statements;
    for (const shop::Table table : shop::kTables) {
      std::vector<std::string> values;
      for (const absl::string_view column : absl::StrSplit(ColumnsOf(table), ", ")) {
        values.push_back(absl::EndsWith(column, "_no")
                             ? absl::StrCat("CONCAT('X\\'', HEX(", column, "), '\\'')")
                             : absl::StrCat("QUOTE(", column, ")"));
      }
      const auto results = shards_->server(0).Sql(
          absl::StrCat("SELECT CONCAT_WS(', ', ", absl::StrJoin(values, ", "), ") FROM ",
                       TwoShards::kDatabase, ".", NameOf(table), " WHERE order_id = ", id));
      for (const auto& row : results[0].rows) {
        absl::StrAppend(&statements, "INSERT INTO ", NameOf(table), " (", ColumnsOf(table),
                        ") VALUES (", *row[0], ");");
      }
    }
    return statements;
  }
  // Exit code 1, these counts, and zero of everything else that is a fault.
  static void ExpectFaults(const json& verdict, const std::map<std::string, uint64_t>& counts) {
    EXPECT_EQ(verdict["exit"], 1) << verdict;
    for (const char* name :
         {"lost", "changed", "doubled", "foreign", "misrouted", "stale_reads", "contradictions"}) {
      auto found = counts.find(name);
      EXPECT_EQ(verdict[name], found == counts.end() ? 0u : found->second)
          << name << " of " << verdict;
    }
  }

  static inline TwoShards* shards_ = nullptr;
  static inline std::unique_ptr<RoutingTable> table_;
};

TEST_F(OrderServiceTest, TrafficOfEveryKindOfClient_IsThereExactlyOnce) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, {"--final"}}) {
    const json verdict = shards_->Verdict(words);
    EXPECT_EQ(verdict["exit"], 0) << verdict;
    for (const char* name : {"inserts", "updates", "deletes", "reads", "there"}) {
      EXPECT_GT(verdict[name], 0) << name << " of " << verdict;
    }
    EXPECT_EQ(verdict["open"], 0) << verdict;
    EXPECT_EQ(verdict["unfenced_reads"], 0) << verdict;
    EXPECT_EQ(verdict["acknowledged"], shards_->Writes());
  }
  const json status = shards_->Status();
  EXPECT_EQ(status["clients"].size(), 6u);
  EXPECT_EQ(status["stale"], 0);
}

TEST_F(OrderServiceTest, FaultPlantedInTheRowsOfAnOrder_IsNamed) {
  const std::string id = OrderOn(0);
  const std::string by_id = absl::StrCat(" WHERE order_id = ", id);
  // The order_no of an order that the other shard has.
  const std::string other_no = shards_->server(1).Value(
      "SELECT CONCAT('X\\'', HEX(MIN(order_no)), '\\'') FROM locus_shop.orders");
  const std::string copy = Inserting(id);
  const std::string doubled_orders = copy.substr(0, copy.find(';'));
  const struct {
    std::string on_0, on_1;
    std::map<std::string, uint64_t> counts;
    std::string text;
  } plants[] = {
      {Deletion(id), "", {{"lost", 1}}, "and shard orders-a does not have it"},
      {"DELETE FROM orders" + by_id, "", {{"changed", 1}}, "rows of it, but none in orders"},
      {"DELETE FROM order_items" + by_id + " LIMIT 1", "", {{"changed", 1}}, "and not the rows"},
      {"UPDATE order_items SET quantity = quantity + 1" + by_id + " LIMIT 1",
       "",
       {{"changed", 1}},
       "and not the rows"},
      {"INSERT INTO payments (order_id, payment_no, amount) VALUES (" + id + ", X'00', 1)",
       "",
       {{"changed", 1}},
       "and not the rows"},
      {"UPDATE orders SET version = version + 1" + by_id, "", {{"changed", 1}}, "and not the rows"},
      {"UPDATE orders SET note = IF(note IS NULL, '', NULL)" + by_id,
       "",
       {{"changed", 1}},
       "and not the rows"},
      {"UPDATE orders SET order_no = " + other_no + by_id,
       "",
       {{"changed", 1}, {"misrouted", 1}},
       "leads to shard orders-b"},
      {"DO 0", copy, {{"doubled", 1}}, "it belongs to shard orders-a"},
      {"DO 0", doubled_orders, {{"doubled", 1}}, "it belongs to shard orders-a"},
      {Deletion(id), copy, {{"lost", 1}, {"doubled", 1}}, "it belongs to shard orders-a"},
  };
  for (const auto& plant : plants) {
    SCOPED_TRACE(absl::StrCat(plant.on_0, " | ", plant.on_1));
    const json verdict =
        VerdictWith(id, plant.on_0, plant.on_1.empty() ? "DO 0" : plant.on_1, {"--final"});
    ExpectFaults(verdict, plant.counts);
    EXPECT_THAT(verdict["faults"].dump(),
                AllOf(HasSubstr(absl::StrCat("order ", id, ": ")), HasSubstr(plant.text)));
  }
}

TEST_F(OrderServiceTest, RowThatNoClientInserted_IsForeign) {
  const json verdict = VerdictWith("77",
                                   "INSERT INTO order_items (order_id, line, sku, quantity, price)"
                                   " VALUES (77, 1, 'x', 1, 1)",
                                   "DO 0");
  ExpectFaults(verdict, {{"foreign", 1}});
  EXPECT_THAT(verdict["faults"].dump(),
              HasSubstr("order 77: shard orders-a has rows of it, but none in orders"));
}

TEST_F(OrderServiceTest, CopyOfAMoveUnderWay_IsNoFaultUntilTheEnd) {
  const std::string id = OrderOn(0);
  const std::string copy = Inserting(id);
  shards_->Publish(
      RoutingTable::Make(2, shards_->Shards(), {{32767, 1}, {65535, 2}}, {{0, 32767, 2, 0, 0}})
          .value());
  shards_->PastTheGuards(1, copy);
  const json under_way = shards_->Verdict(), final = shards_->Verdict({"--final"});
  shards_->PastTheGuards(1, Deletion(id));
  shards_->Publish(*table_);
  EXPECT_EQ(under_way["exit"], 0) << under_way;
  EXPECT_EQ(under_way["copies"], 1) << under_way;
  ExpectFaults(final, {{"doubled", 1}});
}

TEST_F(OrderServiceTest, AcknowledgedRecordWithoutARow_IsLost) {
  const std::string copy = CopiedRecord();
  auto recorder = shop::Recorder::Create(copy + "/other.records");
  ASSERT_TRUE(recorder.ok());
  for (const Record::What what : {Record::What::kIntent, Record::What::kAcknowledged}) {
    ASSERT_TRUE(recorder->Append({.what = what, .order = 77, .state = {5, 1}}).ok());
  }
  ExpectFaults(shards_->Verdict({}, copy), {{"lost", 1}});
}

TEST_F(OrderServiceTest, ReadOfAnOlderState_IsStale) {
  const std::string copy = CopiedRecord();
  const std::string path = shop::RecordFilesIn(copy).front();
  Record last;
  ASSERT_TRUE(shop::ReadRecords(path, [&](const Record& record) {
                if (record.what == Record::What::kAcknowledged) last = record;
              }).ok());
  last.what = Record::What::kRead;
  last.state.digest ^= 1;
  ASSERT_TRUE(shop::Recorder::Open(path)->Append(last).ok());
  ExpectFaults(shards_->Verdict({}, copy), {{"stale_reads", 1}});
}

TEST_F(OrderServiceTest, NoRecords_IsAFailure) {
  const std::string copy = CopiedRecord();
  for (const std::string& path : shop::RecordFilesIn(copy)) std::filesystem::remove(path);
  const json verdict = shards_->Verdict({}, copy);
  EXPECT_EQ(verdict["exit"], 1);
  EXPECT_EQ(verdict["inserts"], 0);
}

TEST_F(OrderServiceTest, ProcessKilledInTheMiddle_KeepsEveryAcknowledgedWrite) {
  const uint64_t before = shards_->Writes();
  auto traffic = shards_->StartTraffic(
      {"--processes", "4", "--threads", "2", "--late", "0", "--frozen", "0", "--plain", "0"});
  auto victim = [&]() -> int {
    const json status = shards_->Status();
    if (!status.contains("clients") || !status["clients"].contains("run2-2")) return 0;
    return status["clients"]["run2-2"]["writes"] > 50
               ? status["clients"]["run2-2"]["pid"].get<int>()
               : 0;
  };
  ASSERT_TRUE(WaitUntil([&] { return victim() != 0; })) << traffic->LogTail();
  ASSERT_EQ(kill(victim(), SIGKILL), 0);
  const uint64_t killed = shards_->Writes();
  EXPECT_TRUE(WaitUntil([&] { return shards_->Writes() > killed + 300; })) << traffic->LogTail();
  traffic->Stop();
  EXPECT_THAT(traffic->LogTail(), HasSubstr("run2-2 was killed by signal 9"));
  const json verdict = shards_->Verdict({"--final"});
  EXPECT_EQ(verdict["exit"], 0) << verdict;
  EXPECT_GT(verdict["acknowledged"], before);
  EXPECT_LE(verdict["open"], 2);  // one for each thread of the process
}

TEST_F(OrderServiceTest, PasswordFileThatOthersMayRead_IsRefused) {
  chmod(shards_->path("password").c_str(), 0644);
  const json verdict = shards_->Verdict();
  chmod(shards_->path("password").c_str(), 0600);
  EXPECT_EQ(verdict["exit"], 1);
  EXPECT_THAT(verdict["text"].get<std::string>(), HasSubstr("may be read by others"));
}

}  // namespace
}  // namespace locus
