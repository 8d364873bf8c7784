// SPDX-License-Identifier: Apache-2.0
// The way of docs/schema.sql to 128-bit order IDs, on a real server while orders are written.
#include "tests/engine/mysql/schema_fixture.h"

namespace locus {
namespace {

using mysql::Result;
using ::testing::ElementsAre;

// Writers on orders of their own while the table changes: all acknowledged writes must be there.
class WidenTest : public SchemaTest {
 protected:
  static constexpr int kWriters = 3;

  // A writer's knowledge: the present version of each of its orders.
  struct Writer {
    std::map<OrderId, uint64_t> rows;
    uint64_t retried = 0;
    uint64_t done = 0;
  };

  // Runs until it went through; deadlocks and the like are what writers try again on.
  static uint64_t Persist(Session& session, const std::string& statement, Writer& writer) {
    while (true) {
      unsigned error = session.Try(statement);
      if (error == 0) return 1;
      if (error != 1213 && error != 1205 && error != 1020) {
        ADD_FAILURE() << statement << ": error " << error;
        return 0;
      }
      ++writer.retried;
    }
  }

  void Write(int number, const std::string& database, const std::atomic<bool>& stop,
             Writer& writer) {
    Session session(database);
    std::mt19937_64 random(static_cast<uint64_t>(number));
    for (uint64_t sequence = 1; !stop; ++sequence) {
      // Genes all over the ring: behind and before what is being copied.
      OrderId fresh = IdOf(static_cast<uint16_t>(random()),
                           sequence * kWriters + static_cast<uint64_t>(number) + 1'000'000);
      std::string no = absl::StrCat("0x", internal::HexOf(fresh.ToBytes()), "1234567812345678");
      Persist(
          session,
          absl::StrCat("INSERT INTO orders (order_id, order_no, order_no_kv, buyer_uid) VALUES (",
                       Literal(fresh), ", ", no, ", 1, ", number, ")"),
          writer);
      writer.rows[fresh] = 1;
      auto any = writer.rows.lower_bound(IdOf(static_cast<uint16_t>(random()), 0));
      if (any == writer.rows.end()) any = writer.rows.begin();
      if (random() % 3 == 0) {
        Persist(session, "DELETE FROM orders WHERE order_id = " + Literal(any->first), writer);
        writer.rows.erase(any);
      } else {
        ++any->second;
        Persist(session,
                absl::StrCat("UPDATE orders SET version = version + 1 WHERE order_id = ",
                             Literal(any->first)),
                writer);
      }
      ++writer.done;
      done_.fetch_add(1);
    }
  }
  void WaitForWrites(uint64_t more) {
    uint64_t from = done_;
    EXPECT_TRUE(WaitUntil([&] { return done_ >= from + more; }));
  }
  // Until it gets through: the chunk may be what a deadlock ends.
  void CopyAll() {
    const std::vector<std::string>& chunk = sections_.at("widen_copy_chunk");
    ASSERT_EQ(chunk.size(), 3u);
    sql_.Rows("SET @done = NULL");
    while (true) {
      sql_.Rows(chunk[0]);
      if (sql_.Value("SELECT @chunk_end") == "NULL") return;
      for (unsigned error = 1; error != 0;) {
        error = sql_.Try(chunk[1]);
        ASSERT_TRUE(error == 0 || error == 1213 || error == 1205) << error;
      }
      sql_.Rows(chunk[2]);
    }
  }
  void ExpectEqualNow() {
    auto rows = sql_.Rows(sections_.at("widen_compare")[0]);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0], rows[1]);
    EXPECT_GT(std::stoull(rows[0][0].value_or("0")), 1000u);
    EXPECT_TRUE(sql_.Rows(sections_.at("widen_differences")[0]).empty());
  }

  std::atomic<uint64_t> done_ = 0;
};

