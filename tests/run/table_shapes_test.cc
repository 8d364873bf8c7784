// SPDX-License-Identifier: Apache-2.0
// Whole moves of every shape of table that a service may have: a part, back, the whole, finalized
// and cleaned up, with orders changed at each stop. In the end the target has what a database has
// that took the same statements and never moved.
#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "buyers.h"
#include "locus/order_no_codec.h"
#include "locus/routing/file_table.h"
#include "migration/fence/guard_sql.h"
#include "migration/run/move_runner.h"
#include "src/base/text/text.h"
#include "tests/fence/fence_fixture.h"
#include "tests/run/move_setup.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using internal::Ending;
using internal::HexOf;
using internal::Phase;
using internal::Wish;
using Key = GuardedTable::Key;

constexpr size_t kOrders = 600;

struct Order {
  OrderId narrow, wide;
  OrderNo no, wide_no;
  OrderNo64 no64;
  uint64_t buyer = 0;
  int64_t amount = 0;
};

std::string Bytes(const std::string& bytes) { return absl::StrCat("X'", HexOf(bytes), "'"); }

// A table, and an order's row in it.
struct TableShape {
  MovedTable moved;
  std::string create;
  std::string columns;  // of an INSERT
  std::function<std::string(const Order&)> values, is_row;
};

struct Shape {
  std::string name;
  std::vector<TableShape> tables;  // parents before their children
  bool children_first = false;     // in the move
};

MovedTable Moved(const std::string& name, Key key, std::vector<std::string> primary_key) {
  MovedTable table;
  table.guard.name = name;
  table.guard.key = key;
  table.primary_key = std::move(primary_key);
  return table;
}

TableShape ByNumber(const std::string& name, const std::string& type, const std::string& more,
                    const std::string& line) {
  std::vector<std::string> key = {"order_id"};
  if (!line.empty()) key.push_back(line);
  const std::string column = line.empty() ? "" : line + " INT NOT NULL, ";
  return {Moved(name, Key::kOrderIdNumber, key),
          absl::StrCat("CREATE TABLE ", name, " (order_id ", type, " NOT NULL, ", column,
                       "amount BIGINT, version BIGINT UNSIGNED NOT NULL DEFAULT 1, PRIMARY KEY (",
                       absl::StrJoin(key, ", "), ")", more, ")"),
          absl::StrCat("order_id, ", line.empty() ? "" : line + ", ", "amount"),
          [line](const Order& order) {
            return absl::StrCat(Number(order.narrow), line.empty() ? "" : ", 1", ", ",
                                order.amount);
          },
          [](const Order& order) { return "order_id = " + Number(order.narrow); }};
}

// Only the order_no, with gene and cohort of the client or computed.
TableShape ByOrderNo(const std::string& name, const std::string& type, const std::string& gene) {
  const bool stored = gene.empty();
  return {Moved(name, Key::kGeneAndCohort, {"order_no"}),
          absl::StrCat("CREATE TABLE ", name, " (order_no ", type,
                       " NOT NULL, shard_gene SMALLINT UNSIGNED ", stored ? "NOT NULL" : gene,
                       ", cohort SMALLINT UNSIGNED NOT NULL, amount BIGINT, version BIGINT UNSIGNED"
                       " NOT NULL DEFAULT 1, PRIMARY KEY (order_no), KEY (shard_gene, order_no))"),
          absl::StrCat("order_no, cohort, amount", stored ? ", shard_gene" : ""),
          [stored](const Order& order) {
            return absl::StrCat(Bytes(order.no.ToBytes()), ", ", order.narrow.cohort(), ", ",
                                order.amount,
                                stored ? absl::StrCat(", ", order.no.gene().value()) : "");
          },
          [](const Order& order) { return "order_no = " + Bytes(order.no.ToBytes()); }};
}

// A table of docs/schema.sql.
std::string Documented(const std::string& name) {
  std::ifstream file(golden::ProjectDirectory() + "/docs/schema.sql");
  std::string line, statement;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line == "-- end " + name) return statement;
    if (inside) absl::StrAppend(&statement, line.substr(0, line.find(" --")), "\n");
    if (line == "-- begin " + name) inside = true;
  }
  return "";
}
TableShape OfSchema(const std::string& name, Key key, bool wide) {
  return {Moved(name, key, {"order_id"}), Documented(name),
          "order_id, order_no, order_no_kv, buyer_uid",
          [name, key, wide](const Order& order) {
            const OrderId& id = wide ? order.wide : order.narrow;
            const std::string no = name == "orders_bigint"
                                       ? absl::StrCat(order.no64.ToInt64())
                                       : Bytes((wide ? order.wide_no : order.no).ToBytes());
            return absl::StrCat(key == Key::kOrderIdBytes ? Bytes(id.ToBytes()) : Number(id), ", ",
                                no, ", 1, ", order.buyer);
          },
          [key, wide](const Order& order) {
            const OrderId& id = wide ? order.wide : order.narrow;
            return "order_id = " + (key == Key::kOrderIdBytes ? Bytes(id.ToBytes()) : Number(id));
          }};
}

