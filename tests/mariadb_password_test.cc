// SPDX-License-Identifier: Apache-2.0
#include "tests/mariadb_fixture.h"
#include "tests/password_search.h"

namespace locus {
namespace {

TEST(MariadbPasswordTest, OpenStore_LeavesNoPasswordInACoreDump) {
  MariadbOptions options = FreshMariadbDatabase();
  options.user = "secretive";
  {
    std::string statement = "CREATE USER secretive@'%' IDENTIFIED BY '";
    statement.reserve(200);
    size_t before = statement.size();
    statement.resize(before + kLength);
    for (size_t i = 0; i < kLength; ++i) {
      statement[before + i] = static_cast<char>(Masked(i) ^ kMask);
    }
    // By the client program: what its library keeps of a statement is not asked here.
    std::string file = SharedMariadb().path("user.sql");
    int fd = open(file.c_str(), O_WRONLY | O_CREAT, 0600);
    statement += "'; GRANT ALL ON `locus\\_%`.* TO secretive@'%';";
    ASSERT_EQ(write(fd, statement.data(), statement.size()),
              static_cast<ssize_t>(statement.size()));
    close(fd);
    explicit_bzero(statement.data(), statement.size());
    ASSERT_EQ(RunProgram({"mariadb", "--no-defaults", "-h127.0.0.1",
                          "-P" + std::to_string(SharedMariadb().port()), "-uroot"},
                         "/dev/null", file),
              0);
  }
  Fill(options.password);
  Found own = Search();
  EXPECT_EQ(own.dumped + own.left_out, 1u) << "the caller's own: the search works";
  auto store = MariadbSegmentStore::Open(options);
  explicit_bzero(options.password.data(), options.password.size());
  ASSERT_TRUE(store.ok()) << store.status();
  Found kept = Search();
  EXPECT_EQ(kept.dumped, 0u);
  EXPECT_EQ(kept.left_out, 1u) << "for the next connection";
}

}  // namespace
}  // namespace locus
