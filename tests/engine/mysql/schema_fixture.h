// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_MYSQL_SCHEMA_FIXTURE_H_
#define LOCUS_TESTS_ENGINE_MYSQL_SCHEMA_FIXTURE_H_

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
#include "src/base/text/text.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/engine/mysql/sql_sections.h"
#include "tests/support/golden.h"

namespace locus {

// A database of its own, and a session on it.
class Session {
 public:
  explicit Session(const std::string& database) {
    MysqlOptions options = SharedMariadb().OptionsFor(database);
    auto opened = SqlSession::Open(options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    connection_ = *std::move(opened);
  }

  // The rows; fails the test where the server refuses.
  std::vector<mysql::Result::Row> Rows(const std::string& statement) {
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

inline OrderId IdOf(uint16_t gene, uint64_t sequence) {
  return OrderId::FromParts(ShardGene::FromUint16(gene), sequence).value();
}
inline std::string Hex(const OrderId& id) { return internal::HexOf(id.ToBytes()); }
// The literal that clients write: a number for a BIGINT column, bytes for a VARBINARY column.
inline std::string Literal(const OrderId& id) { return "0x" + Hex(id); }

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
    return "0x" + internal::HexOf(bytes);
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

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_MYSQL_SCHEMA_FIXTURE_H_
