// SPDX-License-Identifier: Apache-2.0
// docs/schema.sql on a real server: every statement of it runs here.
#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/order_id.h"
#include "src/base/text.h"
#include "tests/engine/mariadb/mariadb_server.h"
#include "tests/engine/mariadb/sql_sections.h"
#include "tests/support/golden.h"

namespace locus {

using internal::HexOf;

namespace {

using mariadb::Result;
using ::testing::ElementsAre;

// A database of its own, and a session on it.
class Session {
 public:
  explicit Session(const std::string& database) {
    MariadbOptions options = SharedMariadb().OptionsFor(database);
    auto opened = SqlSession::Open(options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    connection_ = *std::move(opened);
  }

  // The rows; fails the test where the server refuses.
  std::vector<Result::Row> Rows(const std::string& statement) {
    auto results = connection_->Run(statement);
    EXPECT_TRUE(results.ok()) << statement << ": " << results.status();
    if (!results.ok() || results->empty()) return {};
    return std::move(results->front().rows);
  }
  std::string Value(const std::string& statement) {
    auto rows = Rows(statement);
    return rows.empty() ? "no row" : rows[0][0].value_or("NULL");
  }
  void Run(const std::vector<std::string>& statements) {
    for (const std::string& statement : statements) Rows(statement);
  }
  // The server's error number, 0: none.
  unsigned Try(const std::string& statement) {
    (void)connection_->Run(statement).status();
    return connection_->error();
  }
  uint64_t Affected(const std::string& statement) {
    auto results = connection_->Run(statement);
    EXPECT_TRUE(results.ok()) << statement << ": " << results.status();
    return results.ok() ? results->front().affected : 0;
  }

 private:
  std::unique_ptr<SqlSession> connection_;
};

OrderId IdOf(uint16_t gene, uint64_t sequence) {
  return OrderId::FromParts(ShardGene::FromUint16(gene), sequence).value();
}
std::string Hex(const OrderId& id) { return HexOf(id.ToBytes()); }
// What clients write: a number to a BIGINT column, bytes to a VARBINARY column.
std::string Literal(const OrderId& id) { return "0x" + Hex(id); }

class SchemaTest : public ::testing::Test {
 protected:
  SchemaTest() : sql_(NextDatabase()) {}

