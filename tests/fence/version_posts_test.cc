// SPDX-License-Identifier: Apache-2.0
// Transactions beside one another: versions stay honest in every order, and the triggers do not
// make them lose against each other.
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/tombstone_sql.h"
#include "migration/mysql/binlog_reader.h"
#include "migration/mysql/change_batch.h"
#include "tests/engine/mysql/mariadb_replica.h"
#include "tests/fence/fence_fixture.h"

namespace locus {
namespace {

constexpr char kDatabase[] = "locus_posts";
constexpr unsigned kDeadlock = 1213, kLockWait = 1205, kChanged = 1020, kDuplicate = 1062;
constexpr unsigned kSignalled = 1644;

// Orders with guard and version triggers, but for `orders_bare`, which opens a snapshot, too.
class VersionPostsTest : public FencedServerTest {
 protected:
  void SetUp() override { Make(/*replaces=*/false); }

  void Make(bool replaces) {
    constexpr char kColumns[] =
        " (order_id BIGINT UNSIGNED PRIMARY KEY, note INT NOT NULL DEFAULT 0, version BIGINT"
        " UNSIGNED NOT NULL DEFAULT 1); ";
    server_->Sql(absl::StrCat(
        "DROP DATABASE IF EXISTS ", kDatabase, "; CREATE DATABASE ", kDatabase, "; USE ", kDatabase,
        "; CREATE TABLE orders", kColumns, "CREATE TABLE orders_bare", kColumns,
        absl::StrJoin(CreateTombstones(), "; "), "; ", internal::kCreateFence,
        "; INSERT INTO locus_fence VALUES (0, 65535, 0, 10000, 1, @@server_id, NULL, NULL); ",
        internal::kCreateVnodes, "; ", internal::kMapVnodes));
    table_.guard.name = "orders";
    table_.replaces = replaces;
    for (const GuardTrigger& guard : GuardTriggersOf(FenceOf({table_.guard}))) {
      server_->Sql(absl::StrCat("USE ", kDatabase, "; CREATE TRIGGER ", guard.name, " BEFORE ",
                                guard.event, " ON orders FOR EACH ROW ", guard.body));
    }
    MakeVersionTriggers(*server_, kDatabase, table_);
  }
  static std::unique_ptr<SqlSession> Session(const std::string& isolation) {
    auto session = SqlSession::Open(server_->OptionsFor(kDatabase)).value();
    EXPECT_TRUE(session->Run("SET SESSION TRANSACTION ISOLATION LEVEL " + isolation).ok());
    return session;
  }
  static void Do(SqlSession& session, const std::string& statements) {
    const auto done = session.Run(statements);
    ASSERT_TRUE(done.ok()) << statements << ": " << done.status();
  }
  static std::string Version() {
    return server_->Value("SELECT version FROM locus_posts.orders WHERE order_id = 7");
  }
  // INNODB_TRX would be a copy that is not renewed while it is read more than ten times a second.
  static bool SomebodyWaits() {
    return WaitUntil([] {
      return server_->Value(
                 "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME ="
                 " 'INNODB_ROW_LOCK_CURRENT_WAITS'") != "0";
    });
  }

