// SPDX-License-Identifier: Apache-2.0
// Events of a server that works as it should: positions, rotations, domains, statements, refusals.
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "tests/stream/binlog_fixture.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

constexpr char kDatabase[] = "locus_stream";
constexpr char kAsText[] =
    "SET SESSION binlog_format=STATEMENT;SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;";

class BinlogReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static int tables = 0;
    table_ = absl::StrCat(kDatabase, ".t", ++tables);
    server_.Sql(absl::StrCat("CREATE TABLE ", table_, " (id INT PRIMARY KEY, v VARCHAR(20))"));
    start_ = PositionOf(server_);
  }

  void Insert(int id) {
    server_.Sql(absl::StrCat("INSERT INTO ", table_, " VALUES (", id, ", 'x')"));
  }
  static std::vector<int64_t> Ids(const std::vector<Change>& changes) {
    std::vector<int64_t> ids;
    for (const Change& change : changes) ids.push_back(std::get<int64_t>(change.after.at(0)));
    return ids;
  }
  std::vector<int64_t> IdsSince(const GtidPosition& position) {
    return Ids(RowsSince(server_, position));
  }
  // Reads from before the test to the end; fails as expected.
  void ExpectRefused(absl::string_view sign, const BinlogReaderOptions& options) {
    auto all = ReadAll(options);
    EXPECT_TRUE(absl::IsFailedPrecondition(all.status())) << all.status();
    EXPECT_TRUE(absl::StrContains(all.status().message(), sign)) << all.status();
  }
  void ExpectRefused(absl::string_view sign) {
    ExpectRefused(sign, ReaderOptions(server_, start_));
  }

  MariadbServer& server_ = SharedBinlogServer();
  std::string table_;
  GtidPosition start_;
};

TEST_F(BinlogReaderTest, LogRotatedBetweenTransactions_EachIsReadOnce) {
  std::vector<int64_t> wanted;
  for (int i = 0; i < 5; ++i) {
    Insert(2 * i);
    Insert(2 * i + 1);
    server_.Sql("FLUSH BINARY LOGS");
    wanted.insert(wanted.end(), {2 * i, 2 * i + 1});
  }
  EXPECT_EQ(IdsSince(start_), wanted);
}

TEST_F(BinlogReaderTest, ReaderClosedInTheMiddle_AnotherContinuesAtItsPosition) {
  for (int i = 0; i < 20; ++i) Insert(i);
  std::vector<int64_t> ids;
  GtidPosition position = start_;
  while (ids.size() < 20) {
    auto reader = MustOpen(ReaderOptions(server_, position));
    ASSERT_NE(reader, nullptr);
    for (int i = 0; i < 3 && ids.size() < 20; ++i) {
      auto transaction = NextTransaction(*reader);
      ASSERT_TRUE(transaction.ok()) << transaction.status();
      auto changes = ChangesOf(*transaction);
      ASSERT_TRUE(changes.ok()) << changes.status();
      for (int64_t id : Ids(*changes)) ids.push_back(id);
      EXPECT_EQ(reader->position().Of(0), transaction->gtid());
    }
    position = reader->position();
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ids[i], i);
  EXPECT_EQ(position, PositionOf(server_));
}

TEST_F(BinlogReaderTest, SeveralDomains_EveryPositionListsAll) {
  auto insert_in = [&](int domain, int id) {
    server_.Sql(absl::StrCat("SET SESSION gtid_domain_id=", domain, ";INSERT INTO ", table_,
                             " VALUES (", id, ", 'd')"));
  };
  for (int i = 0; i < 4; ++i) {
    for (int domain : {7, 0, 12}) insert_in(domain, i * 100 + domain);
  }
  // From each transaction on, what another reader gets is exactly the rest.
  auto reader = MustOpen(ReaderOptions(server_, start_));
  ASSERT_NE(reader, nullptr);
  size_t left = 12;
  for (; left > 0; --left) {
    EXPECT_EQ(IdsSince(reader->position()).size(), left);
    ASSERT_TRUE(NextTransaction(*reader).ok());
  }
  EXPECT_EQ(reader->position(), PositionOf(server_));
  EXPECT_GE(reader->position().domains(), 3u);
}

TEST_F(BinlogReaderTest, PositionAheadOfTheLog_IsRefused) {
  GtidPosition future = start_;
  Gtid last = *start_.Of(0);
  last.sequence += 1000000;
  future.Set(last);
  ExpectRefused("1236", ReaderOptions(server_, future));
}

