// SPDX-License-Identifier: Apache-2.0
// docs/schema.sql on a real server: every statement of it runs here.
#include "tests/engine/mysql/schema_fixture.h"

namespace locus {
namespace {

using mysql::Result;
using ::testing::ElementsAre;

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