  MovedTable table_;
};

class IsolationTest : public VersionPostsTest, public ::testing::WithParamInterface<const char*> {};

// Whether the INSERT begins before or behind the deletion, and with a snapshot of before or not.
TEST_P(IsolationTest, InsertBesideADeletion_IsAboveItsTombstone) {
  for (const char* begin : {"BEGIN", "BEGIN; SELECT * FROM orders_bare", "SET autocommit = 1"}) {
    auto inserts = Session(GetParam()), deletes = Session(GetParam());
    Do(*deletes, "DELETE FROM orders; INSERT INTO orders (order_id) VALUES (7)");
    const uint64_t before = std::stoull(Version());
    Do(*inserts, begin);
    Do(*deletes, absl::StrCat("BEGIN; UPDATE orders SET version = ", before + 20,
                              " WHERE order_id = 7; DELETE FROM orders WHERE order_id = 7"));
    std::thread waits([&] { Do(*inserts, "INSERT INTO orders (order_id) VALUES (7)"); });
    EXPECT_TRUE(SomebodyWaits());
    Do(*deletes, "COMMIT");
    waits.join();
    Do(*inserts, "COMMIT");
    EXPECT_EQ(Version(), absl::StrCat(before + 22)) << begin;
  }
}

TEST_P(IsolationTest, DeletionCommittedBehindTheSnapshot_InsertIsAbove) {
  auto inserts = Session(GetParam()), deletes = Session(GetParam());
  Do(*inserts, "BEGIN; SELECT * FROM orders_bare");
  Do(*deletes, "INSERT INTO orders VALUES (7, 0, 9); DELETE FROM orders WHERE order_id = 7");
  Do(*inserts, "INSERT INTO orders (order_id) VALUES (7); COMMIT");
  EXPECT_EQ(Version(), "11");
}

TEST_P(IsolationTest, DeletionRolledBack_InsertEndsAsADuplicate) {
  auto inserts = Session(GetParam()), deletes = Session(GetParam());
  Do(*deletes, "INSERT INTO orders VALUES (7, 0, 9); BEGIN; DELETE FROM orders");
  std::thread waits([&] {
    EXPECT_FALSE(inserts->Run("INSERT INTO orders (order_id) VALUES (7)").ok());
    EXPECT_EQ(inserts->error(), kDuplicate);
  });
  EXPECT_TRUE(SomebodyWaits());
  Do(*deletes, "ROLLBACK");
  waits.join();
  EXPECT_EQ(Version(), "9");
}

// A prepared branch has dropped the locks of rows that it did not change: of the post, too, if it
// was high enough already.
TEST_P(IsolationTest, PreparedDeletion_IsWaitedFor) {
  for (const char* post : {"0", "1000"}) {
    auto inserts = Session(GetParam()), deletes = Session(GetParam());
    server_->Sql(
        absl::StrCat("UPDATE locus_posts.locus_tombstone SET version = ", post, " WHERE tbl = ''"));
    Do(*deletes,
       "DELETE FROM orders; DELETE FROM locus_tombstone WHERE tbl <> ''; INSERT INTO orders VALUES"
       " (7, 0, 9); XA START 'x'; DELETE FROM orders; XA END 'x'; XA PREPARE 'x'");
    std::thread waits([&] { Do(*inserts, "INSERT INTO orders (order_id) VALUES (7)"); });
    EXPECT_TRUE(SomebodyWaits());
    Do(*deletes, "XA COMMIT 'x'");
    waits.join();
    EXPECT_EQ(Version(), "11") << post;
  }
}

// An INSERT that read the post before the deletion: the deletion waits, for its row is not there.
TEST_P(IsolationTest, DeletionBehindAnOpenInsert_TombstoneIsAbove) {
  auto inserts = Session(GetParam()), deletes = Session(GetParam());
  Do(*inserts, "BEGIN; INSERT INTO orders (order_id) VALUES (7)");
  std::thread waits([&] { Do(*deletes, "DELETE FROM orders WHERE order_id = 7"); });
  EXPECT_TRUE(SomebodyWaits());
  Do(*inserts, "COMMIT");
  waits.join();
  Do(*inserts, "INSERT INTO orders (order_id) VALUES (7)");
  EXPECT_EQ(Version(), "3");
}

TEST_P(IsolationTest, ReplaceUnderAnOldSnapshot_IsHonestOrToBeRepeated) {
  Make(/*replaces=*/true);
  auto replaces = Session(GetParam()), other = Session(GetParam());
  const std::string replace = "REPLACE INTO orders (order_id, note) VALUES (7, 1)";
  Do(*replaces, "BEGIN; SELECT * FROM orders_bare");
  Do(*other, "INSERT INTO orders (order_id) VALUES (7); UPDATE orders SET version = 9");
  // Without a row in the snapshot, or with the one that is there.
  if (replaces->Run(replace).ok()) {
    Do(*replaces, "COMMIT");
  } else {
    EXPECT_EQ(replaces->error(), kChanged);
    EXPECT_EQ(std::string(GetParam()), "REPEATABLE READ");
    Do(*replaces, "ROLLBACK; " + replace);
  }
  EXPECT_EQ(Version(), "11");
  Do(*replaces, "BEGIN; SELECT * FROM orders_bare");
  Do(*other, "UPDATE orders SET version = 20");
  Do(*replaces, replace + "; COMMIT");
  EXPECT_EQ(Version(), "22");
}

INSTANTIATE_TEST_SUITE_P(Levels, IsolationTest,
                         ::testing::Values("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"),
                         [](const auto& info) {
                           return absl::StrReplaceAll(info.param, {{" ", "_"}});
                         });

// Eight writers with statements of every kind on twelve keys. In the order of the commits, the
// version of each key only rises, its deletions included.
TEST_F(VersionPostsTest, WritersOnAFewKeys_VersionsRiseInTheOrderOfCommits) {
  for (const bool replaces : {false, true}) {
    Make(replaces);
    const auto start =
        stream::GtidPosition::Parse(server_->Value("SELECT @@GLOBAL.gtid_binlog_pos")).value();
    std::vector<std::thread> threads;
    for (unsigned w = 0; w < 8; ++w) {
      threads.emplace_back([w] {
        auto session = Session(w % 2 == 0 ? "READ COMMITTED" : "REPEATABLE READ");
        std::mt19937_64 random(w);
        const std::vector<std::string> kinds = {
            "INSERT INTO orders (order_id, note) VALUES ($, #)",
            "INSERT INTO orders VALUES ($, #, 3) ON DUPLICATE KEY UPDATE note = #",
            "UPDATE orders SET note = # WHERE order_id = $",
            "DELETE FROM orders WHERE order_id = $",
            "REPLACE INTO orders (order_id, note) VALUES ($, #)",
            "REPLACE INTO orders VALUES ($, #, 12)",
            "SELECT note FROM orders WHERE order_id = $"};
        for (int i = 0; i < 150; ++i) {
          bool open = session->Run("BEGIN").ok();
          for (uint64_t more = 1 + random() % 3; open && more > 0; --more) {
            const auto done = session->Run(absl::StrReplaceAll(
                kinds[random() % kinds.size()],
                {{"$", absl::StrCat(1 + random() % 12)}, {"#", absl::StrCat(i * 8 + w)}}));
            open = done.ok() || session->error() == kDuplicate || session->error() == kSignalled;
            if (open) continue;
            const unsigned error = session->error();
            EXPECT_TRUE(error == kDeadlock || error == kLockWait || error == kChanged)
                << done.status();
          }
          EXPECT_TRUE(session->Run(open ? "COMMIT" : "ROLLBACK").ok());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();

    mysql::BinlogReaderOptions options;
    options.server = server_->Account(kDatabase);
    options.server.user = "mover";
    options.stream.position = start;
    options.stream.spool.directory = server_->path("");
    options.stream.wanted = [](std::string_view database, std::string_view table) {
      return database == kDatabase && table == "orders";
    };
    options.stop_at_end = true;
    auto reader = mysql::BinlogReader::Open(options);
    ASSERT_TRUE(reader.ok()) << reader.status();
    std::map<uint64_t, uint64_t> known;
    uint64_t changes = 0;
    auto number = [](const stream::Value& value) { return std::get<uint64_t>(value); };
    for (bool ended = false; !ended;) {
      auto batch = mysql::ReadBatch(**reader, In(absl::Seconds(60)));
      ASSERT_TRUE(batch.ok()) << batch.status();
      ended = batch->ended;
      for (stream::ChangeTransaction& transaction : batch->transactions) {
        ASSERT_TRUE(transaction.Rewind().ok());
        stream::Change change;
        while (transaction.Next(change).value()) {
          if (change.table == nullptr) continue;
          const bool deleted = change.kind == stream::ChangeKind::kDelete;
          const stream::Row& row = deleted ? change.before : change.after;
          const uint64_t version = number(row[2]) + (deleted ? 1 : 0);
          uint64_t& before = known[number(row[0])];
          ASSERT_GT(version, before) << "order " << number(row[0]) << ", change " << changes;
          before = version;
          ++changes;
        }
      }
    }
    EXPECT_GT(changes, 200u);
    EXPECT_EQ(known.size(), 12u);
  }
}

// A post has at least the version of every tombstone of its bucket.
TEST_F(VersionPostsTest, Deletions_RaiseTheirPosts) {
  auto session = Session("REPEATABLE READ");
  Do(*session,
     "INSERT INTO orders SELECT seq, 0, seq FROM seq_1_to_500; DELETE FROM orders WHERE order_id"
     " % 3 = 0");
  EXPECT_EQ(server_->Value("SELECT COUNT(*) FROM locus_posts.locus_tombstone t JOIN"
                           " locus_posts.locus_tombstone p ON p.bucket = t.bucket AND p.tbl = ''"
                           " AND p.version >= t.version WHERE t.tbl <> ''"),
            "166");
  EXPECT_EQ(server_->Value("SELECT COUNT(*) FROM locus_posts.locus_tombstone WHERE tbl <> '' AND"
                           " bucket <> CRC32(pk) & 65535"),
            "0");
  EXPECT_EQ(server_->Value("SELECT bucket FROM locus_posts.locus_tombstone WHERE pk = '1:3'"),
            absl::StrCat(internal::TombstoneBucket("1:3")));
}

// Transactions that lost, of a hundred: inserts, updates and 5 % deletes on 4 vnodes. `lines`: a
// table whose foreign key names the first one, with a row for each order.
double LostOfAHundred(MariadbServer& server, const std::string& table,
                      const std::string& lines = "") {
  constexpr unsigned kWriters = 8;
  constexpr int kEach = 250;
  std::atomic<int> lost = 0;
  std::atomic<uint64_t> sequence = 0;  // all insert at the end of the vnodes
  std::vector<std::thread> threads;
  for (unsigned w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      auto session = SqlSession::Open(server.OptionsFor(kDatabase)).value();
      ASSERT_TRUE(session->Run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ").ok());
      std::mt19937_64 random(w);
      std::vector<std::string> mine;
      for (int i = 0; i < kEach; ++i) {
        std::vector<std::string> statements = {"BEGIN"};
        std::vector<std::string> ids;
        for (int k = 0; k < 3; ++k) {
          ids.push_back(Number(IdOf(static_cast<uint32_t>(random() % 4), ++sequence)));
          statements.push_back(
              absl::StrCat("INSERT INTO ", table, " (order_id) VALUES (", ids.back(), ")"));
          if (lines.empty()) continue;
          statements.push_back(absl::StrCat("INSERT INTO ", lines, " (order_id, line) VALUES (",
                                            ids.back(), ", 'a')"));
        }
        if (!mine.empty()) {
          const size_t at = random() % mine.size();
          if (random() % 20 == 0) {
            for (const std::string& from : {lines, table}) {
              if (from.empty()) continue;
              statements.push_back(
                  absl::StrCat("DELETE FROM ", from, " WHERE order_id = ", mine[at]));
            }
            mine.erase(mine.begin() + static_cast<ptrdiff_t>(at));
          } else {
            statements.push_back(
                absl::StrCat("UPDATE ", table, " SET note = note + 1 WHERE order_id = ", mine[at]));
          }
        }
        statements.push_back("COMMIT");
        absl::Status done;
        for (size_t k = 0; done.ok() && k < statements.size(); ++k) {
          done = session->Run(statements[k]).status();
        }
        if (done.ok()) {
          mine.insert(mine.end(), ids.begin(), ids.end());
          continue;
        }
        EXPECT_TRUE(session->error() == kDeadlock || session->error() == kLockWait) << done;
        ++lost;
        EXPECT_TRUE(session->Run("ROLLBACK").ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 100.0 * lost / (kWriters * kEach);
}

TEST_F(VersionPostsTest, EightWritersOnFourVnodes_LoseNoMoreThanWithoutTriggers) {
  const double bare = LostOfAHundred(*server_, "orders_bare");
  EXPECT_LE(LostOfAHundred(*server_, "orders"), bare + 1.0);
}

TEST_F(VersionPostsTest, RowsWithAForeignKeyAndAKeyOfTwoColumns_LoseNoMoreThanWithoutTriggers) {
  for (const char* of : {"", "_bare"}) {
    server_->Sql(absl::StrCat("USE ", kDatabase, "; CREATE TABLE items", of,
                              " (order_id BIGINT UNSIGNED, line VARBINARY(20), note INT, version"
                              " BIGINT UNSIGNED NOT NULL DEFAULT 1, PRIMARY KEY (order_id, line),"
                              " FOREIGN KEY (order_id) REFERENCES orders",
                              of, " (order_id))"));
  }
  MovedTable items;
  items.guard.name = "items";
  items.primary_key = {"order_id", "line"};
  MakeVersionTriggers(*server_, kDatabase, items);
  const double bare = LostOfAHundred(*server_, "orders_bare", "items_bare");
  const double triggers = LostOfAHundred(*server_, "orders", "items");
  EXPECT_LE(triggers, bare + 1.0);
}

// Triggers do not run on a replica: it has the posts as rows.
TEST(PromotedReplicaTest, DeletedBefore_IsInsertedAgainAboveItsTombstone) {
  MariadbServer primary(FencedServer(5)), replica(FencedServer(6));
  ASSERT_TRUE(primary.Start() && replica.Start());
  replica.Sql("RESET MASTER");
  Replicate(primary, replica);
  MovedTable table;
  table.guard.name = "orders";
  primary.Sql(absl::StrCat("CREATE DATABASE ", kDatabase, "; USE ", kDatabase,
                           "; CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, version"
                           " BIGINT UNSIGNED NOT NULL DEFAULT 1); ",
                           absl::StrJoin(CreateTombstones(), "; ")));
  MakeVersionTriggers(primary, kDatabase, table);
  primary.Sql(
      "INSERT INTO locus_posts.orders VALUES (7, 9), (8, 1); DELETE FROM locus_posts.orders");
  WaitForReplica(primary, replica);
  Promote(replica);
  replica.Sql("INSERT INTO locus_posts.orders (order_id) VALUES (7), (8), (9)");
  EXPECT_EQ(replica.Value("SELECT GROUP_CONCAT(version ORDER BY order_id) FROM locus_posts.orders"),
            "11,3,1");
}

}  // namespace
}  // namespace locus
