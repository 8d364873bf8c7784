// SPDX-License-Identifier: Apache-2.0
// locus table sql, docs/functions.sql and docs/views.sql on a real server: the answers are those of
// locus inspect.
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/order_id.h"
#include "locus/order_no.h"
#include "locus/routing/routing_table.h"
#include "nlohmann/json.hpp"
#include "src/base/text/text.h"
#include "tests/cli/command.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/engine/mysql/sql_sections.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

using nlohmann::json;
using testing::CommandTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::ReadFile;
using testing::RunLocus;
using testing::WriteFile;

using Row = std::vector<std::string>;

class TableSqlTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    database_ = FreshMariadbDatabase().database;
    std::mt19937_64::result_type seed = std::random_device()();
    if (const char* set = std::getenv("LOCUS_TEST_SEED")) seed = std::stoull(set);
    RecordProperty("seed", absl::StrCat(seed));
    std::cout << "LOCUS_TEST_SEED=" << seed << "\n";
    random_.seed(seed);
  }

  // Vnodes above 60,000 wrap; one move has not begun, one is under way, one has all cohorts.
  void WriteTable(uint64_t epoch, const std::string& id, uint32_t permyriad) {
    const std::vector<Shard> shards = {
        {.id = 1, .name = "orders-a", .endpoint = "mysql://db1:3306/orders", .labels = {}},
        {.id = 7, .name = "b'c\\d\"", .endpoint = "mysql://db2/x?y='", .labels = {}},
        {.id = 9, .name = "\xE4\xBA\xAC", .endpoint = "mysql://db3/o", .weight = 5, .labels = {}}};
    WriteFile(table_,
              RoutingTable::Make(epoch, shards, {{99, 7}, {30'000, 1}, {45'000, 9}, {60'000, 7}},
                                 {{.first = 0, .last = 40, .to = 9, .permyriad = 0},
                                  {.first = 90, .last = 20'000, .to = 9, .permyriad = permyriad},
                                  {.first = 60'001, .last = 65'535, .to = 1, .permyriad = 10'000}},
                                 id)
                  ->ToJson());
  }

  // The client's exit code, stdin from a file; what it says.
  std::pair<int, std::string> Client(const std::string& file) {
    const std::string said = directory_ / "said";
    const int exit = RunProgram({"mariadb", "--no-defaults", "--protocol=tcp", "--host=127.0.0.1",
                                 absl::StrCat("--port=", server_.port()), "--user=root", "--batch",
                                 "--default-character-set=latin1", database_},
                                said, file);
    return {exit, ReadFile(said)};
  }
  std::pair<int, std::string> Load() {
    const Outcome made = RunLocus({"table", "sql", table_});
    EXPECT_EQ(made.exit, 0) << made.err;
    WriteFile(directory_ / "table.sql", made.out);
    return Client(directory_ / "table.sql");
  }
  void LoadAll() {
    ASSERT_EQ(Load().second, "");
    for (const char* name : {"orders", "orders_bigint", "orders_wide"}) {
      Sql(absl::StrJoin(SqlSections(Docs("schema.sql")).at(name), ";"));
    }
    for (int again = 0; again < 2; ++again) {
      ASSERT_EQ(Client(Docs("functions.sql")), (std::pair<int, std::string>(0, "")));
      for (const char* name : {"bigint", "bytes", "order_no", "order_no_bigint"}) {
        Sql(SqlSections(Docs("views.sql")).at(absl::StrCat("view_", name))[0]);
      }
    }
  }
  static std::string Docs(const std::string& name) {
    return golden::ProjectDirectory() + "/docs/" + name;
  }

  std::vector<Row> Sql(const std::string& statements) {
    std::vector<mysql::Result> results =
        server_.Sql(absl::StrCat("SET NAMES utf8mb4; USE ", database_, "; ", statements));
    std::vector<Row> rows;
    if (results.empty()) return rows;
    for (const auto& of : results.back().rows) {
      Row& row = rows.emplace_back();
      for (const auto& value : of) row.push_back(value.value_or("NULL"));
    }
    return rows;
  }
  std::string Value(const std::string& expression) { return Sql("SELECT " + expression)[0][0]; }

  // Order IDs whose gene is next to an end of a range or a move as often as anywhere.
  std::vector<OrderId> Ids(size_t count, bool wide) {
    static constexpr uint32_t kEdges[] = {0,      40,     90,     99,     20'000,
                                          30'000, 45'000, 60'000, 60'001, 65'535};
    std::set<OrderId> ids;
    while (ids.size() < count) {
      uint32_t gene = static_cast<uint32_t>(random_());
      if (random_() % 2 == 0) {
        gene = kEdges[random_() % std::size(kEdges)] + static_cast<uint32_t>(random_() % 3) - 1;
      }
      const uint64_t sequence = random_() >> (wide ? 8 : 17);
      ids.insert(OrderId::FromParts(ShardGene::FromUint16(static_cast<uint16_t>(gene)),
                                    wide ? sequence >> random_() % 56 : sequence)
                     .value());
    }
    return {ids.begin(), ids.end()};
  }
  // What the command answers for each value.
  std::vector<json> Inspect(const std::vector<std::string>& values, std::vector<std::string> more) {
    std::vector<std::string> words = {"inspect", "--table", table_};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = RunLocus(words, absl::StrJoin(values, "\n") + "\n");
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    std::vector<json> answers;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) answers.push_back(json::parse(line));
    EXPECT_EQ(answers.size(), values.size());
    return answers;
  }
  // order_id, order_no (a literal of 16 bytes, or a number).
  void Insert(const std::string& table,
              const std::vector<std::pair<std::string, std::string>>& of) {
    std::vector<std::string> rows;
    for (const auto& [id, number] : of) {
      rows.push_back(absl::StrCat("(", id, ", ", number, ", 1, 7)"));
    }
    Sql(absl::StrCat("INSERT INTO ", table, " (order_id, order_no, order_no_kv, buyer_uid) VALUES ",
                     absl::StrJoin(rows, ", ")));
  }
  static std::string Text(const json& answer, const char* member) {
    if (!answer.contains(member)) return "NULL";
    const json& value = answer[member];
    return value.is_string() ? value.get<std::string>() : value.dump();
  }
  // Runs a statement of docs/views.sql as it stands there.
  std::vector<Row> Expression(const std::string& section) {
    return Sql(SqlSections(Docs("views.sql")).at(section)[0] + " ORDER BY 1");
  }

  MariadbServer& server_ = SharedMariadb();
  std::string database_;
  std::mt19937_64 random_;
};

TEST_F(TableSqlTest, OrderIds_HaveTheAnswersOfTheCommand) {
  WriteTable(3, "00000000000000aa", 4321);
  LoadAll();
  for (const bool wide : {false, true}) {
    const std::vector<OrderId> ids = Ids(4000, wide);
    std::vector<std::string> texts;
    std::vector<std::pair<std::string, std::string>> rows;
    for (const OrderId& id : ids) {
      texts.push_back(id.ToString());
      rows.emplace_back("0x" + internal::HexOf(id.ToBytes()),
                        absl::StrCat("UNHEX(MD5(", rows.size(), "))"));
    }
    const std::vector<json> answers = Inspect(texts, {});
    Insert(wide ? "orders_wide" : "orders", rows);
    const auto view =
        Sql(absl::StrCat("SELECT order_id, gene, cohort, width, shard FROM ",
                         wide ? "orders_wide_located" : "orders_located", " ORDER BY order_id"));
    const std::string prefix = wide ? "locus_bytes_" : "locus_";
    const auto functions = Sql(absl::StrCat(
        "SELECT ", prefix, "gene(order_id), ", prefix, "sequence(order_id), ", prefix,
        "cohort(order_id), ", wide ? "locus_bytes_width(order_id)" : "64",
        ", (SELECT name FROM locus_shards WHERE id = locus_shard(", prefix, "gene(order_id), ",
        prefix, "cohort(order_id))) FROM ", wide ? "orders_wide" : "orders", " ORDER BY order_id"));
    const auto expressions = Expression(wide ? "expressions_bytes" : "expressions_bigint");
    ASSERT_EQ(view.size(), ids.size());
    ASSERT_EQ(functions.size(), ids.size());
    ASSERT_EQ(expressions.size(), ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      const json& answer = answers[i];
      const std::string key = wide ? ids[i].ToBytes() : ids[i].ToString();
      const std::string gene = Text(answer, "gene"), cohort = Text(answer, "cohort"),
                        width = Text(answer, "width"), shard = Text(answer, "shard"),
                        sequence = Text(answer, "sequence");
      ASSERT_THAT(view[i], ElementsAre(key, gene, cohort, width, shard)) << ids[i];
      ASSERT_THAT(functions[i], ElementsAre(gene, sequence, cohort, width, shard)) << ids[i];
      if (wide) {
        ASSERT_THAT(expressions[i], ElementsAre(key, gene, sequence, cohort, width)) << ids[i];
      } else {
        ASSERT_THAT(expressions[i], ElementsAre(key, gene, sequence, cohort)) << ids[i];
      }
    }
  }
  // A signed column is read alike; a row is found by its key.
  Sql("ALTER TABLE orders DROP CONSTRAINT orders_id_is_narrow");
  EXPECT_EQ(Value("COUNT(*) FROM (SELECT CAST(order_id AS SIGNED) AS id FROM orders) AS o "
                  "WHERE id >> 47 <> locus_gene(id)"),
            "0");
  const auto plan = Sql(absl::StrCat("EXPLAIN SELECT shard FROM orders_located WHERE order_id = ",
                                     Value("order_id FROM orders LIMIT 1")));
  EXPECT_EQ(plan[0][2], "o");
  EXPECT_EQ(plan[0][3], "const");
}

TEST_F(TableSqlTest, OrderNos_HaveTheAnswersOfTheCommand) {
  WriteTable(3, "00000000000000aa", 4321);
  LoadAll();
  std::vector<OrderId> ids = Ids(2000, false);
  for (const OrderId& id : Ids(2000, true)) ids.push_back(id);
  std::vector<std::string> texts;
  for (const OrderId& id : ids) texts.push_back(id.ToString());
  auto encoded = [&](std::vector<std::string> words, size_t count) {
    words.insert(words.begin(), {"encode", "--keys", keys_});
    std::vector<std::string> first(texts.begin(), texts.begin() + static_cast<ptrdiff_t>(count));
    const Outcome outcome = RunLocus(words, absl::StrJoin(first, "\n") + "\n");
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    std::vector<std::string> numbers;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) numbers.push_back(line);
    EXPECT_EQ(numbers.size(), count);
    return numbers;
  };
  const std::vector<std::string> numbers = encoded({}, ids.size());
  std::vector<std::pair<std::string, std::string>> rows;
  for (size_t i = 0; i < ids.size(); ++i) {
    rows.emplace_back("0x" + internal::HexOf(ids[i].ToBytes()),
                      "X'" + internal::HexOf(OrderNo::Parse(numbers[i])->ToBytes()) + "'");
  }
  Insert("orders_wide", rows);
  std::map<std::string, json> answers;
  for (json& answer : Inspect(numbers, {})) {
    answers[OrderNo::Parse(Text(answer, "order_no"))->ToBytes()] = answer;
  }
  for (const Row& row : Sql("SELECT order_no, gene, width, shard, target FROM "
                            "orders_by_no_located")) {
    const json& answer = answers.at(row[0]);
    ASSERT_THAT(row, ElementsAre(row[0], Text(answer, "gene"), Text(answer, "width"),
                                 Text(answer, "shard"), Text(answer, "target")))
        << answer;
  }
  EXPECT_EQ(Value("COUNT(*) FROM orders_by_no_located"), absl::StrCat(ids.size()));
  auto expect_parts = [&](const std::vector<Row>& parts) {
    ASSERT_EQ(parts.size(), ids.size());
    for (const Row& row : parts) {
      const json& answer = answers.at(row[0]);
      ASSERT_THAT(row, ElementsAre(row[0], Text(answer, "gene"), Text(answer, "width"),
                                   Text(answer, "key_version")));
    }
  };
  expect_parts(Expression("expressions_order_no"));
  expect_parts(
      Sql("SELECT order_no, locus_no_gene(order_no), locus_no_width(order_no), "
          "locus_no_key_version(order_no) FROM orders_wide"));

  const std::vector<std::string> of_64_bits = encoded({"--scheme", "ff1"}, 2000);
  rows.clear();
  for (size_t i = 0; i < of_64_bits.size(); ++i) rows.emplace_back(texts[i], of_64_bits[i]);
  Insert("orders_bigint", rows);
  answers.clear();
  for (json& answer : Inspect(of_64_bits, {"--scheme", "ff1"})) {
    answers[Text(answer, "order_no")] = answer;
  }
  const auto located = Sql("SELECT order_no, gene, shard, target FROM orders_bigint_by_no_located");
  ASSERT_EQ(located.size(), of_64_bits.size());
  for (const Row& row : located) {
    const json& answer = answers.at(row[0]);
    ASSERT_THAT(row, ElementsAre(row[0], Text(answer, "gene"), Text(answer, "shard"),
                                 Text(answer, "target")));
  }
}

TEST_F(TableSqlTest, WhatIsNoOrderId_IsNull) {
  WriteTable(1, "", 0);
  LoadAll();
  const json vectors =
      json::parse(ReadFile(golden::ProjectDirectory() + "/tests/golden/order_id.json"));
  for (const json& line : vectors["invalid"]) {
    const std::string hex = line["hex"];
    if (hex.size() > 32) continue;  // longer than the column
    for (const char* name : {"gene", "sequence", "cohort", "width"}) {
      EXPECT_EQ(Value(absl::StrCat("locus_bytes_", name, "(X'", hex, "')")), "NULL") << line;
    }
  }
  for (const json& line : vectors["valid"]) {
    const std::string hex = line["hex"];
    EXPECT_EQ(Value(absl::StrCat("locus_bytes_cohort(X'", hex, "')")), line["cohort"].dump());
  }
  for (const char* name : {"gene", "sequence", "cohort"}) {
    EXPECT_EQ(Value(absl::StrCat("locus_", name, "(9223372036854775808)")), "NULL");
    EXPECT_EQ(Value(absl::StrCat("locus_", name, "(NULL)")), "NULL");
    EXPECT_EQ(Value(absl::StrCat("locus_bytes_", name, "('1234567890123456')")), "NULL");
  }
  for (const char* number : {"'1234567890'", "X'8849102580BBE803D9AF23C867D79D7D'",
                             "X'00007FFFFFFFFFFFFF00800000000000'", "NULL"}) {
    for (const char* name : {"gene", "width", "key_version"}) {
      EXPECT_EQ(Value(absl::StrCat("locus_no_", name, "(", number, ")")), "NULL") << number;
    }
  }
}

TEST_F(TableSqlTest, LaterTable_ReplacesAnEarlierOne) {
  WriteTable(3, "00000000000000aa", 1000);
  LoadAll();
  auto epoch = [&] { return Value("CONCAT(epoch, ' ', table_id) FROM locus_routing_table"); };
  auto moved = [&] { return Value("permyriad FROM locus_vnodes WHERE vnode = 100"); };
  EXPECT_EQ(epoch(), "3 00000000000000aa");
  EXPECT_EQ(moved(), "1000");
  EXPECT_THAT(Sql("SELECT name, endpoint, weight FROM locus_shards ORDER BY id"),
              ElementsAre(Row{"orders-a", "mysql://db1:3306/orders", "100"},
                          Row{"b'c\\d\"", "mysql://db2/x?y='", "100"},
                          Row{"\xE4\xBA\xAC", "mysql://db3/o", "5"}));
  EXPECT_EQ(Value("COUNT(*) FROM locus_vnodes"), "65536");
  EXPECT_EQ(Value("SUM(permyriad_of_ring) FROM locus_shard_portions"), "10000.0000");

  WriteTable(4, "00000000000000aa", 2000);
  EXPECT_EQ(Load(), (std::pair<int, std::string>(0, "")));
  EXPECT_EQ(moved(), "2000");
  EXPECT_EQ(Load().first, 0) << "the same again";
  WriteTable(3, "00000000000000aa", 3000);
  std::pair<int, std::string> refused = Load();
  EXPECT_EQ(refused.first, 1);
  EXPECT_THAT(refused.second, HasSubstr("locus_loaded_table_is_newer_or_another"));
  WriteTable(9, "00000000000000bb", 3000);
  EXPECT_EQ(Load().first, 1) << "another table";
  EXPECT_EQ(epoch(), "4 00000000000000aa");
  EXPECT_EQ(moved(), "2000");
  WriteTable(9, "", 3000);
  EXPECT_EQ(Load().first, 0) << "of no table_id";
  EXPECT_EQ(epoch(), "9 00000000000000aa");
  EXPECT_EQ(moved(), "3000");
}

TEST_F(TableSqlTest, BadTables_AreRefusedAsElsewhere) {
  WriteFile(table_, "{}");
  const Outcome bad = RunLocus({"table", "sql", table_});
  EXPECT_EQ(bad.exit, 1);
  EXPECT_THAT(bad.err, HasSubstr("member \"epoch\" is missing"));
  EXPECT_EQ(bad.out, "");
  EXPECT_EQ(RunLocus({"table", "sql"}).exit, 2);
  EXPECT_NE(RunLocus({"table", "sql", directory_ / "none.json"}).exit, 0);
}

}  // namespace
}  // namespace locus
