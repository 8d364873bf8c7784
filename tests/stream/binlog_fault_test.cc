// SPDX-License-Identifier: Apache-2.0
// Servers and links that fail: killed, stalled, purged, encrypted, by TLS.
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "tests/stream/binlog_fixture.h"
#include "tests/support/authority.h"

namespace locus {
namespace {

class BinlogFaultTest : public ::testing::Test {
 protected:
  // A server of the test's own, with a table.
  void StartServer(std::vector<std::string> more = {}) {
    server_ = std::make_unique<MariadbServer>(
        MariadbServer::Settings{32, BinlogLines(std::move(more)), {}});
    ASSERT_TRUE(server_->Start());
    server_->Sql("CREATE DATABASE locus_fault;CREATE TABLE locus_fault.t (id INT PRIMARY KEY)");
    start_ = PositionOf(*server_);
  }
  void Insert(int id) { server_->Sql(absl::StrCat("INSERT INTO locus_fault.t VALUES (", id, ")")); }

  // Waits for more where the log ends, and notices soon that the link is dead.
  BinlogReaderOptions Following(const GtidPosition& position) const {
    BinlogReaderOptions options = ReaderOptions(*server_, position);
    options.stop_at_end = false;
    options.heartbeat = absl::Milliseconds(100);
    options.link_timeout = absl::Seconds(1);
    return options;
  }
  // A heartbeat has come: the server has begun the dump. Open only asks for it.
  static void AwaitDump(BinlogReader* reader) {
    ASSERT_NE(reader, nullptr);
    auto item = reader->Next(In(absl::Seconds(20)));
    ASSERT_TRUE(item.ok()) << item.status();
  }
  // The row of the next transaction that has one: a server that starts logs its accounts.
  static void ExpectNext(BinlogReader& reader, int64_t id) {
    for (;;) {
      auto transaction = NextTransaction(reader);
      ASSERT_TRUE(transaction.ok()) << transaction.status();
      auto changes = ChangesOf(*transaction);
      ASSERT_TRUE(changes.ok()) << changes.status();
      if (changes->empty()) continue;
      ASSERT_EQ(changes->size(), 1u);
      EXPECT_EQ((*changes)[0].after[0], stream::Value(id));
      return;
    }
  }

