// SPDX-License-Identifier: Apache-2.0
// What is written on one server comes to another one by its binary log.
#include "migration/apply/change_applier.h"

#include <atomic>
#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/cut_over/token.h"
#include "migration/mysql/marker_tables.h"
#include "tests/apply/two_servers.h"
#include "tests/support/sanitizers.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

using ChangeApplierTest = TwoServersTest;

TEST_F(ChangeApplierTest, RandomWrites_AreTheSameOnTheOtherServer) {
  std::mt19937_64 random(20261122);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  auto applier = OpenTo(1);
  const int rounds = kUnderAsan || kUnderTsan ? 6 : 20;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 30; ++i) {
      std::string statements = "BEGIN";
      for (uint64_t more = 1 + random() % 4; more > 0; --more) {
        absl::StrAppend(&statements, "; ", RandomStatement(random));
      }
      auto done = shop->Run(statements + "; COMMIT");
      ASSERT_TRUE(done.ok()) << statements << done.status();
    }
    // Sometimes another applier goes on where this one stopped, in the middle of the log.
    ASSERT_TRUE(Follow(*applier, 0, random() % 20).ok());
    if (round % 3 == 0) applier = OpenTo(1);
    const absl::Status followed = Follow(*applier, 0);
    ASSERT_TRUE(followed.ok()) << followed;
    ASSERT_EQ(Sum(1), Sum(0)) << "round " << round;
  }
  EXPECT_GT(applier->counts().written, 0u);
}

// A client of the recipient inserts it again, once it is accepted there: by the post alone.
TEST_F(ChangeApplierTest, DeletedByTheStream_IsInsertedAgainAboveItsTombstone) {
  const std::string insert =
      "INSERT INTO items (order_id, line) VALUES (7, 'a'), (7, 'b'), (8, 'a')";
  auto shop = SqlSession::Open(As(0, "locus")).value();
  ASSERT_TRUE(
      shop->Run(insert + "; UPDATE items SET note = 'x'; DELETE FROM items WHERE order_id = 7")
          .ok());
  auto applier = OpenTo(1);
  const absl::Status followed = Follow(*applier, 0);
  ASSERT_TRUE(followed.ok()) << followed;
  auto there = SqlSession::Open(As(1, "locus")).value();
  ASSERT_TRUE(there->Run("DELETE FROM items; " + insert).ok());
  EXPECT_EQ(servers_[1]->Value("SELECT GROUP_CONCAT(version ORDER BY order_id, line) FROM"
                               " locus_shop.items"),
            "4,4,4");
}

// The streams of two moves delete at the same time: some of their keys have one post.
TEST_F(ChangeApplierTest, TwoMovesThatDelete_RaiseTheirCommonPostsAndBothGetThrough) {
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (uint64_t gene : {5, 150}) {
    for (int i = 0; i < 60; ++i) {
      const std::string of = absl::StrCat((gene << 47) + 50u * static_cast<unsigned>(i));
      ASSERT_TRUE(shop->Run(absl::StrCat("INSERT INTO items (order_id, line) SELECT ", of,
                                         " + seq, 'a' FROM seq_0_to_49; DELETE FROM items"))
                      .ok());
    }
  }
  mysql::ApplierOptions options = OptionsTo(1);
  auto first = OpenTo(1);
  options.move = "second";
  options.ranges = {{100, 199}};
  auto second = mysql::ChangeApplier::Open(options, start_);
  ASSERT_TRUE(second.ok()) << second.status();
  absl::Status beside;
  std::thread follows([&] { beside = Follow(**second, 0); });
  const absl::Status followed = Follow(*first, 0);
  follows.join();
  EXPECT_TRUE(followed.ok()) << followed;
  EXPECT_TRUE(beside.ok()) << beside;
  EXPECT_EQ(servers_[1]->Value("SELECT COUNT(*) FROM locus_shop.items"), "0");
  const std::string tombstones = "SELECT COUNT(*) FROM locus_shop.locus_tombstone t";
  EXPECT_EQ(servers_[1]->Value(tombstones + " WHERE t.tbl <> ''"), "6000");
  EXPECT_EQ(servers_[1]->Value(tombstones +
                               " JOIN locus_shop.locus_tombstone p ON p.bucket = t.bucket AND"
                               " p.tbl = '' WHERE t.tbl <> '' AND p.version >= t.version"),
            "6000");
  // Posts of keys of both moves.
  EXPECT_NE(servers_[1]->Value("SELECT COUNT(*) FROM (SELECT bucket FROM"
                               " locus_shop.locus_tombstone WHERE tbl <> '' GROUP BY bucket HAVING"
                               " COUNT(DISTINCT gene) > 1) b"),
            "0");
}

