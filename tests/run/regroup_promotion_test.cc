// SPDX-License-Identifier: Apache-2.0
// A replica is promoted in the middle of a regroup.
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/fence/guard_sql.h"
#include "migration/mysql/marker_tables.h"
#include "migration/run/band_rows.h"
#include "migration/run/rebind.h"
#include "tests/engine/mysql/mariadb_replica.h"
#include "tests/fence/fence_fixture.h"

namespace locus::mysql {
namespace {

constexpr char kDatabase[] = "locus_bands";

std::unique_ptr<ShardLink> LinkTo(MariadbServer& server) {
  MysqlOptions options = server.Account(kDatabase);
  options.user = "mover";
  return ShardLink::Create(options).value();
}

// Before this statement, for the nth time, the replica has all, and the runner dies.
class RegroupPromotionTest : public ::testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(RegroupPromotionTest, PromotedReplica_IsBoundAndTheRegroupContinues) {
  MariadbServer primary(FencedServer(5)), replica(FencedServer(6));
  ASSERT_TRUE(primary.Start() && replica.Start());
  replica.Sql("RESET MASTER");
  Replicate(primary, replica);
  MakeMover(primary);
  primary.Sql(absl::StrCat(
      "CREATE DATABASE ", kDatabase, "; USE ", kDatabase,
      "; CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, note INT); ",
      internal::kCreateFence,
      "; INSERT INTO locus_fence VALUES (0, 65535, 0, 10000, 0, @@server_id, NULL, NULL); ",
      internal::kCreateVnodes, "; ", internal::kMapVnodes));
  for (const GuardTrigger& guard : GuardTriggersOf(FenceOf({{.name = "orders"}}))) {
    primary.Sql(absl::StrCat("USE ", kDatabase, "; CREATE TRIGGER ", guard.name, " BEFORE ",
                             guard.event, " ON orders FOR EACH ROW ", guard.body));
  }
  std::unique_ptr<ShardLink> link = LinkTo(primary);
  for (const std::string& create : CreateMarkerTables()) ASSERT_TRUE(link->Run(create).ok());
  ASSERT_TRUE(
      link->Run("INSERT INTO locus_run (move, run, ping, counter) VALUES ('first', 7, 0, 1)").ok());
  Move move;
  move.name = "first";
  move.source.name = "orders-a";
  move.target.name = "orders-b";
  move.ranges = {{0, 9}, {40, 49}};

  const auto [statement, nth] = GetParam();
  int left = nth;
  link->set_before_statement([&, statement = statement](const std::string& text) {
    if (!absl::StrContains(text, statement) || --left != 0) return;
    WaitForReplica(primary, replica);
    primary.Sql(
        "BEGIN NOT ATOMIC FOR s IN (SELECT id FROM information_schema.PROCESSLIST WHERE user ="
        " 'mover') DO EXECUTE IMMEDIATE CONCAT('KILL ', s.id); END FOR; END");
  });
  EXPECT_FALSE(
      BandRows(move, internal::Side::kSource, *link).Make(1, 7, absl::Milliseconds(150)).ok());
  ASSERT_LE(left, 0);
  WaitForReplica(primary, replica);
  Promote(replica);

  uint64_t sequence = 0;
  auto accepts = [&](uint32_t gene) {
    auto session = SqlSession::Open(replica.OptionsFor(kDatabase)).value();
    return session
        ->Run(absl::StrCat("INSERT INTO orders VALUES (", Number(IdOf(gene, ++sequence)), ", 0)"))
        .ok();
  };
  const uint32_t genes[] = {0, 9, 10, 39, 40, 49, 50, 65535};
  for (uint32_t gene : genes) EXPECT_FALSE(accepts(gene)) << gene;
  link = LinkTo(replica);
  BandRows rows(move, internal::Side::kSource, *link);
  const absl::Status unbound = rows.Make(1, 7, absl::Milliseconds(150));
  EXPECT_TRUE(absl::IsFailedPrecondition(unbound)) << unbound;
  auto table = RoutingTable::Make(
      5, {{.id = 1, .name = "orders-a", .endpoint = "mysql://h:1/d", .labels = {}}}, {{65535, 1}},
      {});
  ASSERT_TRUE(table.ok()) << table.status();
  auto bound = RebindRows(*link, 1, *table, {}, false);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_TRUE(bound->left.empty());
  for (uint32_t gene : genes) EXPECT_TRUE(accepts(gene)) << gene;
  absl::Status made = absl::UnavailableError("not yet");
  for (int i = 0; i < 3 && absl::IsUnavailable(made); ++i) {
    made = rows.Make(1, 7, absl::Milliseconds(150));
  }
  ASSERT_TRUE(made.ok()) << made;
  auto written = rows.Replace({10000, 10000, 2, 10000, 5}, 1, 7, absl::Seconds(1));
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(*written, BandRows::Written::kDone);
  for (uint32_t gene : genes) {
    EXPECT_EQ(accepts(gene), gene > 9 && (gene < 40 || gene > 49)) << gene;
  }
}

INSTANTIATE_TEST_SUITE_P(Statements, RegroupPromotionTest,
                         ::testing::Values(std::pair("INSERT INTO locus_fence", 1),
                                           std::pair("UPDATE locus_vnode", 1),
                                           std::pair("UPDATE locus_vnode", 2),
                                           std::pair("UPDATE locus_fence SET hi", 1)),
                         [](const auto& one) { return absl::StrCat("At", one.index); });

}  // namespace
}  // namespace locus::mysql