std::vector<Shape> Shapes() {
  const std::string parent = ", FOREIGN KEY (order_id) REFERENCES orders (order_id)";
  const std::string gene =
      "AS ((ASCII(order_no) << 9 | ASCII(SUBSTR(order_no, 2, 1)) << 1 | ASCII(SUBSTR(order_no, 3,"
      " 1)) >> 7) & 65535)";
  return {
      {"order_with_items_and_payments",
       {ByNumber("orders", "BIGINT UNSIGNED", "", ""),
        ByNumber("order_items", "BIGINT UNSIGNED", parent, "line"),
        ByNumber("payments", "BIGINT UNSIGNED", parent, "payment_no")},
       true},
      {"signed_order_id", {ByNumber("orders", "BIGINT", "", "")}},
      {"order_no_alone",
       {ByOrderNo("fixed", "BINARY(16)", ""), ByOrderNo("plain", "VARBINARY(16)", ""),
        ByOrderNo("stored", "VARBINARY(16)", gene + " STORED"),
        ByOrderNo("virtual", "BINARY(16)", gene + " VIRTUAL")}},
      {"documented_tables_side_by_side",
       {OfSchema("orders", Key::kOrderIdNumber, false),
        OfSchema("orders_bigint", Key::kOrderIdNumber, false),
        OfSchema("orders_wide", Key::kOrderIdBytes, true)}},
  };
}

std::vector<Order> MakeOrders() {
  const std::string path = golden::ProjectDirectory() + "/../shared/data/online_retail_orders.csv";
  std::vector<shop::BuyerRow> buyers =
      shop::ReadBuyers(path, {}).value_or(shop::MakeBuyers({}, kOrders));
  const OrderNoCodec codec =
      OrderNoCodec::Create(
          KeyRing::FromKey(KeyVersion::FromInt(1).value(), std::string(32, 'k')).value())
          .value();
  std::vector<Order> orders;
  for (uint64_t i = 1; i <= kOrders; ++i) {
    const shop::BuyerRow& row = buyers[i * 7 % buyers.size()];
    const ShardGene gene = ShardGene::Of(BuyerKey::Uint64(row.buyer));
    // A row event leaves zero bytes out at the end of a BINARY: some numbers end with one.
    uint64_t sequence = i * 977;
    auto ends_with_zero = [&] {
      const OrderId id = OrderId::FromParts(gene, sequence).value();
      return codec.Encode(id).value().ToBytes().back() == 0;
    };
    while (i % 20 == 0 && !ends_with_zero()) sequence += 1'000'003;
    Order order{OrderId::FromParts(gene, sequence).value(),
                OrderId::FromParts(gene, (i % 2 << 47) + sequence).value(),
                {},
                {},
                {},
                row.buyer,
                row.amount};
    order.no = codec.Encode(order.narrow).value();
    order.wide_no = codec.Encode(order.wide).value();
    order.no64 = codec.EncodeFf1(order.narrow, KeyVersion::FromInt(1).value()).value();
    orders.push_back(order);
  }
  return orders;
}

class TableShapesTest : public ::testing::TestWithParam<Shape> {
 protected:
  static constexpr char kShop[] = "locus_shop", kStill[] = "locus_still";

  static void SetUpTestSuite() {
    orders_ = new std::vector<Order>(MakeOrders());
    for (uint16_t i = 0; i < 2; ++i) {
      servers_[i] = new MariadbServer(FencedServer(static_cast<uint16_t>(i + 1)));
      ASSERT_TRUE(servers_[i]->Start());
      MakeMover(*servers_[i]);
    }
  }
  static void TearDownTestSuite() {
    for (MariadbServer* server : servers_) delete server;
    delete orders_;
  }

