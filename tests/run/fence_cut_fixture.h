// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_RUN_FENCE_CUT_FIXTURE_H_
#define LOCUS_TESTS_RUN_FENCE_CUT_FIXTURE_H_

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "migration/fence/guard_sql.h"
#include "migration/mysql/marker_tables.h"
#include "migration/run/band_rows.h"
#include "tests/fence/fence_fixture.h"

namespace locus::mysql {

// One shard with a table of guarded orders, and a move of vnodes 10..19 and 40..49 whose run is 7.
class FenceCutFixture : public FencedServerTest {
 protected:
  static constexpr char kDatabase[] = "locus_bands";

  void SetUp() override {
    server_->Sql(absl::StrCat(
        "DROP DATABASE IF EXISTS ", kDatabase, "; CREATE DATABASE ", kDatabase, "; USE ", kDatabase,
        "; CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, note INT); ",
        internal::kCreateFence));
    for (const GuardTrigger& guard : GuardTriggersOf(FenceOf({{.name = "orders"}}))) {
      server_->Sql(absl::StrCat("USE ", kDatabase, "; CREATE TRIGGER ", guard.name, " BEFORE ",
                                guard.event, " ON orders FOR EACH ROW ", guard.body));
    }
    MysqlOptions options = server_->Account(kDatabase);
    options.user = "mover";
    link_ = ShardLink::Create(options).value();
    for (const std::string& create : CreateMarkerTables()) ASSERT_TRUE(link_->Run(create).ok());
    ASSERT_TRUE(
        link_->Run("INSERT INTO locus_run (move, run, ping, counter) VALUES ('first', 7, 0, 1)")
            .ok());
    move_.name = "first";
    move_.source.name = "orders-a";
    move_.target.name = "orders-b";
    move_.ranges = {{10, 19}, {40, 49}};
  }

  // Rows "(lo, hi, own_lo, own_hi, step, server_id, other, token), ..." and a map of them.
  static void MakeFence(const std::string& rows) {
    server_->Sql(absl::StrCat("USE ", kDatabase, "; DELETE FROM locus_fence; INSERT INTO",
                              " locus_fence VALUES ", rows, "; ", internal::kCreateVnodes, "; ",
                              internal::kMapVnodes));
  }
  // Each row to where the next one begins.
  static std::string Fence() {
    return server_->Value(
        "SELECT GROUP_CONCAT(lo, '-', hi, ' ', step ORDER BY lo) FROM (SELECT lo, step, LEAST(hi,"
        " COALESCE(LEAD(lo) OVER (ORDER BY lo) - 1, hi)) AS hi FROM locus_bands.locus_fence) a");
  }
  // The vnodes as the map has them.
  static std::string Map() {
    return server_->Value(
        "SELECT GROUP_CONCAT(r ORDER BY first) FROM (SELECT MIN(vnode) AS first, CONCAT(MIN(vnode),"
        " '-', MAX(vnode), '>', fence) AS r FROM (SELECT vnode, fence, vnode - ROW_NUMBER() OVER"
        " (PARTITION BY fence ORDER BY vnode) AS part FROM (SELECT CAST(vnode AS SIGNED) AS vnode,"
        " fence FROM locus_bands.locus_vnode WHERE fence IS NOT NULL) v) p GROUP BY fence, part)"
        " a");
  }
  // Whether a client's row of this vnode is accepted.
  bool Accepts(uint32_t gene) {
    auto session = SqlSession::Open(server_->OptionsFor(kDatabase)).value();
    return session
        ->Run(
            absl::StrCat("INSERT INTO orders VALUES (", Number(IdOf(gene, sequence_ += 1)), ", 0)"))
        .ok();
  }

  std::unique_ptr<ShardLink> link_;
  Move move_;
  uint64_t sequence_ = 1'000'000;
};

}  // namespace locus::mysql

#endif  // LOCUS_TESTS_RUN_FENCE_CUT_FIXTURE_H_
