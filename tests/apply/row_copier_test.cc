// SPDX-License-Identifier: Apache-2.0
// Rows that were there before the stream began, copied while they are written.
#include "migration/apply/row_copier.h"

#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/mysql/target_session.h"
#include "tests/apply/row_copier_fixture.h"

namespace locus {
namespace {

using mysql::ChangeApplier;
using mysql::CopierOptions;
using mysql::RowCopier;
using ::testing::HasSubstr;

TEST_F(RowCopierTest, RowsOfEveryType_AreTheSame) {
  std::mt19937_64 random(1);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (int i = 0; i < 150; ++i) ASSERT_TRUE(shop->Run(RandomStatement(random)).ok());
  auto applier = OpenTo(1);
  CopierOptions options = Copying();
  options.least_rows = options.most_rows = 7;
  auto copier = MustOpen(options, *applier);
  while (true) {
    auto more = copier->CopyChunk();
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) break;
  }
  EXPECT_EQ(Sum(1), Sum(0));
  EXPECT_EQ(copier->rows(), applier->counts().written);
  EXPECT_FALSE(*copier->CopyChunk()) << "and none is left";
}

// The server prints these types where they are read, and takes a NULL of another type for none.
TEST_F(RowCopierTest, UuidsAndAddresses_AreCopiedAndFollowed) {
  table_.guard.name = "seen_from";
  table_.primary_key = {"order_id"};
  for (MariadbServer* server : servers_) {
    server->Sql(absl::StrCat("USE ", kDatabase,
                             "; CREATE TABLE seen_from (order_id BIGINT UNSIGNED PRIMARY KEY, id"
                             " UUID, six INET6, four INET4, version BIGINT UNSIGNED NOT NULL"
                             " DEFAULT 1)"));
    MakeVersionTriggers(*server, kDatabase, table_);
  }
  auto insert = [&](int first) {
    servers_[0]->Sql(absl::StrCat("USE ", kDatabase, "; INSERT INTO seen_from VALUES (", first,
                                  ", '123e4567-e89b-12d3-a456-426655440000', '2001:db8::1',"
                                  " '10.0.0.1', 1); INSERT INTO seen_from (order_id) VALUES (",
                                  first + 1, ")"));
  };
  insert(1);
  start_ = PositionOf(0);
  auto applier = OpenTo(1);
  CopierOptions options = Copying();
  options.least_rows = options.most_rows = 1;  // also a chunk of nothing but NULL
  auto copier = MustOpen(options, *applier);
  for (bool more = true; more;) {
    auto chunk = copier->CopyChunk();
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    more = *chunk;
  }
  insert(3);
  const absl::Status followed = Follow(*applier, 0);
  ASSERT_TRUE(followed.ok()) << followed;
  const std::string all =
      "SELECT GROUP_CONCAT(CONCAT_WS(' ', order_id, id, six, four) ORDER BY order_id) FROM"
      " locus_shop.seen_from";
  EXPECT_EQ(servers_[1]->Value(all),
            "1 123e4567-e89b-12d3-a456-426655440000 2001:db8::1 10.0.0.1,2,"
            "3 123e4567-e89b-12d3-a456-426655440000 2001:db8::1 10.0.0.1,4");
}

// The server names the key of that table PRIMARY as well, but no retry can help.
TEST_F(RowCopierTest, TriggerThatRepeatsAKeyOfAnotherTable_IsNotALostRace) {
  servers_[1]->Sql(
      absl::StrCat("USE ", kDatabase,
                   "; CREATE TABLE seen_notes (note INT PRIMARY KEY); INSERT INTO seen_notes VALUES"
                   " (1); CREATE TRIGGER copy_note BEFORE INSERT ON items FOR EACH ROW INSERT INTO"
                   " seen_notes VALUES (1)"));
  auto shop = SqlSession::Open(As(0, "locus")).value();
  ASSERT_TRUE(shop->Run("INSERT INTO items (order_id, line) VALUES (1, 'a')").ok());
  auto applier = OpenTo(1);
  auto copier = MustOpen(Copying(), *applier);
  const absl::Status copied = copier->CopyChunk().status();
  EXPECT_TRUE(mysql::IsUniqueConflict(copied)) << copied;
}

// A trigger holds the copy between its look at the rows and its INSERT of the second one.
TEST_F(RowCopierTest, RowThatComesWhileTheCopyInserts_IsSeenByTheNextTry) {
  servers_[1]->Sql(absl::StrCat(
      "USE ", kDatabase,
      "; CREATE TRIGGER slow BEFORE INSERT ON items FOR EACH ROW IF NEW.line = 'a' AND"
      " USER() LIKE 'mover@%' THEN DO GET_LOCK('race', 20); DO RELEASE_LOCK('race'); END IF"));
  auto shop = SqlSession::Open(As(0, "locus")).value();
  const std::string second = "INSERT INTO items (order_id, line, note) VALUES (1, 'b', 'new')";
  ASSERT_TRUE(shop->Run("INSERT INTO items (order_id, line) VALUES (1, 'a')").ok());
  ASSERT_TRUE(shop->Run(second).ok());
  auto applier = OpenTo(1);
  auto copier = MustOpen(Copying(), *applier);
  auto other = SqlSession::Open(As(1, "locus")).value();
  ASSERT_TRUE(other->Run("DO GET_LOCK('race', 0)").ok());
  auto copied = std::async(std::launch::async, [&] { return copier->CopyChunk(); });
  ASSERT_TRUE(WaitUntil([&] {
    return servers_[1]->Value(
               "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE ="
               " 'User lock'") == "1";
  }));
  ASSERT_TRUE(other->Run(second).ok());
  ASSERT_TRUE(other->Run("DO RELEASE_LOCK('race')").ok());
  const auto more = copied.get();
  EXPECT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(Sum(1), Sum(0));
}

TEST_F(RowCopierTest, LanguageOfTheServer_IsNotTheTools) {
  for (const char* language : {"de_DE", "fr_FR", "ja_JP", "hu_HU", "cs_CZ", "ru_RU"}) {
    SetUp();
    for (MariadbServer* server : servers_) {
      server->Sql(absl::StrCat("SET GLOBAL lc_messages = '", language, "'"));
    }
    const std::string insert = "INSERT INTO items (order_id, line, version) VALUES (1, 'l', 5)";
    for (size_t server : {0, 1}) {
      ASSERT_TRUE(SqlSession::Open(As(server, "mover")).value()->Run(insert).ok());
    }
    auto applier = OpenTo(1);
    auto copier = MustOpen(Copying(), *applier);
    const auto copied = copier->CopyChunk();
    EXPECT_TRUE(copied.ok()) << language << ": " << copied.status();
    auto session = mysql::TargetSession::Open(As(1, "mover")).value();
    EXPECT_EQ(session->Query("SELECT @@lc_messages", mysql::OneRow(1))->rows[0][0], "en_US");
  }
  for (MariadbServer* server : servers_) server->Sql("SET GLOBAL lc_messages = 'en_US'");
}

// It would leave out columns and rows without an error.
TEST_F(RowCopierTest, LimitOfRowsOfTheServer_IsNotTheTools) {
  std::mt19937_64 random(3);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(shop->Run(RandomStatement(random)).ok());
  start_ = PositionOf(0);
  for (MariadbServer* server : servers_) server->Sql("SET GLOBAL sql_select_limit = 3");
  auto applier = OpenTo(1);
  auto copier = MustOpen(Copying(), *applier);
  while (*copier->CopyChunk()) continue;
  EXPECT_EQ(Sum(1), Sum(0));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(shop->Run(RandomStatement(random)).ok());
  EXPECT_EQ(Follow(*applier, 0), absl::OkStatus());
  EXPECT_EQ(Sum(1), Sum(0));
  for (MariadbServer* server : servers_) {
    server->Sql("SET GLOBAL sql_select_limit = 18446744073709551615");
  }
}

TEST_F(RowCopierTest, OtherVnodes_StayWhereTheyAre) {
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (uint32_t gene : {9u, 10u, 19u, 20u}) {
    ASSERT_TRUE(shop->Run(absl::StrCat("INSERT INTO items (order_id, line) VALUES (",
                                       Number(IdOf(gene, 5)), ", 'l')"))
                    .ok());
  }
  auto applier = OpenTo(1);
  CopierOptions options = Copying();
  options.ranges = {{10, 12}, {15, 19}};
  auto copier = MustOpen(options, *applier);
  while (*copier->CopyChunk()) continue;
  EXPECT_EQ(servers_[1]->Value("SELECT GROUP_CONCAT(order_id >> 47) FROM locus_shop.items"),
            "10,19");
}

TEST_F(RowCopierTest, StoppedAnywhere_ContinuesWhereItStopped) {
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(shop->Run(absl::StrCat("INSERT INTO items (order_id, line, note) VALUES (", i / 3,
                                       ", X'0", i % 3, "FF', 'n", i, "')"))
                    .ok());
  }
  CopierOptions options = Copying();
  options.least_rows = options.most_rows = 9;
  uint64_t rows = 0;
  for (bool more = true; more;) {
    auto applier = OpenTo(1);
    auto copier = MustOpen(options, *applier);
    for (int chunks = 0; chunks < 2 && more; ++chunks) more = *copier->CopyChunk();
    rows += copier->rows();
  }
  EXPECT_EQ(rows, 100u) << "none twice";
  EXPECT_EQ(Sum(1), Sum(0));
}