  std::unique_ptr<MariadbServer> server_;
  GtidPosition start_;
};

TEST_F(BinlogFaultTest, ServerKilledWhileRead_AnotherReaderContinuesWithoutLossOrRepeat) {
  ASSERT_NO_FATAL_FAILURE(StartServer());
  GtidPosition position = start_;
  int64_t next = 0;
  for (int round = 0; round < 2; ++round) {
    auto reader = MustOpen(Following(position));
    ASSERT_NE(reader, nullptr);
    for (int i = 0; i < 5; ++i) Insert(static_cast<int>(next) + i);
    for (int i = 0; i < 3; ++i, ++next) {  // some of them are still to come
      ASSERT_NO_FATAL_FAILURE(ExpectNext(*reader, next));
    }
    position = reader->position();
    server_->KillHard();
    absl::Status status;
    while (status.ok()) status = NextTransaction(*reader, absl::Seconds(20)).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_EQ(reader->Next(In(absl::Seconds(1))).status(), status) << "it stays so";
    ASSERT_TRUE(server_->Start());
    reader = MustOpen(Following(position));
    ASSERT_NE(reader, nullptr);
    for (int i = 0; i < 2; ++i, ++next) {
      ASSERT_NO_FATAL_FAILURE(ExpectNext(*reader, next));
    }
    position = reader->position();
  }
}

TEST_F(BinlogFaultTest, ServerStopped_TheDumpEndsAsUnavailable) {
  ASSERT_NO_FATAL_FAILURE(StartServer());
  auto reader = MustOpen(Following(start_));
  ASSERT_NO_FATAL_FAILURE(AwaitDump(reader.get()));
  server_->Stop();
  absl::Status status = NextTransaction(*reader, absl::Seconds(20)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_F(BinlogFaultTest, ServerSilent_IsUnavailableWithinTheLinkTimeout) {
  ASSERT_NO_FATAL_FAILURE(StartServer());
  auto reader = MustOpen(Following(start_));
  ASSERT_NE(reader, nullptr);
  Insert(1);
  ASSERT_TRUE(NextTransaction(*reader).ok());
  server_->Stall();
  // DEADLINE_EXCEEDED, if only this call's own time ended it.
  absl::Status status = NextTransaction(*reader, absl::Minutes(1)).status();
  server_->Resume();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  Insert(2);
  reader = MustOpen(Following(reader->position()));
  ASSERT_NE(reader, nullptr);
  ExpectNext(*reader, 2);
}

TEST_F(BinlogFaultTest, ServerSilentForLessThanTheTimeout_ReadsOn) {
  ASSERT_NO_FATAL_FAILURE(StartServer());
  BinlogReaderOptions options = Following(start_);
  options.link_timeout = absl::Seconds(30);
  auto reader = MustOpen(options);
  ASSERT_NE(reader, nullptr);
  Insert(1);
  ExpectNext(*reader, 1);
  server_->Stall();
  absl::Status late;
  while (late.ok()) late = reader->Next(In(absl::Milliseconds(200))).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  const absl::Time silent_until = absl::Now() + 5 * options.heartbeat;
  std::thread waker([&] {
    WaitUntil([&] { return absl::Now() >= silent_until; });
    server_->Resume();
    Insert(2);
  });
  ExpectNext(*reader, 2);
  EXPECT_GE(absl::Now(), silent_until);
  waker.join();
}

TEST_F(BinlogFaultTest, ConnectionKilledByTheServer_IsUnavailable) {
  ASSERT_NO_FATAL_FAILURE(StartServer());
  auto reader = MustOpen(Following(start_));
  ASSERT_NO_FATAL_FAILURE(AwaitDump(reader.get()));
  server_->Sql("KILL " + server_->Value("SELECT ID FROM information_schema.PROCESSLIST WHERE"
                                        " COMMAND = 'Binlog Dump'"));
  absl::Status status = NextTransaction(*reader, absl::Seconds(20)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_F(BinlogFaultTest, AnotherReaderWithTheSameServerId_EndsTheOlder) {
  ASSERT_NO_FATAL_FAILURE(StartServer());
  BinlogReaderOptions options = Following(start_);
  options.server_id = 4711;
  auto older = MustOpen(options);
  ASSERT_NO_FATAL_FAILURE(AwaitDump(older.get()));
  auto newer = MustOpen(options);
  ASSERT_NE(newer, nullptr);
  EXPECT_FALSE(NextTransaction(*older, absl::Seconds(20)).ok());
  Insert(1);
  EXPECT_TRUE(NextTransaction(*newer).ok());
  // Random numbers do not meet.
  options.server_id = 0;
  auto third = MustOpen(options), fourth = MustOpen(options);
  ASSERT_TRUE(third != nullptr && fourth != nullptr);
  EXPECT_TRUE(NextTransaction(*third).ok());
  EXPECT_TRUE(NextTransaction(*fourth).ok());
}

TEST_F(BinlogFaultTest, PositionThatWasPurged_IsRefused) {
  ASSERT_NO_FATAL_FAILURE(StartServer());
  Insert(1);
  server_->Sql("FLUSH BINARY LOGS");
  Insert(2);
  GtidPosition kept = PositionOf(*server_);
  server_->Sql("FLUSH BINARY LOGS;FLUSH BINARY LOGS");
  Insert(3);
  // The server keeps a file until the storage engine has on disk what it holds.
  const std::string last = server_->Value("SHOW MASTER STATUS");
  ASSERT_TRUE(WaitUntil([&] {
    server_->Sql("PURGE BINARY LOGS TO '" + last + "'");
    return server_->Value("SHOW BINARY LOGS") == last;
  }));
  for (const GtidPosition& position : {start_, GtidPosition()}) {
    auto all = ReadAll(ReaderOptions(*server_, position));
    EXPECT_TRUE(absl::IsFailedPrecondition(all.status())) << all.status();
    EXPECT_TRUE(absl::StrContains(all.status().message(), "1236")) << all.status();
  }
  auto all = ReadAll(ReaderOptions(*server_, kept));
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->size(), 1u);
}

TEST_F(BinlogFaultTest, EventDamagedInTheFile_IsNeverGiven) {
  ASSERT_NO_FATAL_FAILURE(StartServer());
  for (int i = 0; i < 3; ++i) Insert(i);
  const std::string file = server_->path("data/") + server_->Value("SHOW MASTER STATUS");
  const std::string end = *server_->Sql("SHOW MASTER STATUS")[0].rows[0][1];
  server_->Sql("FLUSH BINARY LOGS");
  {
    std::fstream log(file, std::ios::in | std::ios::out | std::ios::binary);
    // The row in front of the last commit, whose XID event takes 31 bytes: a byte of its checksum.
    log.seekp(std::stol(end) - 31 - 5);
    log.put('\x5A');
  }
  auto reader = MustOpen(ReaderOptions(*server_, start_));
  ASSERT_NE(reader, nullptr);
  EXPECT_TRUE(NextTransaction(*reader).ok());
  EXPECT_TRUE(NextTransaction(*reader).ok());
  absl::Status status = NextTransaction(*reader).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "CRC32")) << status;
}

TEST_F(BinlogFaultTest, EncryptedLog_IsReadAsAnyOther) {
  TemporaryDirectory files;
  std::ofstream(files / "keys") << "1;" << std::string(64, 'a') << "\n";
  ASSERT_NO_FATAL_FAILURE(
      StartServer({"plugin-load-add=file_key_management.so",
                   "loose-file-key-management-filename=" + (files / "keys"), "encrypt-binlog=ON"}));
  ASSERT_EQ(server_->Value("SELECT @@GLOBAL.encrypt_binlog"), "1");
  Insert(1);
  server_->Sql("FLUSH BINARY LOGS");
  Insert(2);
  auto rows = RowsSince(*server_, start_);
  EXPECT_EQ(rows.size(), 2u);
}

TEST_F(BinlogFaultTest, ByTls_OnlyWithTheRightAuthority) {
  TemporaryDirectory files;
  Authority right(files, "right"), stranger(files, "stranger");
  const std::string certificate = right.Sign("server.pem", "DNS:localhost");
  ASSERT_NO_FATAL_FAILURE(StartServer(
      {"ssl-ca=" + right.file(), "ssl-cert=" + certificate, "ssl-key=" + certificate + ".key"}));
  server_->Sql(
      "CREATE USER tls@'%' IDENTIFIED BY 't' REQUIRE SSL;"
      "GRANT REPLICATION SLAVE ON *.* TO tls@'%';GRANT SELECT ON locus_fault.* TO tls@'%'");
  start_ = PositionOf(*server_);
  BinlogReaderOptions options = Following(start_);
  options.server = server_->Account("locus_fault");
  options.server.hosts[0].name = "localhost";
  options.server.user = "tls";
  options.server.password = "t";
  options.server.tls = MysqlOptions::Tls::kAlways;
  options.server.tls_ca_file = right.file();
  auto reader = MustOpen(options);
  ASSERT_NE(reader, nullptr);
  for (int i = 0; i < 50; ++i) Insert(i);
  for (int i = 0; i < 50; ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectNext(*reader, i));
  }
  server_->KillHard();
  EXPECT_TRUE(absl::IsUnavailable(NextTransaction(*reader, absl::Seconds(20)).status()));
  ASSERT_TRUE(server_->Start());
  options.server.tls_ca_file = stranger.file();
  absl::Status status = BinlogReader::Open(options).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "(2026)")) << status;
}

TEST_F(BinlogFaultTest, NoServer_IsUnavailable) {
  BinlogReaderOptions options;
  options.server.hosts = {{"127.0.0.1", FreePort()}, {"127.0.0.1", FreePort()}};
  options.server.user = "root";
  options.server.database = "mysql";
  EXPECT_TRUE(absl::IsUnavailable(BinlogReader::Open(options).status()));
}

}  // namespace
}  // namespace locus