// Another run takes the move over and ends it between two statements of this one.
TEST_F(ChangeApplierTest, MarkerGoneSinceItWasWritten_IsTakenOver) {
  auto applier = OpenTo(1);
  for (const char* table : {"locus_copy", "locus_checkpoint"}) {
    servers_[1]->Sql(absl::StrCat("USE ", kDatabase, "; DELETE FROM ", table,
                                  "; CREATE TRIGGER elsewhere_", table, " BEFORE INSERT ON ", table,
                                  " FOR EACH ROW SET NEW.move = 'elsewhere'"));
  }
  const absl::Status copying = applier->CopyPosition("items").status();
  EXPECT_TRUE(mysql::IsTakenOver(copying)) << copying;
  const absl::Status opened = mysql::ChangeApplier::Open(OptionsTo(1), start_).status();
  EXPECT_TRUE(mysql::IsTakenOver(opened)) << opened;
}

// The stream may begin long before what is there: nothing is written twice, nothing falls back.
TEST_F(ChangeApplierTest, StreamFromAnOldPosition_ChangesNothing) {
  std::mt19937_64 random(7);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(shop->Run(RandomStatement(random)).ok());
  auto applier = OpenTo(1);
  ASSERT_TRUE(Follow(*applier, 0).ok());
  const std::string sum = Sum(1);
  EXPECT_EQ(sum, Sum(0));
  servers_[1]->Sql(
      absl::StrCat("UPDATE locus_shop.locus_checkpoint SET position = '", start_.ToString(), "'"));
  applier = OpenTo(1);
  const absl::Status again = Follow(*applier, 0);
  ASSERT_TRUE(again.ok()) << again;
  EXPECT_EQ(applier->counts().written, 0u);
  EXPECT_GT(applier->counts().skipped, 50u);
  EXPECT_EQ(Sum(1), sum);
}

// With a stream each way, what one applier wrote must not come back.
TEST_F(ChangeApplierTest, BothWays_OwnTransactionsAreDropped) {
  std::mt19937_64 random(9);
  auto there = OpenTo(1), back = OpenTo(0);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(shop->Run(RandomStatement(random)).ok());
  ASSERT_TRUE(Follow(*there, 0).ok());
  const std::string sum = Sum(0);
  ASSERT_TRUE(Follow(*back, 1).ok());
  EXPECT_EQ(back->counts().written, 0u);
  EXPECT_EQ(back->counts().skipped, 0u) << "they are not even looked at";
  EXPECT_GT(back->counts().own, 0u);
  EXPECT_EQ(Sum(0), sum);
  // And what the service writes on the other side does come back.
  auto other_shop = SqlSession::Open(As(1, "locus")).value();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(other_shop->Run(RandomStatement(random)).ok());
  ASSERT_TRUE(Follow(*back, 1).ok());
  EXPECT_EQ(Sum(0), Sum(1));
}

TEST_F(ChangeApplierTest, Token_MakesThisShardAcceptTheBandBehindAllWrites) {
  MakeFence(0, "(0, 99, 0, 10000, 0, 1, 'x', NULL)");
  MakeFence(1, "(0, 99, 0, 0, 0, 1, 'x', NULL)");
  auto applier = OpenTo(1);
  const std::string fence =
      "SELECT CONCAT_WS(' ', own_lo, own_hi, step) FROM locus_shop.locus_fence";
  uint64_t sequence = 0;
  auto let_go = [&](uint32_t share, int step, const std::string& token) {
    servers_[0]->Sql(absl::StrCat("USE locus_shop; ", InsertIn(5, sequence, 7000),
                                  "; UPDATE locus_fence SET own_lo = ", share, ", step = ", step,
                                  ", token = ", token));
  };
  let_go(2500, 1, "'" + internal::TokenText(2500, 77) + "'");
  ASSERT_TRUE(Follow(*applier, 0).ok());
  EXPECT_EQ(servers_[1]->Value(fence), "0 2500 1");
  EXPECT_EQ(applier->counts().taken_over, 1u);
  EXPECT_EQ(Sum(1), Sum(0));
  // No token, a token of a share that the donor does not have, and one that was refused.
  let_go(3000, 2, "NULL");
  let_go(3000, 3, "'" + internal::TokenText(4000, 78) + "'");
  servers_[1]->Sql("UPDATE locus_shop.locus_fence SET step = 4");
  let_go(5000, 4, "'" + internal::TokenText(5000, 79) + "'");
  ASSERT_TRUE(Follow(*applier, 0).ok());
  EXPECT_EQ(servers_[1]->Value(fence), "0 2500 4");
  let_go(6000, 5, "'" + internal::TokenText(6000, 80) + "'");
  ASSERT_TRUE(Follow(*applier, 0).ok());
  EXPECT_EQ(servers_[1]->Value(fence), "0 6000 5");
  EXPECT_EQ(Sum(1), Sum(0));
}

