// SPDX-License-Identifier: Apache-2.0
#include "migration/run/tombstones.h"

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "migration/fence/key_form.h"
#include "migration/mysql/marker_tables.h"
#include "tests/engine/mysql/mariadb_server.h"

namespace locus::mysql {
namespace {

// One shard with tables of keys of every kind, none of which has an index on the gene.
class TombstonesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_ = FreshMariadbDatabase();
    link_ = ShardLink::Create(options_).value();
    move_.name = "first";
    move_.source.server = move_.target.server = options_;
    move_.ranges = {{0, 99}, {200, 299}};
    for (const std::string& create : CreateMarkerTables()) Run(create);
    for (const std::string& create : CreateTombstones()) Run(create);
    Run("INSERT INTO locus_copy (move, tbl, run, position, counter) VALUES ('first',"
        " 'locus_tombstone', 7, '', 0)");
    Run("INSERT INTO locus_run (move, run, ping, counter) VALUES ('first', 7, 0, 1)");
  }
  void Run(const std::string& statement) {
    const auto done = link_->Run(statement);
    ASSERT_TRUE(done.ok()) << statement << ": " << done.status();
  }
  std::string Value(const std::string& query) {
    auto found = link_->Run(query, {OneRow(1)});
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? (*found)[0].rows[0][0].value_or("NULL") : "";
  }
  // A table with a key of these columns, and a trigger that writes tombstones for everybody.
  MovedTable MakeTable(const std::string& name, const std::vector<std::string>& key,
                       const std::string& columns,
                       const std::vector<internal::KeyForm>& forms = {}) {
    MovedTable table;
    table.guard.name = name;
    table.guard.key = GuardedTable::Key::kGeneAndCohort;
    table.primary_key = key;
    Run(absl::StrCat("CREATE TABLE ", name, " (", columns,
                     ", shard_gene SMALLINT UNSIGNED NOT NULL, cohort SMALLINT UNSIGNED NOT NULL,"
                     " version BIGINT UNSIGNED NOT NULL, PRIMARY KEY (",
                     absl::StrJoin(key, ", "), ")) ENGINE = InnoDB"));
    for (const VersionTrigger& trigger :
         VersionTriggersOf(internal::KeyedTable{table, forms}, {"nobody@127.0.0.1"})) {
      if (trigger.timing != "AFTER" || trigger.event != "DELETE") continue;
      Run(absl::StrCat("CREATE TRIGGER ", trigger.name, " AFTER DELETE ON ", name, " FOR EACH ROW ",
                       trigger.body));
    }
    return table;
  }
  // A second shard, which knows the move and its run.
  std::unique_ptr<ShardLink> MakeTarget() {
    auto target = ShardLink::Create(FreshMariadbDatabase()).value();
    for (const std::string& create : CreateMarkerTables()) EXPECT_TRUE(target->Run(create).ok());
    for (const std::string& create : CreateTombstones()) EXPECT_TRUE(target->Run(create).ok());
    EXPECT_TRUE(target
                    ->Run("INSERT INTO locus_run (move, run, ping, counter) VALUES ('first', 7, 0,"
                          " 1)")
                    .ok());
    return target;
  }
  // 5,000 rows of "notes", all of the move, with tombstones above them: keys 10000, 10010, ...,
  // 59990.
  void MakeOldTombstones() {
    move_.tables = {MakeTable("notes", {"id"}, "id BIGINT UNSIGNED")};
    Run("INSERT INTO notes SELECT seq, seq % 100, seq % 10000, 3 FROM seq_10000_to_59990_step_10");
    Run("INSERT INTO locus_tombstone SELECT CRC32(CONCAT('5:', seq)) & 65535, 'notes',"
        " CONCAT('5:', seq), 4, seq % 100, seq % 10000 FROM seq_10000_to_59990_step_10");
  }
  static constexpr char kCountOldOnes[] =
      "SELECT COUNT(*) FROM locus_tombstone WHERE pk LIKE '5:%0'";
  // Rows that were deleted, and stand there again as they were before.
  void DeleteAndLeave(const std::string& name, const std::string& values) {
    const std::string any = "SET STATEMENT sql_mode = 'ALLOW_INVALID_DATES' FOR ";
    Run(absl::StrCat(any, "INSERT INTO ", name, " VALUES ", values));
    Run(absl::StrCat("CREATE TABLE kept_", name, " LIKE ", name));
    Run(absl::StrCat(any, "INSERT INTO kept_", name, " SELECT * FROM ", name));
    Run(absl::StrCat("DELETE FROM ", name));
    Run(absl::StrCat(any, "INSERT INTO ", name, " SELECT * FROM kept_", name));
  }