// Numbers below the newest that no transaction has.
TEST_F(BinlogReaderTest, PositionThatNeverWas_IsRefused) {
  GtidPosition hole = start_;
  Gtid gtid = *start_.Of(0);
  gtid.sequence += 5;
  hole.Set(gtid);
  server_.Sql(absl::StrCat("SET SESSION gtid_seq_no=", gtid.sequence + 5, ";INSERT INTO ", table_,
                           " VALUES (1, 'x')"));
  ExpectRefused("1236", ReaderOptions(server_, hole));
}

TEST_F(BinlogReaderTest, IdleServer_HeartbeatsThenTheNextTransaction) {
  BinlogReaderOptions options = ReaderOptions(server_, start_);
  options.stop_at_end = false;
  options.heartbeat = absl::Milliseconds(100);
  auto reader = MustOpen(options);
  ASSERT_NE(reader, nullptr);
  auto item = reader->Next(In(absl::Seconds(30)));
  ASSERT_TRUE(item.ok()) << item.status();
  ASSERT_TRUE(std::holds_alternative<stream::Heartbeat>(*item));
  EXPECT_TRUE(absl::StartsWith(std::get<stream::Heartbeat>(*item).end.file.name, "bin."));
  EXPECT_GT(std::get<stream::Heartbeat>(*item).end.offset, 4u);

  EXPECT_TRUE(absl::IsDeadlineExceeded(reader->Next(In(-absl::Seconds(1))).status()));
  Insert(1);
  auto transaction = NextTransaction(*reader);
  ASSERT_TRUE(transaction.ok()) << transaction.status();
  EXPECT_EQ(transaction->gtid(), PositionOf(server_).Of(0));
  EXPECT_TRUE(transaction->transactional());
  EXPECT_FALSE(transaction->spilt());
  EXPECT_EQ(transaction->end().file.name, server_.Value("SHOW MASTER STATUS"));
}

TEST_F(BinlogReaderTest, InsertUpdateDelete_GiveBeforeAndAfter) {
  server_.Sql(absl::StrCat("BEGIN;INSERT INTO ", table_, " VALUES (1,'a'),(2,'b');UPDATE ", table_,
                           " SET v='c' WHERE id=2;SAVEPOINT s;DELETE FROM ", table_,
                           " WHERE id=1;COMMIT"));
  auto all = ReadAll(ReaderOptions(server_, start_));
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 1u);
  for (int pass = 0; pass < 2; ++pass) {
    auto changes = ChangesOf((*all)[0]);
    ASSERT_TRUE(changes.ok()) << changes.status();
    ASSERT_EQ(changes->size(), 4u);
    EXPECT_EQ((*changes)[2].kind, ChangeKind::kUpdate);
    EXPECT_EQ((*changes)[2].before[1], stream::Value(stream::Bytes{"b"}));
    EXPECT_EQ((*changes)[2].after[1], stream::Value(stream::Bytes{"c"}));
    EXPECT_EQ((*changes)[3].kind, ChangeKind::kDelete);
    EXPECT_TRUE((*changes)[3].after.empty());
    ASSERT_TRUE((*all)[0].Rewind().ok());
  }
}

TEST_F(BinlogReaderTest, SchemaChanges_AreSeenWithTheirTables) {
  server_.Sql(absl::StrCat("USE ", kDatabase, ";ALTER TABLE ", table_,
                           " ADD w INT;SET STATEMENT lock_wait_timeout=9 FOR ALTER TABLE ", table_,
                           " DROP w;CREATE TABLE ", table_, "s AS SELECT 5 AS five;TRUNCATE TABLE ",
                           table_, ";DROP TABLE ", table_, "s"));
  auto all = ReadAll(ReaderOptions(server_, start_));
  ASSERT_TRUE(all.ok()) << all.status();
  std::vector<std::string> seen;
  for (ChangeTransaction& transaction : *all) {
    auto changes = ChangesOf(transaction);
    ASSERT_TRUE(changes.ok()) << changes.status();
    for (const Change& change : *changes) {
      seen.push_back(change.kind == ChangeKind::kStatement ? change.statement.verb
                                                           : std::string(ToString(change.kind)));
      if (change.kind != ChangeKind::kStatement) continue;
      EXPECT_EQ(change.statement.touched.at(0).database, kDatabase);
    }
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"ALTER TABLE", "ALTER TABLE", "CREATE TABLE", "insert",
                                            "TRUNCATE TABLE", "DROP TABLE"}));
}