// In the log a statement stands as its client sent it.
TEST_F(ChangeApplierTest, SchemaChangeOfAnOddName_IsSeenInEverySpelling) {
  constexpr char kOdd[] = "`or``d\xC3\xBCr`";
  table_.guard.name = "or`d\xC3\xBCr";
  for (MariadbServer* server : servers_) {
    server->Sql(absl::StrCat("USE ", kDatabase, "; RENAME TABLE items TO ", kOdd));
  }
  start_ = PositionOf(0);
  auto shop = SqlSession::Open(As(0, "mover")).value();
  for (const std::string& statement :
       {absl::StrCat("SET NAMES utf8mb4; TRUNCATE TABLE ", kOdd),
        std::string("SET NAMES latin1; TRUNCATE TABLE `or``d\xFCr`"),
        std::string(
            "SET NAMES latin1, sql_mode = 'ANSI_QUOTES'; ALTER TABLE \"or`d\xFCr\" ADD a INT")}) {
    auto applier = OpenTo(1);
    ASSERT_TRUE(shop->Run(statement).ok()) << statement;
    const absl::Status followed = Follow(*applier, 0);
    EXPECT_THAT(std::string(followed.message()), HasSubstr("may have been changed")) << statement;
    servers_[1]->Sql(absl::StrCat("UPDATE locus_shop.locus_checkpoint SET position = '",
                                  PositionOf(0).ToString(), "'"));
  }
}

// The columns of these have names that a table may have, too.
TEST_F(ChangeApplierTest, TablesThatTheToolsMake_AreNoChangeOfAMovedOne) {
  table_.guard.name = "status";
  for (MariadbServer* server : servers_) {
    server->Sql(absl::StrCat("USE ", kDatabase, "; RENAME TABLE items TO status"));
  }
  start_ = PositionOf(0);
  auto applier = OpenTo(1);
  servers_[0]->Sql(
      absl::StrCat("USE ", kDatabase, "; CREATE TABLE IF NOT EXISTS locus_move (status INT)"));
  const absl::Status followed = Follow(*applier, 0);
  EXPECT_TRUE(followed.ok()) << followed;
}

TEST_F(ChangeApplierTest, ForbiddenChange_StopsTheStreamAndIsNotApplied) {
  auto applier = OpenTo(1);
  auto mover = SqlSession::Open(As(0, "mover")).value();
  auto stops = [&](const std::string& on_source, const std::string& on_target) {
    if (!on_target.empty()) {
      auto target = SqlSession::Open(As(1, "mover")).value();
      EXPECT_TRUE(target->Run(on_target).ok()) << on_target;
    }
    EXPECT_TRUE(mover->Run(on_source).ok()) << on_source;
    const std::string before = Sum(1);
    const absl::Status status = Follow(*applier, 0);
    EXPECT_FALSE(status.ok()) << on_source;
    EXPECT_EQ(Sum(1), before) << on_source;
    // Begins again behind it.
    const std::string position = PositionOf(0).ToString();
    servers_[1]->Sql("UPDATE locus_shop.locus_checkpoint SET position = '" + position + "'");
    applier = OpenTo(1);
    return std::string(status.message());
  };
  EXPECT_THAT(stops("INSERT INTO items (order_id, line, note, version) VALUES (1, 'a', 's', 5)",
                    "INSERT INTO items (order_id, line, note, version) VALUES (1, 'a', 't', 5)"),
              HasSubstr("on both shards, with different contents"));
  EXPECT_THAT(stops("UPDATE items SET note = 'same version'", ""),
              HasSubstr("left the version at 5"));
  EXPECT_THAT(stops("ALTER TABLE items COMMENT = 'changed', ROW_FORMAT = DYNAMIC", ""),
              HasSubstr("may have been changed while it moves"));
  EXPECT_THAT(stops("ALTER TABLE items ADD more INT; INSERT INTO items (order_id, line) VALUES"
                    " (3, 'x')",
                    ""),
              HasSubstr("may have been changed"));
  servers_[0]->Sql("CREATE DATABASE IF NOT EXISTS locus_far");
  EXPECT_THAT(stops("USE locus_far; ALTER TABLE locus_shop.items ALTER line SET DEFAULT 'x'; USE"
                    " locus_shop",
                    ""),
              HasSubstr("may have been changed"));
  // Rights, statistics, other tables and namesakes in other databases are nothing of ours.
  servers_[0]->Sql("USE locus_far; CREATE TABLE items (a INT); DROP TABLE items");
  servers_[0]->Sql("GRANT SELECT ON locus_shop.items TO mover@'127.0.0.1'");
  EXPECT_TRUE(mover->Run("ANALYZE TABLE items").ok());
  EXPECT_TRUE(mover->Run("ALTER TABLE other ADD b INT; INSERT INTO other VALUES (1, 2)").ok());
  servers_[0]->Sql("DROP DATABASE locus_far");
  EXPECT_TRUE(Follow(*applier, 0).ok());
  servers_[0]->Sql("DROP DATABASE locus_shop; CREATE DATABASE locus_shop");
  const absl::Status dropped = Follow(*applier, 0);
  EXPECT_THAT(std::string(dropped.message()), HasSubstr("the tables are gone: DROP DATABASE"));
}