  MysqlOptions options_;
  std::unique_ptr<ShardLink> link_;
  Move move_;
  const internal::BandFence all_{0, 10000, 1, 0, 0};
  std::atomic<bool> stop_ = false;
};

TEST_F(TombstonesTest, DeadRows_AreFoundByKeysOfEveryKind) {
  using enum internal::KeyForm;
  const struct {
    const char* name;
    std::vector<std::string> key;
    const char* columns;
    std::vector<std::string> values;  // of two keys
    std::vector<internal::KeyForm> forms = {};
  } kinds[] = {
      {"numbers", {"a", "b"}, "a BIGINT UNSIGNED, b INT", {"18446744073709551615, -5", "7, 0"}},
      {"filled", {"a"}, "a INT(8) UNSIGNED ZEROFILL", {"12", "4000000000"}},
      {"bits", {"a"}, "a BIT(12)", {"b'101'", "b'111100001111'"}, {kNumber}},
      {"lists",
       {"a", "b"},
       "a ENUM('2', '1'), b SET('x', 'y', 'z')",
       {"'1', 'x,z'", "'2', ''"},
       {kNumber, kNumber}},
      {"instants",
       {"a", "b"},
       "a TIMESTAMP(6), b TIMESTAMP",
       {"'2024-02-29 12:00:00.123456', '0000-00-00'", "'0000-00-00', '1999-12-31 23:59:59'"},
       {kInstant, kInstant}},
      {"days", {"a"}, "a DATE", {"'2026-02-31'", "'0000-00-00'"}},
      {"decimals", {"a"}, "a DECIMAL(20, 4)", {"-1.5", "1234567890123456.7891"}},
      {"bytes", {"a", "b"}, "a VARBINARY(16), b INT", {"X'003A01FF', 1", "'', 2"}},
      {"texts",
       {"a"},
       "a VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin",
       {"'5:täst'", "'a b '"}},
      {"times",
       {"a", "b"},
       "a DATETIME(6), b DATE",
       {"'2024-02-29 12:00:00.123456', '2024-01-01'", "'1999-12-31 23:59:59', '1000-01-01'"}},
  };
  for (const auto& kind : kinds) {
    move_.tables.push_back(MakeTable(kind.name, kind.key, kind.columns, kind.forms));
    // Of a vnode that moves, and of one that does not.
    DeleteAndLeave(kind.name, absl::StrCat("(", kind.values[0], ", 7, 100, 3), (", kind.values[1],
                                           ", 150, 100, 3)"));
  }
  // Inserted again with a higher version.
  Run("INSERT INTO numbers VALUES (1, 1, 7, 100, 3)");
  Run("DELETE FROM numbers WHERE a = 1");
  Run("INSERT INTO numbers VALUES (1, 1, 7, 100, 5)");
  // Of a cohort that this shard does not own.
  Run("INSERT INTO numbers VALUES (2, 1, 7, 9000, 3)");
  Run("DELETE FROM numbers WHERE a = 2");
  Run("INSERT INTO numbers VALUES (2, 1, 7, 9000, 3)");

  const absl::Status done = DeleteDeadRows(*link_, move_, {0, 5000, 1, 0, 0}, 7, stop_);
  ASSERT_TRUE(done.ok()) << done;
  for (const auto& kind : kinds) {
    EXPECT_EQ(Value(absl::StrCat("SELECT GROUP_CONCAT(shard_gene) FROM ", kind.name,
                                 " WHERE version = 3 AND cohort = 100")),
              "150")
        << kind.name;
  }
  EXPECT_EQ(Value("SELECT GROUP_CONCAT(version ORDER BY a) FROM numbers WHERE a IN (1, 2)"), "5,3");
}