// Written at its start and at its end.
TEST_F(BinlogReaderTest, AlterInTwoPhases_IsSeenTwice) {
  server_.Sql(
      absl::StrCat("SET SESSION binlog_alter_two_phase=1;ALTER TABLE ", table_, " ADD w INT"));
  auto all = ReadAll(ReaderOptions(server_, start_));
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 2u);
  for (ChangeTransaction& transaction : *all) {
    auto changes = ChangesOf(transaction);
    ASSERT_TRUE(changes.ok()) << changes.status();
    ASSERT_EQ(changes->size(), 1u);
    EXPECT_EQ((*changes)[0].statement.verb, "ALTER TABLE");
  }
}

TEST_F(BinlogReaderTest, TablesThatCannotRollBack_AreDistinguished) {
  server_.Sql(absl::StrCat("CREATE TABLE ", table_, "m (id INT PRIMARY KEY) ENGINE=MyISAM;",
                           "INSERT INTO ", table_, "m VALUES (1)"));
  Insert(1);
  auto all = ReadAll(ReaderOptions(server_, start_));
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 3u);
  EXPECT_FALSE((*all)[1].transactional());
  EXPECT_TRUE((*all)[2].transactional());
}

TEST_F(BinlogReaderTest, UnwantedTables_AreLeftOutAndNotChecked) {
  Insert(1);
  server_.Sql(absl::StrCat("CREATE TABLE ", table_, "u (id INT PRIMARY KEY, v INT, w INT);",
                           "INSERT INTO ", table_,
                           "u VALUES (1,2,3);"
                           "SET SESSION binlog_row_image=MINIMAL;UPDATE ",
                           table_, "u SET v=4"));
  Insert(2);
  BinlogReaderOptions options = ReaderOptions(server_, start_);
  const std::string wanted = table_.substr(table_.find('.') + 1);
  options.stream.wanted = [&](std::string_view database, std::string_view table) {
    return database == kDatabase && table == wanted;
  };
  auto all = ReadAll(options);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 5u);
  EXPECT_TRUE((*all)[2].empty());
  EXPECT_TRUE((*all)[3].empty());
  std::vector<int64_t> ids;
  for (ChangeTransaction& transaction : *all) {
    auto changes = ChangesOf(transaction);
    ASSERT_TRUE(changes.ok()) << changes.status();
    for (const Change& change : *changes) {
      if (change.kind == ChangeKind::kInsert) ids.push_back(std::get<int64_t>(change.after[0]));
    }
  }
  EXPECT_EQ(ids, (std::vector<int64_t>{1, 2}));
  ExpectRefused("binlog_row_image=FULL");
}

TEST_F(BinlogReaderTest, ImageWithoutBlobs_IsRefused) {
  server_.Sql(absl::StrCat("CREATE TABLE ", table_, "b (id INT PRIMARY KEY, v INT, b BLOB);",
                           "SET SESSION binlog_row_image=NOBLOB;INSERT INTO ", table_,
                           "b VALUES (1,2,'x');UPDATE ", table_, "b SET v=4"));
  ExpectRefused("binlog_row_image=FULL");
}

TEST_F(BinlogReaderTest, RowsChangedByText_NameTheirTable) {
  const std::string file = server_.path("rows.csv");
  std::ofstream(file) << "5\tb\n";
  server_.Sql(
      absl::StrCat(kAsText, "INSERT INTO ", table_, " VALUES (1,'a');SET @u='a';INSERT INTO ",
                   table_, " VALUES (2,@u);CREATE TABLE ", table_,
                   "a (id INT AUTO_INCREMENT PRIMARY KEY, r DOUBLE);INSERT INTO ", table_,
                   "a (r) VALUES (RAND());LOAD DATA INFILE '", file, "' INTO TABLE ", table_));
  auto all = ReadAll(ReaderOptions(server_, start_));
  ASSERT_TRUE(all.ok()) << all.status();
  std::vector<std::string> seen;
  for (ChangeTransaction& transaction : *all) {
    auto changes = ChangesOf(transaction);
    ASSERT_TRUE(changes.ok()) << changes.status();
    for (const Change& change : *changes) {
      const stream::Touched& touched = change.statement.touched.at(0);
      seen.push_back(absl::StrCat(change.statement.verb, " ", touched.database, ".", touched.name));
    }
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"INSERT " + table_, "INSERT " + table_,
                                            "CREATE TABLE " + table_ + "a",
                                            "INSERT " + table_ + "a", "LOAD DATA " + table_}));
}

