// SPDX-License-Identifier: Apache-2.0
// Processes of examples/order_service on two shards without a move: the verdict is OK, and every
// planted fault turns it red.
#include <signal.h>

#include "examples/order_service/record.h"
#include "gmock/gmock.h"
#include "tests/order_service/two_shards.h"

namespace locus {
namespace {

using nlohmann::json;
using shop::Op;
using shop::Record;
using ::testing::HasSubstr;

class OrderServiceTest : public ::testing::Test {
 protected:
  // The traffic that the tests plant faults into; each takes its own back.
  static void SetUpTestSuite() {
    shards_ = new TwoShards;
    ASSERT_TRUE(
        shards_->Start(RoutingTable::Make(1, shards_->Shards(), {{32767, 1}, {65535, 2}}).value()));
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
  // The verdict while `plant` is in force on the server, as the account that guards let pass.
  static json VerdictWith(size_t server, const std::string& plant, const std::string& take_back,
                          const std::vector<std::string>& words = {}) {
    shards_->PastTheGuards(server, plant);
    json verdict = shards_->Verdict(words);
    shards_->PastTheGuards(server, take_back);
    return verdict;
  }
  // A copy of the record, to which a test adds records.
  static std::string CopiedRecord() {
    const std::string copy = shards_->path("copy");
    std::filesystem::remove_all(copy);
    std::filesystem::copy(shards_->record(), copy);
    return copy;
  }
  static void ExpectOnly(const json& verdict, const std::string& fault, uint64_t count) {
    EXPECT_EQ(verdict["exit"], 1) << verdict;
    for (const char* name :
         {"lost", "changed", "doubled", "foreign", "misrouted", "stale_reads", "contradictions"}) {
      EXPECT_EQ(verdict[name], name == fault ? count : 0u) << name << " of " << verdict;
    }
  }

  static inline TwoShards* shards_ = nullptr;
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

TEST_F(OrderServiceTest, OrderDeletedByHand_IsLost) {
  const std::string id = OrderOn(0);
  std::string plant = "SET autocommit = 1", back = "SET autocommit = 1";
  for (const std::string table : {"orders", "order_items", "payments"}) {
    const std::string columns =
        table == "orders" ? "order_id, order_no, buyer, status, amount, note, created, version"
        : table == "order_items" ? "order_id, line, sku, quantity, price, version"
                                 : "order_id, payment_no, amount, version";
    absl::StrAppend(&plant, "; CREATE TABLE kept_", table, " SELECT ", columns, " FROM ", table,
                    " WHERE order_id = ", id, "; DELETE FROM ", table, " WHERE order_id = ", id);
    absl::StrAppend(&back, "; INSERT INTO ", table, " (", columns, ") SELECT ", columns,
                    " FROM kept_", table, "; DROP TABLE kept_", table);
  }
  ExpectOnly(VerdictWith(0, plant, back), "lost", 1);
  EXPECT_EQ(shards_->Verdict()["exit"], 0);
}

TEST_F(OrderServiceTest, RowChangedByHand_IsChanged) {
  const std::string by_id = " WHERE order_id = " + OrderOn(1) + " LIMIT 1";
  ExpectOnly(VerdictWith(1, "UPDATE order_items SET quantity = quantity + 1" + by_id,
                         "UPDATE order_items SET quantity = quantity - 1" + by_id),
             "changed", 1);
  ExpectOnly(VerdictWith(1, "UPDATE orders SET version = version + 1" + by_id,
                         "UPDATE orders SET version = version - 1" + by_id),
             "changed", 1);
}

TEST_F(OrderServiceTest, OrderOnBothShards_IsDoubled) {
  const std::string id = OrderOn(0);
  const std::string row = shards_->server(0).Value(
      "SELECT CONCAT_WS(', ', order_id, CONCAT('X\\'', HEX(order_no), '\\''), buyer, status, "
      "amount,"
      " 'NULL', CONCAT('\\'', created, '\\''), version) FROM locus_shop.orders WHERE order_id = " +
      id);
  ExpectOnly(VerdictWith(1,
                         "INSERT INTO orders (order_id, order_no, buyer, status, amount, note,"
                         " created, version) VALUES (" +
                             row + ")",
                         "DELETE FROM orders WHERE order_id = " + id, {"--final"}),
             "doubled", 1);
}

TEST_F(OrderServiceTest, RowThatNobodyInserted_IsForeign) {
  ExpectOnly(VerdictWith(0,
                         "INSERT INTO order_items (order_id, line, sku, quantity, price)"
                         " VALUES (77, 1, 'x', 1, 1)",
                         "DELETE FROM order_items WHERE order_id = 77"),
             "foreign", 1);
}

TEST_F(OrderServiceTest, AcknowledgedRecordWithoutARow_IsLost) {
  const std::string copy = CopiedRecord();
  auto recorder = shop::Recorder::Create(copy + "/other.records");
  ASSERT_TRUE(recorder.ok());
  for (const Record::What what : {Record::What::kIntent, Record::What::kAcknowledged}) {
    ASSERT_TRUE(recorder->Append({.what = what, .order = 77, .state = {5, 1}}).ok());
  }
  ExpectOnly(shards_->Verdict({}, copy), "lost", 1);
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
  ExpectOnly(shards_->Verdict({}, copy), "stale_reads", 1);
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
