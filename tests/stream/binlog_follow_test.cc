// SPDX-License-Identifier: Apache-2.0
// A copy that follows a table under concurrent writers equals that table, through all faults on the
// way.
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "tests/stream/binlog_fixture.h"

namespace locus {
namespace {

using stream::Row;

constexpr char kTable[] = "locus_stream.followed";
constexpr int kWriters = 4, kTransactions = 120;

// One statement that changes, or may change, rows with ids up to 60.
std::string RandomStatement(std::mt19937& random) {
  const uint64_t id = random() % 60, value = random() % 1000;
  switch (random() % 8) {
    case 0:
      return absl::StrCat("DELETE FROM ", kTable, " WHERE id=", id);
    case 1:
      return absl::StrCat("UPDATE ", kTable, " SET v=v+1 WHERE id BETWEEN ", id, " AND ", id + 5);
    case 2:
      return absl::StrCat("REPLACE INTO ", kTable, " VALUES (", id, ",", value, ",REPEAT('r',",
                          value, "))");
    case 3:
      return absl::StrCat("SAVEPOINT s; UPDATE ", kTable, " SET v=-1; ROLLBACK TO s");
    case 4:
      return absl::StrCat("UPDATE ", kTable, " SET id=id+100, t='moved' WHERE id=", id);
    case 5:
      return absl::StrCat("INSERT IGNORE INTO ", kTable, " SELECT id+1000, v, t FROM ", kTable,
                          " WHERE id<", id, " LIMIT 3");
    default:
      return absl::StrCat("INSERT INTO ", kTable, " VALUES (", id, ",", value,
                          ",'é') ON DUPLICATE KEY UPDATE v=", value, ", t=NULL");
  }
}

// Transactions that commit, roll back, or end in a deadlock.
void Write(const MysqlOptions& options, int writer, uint32_t seed) {
  std::mt19937 random(seed);
  auto session = SqlSession::Open(options);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->Run(absl::StrCat("SET SESSION gtid_domain_id=", writer % 2)).ok());
  for (int i = 0; i < kTransactions; ++i) {
    std::string text = "BEGIN";
    for (uint64_t count = random() % 4 + 1; count > 0; --count) {
      absl::StrAppend(&text, ";", RandomStatement(random));
    }
    absl::StrAppend(&text, random() % 5 == 0 ? ";ROLLBACK" : ";COMMIT");
    if (!(*session)->Run(text).ok()) static_cast<void>((*session)->Run("ROLLBACK"));
    if (random() % 40 == 0) static_cast<void>((*session)->Run("FLUSH BINARY LOGS"));
  }
}

class Copy {
 public:
  void Apply(ChangeTransaction& transaction) {
    Change change;
    for (;;) {
      auto more = transaction.Next(change);
      ASSERT_TRUE(more.ok()) << more.status();
      if (!*more) return;
      if (change.kind == ChangeKind::kStatement) continue;
      ASSERT_EQ(change.table->table, "followed");
      if (change.kind != ChangeKind::kInsert) {
        auto found = rows_.find(Id(change.before));
        ASSERT_NE(found, rows_.end()) << transaction.gtid().ToString();
        ASSERT_EQ(found->second, change.before) << transaction.gtid().ToString();
        rows_.erase(found);
      }
      if (change.kind == ChangeKind::kDelete) continue;
      ASSERT_TRUE(rows_.emplace(Id(change.after), change.after).second)
          << transaction.gtid().ToString();
    }
  }
  const std::map<int64_t, Row>& rows() const { return rows_; }

 private:
  static int64_t Id(const Row& row) { return std::get<int64_t>(row.at(0)); }
  std::map<int64_t, Row> rows_;
};

TEST(BinlogFollowTest, ConcurrentWritersAndReadersThatComeAndGo_TheCopyIsTheTable) {
  MariadbServer& server = SharedBinlogServer();
  server.Sql(absl::StrCat("CREATE TABLE ", kTable,
                          " (id INT PRIMARY KEY, v BIGINT, t TEXT CHARACTER SET utf8mb4)"));
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  BinlogReaderOptions options = ReaderOptions(server, PositionOf(server));
  options.stop_at_end = false;
  options.heartbeat = absl::Milliseconds(100);
  options.stream.spool.memory_limit = 4096;
  options.stream.wanted = [](std::string_view, std::string_view table) {
    return table == "followed";
  };
  MysqlOptions account = options.server;
  account.timeout = absl::Seconds(60);
  std::vector<std::thread> writers;
  std::atomic<int> done{0};
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      Write(account, i, seed + static_cast<uint32_t>(i));
      ++done;
    });
  }
  std::mt19937 random(seed);
  Copy copy;
  size_t read = 0;
  for (bool complete = false; !complete && !::testing::Test::HasFailure();) {
    // All that was written before the writers were seen to be done has to come.
    const bool written = done == kWriters;
    const GtidPosition end = PositionOf(server);
    auto reader = MustOpen(options);
    if (reader == nullptr) break;
    for (uint64_t left = random() % 60 + 1; left > 0 && reader->position() != end; --left, ++read) {
      auto transaction = NextTransaction(*reader);
      EXPECT_TRUE(transaction.ok()) << transaction.status();
      if (!transaction.ok()) break;
      copy.Apply(*transaction);
    }
    options.stream.position = reader->position();
    complete = written && reader->position() == end;
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_GT(read, size_t{kWriters} * kTransactions / 4);
  std::map<int64_t, Row> rows;
  const auto selected = server.Sql(absl::StrCat("SELECT id, v, t FROM ", kTable));
  for (const mysql::Result::Row& row : selected.at(0).rows) {
    Row& out = rows[std::stoll(*row[0])];
    out = {int64_t{std::stoll(*row[0])}, int64_t{std::stoll(*row[1])}, stream::Null()};
    if (row[2]) out[2] = stream::Bytes{*row[2]};
  }
  EXPECT_FALSE(rows.empty());
  EXPECT_EQ(copy.rows(), rows);
}

}  // namespace
}  // namespace locus
