// SPDX-License-Identifier: Apache-2.0
#include "migration/run/shard_link.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/engine/mysql/mariadb_server.h"

namespace locus::mysql {
namespace {

TEST(ShardLinkTest, ConnectionEndedInsideATransaction_NothingOfItIsKept) {
  const MysqlOptions options = FreshMariadbDatabase();
  auto link = ShardLink::Create(options).value();
  ASSERT_TRUE(link->Run("CREATE TABLE t (id INT PRIMARY KEY) ENGINE = InnoDB").ok());
  const absl::Status status = link->Transact([&]() -> absl::Status {
    auto id = link->Run("INSERT INTO t VALUES (1); SELECT CONNECTION_ID()", {kNoRows, OneRow(1)});
    if (!id.ok()) return id.status();
    const std::string number = *(*id)[1].rows[0][0];
    SharedMariadb().Sql("KILL " + number);
    EXPECT_TRUE(WaitUntil([&] {
      return SharedMariadb().Value(
                 "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = " + number) == "0";
    }));
    return link->Run("INSERT INTO t VALUES (2)").status();
  });
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  auto count = link->Run("SELECT COUNT(*) FROM t", {OneRow(1)});
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ((*count)[0].rows[0][0], "0") << "a statement was committed by itself";
  EXPECT_TRUE(link->Transact([&] { return link->Run("INSERT INTO t VALUES (3)").status(); }).ok());
}

// A connection that broke may leave one behind; a server of another kind gives it again.
TEST(ShardLinkTest, ResultOfAnotherShape_IsTriedAgainBeforeItIsBelieved) {
  auto link = ShardLink::Create(FreshMariadbDatabase()).value();
  auto odd = [&] { return link->Run("SELECT 1, 2", {OneRow(1)}).status(); };
  EXPECT_TRUE(absl::IsUnavailable(odd()));
  EXPECT_TRUE(absl::IsUnavailable(odd()));
  EXPECT_TRUE(link->Run("SELECT 1", {OneRow(1)}).ok());
  EXPECT_TRUE(absl::IsUnavailable(odd()));
  EXPECT_TRUE(absl::IsUnavailable(odd()));
  const absl::Status status = odd();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

}  // namespace
}  // namespace locus::mysql
