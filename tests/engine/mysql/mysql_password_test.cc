// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "locus/routing/engine/shard_pools.h"
#include "tests/engine/mysql/mariadb_fixture.h"
#include "tests/support/password_search.h"

namespace locus {
namespace {

// By the client program: what its library keeps of a statement is not asked here.
void CreateSecretiveUser() {
  std::string statement = "CREATE OR REPLACE USER secretive@'%' IDENTIFIED BY '";
  statement.reserve(200);
  size_t before = statement.size();
  statement.resize(before + kLength);
  for (size_t i = 0; i < kLength; ++i) {
    statement[before + i] = static_cast<char>(Masked(i) ^ kMask);
  }
  std::string file = SharedMariadb().path("user.sql");
  int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  statement += "'; GRANT ALL ON `locus\\_%`.* TO secretive@'%';";
  ASSERT_EQ(write(fd, statement.data(), statement.size()), static_cast<ssize_t>(statement.size()));
  close(fd);
  explicit_bzero(statement.data(), statement.size());
  ASSERT_EQ(RunProgram({"mariadb", "--no-defaults", "-h127.0.0.1",
                        "-P" + std::to_string(SharedMariadb().port()), "-uroot"},
                       "/dev/null", file),
            0);
}

TEST(MysqlPasswordTest, OpenStore_LeavesNoPasswordInACoreDump) {
  MysqlOptions options = FreshMariadbDatabase();
  options.user = "secretive";
  CreateSecretiveUser();
  Fill(options.password);
  Found own = Search();
  EXPECT_EQ(own.dumped + own.left_out, 1u) << "the caller's own: the search works";
  auto store = MysqlSegmentStore::Open(options);
  explicit_bzero(options.password.data(), options.password.size());
  ASSERT_TRUE(store.ok()) << store.status();
  Found kept = Search();
  EXPECT_EQ(kept.dumped, 0u);
  EXPECT_EQ(kept.left_out, 1u) << "for the next connection";
}

TEST(MysqlPasswordTest, ShardPools_LeaveNoPasswordInACoreDump) {
  Shard shard;
  shard.id = 1;
  shard.name = "orders-1";
  shard.endpoint = absl::StrCat("mysql://127.0.0.1:", SharedMariadb().port(), "/",
                                FreshMariadbDatabase().database);
  CreateSecretiveUser();
  ShardPoolsOptions options;
  options.user = "secretive";
  options.connect_timeout = absl::Seconds(20);
  options.timeout = absl::Seconds(20);
  Fill(options.password);
  auto pools = ShardPools::Create(options);
  explicit_bzero(options.password.data(), options.password.size());
  ASSERT_TRUE(pools.ok()) << pools.status();
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  {
    auto first = (*pools)->Take(shard, deadline);
    ASSERT_TRUE(first.ok()) << first.status();
    auto second = (*pools)->Take(shard, deadline);
    ASSERT_TRUE(second.ok()) << second.status();
    Found used = Search();
    EXPECT_EQ(used.dumped, 0u);
    EXPECT_EQ(used.left_out, 1u) << "for the next connection";
  }
  EXPECT_EQ(Search().dumped, 0u);
  pools->reset();
  Found after = Search();
  EXPECT_EQ(after.dumped + after.left_out, 0u);
}

}  // namespace
}  // namespace locus
