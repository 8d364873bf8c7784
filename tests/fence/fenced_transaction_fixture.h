// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_FENCE_FENCED_TRANSACTION_FIXTURE_H_
#define LOCUS_TESTS_FENCE_FENCED_TRANSACTION_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "locus/routing/engine/fenced_transaction.h"
#include "tests/fence/two_shards.h"

namespace locus {

// Two shards: "orders-a" has all vnodes, and vnodes 0..99 move to "orders-b" as the test says.
class FencedTransactionTest : public ::testing::Test {
 protected:
  static constexpr char kDatabase[] = "locus_shop";
  static constexpr uint32_t kGene = 5;

  static void SetUpTestSuite() {
    for (size_t i = 0; i < 2; ++i) {
      servers_[i] = new MariadbServer(FencedServer(static_cast<uint16_t>(i + 1)));
      ASSERT_TRUE(servers_[i]->Start());
      MakeMover(*servers_[i]);
      servers_[i]->Sql("CREATE USER shop@'127.0.0.1' IDENTIFIED BY 's3cret'");
    }
  }
  static void TearDownTestSuite() {
    for (MariadbServer* server : servers_) delete server;
  }

  void SetUp() override {
    for (uint32_t i = 0; i < 2; ++i) {
      servers_[i]->Sql(
          absl::StrCat("DROP DATABASE IF EXISTS ", kDatabase, "; CREATE DATABASE ", kDatabase,
                       "; USE ", kDatabase,
                       "; CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, value BIGINT);"
                       "GRANT SELECT, INSERT, UPDATE, DELETE ON locus_shop.* TO shop@'127.0.0.1'"));
    }
    shards_ = TwoShards(*servers_[0], *servers_[1], kDatabase);
    router_ = std::make_unique<Router>(TableAt(0, 1, 0));
    pools_ = ShopPools();
    fenced_ = std::make_unique<FencedTransactions>(*router_, *pools_);
  }

  RoutingTable TableAt(uint32_t permyriad, uint64_t epoch, uint64_t step) {
    return TableOfStep(shards_, permyriad, epoch, step);
  }
  void InstallFences() { InstallFencesOfTwo(*servers_[0], *servers_[1], shards_, kDatabase); }
  static void Sql(size_t server, const std::string& statements) {
    servers_[server]->Sql(absl::StrCat("USE ", kDatabase, "; ", statements));
  }
  static std::string Value(size_t server, const std::string& query) {
    return servers_[server]->Value(query);
  }
  // The donor lets go of the band, or the recipient takes it.
  static void Own(size_t server, uint32_t own_lo, uint32_t own_hi, uint64_t step) {
    Sql(server, absl::StrCat("UPDATE locus_fence SET own_lo = ", own_lo, ", own_hi = ", own_hi,
                             ", step = ", step, " WHERE lo = 0"));
  }
  // What the change stream will do: the rows of the band, as they are once the donor has let go.
  static void CopyRows(size_t from, size_t to, uint32_t first, uint32_t end) {
    auto rows = servers_[from]->Sql(
        absl::StrCat("SELECT order_id, value FROM locus_shop.orders WHERE ((order_id & "
                     "140737488355327) % 10000 *"
                     " 6181 + (order_id >> 47 & 65535) * 2531) % 10000 BETWEEN ",
                     first, " AND ", end - 1));
    MysqlOptions mover = servers_[to]->Account(kDatabase);
    mover.user = "mover";
    auto session = SqlSession::Open(mover).value();
    for (const auto& row : rows[0].rows) {
      ASSERT_TRUE(
          session->Run(absl::StrCat("REPLACE INTO orders VALUES (", *row[0], ", ", *row[1], ")"))
              .ok());
    }
  }
  // A step of the move: vnodes 0..99 are shared at `permyriad` from then on.
  void Step(uint32_t from, uint32_t to, uint64_t step) {
    if (to > from) {
      Own(0, to, 10000, step);
      CopyRows(0, 1, from, to);
      Own(1, 0, to, step);
    } else {
      Own(1, 0, to, step);
      CopyRows(1, 0, to, from);
      Own(0, to, 10000, step);
    }
  }

  static absl::Status Execute(ShardConnection& connection, const std::string& statement) {
    if (mysql_real_query(connection.handle(), statement.data(), statement.size()) != 0) {
      return ShardErrorOf(connection);
    }
    return absl::OkStatus();
  }
  static absl::Status Insert(ShardConnection& connection, const OrderId& id, uint64_t value) {
    return Execute(connection,
                   absl::StrCat("INSERT INTO orders VALUES (", Number(id), ", ", value, ")"));
  }
  // NOT_FOUND: no such order.
  static absl::Status Update(ShardConnection& connection, const OrderId& id, uint64_t value) {
    absl::Status status = Execute(connection, absl::StrCat("UPDATE orders SET value = ", value,
                                                           " WHERE order_id = ", Number(id)));
    if (status.ok() && mysql_affected_rows(connection.handle()) == 0) {
      return absl::NotFoundError("no such order");
    }
    return status;
  }
  static absl::Status Read(ShardConnection& connection, const OrderId& id, std::string& value) {
    value = Ask(connection, absl::StrCat("SELECT value FROM orders WHERE order_id = ", Number(id)));
    if (value.substr(0, 5) == "error") return ShardErrorOf(connection);
    return value.empty() ? absl::NotFoundError("no such order") : absl::OkStatus();
  }

  static inline MariadbServer* servers_[2];
  std::vector<Shard> shards_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<ShardPools> pools_;
  std::unique_ptr<FencedTransactions> fenced_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_FENCE_FENCED_TRANSACTION_FIXTURE_H_
