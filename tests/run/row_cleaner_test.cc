// SPDX-License-Identifier: Apache-2.0
// A cleanup beside later moves of some of its vnodes.
#include "migration/run/row_cleaner.h"

#include <atomic>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/cut_over/token.h"
#include "tests/run/fence_cut_fixture.h"

namespace locus::mysql {
namespace {

using internal::Side;
using ::testing::HasSubstr;

// The source of a move of vnodes 40-49 that is over and kept its rows: two of each vnode.
class RowCleanerTest : public FenceCutFixture {
 protected:
  void SetUp() override {
    FenceCutFixture::SetUp();
    move_.ranges = {{40, 49}};
    move_.tables = {MovedTable{}};
    move_.tables[0].guard.name = "orders";
    later_ = move_;
    later_.ranges = {{45, 49}};
    MakeFence("(0, 65535, 0, 10000, 0, @@server_id, NULL, NULL)");
    for (uint32_t gene = 40; gene <= 49; ++gene) {
      server_->Sql(absl::StrCat("INSERT INTO locus_bands.orders VALUES (", Number(IdOf(gene, 1)),
                                ", 1), (", Number(IdOf(gene, 2)), ", 1)"));
    }
    MakeFence(absl::StrCat(
        "(0, 39, 0, 10000, 0, @@server_id, NULL, NULL), (40, 49, 10000, 10000, 2, @@server_id,"
        " 'orders-b', '",
        internal::TokenText(10000, 5), "'), (50, 65535, 0, 10000, 0, @@server_id, NULL, NULL)"));
  }

  absl::Status Clean(Side side = Side::kSource) {
    std::atomic<uint64_t> deleted = 0;
    return DeleteMovedRows(*link_, move_, side, 7, absl::Milliseconds(100), false, deleted);
  }
  absl::Status MakeLater(ShardLink& link) {
    return BandRows(later_, Side::kTarget, link).Make(9, 7, absl::Milliseconds(150));
  }
  static std::string Orders() { return server_->Value("SELECT COUNT(*) FROM locus_bands.orders"); }
  std::unique_ptr<SqlSession> HoldRow() {
    auto holder = SqlSession::Open(server_->OptionsFor(kDatabase)).value();
    EXPECT_TRUE(holder
                    ->Run("BEGIN; SELECT f.lo FROM locus_vnode v JOIN locus_fence f ON f.lo ="
                          " v.fence WHERE v.vnode = 41 LOCK IN SHARE MODE")
                    .ok());
    return holder;
  }

  Move later_;  // that brings some of the vnodes back
};

TEST_F(RowCleanerTest, RowOfTheMoveAlone_ItsRowsAreDeleted) {
  server_->Sql("DROP TABLE locus_bands.locus_vnode");  // as earlier versions leave the fence
  const absl::Status done = Clean();
  EXPECT_TRUE(done.ok()) << done;
  EXPECT_EQ(Orders(), "0");
}

// The row of the first move still ends at 49 where a client keeps it.
TEST_F(RowCleanerTest, LaterMoveCutTheRow_NoOrderOfItIsDeleted) {
  for (const bool held : {true, false}) {
    for (const Side side : {Side::kSource, Side::kTarget}) {
      SCOPED_TRACE(held);
      SetUp();
      auto holder = held ? HoldRow() : nullptr;
      ASSERT_TRUE(MakeLater(*link_).ok());
      EXPECT_EQ(server_->Value("SELECT CONCAT(hi, ' ', token IS NULL) FROM locus_bands.locus_fence"
                               " WHERE lo = 40"),
                held ? "49 0" : "44 1");
      EXPECT_TRUE(absl::IsFailedPrecondition(BandRows(move_, side, *link_).Read().status()));
      // It is being copied here, and then this shard owns it.
      for (const char* own : {"10000", "0"}) {
        server_->Sql(absl::StrCat(
            "UPDATE locus_bands.locus_fence SET own_hi = 10000, own_lo = ", own, " WHERE lo = 45"));
        const absl::Status refused = Clean(side);
        EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
        EXPECT_THAT(
            std::string(refused.message()),
            HasSubstr("has no row for vnodes 40-49, but 40-44, 45-49, so none of their rows "
                      "is deleted"));
        EXPECT_EQ(Orders(), "20");
      }
    }
  }
}

TEST_F(RowCleanerTest, MapNamesAnotherRow_NoOrderIsDeleted) {
  server_->Sql("UPDATE locus_bands.locus_vnode SET fence = 0 WHERE vnode = 47");
  const absl::Status refused = Clean();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("a later move has used vnodes 40-49"));
  EXPECT_EQ(Orders(), "20");
}

// Once a regroup has ended, its move copies rows here.
TEST_F(RowCleanerTest, LaterMoveBetweenTheLookAndTheDeletion_IsNotReadyBeforeItsEnd) {
  for (const char* level : {"READ COMMITTED", "REPEATABLE READ"}) {
    SCOPED_TRACE(level);
    SetUp();
    server_->Sql(
        absl::StrCat("SET GLOBAL tx_isolation = '",
                     absl::StrCat(level).replace(absl::string_view(level).find(' '), 1, "-"), "'"));
    MysqlOptions options = server_->Account(kDatabase);
    options.user = "mover";
    auto other = ShardLink::Create(options).value();
    bool met = false;
    link_->set_before_statement([&](const std::string& statement) {
      if (met || !absl::StrContains(statement, "DELETE FROM `orders`")) return;
      met = true;
      const absl::Status kept = MakeLater(*other);
      EXPECT_TRUE(absl::IsUnavailable(kept)) << kept;
    });
    Clean().IgnoreError();
    link_->set_before_statement(nullptr);
    EXPECT_TRUE(met);
    EXPECT_TRUE(WaitUntil([&] { return MakeLater(*other).ok(); }));
    server_->Sql("SET GLOBAL tx_isolation = 'REPEATABLE-READ'");
  }
}

}  // namespace
}  // namespace locus::mysql