// Copy and stream together, in any order, while the rows are changed and deleted.
TEST_F(RowCopierTest, WhileRowsAreWritten_CopyAndStreamEndUpTheSame) {
  std::mt19937_64 random(5);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(shop->Run(RandomStatement(random)).ok());
  start_ = PositionOf(0);  // the rows above are the copy's alone
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    auto session = SqlSession::Open(As(0, "locus")).value();
    std::mt19937_64 other(6);
    while (!stop) {
      auto done = session->Run(RandomStatement(other));
      ASSERT_TRUE(done.ok()) << done.status();
    }
  });
  auto applier = OpenTo(1);
  CopierOptions options = Copying();
  options.least_rows = options.most_rows = 3;
  auto copier = MustOpen(options, *applier);
  absl::Status failed;
  for (bool more = true; more && failed.ok();) {
    auto chunk = copier->CopyChunk();
    failed.Update(chunk.status());
    more = chunk.ok() && *chunk;
    failed.Update(Follow(*applier, 0, random() % 10));
  }
  stop = true;
  writer.join();
  ASSERT_TRUE(failed.ok()) << failed;
  ASSERT_TRUE(Follow(*applier, 0).ok());
  EXPECT_EQ(Sum(1), Sum(0));
}

TEST_F(RowCopierTest, CopiedRows_DoNotComeBack) {
  std::mt19937_64 random(8);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(shop->Run(RandomStatement(random)).ok());
  auto there = OpenTo(1), back = OpenTo(0);
  auto copier = MustOpen(Copying(), *there);
  while (*copier->CopyChunk()) continue;
  ASSERT_TRUE(Follow(*back, 1).ok());
  EXPECT_EQ(back->counts().skipped + back->counts().written, 0u);
  EXPECT_GT(back->counts().own, 0u);
}

