// SPDX-License-Identifier: Apache-2.0
#include "tests/stream/binlog_fixture.h"
#include "tests/support/password_search.h"

namespace locus {
namespace {

// By the client program: what its library keeps of a statement is not asked here.
void CreateSecretiveUser() {
  std::string statement = "CREATE USER secretive@'%' IDENTIFIED BY '";
  statement.reserve(200);
  const size_t before = statement.size();
  statement.resize(before + kLength);
  for (size_t i = 0; i < kLength; ++i) {
    statement[before + i] = static_cast<char>(Masked(i) ^ kMask);
  }
  statement += "'; GRANT SELECT, REPLICATION SLAVE ON *.* TO secretive@'%';";
  const std::string file = SharedBinlogServer().path("user.sql");
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ASSERT_EQ(write(fd, statement.data(), statement.size()), static_cast<ssize_t>(statement.size()));
  close(fd);
  explicit_bzero(statement.data(), statement.size());
  ASSERT_EQ(RunProgram({"mariadb", "--no-defaults", "-h127.0.0.1",
                        "-P" + std::to_string(SharedBinlogServer().port()), "-uroot"},
                       "/dev/null", file),
            0);
}

TEST(BinlogPasswordTest, OpenReader_LeavesNoPasswordInMemory) {
  CreateSecretiveUser();
  BinlogReaderOptions options =
      ReaderOptions(SharedBinlogServer(), PositionOf(SharedBinlogServer()));
  options.server.user = "secretive";
  Fill(options.server.password);
  Found own = Search();
  EXPECT_EQ(own.dumped + own.left_out, 1u) << "the caller's own: the search works";
  auto reader = BinlogReader::Open(options);
  explicit_bzero(options.server.password.data(), options.server.password.size());
  ASSERT_TRUE(reader.ok()) << reader.status();
  Found kept = Search();
  EXPECT_EQ(kept.dumped + kept.left_out, 0u);
}

}  // namespace
}  // namespace locus