  // A move of two ranges of vnodes, and orders of all vnodes on the source.
  void SetUp() override {
    for (MariadbServer* server : servers_) {
      server->Sql(absl::StrCat("DROP DATABASE IF EXISTS ", kShop, "; CREATE DATABASE ", kShop));
    }
    servers_[0]->Sql(
        absl::StrCat("DROP DATABASE IF EXISTS ", kStill, "; CREATE DATABASE ", kStill));
    move_ = TestMove(servers_[0]->port(), servers_[1]->port());
    move_.ranges = {{0, 19999}, {30000, 49999}};
    move_.tables.clear();
    for (const TableShape& table : GetParam().tables) {
      for (int server : {0, 1}) Sql(server, kShop, table.create);
      Sql(0, kStill, table.create);
      move_.tables.push_back(table.moved);
    }
    if (GetParam().children_first) std::reverse(move_.tables.begin(), move_.tables.end());
    std::string inserts;
    for (const Order& order : *orders_) inserts += Insert(order);
    Both(0, inserts);

    std::vector<Shard> shards;
    for (uint32_t i = 0; i < 2; ++i) {
      shards.push_back(
          {.id = i + 1,
           .name = i == 0 ? "orders-a" : "orders-b",
           .endpoint = absl::StrCat("mysql://127.0.0.1:", servers_[i]->port(), "/", kShop),
           .labels = {}});
    }
    publisher_ = FileTablePublisher::Open(directory_ / "table.json").value();
    const std::vector<VnodeMove> moves = {{0, 19999, 2, 0, 0}, {30000, 49999, 2, 0, 0}};
    ASSERT_TRUE(
        publisher_->Publish(RoutingTable::Make(1, shards, {{65535, 1}}, moves).value(), 0).ok());
    link_ = mysql::ShardLink::Create(move_.source.server).value();
    records_ = std::make_unique<mysql::MoveRecords>(*link_);
    ASSERT_TRUE(records_->CreateTables().ok());
    Wish wish;
    wish.started = true;
    wish.by = 10000;
    wish.dwell = absl::ZeroDuration();
    ASSERT_TRUE(records_->Begin(move_.name, {1, 2, move_.ranges}, wish).ok());
  }

  static bool Moves(const Order& order) {
    const uint16_t gene = order.narrow.gene().value();
    return gene <= 19999 || (gene >= 30000 && gene <= 49999);
  }
  static std::string Insert(const Order& order) {
    std::string statements;
    for (const TableShape& table : GetParam().tables) {
      absl::StrAppend(&statements, "INSERT INTO `", table.moved.guard.name, "` (", table.columns,
                      ") VALUES (", table.values(order), ");");
    }
    return statements;
  }
  static std::string Update(const Order& order) {
    std::string statements;
    for (const TableShape& table : GetParam().tables) {
      const std::string column = table.columns.ends_with("buyer_uid") ? "buyer_uid" : "amount";
      absl::StrAppend(&statements, "UPDATE `", table.moved.guard.name, "` SET ", column, " = ",
                      column, " + 1, version = version + 1 WHERE ", table.is_row(order), ";");
    }
    return statements;
  }
  static std::string Delete(const Order& order) {
    std::string statements;
    for (auto table = GetParam().tables.rbegin(); table != GetParam().tables.rend(); ++table) {
      absl::StrAppend(&statements, "DELETE FROM `", table->moved.guard.name, "` WHERE ",
                      table->is_row(order), ";");
    }
    return statements;
  }

  // One transaction on a shard, and on the database that never moves.
  void Both(int server, const std::string& statements) {
    Sql(server, kShop, "START TRANSACTION; " + statements + "COMMIT");
    Sql(0, kStill, "START TRANSACTION; " + statements + "COMMIT");
  }
  void Sql(int server, const std::string& database, const std::string& statements) {
    servers_[server]->Sql(absl::StrCat("USE ", database, "; ", statements));
  }
  // Updates, deletes and inserts again orders of the moving vnodes whose cohorts are in the band,
  // in all tables, on the shard that accepts them.
  void Change(int server, uint32_t from, uint32_t to) {
    size_t number = 0;
    std::string first, second;
    for (const Order& order : *orders_) {
      const bool in_band = order.narrow.cohort() >= from && order.narrow.cohort() < to &&
                           order.wide.cohort() >= from && order.wide.cohort() < to;
      if (!Moves(order) || !in_band || ++number > 30) continue;
      first += Update(order);
      if (number % 3 == 0) first += Delete(order);
      if (number % 6 == 0) first += Insert(order);
      if (number % 6 == 3) second += Insert(order);
    }
    ASSERT_GE(number, 30u);
    Both(server, first);
    Both(server, second);
  }