TEST_F(BinlogReaderTest, XaTransaction_IsTwoParts) {
  server_.Sql(absl::StrCat("XA START 'x';INSERT INTO ", table_,
                           " VALUES (1,'a');SAVEPOINT s;XA END 'x';XA PREPARE 'x';XA COMMIT 'x';"
                           "XA START 'y';INSERT INTO ",
                           table_, " VALUES (2,'b');XA END 'y';XA COMMIT 'y' ONE PHASE"));
  auto all = ReadAll(ReaderOptions(server_, start_));
  ASSERT_TRUE(all.ok()) << all.status();
  std::vector<std::pair<stream::XaPart, bool>> parts;
  for (const ChangeTransaction& one : *all) parts.push_back({one.xa(), one.empty()});
  EXPECT_EQ(parts, (std::vector<std::pair<stream::XaPart, bool>>{{stream::XaPart::kPrepare, false},
                                                                 {stream::XaPart::kEnd, true},
                                                                 {stream::XaPart::kNone, false}}));
  EXPECT_EQ((*all)[0].xid(), (stream::Xid{1, "x", ""}));
  EXPECT_EQ((*all)[1].xid(), (*all)[0].xid());
}

TEST_F(BinlogReaderTest, CompressedEvents_AreRefused) {
  server_.Sql(absl::StrCat("CREATE TABLE ", table_, "c (id INT PRIMARY KEY, v TEXT);",
                           "SET GLOBAL log_bin_compress=ON;INSERT INTO ", table_,
                           "c VALUES (1, REPEAT('a', 1000))"));
  ExpectRefused("log_bin_compress");  // by the setting
  server_.Sql("SET GLOBAL log_bin_compress=OFF");
  ExpectRefused("log_bin_compress");  // by the events
}

TEST_F(BinlogReaderTest, SettingsThatCannotBeRead_AreNamedAtOnce) {
  const std::vector<std::pair<std::string, std::string>> settings = {
      {"binlog_format", "MIXED"},
      {"binlog_row_image", "MINIMAL"},
      {"binlog_row_metadata", "NO_LOG"},
      {"binlog_checksum", "NONE"}};
  for (const auto& [name, value] : settings) {
    const std::string before = server_.Value("SELECT @@GLOBAL." + name);
    server_.Sql(absl::StrCat("SET GLOBAL ", name, "=", value));
    auto reader = BinlogReader::Open(ReaderOptions(server_, start_));
    server_.Sql(absl::StrCat("SET GLOBAL ", name, "=", before));
    EXPECT_TRUE(absl::IsFailedPrecondition(reader.status())) << name << reader.status();
    EXPECT_TRUE(absl::StrContains(reader.status().message(), name + " is " + value))
        << reader.status();
  }
  // A part of the log was written meanwhile; it still cannot be read.
  Insert(1);
  server_.Sql("SET GLOBAL binlog_checksum=NONE");
  Insert(2);
  server_.Sql("SET GLOBAL binlog_checksum=CRC32");
  Insert(3);
  ExpectRefused("binlog_checksum=CRC32");
}

TEST_F(BinlogReaderTest, TablesWithoutMetadata_AreRefused) {
  server_.Sql(absl::StrCat("SET GLOBAL binlog_row_metadata=MINIMAL"));
  Insert(1);
  server_.Sql("SET GLOBAL binlog_row_metadata=FULL");
  ExpectRefused("binlog_row_metadata=FULL");
}

TEST_F(BinlogReaderTest, TimesInTheOldFormat_AreRefused) {
  server_.Sql(absl::StrCat("SET GLOBAL mysql56_temporal_format=OFF;CREATE TABLE ", table_,
                           "o (id INT PRIMARY KEY, at DATETIME(3))"
                           ";SET GLOBAL mysql56_temporal_format=ON;INSERT INTO ",
                           table_, "o VALUES (1, NOW())"));
  ExpectRefused("mysql56_temporal_format=ON");
}

TEST_F(BinlogReaderTest, AccountWithoutTheRight_IsRefused) {
  BinlogReaderOptions options = ReaderOptions(server_, start_);
  options.server = server_.Account(kDatabase);
  auto all = ReadAll(options);
  EXPECT_TRUE(absl::IsFailedPrecondition(all.status())) << all.status();
  server_.Sql("GRANT REPLICATION SLAVE ON *.* TO locus@'%'");
  Insert(1);
  all = ReadAll(options);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->size(), 2u) << "the GRANT and the row";
  server_.Sql("REVOKE REPLICATION SLAVE ON *.* FROM locus@'%'");
}