// However often it is tried.
TEST_F(ChangeApplierTest, RowThatTheOtherShardCannotHave_IsNoPassingError) {
  servers_[1]->Sql(
      "ALTER TABLE locus_shop.items PARTITION BY RANGE (order_id) (PARTITION p0 VALUES LESS THAN"
      " (5))");
  auto applier = OpenTo(1);
  servers_[0]->Sql("INSERT INTO locus_shop.items (order_id, line) VALUES (7, 'hunter2')");
  const absl::Status status = Follow(*applier, 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("(1526)"));
}

TEST_F(ChangeApplierTest, RowsLargerThanAPacketOfTheOtherShard_AreSentInSeveralOrRefused) {
  for (MariadbServer* server : servers_) {
    server->Sql("ALTER TABLE locus_shop.items MODIFY extra LONGBLOB");
  }
  start_ = PositionOf(0);
  servers_[1]->Sql("SET GLOBAL max_allowed_packet = 1048576");
  auto applier = OpenTo(1);
  servers_[1]->Sql("SET GLOBAL max_allowed_packet = 16777216");
  servers_[0]->Sql(
      "INSERT INTO locus_shop.items (order_id, line, extra) SELECT seq, 'l', REPEAT('x', 400000)"
      " FROM seq_1_to_7");
  absl::Status status = Follow(*applier, 0);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Sum(1), Sum(0));
  servers_[0]->Sql(
      "UPDATE locus_shop.items SET extra = REPEAT('y', 1048000) WHERE order_id = 2; UPDATE"
      " locus_shop.items SET extra = REPEAT('y', 1048577) WHERE order_id = 3");
  status = Follow(*applier, 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("larger than max_allowed_packet, 1048576"));
}

// The appliers of a move lose against clients of the shard, and repeat.
TEST_F(ChangeApplierTest, LockedRow_IsWaitedFor) {
  auto applier = OpenTo(1);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  ASSERT_TRUE(shop->Run("INSERT INTO items (order_id, line) VALUES (1, 'a')").ok());
  ASSERT_TRUE(Follow(*applier, 0).ok());
  servers_[1]->Sql("SET GLOBAL innodb_lock_wait_timeout = 1");
  applier = OpenTo(1);  // a session with the new setting
  auto holder = SqlSession::Open(As(1, "locus")).value();
  ASSERT_TRUE(holder->Run("BEGIN; SELECT * FROM items FOR UPDATE").ok());
  ASSERT_TRUE(shop->Run("UPDATE items SET note = 'n'").ok());
  absl::Status status;
  std::thread follow([&] { status = Follow(*applier, 0); });
  EXPECT_TRUE(WaitUntil([&] {
    return servers_[1]->Value(
               "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME ="
               " 'Innodb_row_lock_current_waits'") == "1";
  }));
  ASSERT_TRUE(holder->Run("COMMIT").ok());
  follow.join();
  servers_[1]->Sql("SET GLOBAL innodb_lock_wait_timeout = 50");
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(Sum(1), Sum(0));
}

}  // namespace
}  // namespace locus
