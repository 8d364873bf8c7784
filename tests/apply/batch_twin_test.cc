// SPDX-License-Identifier: Apache-2.0
// Many transactions at a time end up as one after the other does, for any contents and happens in
// between.
#include <atomic>
#include <random>
#include <thread>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/apply/naive_applier.h"
#include "tests/apply/two_servers.h"
#include "tests/support/sanitizers.h"

namespace locus {
namespace {

using mysql::ChangeApplier;
using ::testing::HasSubstr;

// Server 1 has the database locus_twin, too, which the naive applier writes.
class BatchTwinTest : public TwoServersTest {
 protected:
  void SetUp() override {
    TwoServersTest::SetUp();
    servers_[1]->Sql(
        "DROP DATABASE IF EXISTS locus_twin; CREATE DATABASE locus_twin; CREATE TABLE"
        " locus_twin.items LIKE locus_shop.items; CREATE TABLE locus_twin.locus_tombstone LIKE"
        " locus_shop.locus_tombstone; INSERT INTO locus_twin.locus_tombstone SELECT * FROM"
        " locus_shop.locus_tombstone");
  }
  NaiveApplier Twin() const {
    internal::TargetTable table;
    table.moved = table_;
    table.writable = absl::StrSplit(kColumns, ", ");
    table.generated = {"twice"};
    MysqlOptions options = As(1, "mover");
    options.database = "locus_twin";
    return NaiveApplier(options, table);
  }
  // All that the source's log has, behind `position`.
  static std::vector<stream::ChangeTransaction> ReadAll(const stream::GtidPosition& position) {
    mysql::BinlogReaderOptions options;
    options.server = As(0, "mover");
    options.stream.position = position;
    options.stream.wanted = [](std::string_view database, std::string_view table) {
      return database == kDatabase && table == "items";
    };
    options.stop_at_end = true;
    auto reader = mysql::BinlogReader::Open(options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    std::vector<stream::ChangeTransaction> all;
    while (true) {
      auto batch = mysql::ReadBatch(**reader, In(absl::Seconds(60)));
      EXPECT_TRUE(batch.ok()) << batch.status();
      std::move(batch->transactions.begin(), batch->transactions.end(), std::back_inserter(all));
      if (batch->ended) return all;
    }
  }
  static std::string TwinSum() {
    return servers_[1]->Value(absl::StrReplaceAll(
        absl::StrCat(
            "SELECT CONCAT(COUNT(*), ' ', COALESCE(SHA2(GROUP_CONCAT(CONCAT_WS('|', ",
            absl::StrReplaceAll(kColumns, {{"extra", "HEX(extra)"},
                                           {"flags", "flags + 0"},
                                           {"ratio", "CAST(ratio AS DOUBLE)"}}),
            ") ORDER BY order_id, line SEPARATOR '\\n'), 256), '')) FROM locus_shop.items"),
        {{"locus_shop", "locus_twin"}}));
  }
  // Of the keys that have no row: of others folding leaves out what was there for a moment.
  static std::string Tombstones(const std::string& database) {
    return servers_[1]->Value(absl::StrReplaceAll(
        "SELECT CONCAT(COUNT(*), COALESCE(GROUP_CONCAT(HEX(pk), ' ', version ORDER BY pk), '')) "
        "FROM"
        " db.locus_tombstone t WHERE tbl <> '' AND NOT EXISTS (SELECT 1 FROM db.items i WHERE t.pk "
        "="
        " CONCAT(OCTET_LENGTH(i.order_id), ':', i.order_id, OCTET_LENGTH(i.line), ':', i.line))",
        {{"db.", database + "."}}));
  }
  static void Write(std::mt19937_64& random, int transactions) {
    auto shop = SqlSession::Open(As(0, "locus")).value();
    for (int i = 0; i < transactions; ++i) {
      std::string statements = "BEGIN";
      for (uint64_t more = 1 + random() % 5; more > 0; --more) {
        absl::StrAppend(&statements, "; ",
                        random() % 8 == 0
                            ? "UPDATE items SET share = share + 1 WHERE order_id % 3 ="
                              " 1"
                            : RandomStatement(random));
      }
      auto done = shop->Run(statements + "; COMMIT");
      ASSERT_TRUE(done.ok()) << statements << done.status();
    }
  }
};

TEST_F(BatchTwinTest, RandomBatches_EndUpAsOneByOne) {
  std::mt19937_64 random(20261124);
  auto applier = OpenTo(1);
  auto twin = Twin();
  const int rounds = kUnderAsan || kUnderTsan ? 4 : 15;
  for (int round = 0; round < rounds; ++round) {
    const stream::GtidPosition from = PositionOf(0);
    Write(random, 60);
    auto all = ReadAll(from);
    ASSERT_GE(all.size(), 40u);
    for (auto& transaction : all) {
      const absl::Status status = twin.Apply(transaction);
      ASSERT_TRUE(status.ok()) << status;
    }
    for (size_t begin = 0; begin < all.size();) {
      const size_t size = std::min<size_t>(1 + random() % 50, all.size() - begin);
      const absl::Status status = applier->Apply(std::span(all).subspan(begin, size));
      ASSERT_TRUE(status.ok()) << status;
      begin += size;
      if (random() % 4 != 0) continue;
      // Some of it again: the stream may begin anywhere.
      const size_t again = random() % begin;
      const absl::Status repeated =
          applier->Apply(std::span(all).subspan(again, 1 + random() % (begin - again)));
      ASSERT_TRUE(repeated.ok()) << repeated;
    }
    ASSERT_EQ(Sum(1), TwinSum()) << "round " << round;
    ASSERT_EQ(Sum(1), Sum(0)) << "round " << round;
    ASSERT_EQ(Tombstones("locus_shop"), Tombstones("locus_twin")) << "round " << round;
  }
  EXPECT_GT(applier->counts().skipped, 0u);
}

// Work that was under way when a connection broke is undone, and done again by the next applier.
TEST_F(BatchTwinTest, ConnectionKilledAtAnyTime_NothingIsLostOrTwice) {
  std::mt19937_64 random(5);
  Write(random, kUnderAsan || kUnderTsan ? 100 : 400);
  std::atomic<bool> stop = false;
  std::thread killer([&] {
    auto root = SqlSession::Open(As(1, "locus")).value();
    std::mt19937_64 other(6);
    while (!stop) {
      servers_[1]->TrySql("KILL USER mover@'127.0.0.1'").IgnoreError();
      std::this_thread::sleep_for(std::chrono::milliseconds(other() % 40));  // the applier works
    }
  });
  int broken = 0;
  absl::Status status = absl::UnavailableError("not begun");
  while (absl::IsUnavailable(status)) {
    auto applier = ChangeApplier::Open(OptionsTo(1), start_);
    status = applier.status();
    if (applier.ok()) status = Follow(**applier, 0);
    broken += absl::IsUnavailable(status) ? 1 : 0;
    stop = broken >= 60;
  }
  stop = true;
  killer.join();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Sum(1), Sum(0));
  std::cout << broken << " connections broken\n";
  EXPECT_GT(broken, 0);
}

// Two rows change a unique value with each other: their net effect cannot be written in any order.
TEST_F(BatchTwinTest, UniqueValueThatWanders_IsAppliedAsItCame) {
  for (MariadbServer* server : servers_) {
    server->Sql("ALTER TABLE locus_shop.items ADD slot INT UNIQUE");
  }
  start_ = PositionOf(0);
  auto applier = OpenTo(1);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  ASSERT_TRUE(
      shop->Run("INSERT INTO items (order_id, line, slot) VALUES (1, 'a', 1), (2, 'a', 2)").ok());
  ASSERT_TRUE(Follow(*applier, 0).ok());
  // In one transaction, and over several.
  for (const char* begin : {"BEGIN; ", ""}) {
    ASSERT_TRUE(shop->Run(absl::StrCat(begin,
                                       "UPDATE items SET slot = 3 WHERE order_id = 1;"
                                       "UPDATE items SET slot = 1 WHERE order_id = 2;"
                                       "UPDATE items SET slot = 2 WHERE order_id = 1;"
                                       "COMMIT"))
                    .ok());
    const absl::Status status = Follow(*applier, 0);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(Sum(1), Sum(0));
    ASSERT_TRUE(shop->Run("UPDATE items SET slot = 9 WHERE order_id = 2; UPDATE items SET slot = 2"
                          " WHERE order_id = 9; UPDATE items SET slot = NULL; UPDATE items SET slot"
                          " = order_id")
                    .ok());
  }
  ASSERT_TRUE(Follow(*applier, 0).ok());
  const std::string slots = "SELECT GROUP_CONCAT(slot ORDER BY order_id) FROM locus_shop.items";
  EXPECT_EQ(servers_[1]->Value(slots), "1,2");
  // One that is another row's for good.
  servers_[1]->Sql("INSERT INTO locus_shop.items (order_id, line, slot) VALUES (70, 'x', 77)");
  ASSERT_TRUE(shop->Run("UPDATE items SET note = 'before' WHERE order_id = 1; UPDATE items SET slot"
                        " = 77 WHERE order_id = 2; UPDATE items SET note = 'behind'")
                  .ok());
  const absl::Status status = Follow(*applier, 0);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("has a unique key of another row"));
  EXPECT_EQ(servers_[1]->Value("SELECT GROUP_CONCAT(note) FROM locus_shop.items"), "before")
      << "what stands before it has been applied";
}

// The copy read the second order behind what the stream has yet to bring.
TEST_F(BatchTwinTest, UniqueValueThatTheCopyHasAlready_FitsFurtherOnInTheStream) {
  for (MariadbServer* server : servers_) {
    server->Sql("ALTER TABLE locus_shop.items ADD slot INT UNIQUE");
  }
  start_ = PositionOf(0);
  auto applier = OpenTo(1);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  ASSERT_TRUE(shop->Run("INSERT INTO items (order_id, line, slot) VALUES (3, 'a', 3);"
                        "INSERT INTO items (order_id, line, slot) VALUES (1, 'a', 1);"
                        "UPDATE items SET slot = 2 WHERE order_id = 1;"
                        "INSERT INTO items (order_id, line, slot) VALUES (2, 'a', 1)")
                  .ok());
  servers_[1]->Sql("INSERT INTO locus_shop.items (order_id, line, slot) VALUES (2, 'a', 1)");
  mysql::BinlogReaderOptions options;
  options.server = As(0, "mover");
  options.stream.position = applier->position();
  options.stream.wanted = [&](std::string_view database, std::string_view table) {
    return database == kDatabase && applier->Wants(table);
  };
  options.stop_at_end = true;
  auto reader = mysql::BinlogReader::Open(options);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<stream::ChangeTransaction> all;
  for (bool ended = false; !ended;) {
    auto batch = mysql::ReadBatch(**reader, In(absl::Seconds(60)));
    ASSERT_TRUE(batch.ok()) << batch.status();
    for (auto& one : batch->transactions) all.push_back(std::move(one));
    ended = batch->ended;
  }
  ASSERT_EQ(all.size(), 4u);
  const absl::Status conflict = applier->Apply({all.data(), 2});
  EXPECT_TRUE(mysql::IsUniqueConflict(conflict)) << conflict;
  EXPECT_TRUE(applier->Has(all[0]));
  EXPECT_FALSE(applier->Has(all[1]));
  EXPECT_TRUE(mysql::IsUniqueConflict(applier->ApplyTogether({all.data() + 1, 1})));
  const absl::Status status = applier->ApplyTogether({all.data() + 1, 3});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Sum(1), Sum(0));
  EXPECT_EQ(servers_[1]->Value("SELECT COUNT(*) FROM locus_shop.locus_tombstone WHERE tbl <> ''"),
            "0");
  EXPECT_EQ(applier->position(), PositionOf(0));
}

