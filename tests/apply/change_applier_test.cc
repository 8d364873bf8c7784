// SPDX-License-Identifier: Apache-2.0
// What is written on one server comes to another one by its binary log.
#include "migration/engine/mariadb/change_applier.h"

#include <atomic>
#include <random>
#include <thread>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/cut_over/token.h"
#include "migration/engine/mariadb/binlog_reader.h"
#include "tests/fence/fence_fixture.h"
#include "tests/support/sanitizers.h"

namespace locus {
namespace {

using internal::Side;
using mariadb::ApplierOptions;
using mariadb::BinlogReader;
using mariadb::BinlogReaderOptions;
using mariadb::ChangeApplier;
using stream::ChangeTransaction;
using stream::GtidPosition;
using ::testing::HasSubstr;

constexpr char kDatabase[] = "locus_shop";
constexpr char kColumns[] =
    "order_id, line, note, price, ratio, share, flags, kind, tags, born, at, seen, took, extra,"
    " version";

class ChangeApplierTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (size_t i = 0; i < 2; ++i) {
      MariadbServer::Settings settings = FencedServer(static_cast<uint16_t>(i + 1));
      settings.lines.push_back("binlog_row_metadata=FULL");
      settings.lines.push_back("gtid_strict_mode=ON");
      settings.lines.push_back("binlog_checksum=CRC32");
      servers_[i] = new MariadbServer(settings);
      ASSERT_TRUE(servers_[i]->Start());
      MakeMover(*servers_[i]);
    }
  }
  static void TearDownTestSuite() {
    for (MariadbServer* server : servers_) delete server;
  }

  void SetUp() override {
    table_.guard.name = "items";
    table_.primary_key = {"order_id", "line"};
    for (MariadbServer* server : servers_) {
      server->Sql(absl::StrCat(
          "DROP DATABASE IF EXISTS ", kDatabase, "; CREATE DATABASE ", kDatabase, "; USE ",
          kDatabase,
          "; CREATE TABLE items (order_id BIGINT UNSIGNED NOT NULL, line VARBINARY(20) NOT NULL,"
          " note VARCHAR(200) CHARACTER SET utf8mb4, price DECIMAL(20,4), ratio FLOAT, share "
          "DOUBLE,"
          " flags BIT(40), kind ENUM('a','b','c'), tags SET('x','y','z'), born DATE,"
          " at DATETIME(6), seen TIMESTAMP(3) NULL, took TIME(2), extra BLOB,"
          " twice DOUBLE AS (share * 2) STORED, version BIGINT UNSIGNED NOT NULL DEFAULT 1,"
          " PRIMARY KEY (order_id, line)); CREATE TABLE other (a INT); ",
          CreateTombstones()));
      for (const VersionTrigger& trigger : VersionTriggersOf(table_, {"mover@127.0.0.1"})) {
        server->Sql(absl::StrCat("USE ", kDatabase, "; CREATE TRIGGER ", trigger.name, " ",
                                 trigger.timing, " ", trigger.event, " ON ", trigger.table,
                                 " FOR EACH ROW ", trigger.body));
      }
    }
    start_ = PositionOf(0);
    back_start_ = PositionOf(1);
  }