  // The rows of the vnodes that move, or of the others, each as text.
  std::string Rows(int server, const std::string& database, bool moving, bool version) {
    std::string all;
    for (const TableShape& table : GetParam().tables) {
      const auto columns = servers_[server]->Sql(absl::StrCat(
          "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '", database,
          "' AND TABLE_NAME = '", table.moved.guard.name, "' ORDER BY ORDINAL_POSITION"));
      std::vector<std::string> values;
      for (const auto& row : columns[0].rows) {
        if (version || *row[0] != "version") values.push_back("HEX(`" + *row[0] + "`)");
      }
      const std::string gene = internal::GeneExpression(table.moved.guard, "");
      const auto rows = servers_[server]->Sql(absl::StrCat(
          "USE ", database, "; SELECT CONCAT_WS(' ', ", absl::StrJoin(values, ", "),
          ") AS line FROM `", table.moved.guard.name, "` WHERE ", moving ? "" : "NOT ", "(", gene,
          " BETWEEN 0 AND 19999 OR ", gene, " BETWEEN 30000 AND 49999) ORDER BY line"));
      absl::StrAppend(&all, table.moved.guard.name, ": ", rows[1].rows.size(), " rows\n");
      for (const auto& row : rows[1].rows) absl::StrAppend(&all, *row[0], "\n");
    }
    return all;
  }

  mysql::MoveRecord Record() { return records_->Read(move_.name).value(); }
  template <typename Change>
  void Ask(Change change) {
    ASSERT_TRUE(WaitUntil([&] {
      const mysql::MoveRecord record = Record();
      Wish wish = record.wish;
      change(wish);
      return records_->ChangeWish(move_.name, record.serial, wish).ok();
    }));
  }
  template <typename Condition>
  void Await(Condition condition) {
    ASSERT_TRUE(WaitUntil([&] { return condition() || !Record().wish.hold.empty(); }))
        << Record().status;
    ASSERT_EQ(Record().wish.hold, "");
  }
  void AwaitPhase(Phase phase) {
    Await([&] { return Record().phase == phase; });
  }
  void StepTo(uint32_t share) {
    Ask([&](Wish& wish) { wish.goal = share; });
    Await([&] {
      const auto sight = internal::SightOf(publisher_->Current().value(), {1, 2, move_.ranges});
      return sight.kind == internal::TableSight::Kind::kUnderWay && sight.share == share;
    });
  }

  static inline MariadbServer* servers_[2];
  static inline std::vector<Order>* orders_;
  TemporaryDirectory directory_;
  Move move_;
  std::unique_ptr<FileTablePublisher> publisher_;
  std::unique_ptr<mysql::ShardLink> link_;
  std::unique_ptr<mysql::MoveRecords> records_;
};

TEST_P(TableShapesTest, MovedForthBackAndForGood_IsAsIfItHadNeverMoved) {
  const std::string staying = Rows(0, kShop, false, true);
  auto runner =
      mysql::MoveRunner::Create(move_, TestRunner("one", directory_ / ""), *publisher_).value();
  std::atomic<bool> stop = false;
  absl::Status status;
  std::thread thread([&] { status = runner->Run(stop); });
  [&] {
    AwaitPhase(Phase::kReady);
    for (auto [share, server] : {std::pair(4000u, 1), std::pair(0u, 0), std::pair(10000u, 1)}) {
      if (HasFatalFailure()) return;
      StepTo(share);
      if (HasFatalFailure()) return;
      Change(server, 0, 4000);
      if (share == 4000) Change(0, 4000, 10000);
    }
    if (HasFatalFailure()) return;
    Ask([](Wish& wish) { wish.ending = Ending::kFinalize; });
    AwaitPhase(Phase::kFinalized);
    if (HasFatalFailure()) return;
    EXPECT_EQ(Rows(0, kShop, true, true), Rows(1, kShop, true, true));
    Ask([](Wish& wish) { wish.ending = Ending::kCleanup; });
    AwaitPhase(Phase::kDone);
  }();
  stop = true;
  thread.join();
  if (HasFatalFailure()) return;
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(Rows(1, kShop, true, false), Rows(0, kStill, true, false));
  EXPECT_EQ(Rows(0, kShop, false, true), staying);
  for (const TableShape& table : GetParam().tables) {
    const std::string& name = table.moved.guard.name;
    EXPECT_THAT(Rows(0, kShop, true, false), ::testing::HasSubstr(name + ": 0 rows"));
    EXPECT_THAT(Rows(1, kShop, false, false), ::testing::HasSubstr(name + ": 0 rows"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, TableShapesTest, ::testing::ValuesIn(Shapes()),
                         [](const auto& shape) { return shape.param.name; });

}  // namespace
}  // namespace locus