// Applied in order, the deletion is flushed before the INSERT that meets the unique value.
TEST_F(BatchTwinTest, RowDeletedAndInsertedWithAnotherRowsUniqueValue_IsAConflictAtOnce) {
  for (MariadbServer* server : servers_) {
    server->Sql("ALTER TABLE locus_shop.items ADD slot INT UNIQUE");
  }
  start_ = PositionOf(0);
  auto applier = OpenTo(1);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  ASSERT_TRUE(shop->Run("INSERT INTO items (order_id, line, slot) VALUES (1, 'a', 1)").ok());
  ASSERT_TRUE(Follow(*applier, 0).ok());
  servers_[1]->Sql("INSERT INTO locus_shop.items (order_id, line, slot) VALUES (2, 'a', 2)");
  ASSERT_TRUE(shop->Run("BEGIN; DELETE FROM items WHERE order_id = 1;"
                        "INSERT INTO items (order_id, line, slot) VALUES (1, 'a', 2); COMMIT")
                  .ok());
  std::vector<stream::ChangeTransaction> all = ReadAll(applier->position());
  ASSERT_EQ(all.size(), 1u);
  const absl::Status status = applier->Apply(all);
  EXPECT_TRUE(mysql::IsUniqueConflict(status)) << status;
  EXPECT_EQ(servers_[1]->Value("SELECT slot FROM locus_shop.items WHERE order_id = 1"), "1");
}

}  // namespace
}  // namespace locus