TEST_F(WidenTest, WhileOrdersAreWritten_NothingIsLostAndEveryRowIsConverted) {
  Create("orders");
  // Rows that no writer touches: the copy alone brings them.
  std::vector<OrderId> old = Ids(false);
  Insert("orders", old);
  auto before = sql_.Rows(
      "SELECT LPAD(HEX(order_id), 16, '0'), order_no, order_no_kv, buyer_uid,"
      " version, shard_gene FROM orders ORDER BY order_id");
  std::string database = sql_.Value("SELECT DATABASE()");
  std::vector<Writer> writers(kWriters);
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] { Write(i, database, stop, writers[static_cast<size_t>(i)]); });
  }
  WaitForWrites(100);
  Create("orders_wide");
  Create("widen_follow");
  WaitForWrites(100);
  CopyAll();
  WaitForWrites(100);
  for (int i = 0; i < 5; ++i) ExpectEqualNow();
  Create("widen_swap");
  WaitForWrites(100);  // the same statements, now on the wide table
  stop = true;
  for (std::thread& thread : threads) thread.join();

  auto after = sql_.Rows(
      "SELECT HEX(order_id), order_no, order_no_kv, buyer_uid, version,"
      " shard_gene FROM orders WHERE buyer_uid = 7 ORDER BY order_id");
  EXPECT_EQ(after, before) << "row by row";
  std::map<OrderId, uint64_t> expected;
  for (Writer& writer : writers) expected.merge(writer.rows);
  auto rows = sql_.Rows("SELECT order_id, version, shard_gene FROM orders WHERE buyer_uid <> 7");
  EXPECT_EQ(rows.size(), expected.size());
  for (const Result::Row& row : rows) {
    OrderId id = OrderId::FromBytes(*row[0]).value();
    ASSERT_EQ(expected.count(id), 1u) << id << " was deleted, or never there";
    EXPECT_EQ(row[1], absl::StrCat(expected[id])) << id;
    EXPECT_EQ(row[2], absl::StrCat(id.gene().value()));
  }

  // Old and new IDs beside each other, found by one form of literal and in order.
  OrderId wide = IdOf(old.back().gene().value(), OrderId::kMaxSequence);
  Insert("orders", {wide});
  EXPECT_EQ(sql_.Value("SELECT HEX(MAX(order_id)) FROM orders"),
            sql_.Value(absl::StrCat("SELECT HEX(", Literal(wide), ")")));
  EXPECT_EQ(Plan("SELECT * FROM orders WHERE order_id = " + Literal(old[3])), "const PRIMARY");
  EXPECT_NE(sql_.Try("INSERT INTO orders_narrow (order_id, order_no, order_no_kv, buyer_uid)"
                     " VALUES (1, 0x00112233445566778899AABBCCDDEEFF, 1, 7)"),
            0u)
      << "whoever still writes the old table";
  Create("widen_finish");
}

// Between the CREATE of one trigger and the next, orders are inserted, changed and deleted.
TEST_F(WidenTest, TriggersMadeOneByOne_LeaveNoDeletedOrderBehind) {
  Create("orders");
  Create("orders_wide");
  uint64_t sequence = 0;
  std::vector<OrderId> written;
  auto write = [&] {
    for (const OrderId& id : written)
      sql_.Rows("DELETE FROM orders WHERE order_id = " + Literal(id));
    written.clear();
    for (int i = 0; i < 3; ++i) written.push_back(IdOf(7, ++sequence));
    Insert("orders", written);
    OrderId renamed = IdOf(8, ++sequence);
    sql_.Rows(absl::StrCat("UPDATE orders SET version = version + 1 WHERE order_id = ",
                           Literal(written[0])));
    sql_.Rows(absl::StrCat("UPDATE orders SET order_id = ", Literal(renamed),
                           " WHERE order_id = ", Literal(written[1])));
    written[1] = renamed;
  };
  write();
  for (const std::string& trigger : sections_.at("widen_follow")) {
    sql_.Rows(trigger);
    write();
  }
  EXPECT_EQ(sql_.Value("SELECT COUNT(*) FROM orders_wide WHERE CAST(CONV(HEX(order_id), 16, 10) AS"
                       " UNSIGNED) NOT IN (SELECT order_id FROM orders)"),
            "0");
}

TEST_F(WidenTest, KeyChanged_MovesInBoth) {
  Create("orders");
  Create("orders_wide");
  Create("widen_follow");
  Insert("orders", {IdOf(1, 1), IdOf(2, 2)});
  sql_.Rows(absl::StrCat("UPDATE orders SET order_id = ", Literal(IdOf(3, 3)),
                         " WHERE order_id = ", Literal(IdOf(1, 1))));
  EXPECT_EQ(
      sql_.Value("SELECT LOWER(GROUP_CONCAT(HEX(order_id) ORDER BY order_id)) FROM orders_wide"),
      absl::StrCat(Hex(IdOf(2, 2)), ",", Hex(IdOf(3, 3))));
}

// After the change of tables: what becomes of clients that were forgotten.
TEST_F(WidenTest, NumbersSentToTheWideTable_AreNotStoredAndFindNothing) {
  Create("orders_wide");
  OrderId id = IdOf(15903, 77);
  Insert("orders_wide", {id});
  EXPECT_NE(sql_.Try(absl::StrCat("INSERT INTO orders_wide (order_id, order_no, order_no_kv,"
                                  " buyer_uid) VALUES (",
                                  IdOf(15903, 78).ToString(), ", ", RandomNo(), ", 1, 7)")),
            0u);
  EXPECT_NE(sql_.Try("UPDATE orders_wide SET version = 2 WHERE order_id = " + id.ToString()), 0u);
  EXPECT_EQ(sql_.Affected("DELETE FROM orders_wide WHERE order_id = " + id.ToString()), 0u);
  EXPECT_EQ(sql_.Value("SELECT COUNT(*) FROM orders_wide WHERE order_id = " + id.ToString()), "0");
  EXPECT_EQ(sql_.Affected("UPDATE orders_wide SET version = 2 WHERE order_id = " + Literal(id)),
            1u);
}

}  // namespace
}  // namespace locus