// A client that inserts such a row on the target looks at the post first.
TEST_F(TombstonesTest, CopiedOnes_RaiseTheirPosts) {
  MakeOldTombstones();
  auto target = MakeTarget();
  const absl::Status copied = CopyTombstones(
      *link_, *target, move_, all_, 7, [] { return absl::OkStatus(); }, stop_);
  ASSERT_TRUE(copied.ok()) << copied;
  auto count = target->Run(
      "SELECT COUNT(*) FROM locus_tombstone t JOIN locus_tombstone p ON p.bucket = t.bucket AND"
      " p.tbl = '' AND p.version >= t.version WHERE t.tbl <> ''",
      {OneRow(1)});
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ((*count)[0].rows[0][0], "5000");
}

// Statements end before the server's time for them, however many rows and tombstones others have.
TEST_F(TombstonesTest, LargeTables_NoStatementLooksAtMoreThanSomeThousandRows) {
  move_.tables = {MakeTable("notes", {"id"}, "id BIGINT UNSIGNED")};
  Run("INSERT INTO notes SELECT seq, seq % 300, seq % 10000, 3 FROM seq_1_to_60000");
  Run("INSERT INTO locus_tombstone SELECT CRC32(CONCAT(LENGTH(seq), ':', seq)) & 65535, 'notes',"
      " CONCAT(LENGTH(seq), ':', seq), 4, seq % 300,"
      " seq % 10000 FROM seq_1_to_30000");
  auto target = MakeTarget();
  MariadbServer& server = SharedMariadb();
  server.Sql(
      "TRUNCATE mysql.slow_log; SET GLOBAL log_output = 'TABLE'; SET GLOBAL slow_query_log = 1;"
      " SET GLOBAL long_query_time = 0; SET GLOBAL log_queries_not_using_indexes = 0");
  // By sessions of their own: the log's settings are those at their beginning.
  auto from = link_->Another().value(), to = link_->Another().value();
  auto nothing = [] { return absl::OkStatus(); };
  ASSERT_TRUE(CopyTombstones(*from, *target, move_, all_, 7, nothing, stop_).ok());
  ASSERT_TRUE(DeleteDeadRows(*to, move_, all_, 7, stop_).ok());
  auto count = target->Run("SELECT COUNT(*) FROM locus_tombstone WHERE tbl <> ''", {OneRow(1)});
  ASSERT_TRUE(count.ok());
  EXPECT_EQ((*count)[0].rows[0][0], "20000");
  EXPECT_EQ(Value("SELECT COUNT(*) FROM notes"), "40000");
  ASSERT_TRUE(ForgetTombstones(*target, move_, 7).ok());
  count = target->Run("SELECT COUNT(*) FROM locus_tombstone WHERE tbl <> ''", {OneRow(1)});
  ASSERT_TRUE(count.ok());
  EXPECT_EQ((*count)[0].rows[0][0], "0");
  server.Sql("SET GLOBAL slow_query_log = 0; SET GLOBAL long_query_time = 10");
  EXPECT_GT(std::stoi(server.Value("SELECT COUNT(*) FROM mysql.slow_log")), 20);
  EXPECT_EQ(
      server.Value("SELECT COALESCE(MAX(CONCAT(rows_examined, ' rows: ', LEFT(sql_text, 300))),"
                   " '') FROM mysql.slow_log WHERE rows_examined > 8000 AND sql_text NOT LIKE"
                   " '%COUNT(*)%'"),
      "");
}