  static std::string NextDatabase() {
    static int made = 0;
    return absl::StrCat("locus_schema", ++made);
  }
  void Create(const std::string& section) {
    ASSERT_EQ(sections_.count(section), 1u) << section;
    sql_.Run(sections_.at(section));
  }
  // Every 16th gene and both ends, each with sequences at both ends and a random one.
  std::vector<OrderId> Ids(bool wide) {
    std::vector<OrderId> ids;
    std::vector<uint64_t> sequences = {0, 1, OrderId::kMaxNarrowSequence};
    if (wide)
      sequences.insert(sequences.end(), {OrderId::kMaxNarrowSequence + 1, OrderId::kMaxSequence});
    for (uint32_t gene = 0; gene < 65536; gene = gene == 65520 ? 65535 : gene + 16) {
      for (uint64_t sequence : sequences)
        ids.push_back(IdOf(static_cast<uint16_t>(gene), sequence));
      uint64_t limit = wide ? OrderId::kMaxSequence : OrderId::kMaxNarrowSequence;
      ids.push_back(IdOf(static_cast<uint16_t>(random_()), 2 + random_() % (limit - 3)));
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }
  std::string RandomNo() {
    std::string bytes(16, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return "0x" + HexOf(bytes);
  }
  std::string RowOf(const OrderId& id, uint64_t buyer = 7) {
    return absl::StrCat("(", Literal(id), ", ", RandomNo(), ", 1, ", buyer, ")");
  }
  void Insert(const std::string& table, std::vector<OrderId> ids) {
    std::shuffle(ids.begin(), ids.end(), random_);
    for (size_t i = 0; i < ids.size(); i += 1000) {
      std::vector<std::string> rows;
      for (size_t j = i; j < std::min(i + 1000, ids.size()); ++j) rows.push_back(RowOf(ids[j]));
      sql_.Rows(absl::StrCat("INSERT INTO ", table,
                             " (order_id, order_no, order_no_kv, buyer_uid) VALUES ",
                             absl::StrJoin(rows, ", ")));
    }
  }
  // The index that the server takes, and what it does with it.
  std::string Plan(const std::string& statement) {
    auto rows = sql_.Rows("EXPLAIN " + statement);
    if (rows.empty()) return "";
    return absl::StrCat(rows[0][3].value_or("NULL"), " ", rows[0][5].value_or("NULL"));
  }
  void ExpectIndexesUsed(const std::string& table, const std::string& key) {
    auto where = [&](const std::string& condition) {
      return Plan(absl::StrCat("SELECT * FROM ", table, " WHERE ", condition));
    };
    EXPECT_EQ(where("order_id = " + key), "const PRIMARY");
    std::string no = sql_.Value(absl::StrCat("SELECT HEX(order_no) FROM ", table, " LIMIT 1"));
    EXPECT_EQ(where(absl::StrCat("order_no = 0x", no)), "const orders_by_no");
    EXPECT_EQ(where("buyer_uid = 8 ORDER BY order_id DESC LIMIT 20"), "ref orders_by_buyer");
    EXPECT_EQ(where("shard_gene = 16 ORDER BY order_id LIMIT 20"), "ref orders_by_gene");
    EXPECT_EQ(Plan(absl::StrCat("SELECT shard_gene, COUNT(*) FROM ", table,
                                " WHERE shard_gene BETWEEN 16 AND 64 GROUP BY shard_gene")),
              "range orders_by_gene");
  }

  const std::map<std::string, std::vector<std::string>> sections_ =
      SqlSections(golden::ProjectDirectory() + "/docs/schema.sql");
  std::mt19937_64 random_{20261122};
  Session sql_;
};

TEST_F(SchemaTest, NarrowTable_KnowsEveryGeneAndOrdersBySequence) {
  Create("orders");
  std::vector<OrderId> ids = Ids(false);
  Insert("orders", ids);
  auto rows = sql_.Rows("SELECT order_id, shard_gene FROM orders ORDER BY order_id");
  ASSERT_EQ(rows.size(), ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(rows[i][0], ids[i].ToString());
    ASSERT_EQ(rows[i][1], absl::StrCat(ids[i].gene().value())) << ids[i];
  }
  sql_.Rows("ANALYZE TABLE orders");
  ExpectIndexesUsed("orders", Literal(ids[5]));
  EXPECT_EQ(Plan(absl::StrCat("SELECT * FROM orders WHERE order_id >= ", 16ull << 47,
                              " AND order_id < ", 17ull << 47)),
            "range PRIMARY")
      << "a vnode by the primary key alone";
}

TEST_F(SchemaTest, WideTable_KnowsEveryGeneAndOrdersAcrossWidths) {
  Create("orders_wide");
  std::vector<OrderId> ids = Ids(true);
  Insert("orders_wide", ids);
  auto rows = sql_.Rows("SELECT order_id, shard_gene FROM orders_wide ORDER BY order_id");
  ASSERT_EQ(rows.size(), ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(OrderId::FromBytes(*rows[i][0]).value(), ids[i]);
    ASSERT_EQ(rows[i][1], absl::StrCat(ids[i].gene().value())) << ids[i];
  }
  sql_.Rows("ANALYZE TABLE orders_wide");
  ExpectIndexesUsed("orders_wide", Literal(ids[5]));
}

TEST_F(SchemaTest, NumbersThatEndWithZeros_KeepThem) {
  for (const std::string table : {"orders", "orders_wide"}) {
    Create(table);
    std::string no = "00112233445566778899AABBCCDD0000";
    std::string id = absl::StrCat("0x", "0080000000000000");
    sql_.Rows(absl::StrCat("INSERT INTO ", table, " (order_id, order_no, order_no_kv, buyer_uid) ",
                           "VALUES (", id, ", 0x", no, ", 1, 7)"));
    EXPECT_EQ(sql_.Value("SELECT HEX(order_no) FROM " + table), no);
    EXPECT_EQ(sql_.Value("SELECT LPAD(HEX(order_id), 16, '0') FROM " + table), "0080000000000000");
    EXPECT_EQ(sql_.Value(absl::StrCat("SELECT COUNT(*) FROM ", table, " WHERE order_no = 0x", no)),
              "1");
  }
}

TEST_F(SchemaTest, KeysTakenTwice_AreRefused) {
  constexpr unsigned kDuplicate = 1062;
  for (const std::string table : {"orders", "orders_wide"}) {
    Create(table);
    auto insert = [&](const OrderId& id, const std::string& no, int version) {
      return sql_.Try(absl::StrCat("INSERT INTO ", table,
                                   " (order_id, order_no, order_no_kv, buyer_uid) VALUES (",
                                   Literal(id), ", ", no, ", ", version, ", 7)"));
    };
    std::string no = RandomNo();
    EXPECT_EQ(insert(IdOf(1, 1), no, 1), 0u);
    EXPECT_EQ(insert(IdOf(1, 1), RandomNo(), 1), kDuplicate);
    EXPECT_EQ(insert(IdOf(1, 2), no, 2), kDuplicate);
  }
  Create("orders_bigint");
  auto insert = [&](int id, int no, int version) {
    return sql_.Try(
        absl::StrCat("INSERT INTO orders_bigint (order_id, order_no, order_no_kv,"
                     " buyer_uid) VALUES (",
                     id, ", ", no, ", ", version, ", 7)"));
  };
  EXPECT_EQ(insert(1, 5, 1), 0u);
  EXPECT_EQ(insert(2, 5, 1), kDuplicate);
  EXPECT_EQ(insert(2, 5, 2), 0u) << "another key may make the same number";
  EXPECT_EQ(Plan("SELECT * FROM orders_bigint WHERE order_no = 5 AND order_no_kv = 2"),
            "const orders_by_no");
  EXPECT_EQ(sql_.Value(absl::StrCat("SELECT ", 77ull << 47, " >> 47 & 65535")), "77");
}

TEST_F(SchemaTest, ValuesThatAreNone_AreRefused) {
  constexpr unsigned kTooLong = 1406, kCheck = 4025;
  for (const char* table : {"orders", "orders_bigint", "orders_wide"}) Create(table);
  auto insert = [&](const std::string& table, const std::string& id, const std::string& no) {
    return sql_.Try(absl::StrCat("INSERT INTO ", table,
                                 " (order_id, order_no, order_no_kv, buyer_uid) VALUES (", id, ", ",
                                 no, ", 1, 7)"));
  };
  std::string good = RandomNo();
  EXPECT_EQ(insert("orders", "9223372036854775808", good), kCheck);
  EXPECT_EQ(insert("orders", "1", "0x11"), kCheck);
  EXPECT_EQ(insert("orders", "1", good + "00"), kTooLong);
  EXPECT_EQ(insert("orders_bigint", "1", "9223372036854775808"), kCheck);
  for (const char* id : {"''", "0x01", "0x8000000000000000", "0x010000000000000000",
                         "0x00000000000000000080000000000000",  // 16 bytes, but not a wide ID's
                         "1234567890123456", "123456789012345"}) {
    EXPECT_EQ(insert("orders_wide", id, good), kCheck) << id;
  }
  EXPECT_EQ(insert("orders_wide", "2238150286718591424", good), kTooLong) << "decimal text";
  EXPECT_EQ(insert("orders_wide", Literal(IdOf(9, OrderId::kMaxSequence)), good), 0u);
}

// Why the path is a path.
TEST_F(SchemaTest, PlainModify_WouldStoreDecimalText) {
  Create("orders");
  sql_.Rows("ALTER TABLE orders DROP CONSTRAINT orders_id_is_narrow");
  OrderId small = IdOf(3, 77), large = IdOf(30000, 77);
  Insert("orders", {small});
  auto modify = [&] {
    return sql_.Try("ALTER TABLE orders DROP COLUMN shard_gene, MODIFY order_id VARBINARY(16)");
  };
  EXPECT_EQ(modify(), 0u);
  EXPECT_EQ(sql_.Value("SELECT order_id FROM orders"), small.ToString());
  EXPECT_NE(sql_.Value("SELECT order_id FROM orders"), small.ToBytes());
  sql_.Rows("DROP TABLE orders");
  Create("orders");
  sql_.Rows("ALTER TABLE orders DROP CONSTRAINT orders_id_is_narrow");
  Insert("orders", {large});
  EXPECT_EQ(modify(), 1406u) << "19 digits do not fit";
}

// Writers on orders of their own while the table changes: what they were told last must be there.
class WidenTest : public SchemaTest {
 protected:
  static constexpr int kWriters = 3;

  // What a writer knows: the version of each of its orders that is there.
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
      std::string no = absl::StrCat("0x", HexOf(fresh.ToBytes()), "1234567812345678");
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
  // Rows that nobody touches: the copy alone brings them.
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

TEST_F(SchemaTest, AdoptingStatements_AnswerTheSequenceAfterTheHighest) {
  Create("orders");
  Create("orders_wide");
  const std::string& narrow = sections_.at("adopt")[0];
  const std::string& wide = sections_.at("adopt_wide")[0];
  EXPECT_EQ(sql_.Value(narrow), "1") << "of an empty table";
  EXPECT_EQ(sql_.Value(wide), "1") << "of an empty table";
  // The highest sequence is in neither the lowest nor the highest gene.
  std::vector<OrderId> ids = {IdOf(0, 5), IdOf(0x8001, 0x123456789ABC), IdOf(65535, 3)};
  Insert("orders", ids);
  Insert("orders_wide", ids);
  EXPECT_EQ(sql_.Value(narrow), absl::StrCat(0x123456789ABD));
  EXPECT_EQ(sql_.Value(wide), absl::StrCat(0x123456789ABD));
  Insert("orders_wide", {IdOf(7, OrderId::kMaxNarrowSequence)});
  EXPECT_EQ(sql_.Value(wide), absl::StrCat(OrderId::kMaxNarrowSequence + 1));
  Insert("orders_wide", {IdOf(9, OrderId::kMaxNarrowSequence + 12345)});
  EXPECT_EQ(sql_.Value(wide), absl::StrCat(OrderId::kMaxNarrowSequence + 12346));
  Insert("orders_wide", {IdOf(1, OrderId::kMaxSequence)});
  EXPECT_EQ(sql_.Value(wide), absl::StrCat(OrderId::kMaxSequence + 1));
}

// A table from before locus: the server accepts no generated column over AUTO_INCREMENT.
TEST_F(SchemaTest, AutoIncrementBesideLocus_CollidesUnlessItIsDroppedBefore) {
  sql_.Rows(
      "CREATE TABLE orders (order_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,"
      " buyer_uid BIGINT UNSIGNED NOT NULL)");
  auto insert = [&](const OrderId& id) {
    return sql_.Try("INSERT INTO orders VALUES (" + Literal(id) + ", 7)");
  };
  const std::string by_the_server = "INSERT INTO orders (buyer_uid) VALUES (7)";
  OrderId first = IdOf(15903, 77), next = IdOf(15903, 78);
  EXPECT_EQ(insert(first), 0u);
  EXPECT_EQ(sql_.Try(by_the_server), 0u);
  EXPECT_EQ(insert(next), 1062u) << "the server's counter took the order ID that locus makes next";

  sql_.Rows("DELETE FROM orders");
  sql_.Run(sections_.at("adopt_auto_increment"));
  EXPECT_EQ(insert(first), 0u);
  EXPECT_NE(sql_.Try(by_the_server), 0u) << "an order without an ID is refused";
  EXPECT_EQ(insert(next), 0u);
}

TEST_F(SchemaTest, EverySectionOfTheFile_IsKnownHere) {
  std::vector<std::string> names;
  for (const auto& [name, statements] : sections_) names.push_back(name);
  EXPECT_THAT(names,
              ElementsAre("adopt", "adopt_auto_increment", "adopt_wide", "orders", "orders_bigint",
                          "orders_wide", "widen_compare", "widen_copy_chunk", "widen_differences",
                          "widen_finish", "widen_follow", "widen_swap"));
}

}  // namespace
}  // namespace locus