TEST_F(BinlogReaderTest, EventAboveTheLimit_IsRefused) {
  server_.Sql(absl::StrCat("CREATE TABLE ", table_,
                           "l (id INT PRIMARY KEY, b LONGBLOB);"
                           "INSERT INTO ",
                           table_, "l VALUES (1, REPEAT('b', 300000))"));
  BinlogReaderOptions options = ReaderOptions(server_, start_);
  options.max_event_bytes = 64 << 10;
  ExpectRefused("max_event_bytes", options);
  options.max_event_bytes = 1 << 20;
  EXPECT_TRUE(ReadAll(options).ok());
}

TEST_F(BinlogReaderTest, RowAboveOnePacket_IsRead) {
  server_.Sql("SET GLOBAL max_allowed_packet=67108864");
  server_.Sql(absl::StrCat("CREATE TABLE ", table_,
                           "p (id INT PRIMARY KEY, b LONGBLOB);"
                           "INSERT INTO ",
                           table_, "p VALUES (1, REPEAT('b', 20000000))"));
  auto rows = RowsSince(server_, start_);
  server_.Sql("SET GLOBAL max_allowed_packet=DEFAULT");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].after[1], stream::Value(stream::Bytes{std::string(20000000, 'b')}));
}

TEST_F(BinlogReaderTest, TransactionAboveTheMemoryLimit_IsReadFromItsFile) {
  constexpr int kRows = 6000, kRowBytes = 4000;
  server_.Sql(absl::StrCat("CREATE TABLE ", table_, "s (id INT PRIMARY KEY, b BLOB);",
                           "INSERT INTO ", table_, "s SELECT seq, REPEAT(CHAR(97 + seq % 26), ",
                           kRowBytes, ") FROM mysql.seq_1_to_", kRows));
  BinlogReaderOptions options = ReaderOptions(server_, start_);
  options.stream.spool.memory_limit = 1 << 20;
  auto all = ReadAll(options);
  ASSERT_TRUE(all.ok()) << all.status();
  ChangeTransaction& transaction = all->back();
  EXPECT_TRUE(transaction.spilt());
  EXPECT_GT(transaction.bytes(), uint64_t{kRows} * kRowBytes);
  Change change;
  for (int pass = 0; pass < 2; ++pass) {
    int64_t id = 0;
    for (;;) {
      auto more = transaction.Next(change);
      ASSERT_TRUE(more.ok()) << more.status();
      if (!*more) break;
      ++id;
      EXPECT_EQ(change.after[0], stream::Value(id));
      EXPECT_EQ(
          change.after[1],
          stream::Value(stream::Bytes{std::string(kRowBytes, static_cast<char>('a' + id % 26))}));
    }
    EXPECT_EQ(id, kRows);
    ASSERT_TRUE(transaction.Rewind().ok());
  }
}

TEST_F(BinlogReaderTest, ForkedChild_IsRefusedAndTheParentReadsOn) {
  BinlogReaderOptions options = ReaderOptions(server_, start_);
  options.stop_at_end = false;
  auto reader = MustOpen(options);
  ASSERT_NE(reader, nullptr);
  ChildProcess child([&] {
    const bool refused = absl::IsFailedPrecondition(reader->Next(In(absl::Seconds(5))).status());
    auto open_files = [] {
      return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    const auto before = open_files();
    reader.reset();  // must not say goodbye to the server
    return refused && open_files() == before ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  Insert(1);
  EXPECT_TRUE(NextTransaction(*reader).ok());
}

TEST_F(BinlogReaderTest, BadOptions_AreNamed) {
  auto refused = [&](absl::string_view option, auto change) {
    BinlogReaderOptions options = ReaderOptions(server_, start_);
    change(options);
    absl::Status status = BinlogReader::Open(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), option)) << status;
  };
  refused("heartbeat", [](auto& o) { o.heartbeat = absl::Milliseconds(99); });
  refused("heartbeat", [](auto& o) { o.heartbeat = absl::Hours(2); });
  refused("link_timeout", [](auto& o) { o.link_timeout = 2 * o.heartbeat; });
  refused("link_timeout", [](auto& o) { o.link_timeout = absl::Hours(2); });
  refused("max_event_bytes", [](auto& o) { o.max_event_bytes = 1000; });
  refused("hosts", [](auto& o) { o.server.hosts.clear(); });
}

}  // namespace
}  // namespace locus