// Clients delete between any two statements: what one has counted is more for the next.
TEST_F(TombstonesTest, TombstonesBetweenAnyTwoStatements_NoOldOneIsMissed) {
  MakeOldTombstones();
  auto from = link_->Another().value(), to = link_->Another().value();
  auto target = MakeTarget();
  int statements = 0;
  const auto delete_some = [&](ShardLink& shard) {
    return [&shard, &statements](const std::string& statement) {
      if (!statement.starts_with("SELECT") ||
          statement.find("locus_tombstone") == std::string::npos)
        return;
      // One of a hundred keys; each statement meets others.
      const int n = ++statements % 90, first = 10'000 + n / 9 * 10 + n % 9 + 1;
      ASSERT_TRUE(shard
                      .Run(absl::StrCat("INSERT IGNORE INTO locus_tombstone SELECT"
                                        " CRC32(CONCAT('5:', seq)) & 65535, 'notes',"
                                        " CONCAT('5:', seq), 4, seq % 100, seq % 10000 FROM seq_",
                                        first, "_to_59999_step_100"))
                      .ok());
    };
  };
  from->set_before_statement(delete_some(*link_));
  to->set_before_statement(delete_some(*link_));
  const absl::Status copied = CopyTombstones(
      *from, *target, move_, all_, 7, [] { return absl::OkStatus(); }, stop_);
  ASSERT_TRUE(copied.ok()) << copied;
  EXPECT_GE(statements, 3);
  auto count = target->Run(kCountOldOnes, {OneRow(1)});
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ((*count)[0].rows[0][0], "5000");

  const absl::Status deleted = DeleteDeadRows(*to, move_, all_, 7, stop_);
  ASSERT_TRUE(deleted.ok()) << deleted;
  EXPECT_EQ(Value("SELECT COUNT(*) FROM notes"), "0");

  auto other = target->Another().value();
  target->set_before_statement(delete_some(*other));
  const absl::Status forgotten = ForgetTombstones(*target, move_, 7);
  ASSERT_TRUE(forgotten.ok()) << forgotten;
  count = other->Run(kCountOldOnes, {OneRow(1)});
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ((*count)[0].rows[0][0], "0");
}

TEST_F(TombstonesTest, ClientDeletes2000ASecond_WalksEndAndMissNoOldOne) {
  MakeOldTombstones();
  Run("INSERT INTO notes SELECT seq, seq % 100, seq % 10000, 3 FROM seq_10000_to_59999"
      " WHERE seq % 10 <> 0");
  auto from = link_->Another().value(), client = link_->Another().value();
  auto target = MakeTarget();
  std::atomic<bool> end = false;
  std::atomic<int> deleted = 0;
  std::thread deletes([&] {
    constexpr int kAtOnce = 40;
    auto next = std::chrono::steady_clock::now();
    for (uint64_t i = 0; !end;) {
      std::vector<uint64_t> keys;
      for (int k = 0; k < kAtOnce; ++k, ++i) keys.push_back(10'000 + i * 7919 % 49'999);
      const auto done = client->Run(
          absl::StrCat("DELETE FROM notes WHERE id IN (", absl::StrJoin(keys, ", "), ")"));
      EXPECT_TRUE(done.ok()) << done.status();
      deleted += kAtOnce;
      next += std::chrono::milliseconds(20);
      std::this_thread::sleep_until(next);
    }
  });
  auto nothing = [] { return absl::OkStatus(); };
  absl::Status status;
  int walks = 0;
  for (; status.ok() && deleted < 6000; ++walks) {
    status = CopyTombstones(*from, *target, move_, all_, 7, nothing, stop_);
    if (status.ok()) status = DeleteDeadRows(*from, move_, all_, 7, stop_);
  }
  end = true;
  deletes.join();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GE(walks, 1);
  auto count = target->Run(kCountOldOnes, {OneRow(1)});
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ((*count)[0].rows[0][0], "5000");
}

}  // namespace
}  // namespace locus::mysql