  static MariadbOptions As(size_t server, const std::string& user) {
    MariadbOptions options = servers_[server]->Account(kDatabase);
    options.user = user;
    return options;
  }
  static GtidPosition PositionOf(size_t server) {
    return GtidPosition::Parse(servers_[server]->Value("SELECT @@GLOBAL.gtid_binlog_pos")).value();
  }
  ApplierOptions OptionsTo(size_t recipient) const {
    ApplierOptions options;
    options.server = As(recipient, "mover");
    options.tables = {table_};
    options.move = "first";
    options.recipient = recipient == 1 ? Side::kTarget : Side::kSource;
    options.last = 99;
    return options;
  }
  std::unique_ptr<ChangeApplier> OpenTo(size_t recipient) {
    auto applier = ChangeApplier::Open(OptionsTo(recipient), recipient == 1 ? start_ : back_start_);
    EXPECT_TRUE(applier.ok()) << applier.status();
    return *std::move(applier);
  }
  // Brings what the other server's log has, up to its end; at most `most` transactions.
  static absl::Status Follow(ChangeApplier& applier, size_t from, uint64_t most = UINT64_MAX) {
    BinlogReaderOptions options;
    options.server = As(from, "mover");
    options.stream.position = applier.position();
    options.stream.spool.directory = servers_[from]->path("");
    options.stream.wanted = [&](std::string_view database, std::string_view table) {
      return database == kDatabase && applier.Wants(table);
    };
    options.stop_at_end = true;
    auto reader = BinlogReader::Open(options);
    if (!reader.ok()) return reader.status();
    while (most-- > 0) {
      auto item = (*reader)->Next(In(absl::Seconds(60)));
      if (!item.ok()) return item.status();
      if (std::holds_alternative<BinlogReader::End>(*item)) return absl::OkStatus();
      auto* transaction = std::get_if<ChangeTransaction>(&*item);
      if (transaction == nullptr) continue;
      if (auto status = applier.Apply(*transaction); !status.ok()) return status;
    }
    return absl::OkStatus();
  }
  static std::string Sum(size_t server) {
    return servers_[server]->Value(absl::StrCat(
        "SELECT CONCAT(COUNT(*), ' ', COALESCE(SHA2(GROUP_CONCAT(CONCAT_WS('|', ",
        absl::StrReplaceAll(
            kColumns,
            {{"extra", "HEX(extra)"}, {"flags", "flags + 0"}, {"ratio", "CAST(ratio AS DOUBLE)"}}),
        ") ORDER BY order_id, line SEPARATOR '\\n'), 256), '')) FROM locus_shop.items"));
  }
  static std::string RandomRow(std::mt19937_64& random) {
    auto pick = [&](uint64_t n) { return random() % n; };
    auto null_or = [&](const std::string& value) { return pick(8) == 0 ? "NULL" : value; };
    return absl::StrCat(
        null_or(pick(2) == 0 ? "'plain'" : "'\xE5\xBC\xA0\xE4\xB8\x89 \xF0\x9F\x98\x80 '"), ", ",
        null_or(absl::StrCat("-", pick(1'000'000'000), ".", pick(10'000))), ", ",
        null_or(absl::StrCat(pick(1000), ".", pick(1'000'000), "e-3")), ", ",
        null_or(absl::StrCat(pick(1'000'000'000), ".", pick(1'000'000'000), "e-9")), ", ",
        null_or(absl::StrCat(pick(uint64_t{1} << 40))), ", ", null_or(absl::StrCat(1 + pick(3))),
        ", ", null_or(absl::StrCat(pick(8))), ", ",
        null_or(absl::StrCat("'", 1900 + pick(300), "-0", 1 + pick(9), "-1", pick(10), "'")), ", ",
        null_or(absl::StrCat("'2024-02-29 23:59:59.", 100000 + pick(900000), "'")), ", ",
        null_or(absl::StrCat("FROM_UNIXTIME(", 1 + pick(2'000'000'000), ".", 100 + pick(900), ")")),
        ", ", null_or(absl::StrCat("'-", pick(838), ":12:34.", 10 + pick(90), "'")), ", ",
        null_or(absl::StrCat("X'00", 10 + pick(90), "FF00'")));
  }
  static std::string RandomStatement(std::mt19937_64& random) {
    const std::string key =
        absl::StrCat(random() % 20 + (uint64_t{5} << 47), ", X'0", random() % 3, "00'");
    const std::string by_key = absl::StrCat(" WHERE (order_id, line) = (", key, ")");
    const std::string columns = absl::StrReplaceAll(kColumns, {{", version", ""}});
    switch (random() % 6) {
      case 0:
        return absl::StrCat("DELETE FROM items", by_key);
      case 1:
        return absl::StrCat("REPLACE INTO items (", columns, ") VALUES (", key, ", ",
                            RandomRow(random), ")");
      case 2:
        return absl::StrCat(
            "UPDATE items SET note = CONCAT(COALESCE(LEFT(note, 50), ''), 'u'),"
            " share = ",
            random() % 1000, by_key);
      default:
        return absl::StrCat("INSERT INTO items (", columns, ") VALUES (", key, ", ",
                            RandomRow(random),
                            ") ON DUPLICATE KEY UPDATE note = VALUES(note),"
                            " price = VALUES(price), ratio = VALUES(ratio), at = VALUES(at)");
    }
  }

  static MariadbServer* servers_[2];
  MovedTable table_;
  GtidPosition start_, back_start_;
};
MariadbServer* ChangeApplierTest::servers_[2];

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
  for (size_t i = 0; i < 2; ++i) {
    servers_[i]->Sql(absl::StrCat(
        "USE locus_shop; CREATE TABLE locus_fence (lo SMALLINT UNSIGNED PRIMARY KEY, hi SMALLINT"
        " UNSIGNED, own_lo SMALLINT UNSIGNED, own_hi SMALLINT UNSIGNED, step BIGINT UNSIGNED,"
        " server_id INT UNSIGNED, other VARCHAR(64), token JSON);"
        "INSERT INTO locus_fence VALUES (0, 99, 0, ",
        i == 0 ? 10000 : 0, ", 0, 1, 'x', NULL)"));
  }
  auto applier = OpenTo(1);
  const std::string fence =
      "SELECT CONCAT_WS(' ', own_lo, own_hi, step) FROM locus_shop.locus_fence";
  auto let_go = [&](uint32_t share, int step, const std::string& token) {
    servers_[0]->Sql(absl::StrCat("USE locus_shop; INSERT INTO items (order_id, line) VALUES (",
                                  step,
                                  ", 'l'); UPDATE"
                                  " locus_fence SET own_lo = ",
                                  share, ", step = ", step, ", token = ", token));
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

TEST_F(ChangeApplierTest, WhatNobodyMayWrite_StopsTheStreamAndIsNotApplied) {
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
  EXPECT_THAT(stops("ALTER TABLE items COMMENT = 'changed'", ""),
              HasSubstr("may have been changed while it moves"));
  EXPECT_THAT(stops("ALTER TABLE items ADD more INT; INSERT INTO items (order_id, line) VALUES"
                    " (3, 'x')",
                    ""),
              HasSubstr("may have been changed"));
  // Of another table: nothing of ours.
  EXPECT_TRUE(mover->Run("ALTER TABLE other ADD b INT; INSERT INTO other VALUES (1, 2)").ok());
  EXPECT_TRUE(Follow(*applier, 0).ok());
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