TEST_F(RowCopierTest, TableThatDiffers_IsRefused) {
  auto shop = SqlSession::Open(As(0, "mover")).value();
  ASSERT_TRUE(shop->Run("ALTER TABLE items ADD more INT; INSERT INTO items (order_id, line) VALUES"
                        " (1, 'a')")
                  .ok());
  auto applier = OpenTo(1);
  auto copier = MustOpen(Copying(), *applier);
  const absl::Status status = copier->CopyChunk().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the source has a column \"more\""));
}

// Tables of whose rows few move, by each way that shows where a row belongs.
struct WalkCase {
  std::string name;
  std::string columns;  // of the table `walked`
  GuardedTable::Key key;
  std::vector<std::string> primary_key;
  std::string values;  // of an INSERT: $i the number, $g the vnode, $n and $b the order ID
  bool by_vnode = true;
};

std::string HexOfId(uint32_t gene, uint64_t i) {
  const uint64_t sequence = i % 2 == 0 ? i : OrderId::kMaxNarrowSequence + i;  // of both widths
  return "X'" + absl::BytesToHexString(IdOf(gene, sequence).ToBytes()) + "'";
}

TEST_F(RowCopierTest, FewRowsOfALargeTable_AreReadWithoutTheOthers) {
  const std::vector<WalkCase> cases = {
      {"number",
       "order_id BIGINT, line INT, PRIMARY KEY (order_id, line)",
       GuardedTable::Key::kOrderIdNumber,
       {"order_id", "line"},
       "$n, $i"},
      {"bytes",
       "order_id VARBINARY(16), line INT, PRIMARY KEY (order_id, line)",
       GuardedTable::Key::kOrderIdBytes,
       {"order_id", "line"},
       "$b, $i"},
      {"bytes_by_index",
       "order_id VARBINARY(16) NOT NULL, line INT PRIMARY KEY, KEY (order_id)",
       GuardedTable::Key::kOrderIdBytes,
       {"line"},
       "$b, $i"},
      {"gene",
       "shard_gene SMALLINT UNSIGNED NOT NULL, cohort SMALLINT UNSIGNED NOT NULL, no"
       " VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY, KEY (shard_gene)",
       GuardedTable::Key::kGeneAndCohort,
       {"no"},
       "$g, $i, 'n$i'"},
      {"gene_without_index",
       "shard_gene SMALLINT UNSIGNED NOT NULL, cohort SMALLINT UNSIGNED NOT NULL, no VARCHAR(20)"
       " CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY, KEY (shard_gene, cohort)",
       GuardedTable::Key::kGeneAndCohort,
       {"no"},
       "$g, $i, 'n$i'",
       false}};
  for (const WalkCase& one : cases) {
    SCOPED_TRACE(one.name);
    constexpr uint64_t kRows = 6000;
    std::string insert;
    for (uint64_t i = 0; i < kRows; ++i) {
      const uint32_t gene = static_cast<uint32_t>(i % 60);
      absl::StrAppend(&insert, i == 0 ? "INSERT INTO walked VALUES (" : "), (",
                      absl::StrReplaceAll(one.values, {{"$i", absl::StrCat(i)},
                                                       {"$g", absl::StrCat(gene)},
                                                       {"$n", Number(IdOf(gene, i))},
                                                       {"$b", HexOfId(gene, i)}}),
                      ", 1");
    }
    for (size_t server : {0u, 1u}) {
      servers_[server]->Sql(absl::StrCat("USE ", kDatabase,
                                         "; DROP TABLE IF EXISTS walked, locus_copy; CREATE TABLE "
                                         "walked (",
                                         one.columns, ", version BIGINT UNSIGNED NOT NULL)"));
    }
    servers_[0]->Sql(absl::StrCat("USE ", kDatabase, "; ", insert,
                                  "); ANALYZE TABLE walked PERSISTENT FOR ALL"));
    table_.guard = {.name = "walked", .key = one.key};
    table_.primary_key = one.primary_key;
    CopierOptions options = Copying();
    options.ranges = {{3, 3}, {17, 18}, {40, 40}};  // 400 rows
    options.least_rows = options.most_rows = 30;
    auto reads = [&] {
      return std::stoull(
          servers_[0]->Value("SELECT SUM(VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS"
                             " WHERE VARIABLE_NAME IN ('HANDLER_READ_NEXT', 'HANDLER_READ_PREV',"
                             " 'HANDLER_READ_RND', 'HANDLER_READ_RND_NEXT')"));
    };
    uint64_t copied = 0, read = 0;
    for (bool more = true; more;) {
      auto applier = OpenTo(1);
      auto copier = MustOpen(options, *applier);
      const uint64_t before = reads();
      for (int chunks = 0; chunks < 5 && more; ++chunks) {
        auto chunk = copier->CopyChunk();
        ASSERT_TRUE(chunk.ok()) << chunk.status();
        more = *chunk;
      }
      read += reads() - before;
      copied += copier->rows();
      const uint64_t estimate = copier->EstimateRows().value();
      EXPECT_GT(estimate, 150u);
      EXPECT_LT(estimate, one.by_vnode ? 1000u : 10'000u);
    }
    EXPECT_EQ(copied, 400u) << "none twice";
    // A query of the statistics reads about 500 itself.
    EXPECT_LT(read, one.by_vnode ? 5000u : 50'000u);
    EXPECT_EQ(servers_[1]->Value("SELECT COUNT(*) FROM locus_shop.walked"), "400");
    std::cout << one.name << ": " << read << " reads\n";
  }
}

// Rows that a client inserts between the two statements of a chunk take the place of others in it.
// The stream brings those that are new; the others are the copy's.
TEST_F(RowCopierTest, RowsInsertedWithinAChunk_PushNoOldOneOut) {
  constexpr int kOld = 500, kNew = 1500;
  for (MariadbServer* server : servers_) {
    server->Sql(absl::StrCat("USE ", kDatabase,
                             "; CREATE TABLE walked (id BIGINT UNSIGNED PRIMARY KEY, shard_gene"
                             " SMALLINT UNSIGNED NOT NULL DEFAULT 5, cohort SMALLINT UNSIGNED NOT"
                             " NULL DEFAULT 1, version BIGINT UNSIGNED NOT NULL DEFAULT 1)"));
  }
  servers_[0]->Sql(absl::StrCat(
      "USE ", kDatabase, "; INSERT INTO walked (id) SELECT seq * 100000 FROM seq_1_to_", kOld));
  table_.guard = {.name = "walked", .key = GuardedTable::Key::kGeneAndCohort};
  table_.primary_key = {"id"};
  std::atomic<uint64_t> copied_to = 0;
  std::atomic<bool> stop = false;
  std::thread client([&] {
    auto session = SqlSession::Open(As(0, "locus")).value();
    for (uint64_t i = 1; i <= kNew && !stop; ++i) {
      // Some old rows ahead of what has been copied.
      const uint64_t id = copied_to + i % 8 * 100'000 + i;
      auto done = session->Run(absl::StrCat("INSERT IGNORE INTO walked (id) VALUES (", id, ")"));
      ASSERT_TRUE(done.ok()) << done.status();
    }
  });
  auto applier = OpenTo(1);
  CopierOptions options = Copying();
  options.least_rows = options.most_rows = 16;
  auto copier = MustOpen(options, *applier);
  absl::Status failed;
  for (bool more = true; more && failed.ok();) {
    auto chunk = copier->CopyChunk();
    failed = chunk.status();
    more = chunk.ok() && *chunk;
    copied_to =
        std::stoull(servers_[1]->Value("SELECT COALESCE(MAX(id), 0) DIV 100000 * 100000"
                                       " FROM locus_shop.walked"));
  }
  stop = true;
  client.join();
  ASSERT_TRUE(failed.ok()) << failed;
  EXPECT_EQ(servers_[1]->Value("SELECT COUNT(*) FROM locus_shop.walked WHERE id % 100000 = 0"),
            absl::StrCat(kOld));
}

// A client inserts behind the last row of a vnode with each chunk. The stream brings those.
TEST_F(RowCopierTest, RowsAppendedWithEachChunk_CopyContinuesToTheNextVnodesAndEnds) {
  auto shop = SqlSession::Open(As(0, "locus")).value();
  uint64_t sequence = 0;
  const auto append = [&] {
    return shop
        ->Run(absl::StrCat("INSERT INTO items (order_id, line) VALUES (",
                           Number(IdOf(5, ++sequence)), ", 'a')"))
        .status();
  };
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(append().ok());
  ASSERT_TRUE(shop->Run(absl::StrCat("INSERT INTO items (order_id, line) VALUES (",
                                     Number(IdOf(7, 1)), ", 'a')"))
                  .ok());
  auto applier = OpenTo(1), copying = OpenTo(1);
  CopierOptions options = Copying();
  options.ranges = {{5, 5}, {7, 7}};
  options.before_write = append;
  auto copier = MustOpen(options, *copying);
  bool more = true;
  for (int chunks = 0; more && chunks < 50; ++chunks) {
    auto chunk = copier->CopyChunk();
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    more = *chunk;
  }
  EXPECT_FALSE(more) << "after " << copier->rows() << " rows";
  EXPECT_EQ(servers_[1]->Value(absl::StrCat("SELECT COUNT(*) FROM locus_shop.items WHERE order_id"
                                            " = ",
                                            Number(IdOf(7, 1)))),
            "1");
  ASSERT_TRUE(Follow(*applier, 0).ok());
  EXPECT_EQ(Sum(1), Sum(0));
}

}  // namespace
}  // namespace locus
