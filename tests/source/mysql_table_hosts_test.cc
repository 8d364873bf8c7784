// SPDX-License-Identifier: Apache-2.0
// A source with several hosts, of which some are down or behind.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "locus/routing/engine/mysql.h"
#include "tests/engine/mysql/mariadb_server.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

RoutingTable Table(uint64_t epoch, uint32_t weight = 100) {
  return RoutingTable::Make(epoch, {{1, "a", "mysql://127.0.0.1:3306/orders", weight, {}}},
                            {{65535, 1}})
      .value();
}

// Two servers with tables of their own: to a source a replica whose replication has stopped is
// nothing else.
class MysqlTableHostsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (MariadbServer*& server : servers_) {
      server = new MariadbServer;
      ASSERT_TRUE(server->Start());
    }
  }
  static void TearDownTestSuite() {
    for (MariadbServer* server : servers_) delete server;
  }

  void SetUp() override {
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(MysqlTablePublisher::CreateSchema(At(i)).ok());
      if (i == 0) options_ = At(i);
    }
    options_.mariadb.hosts.push_back(At(1).mariadb.hosts[0]);
    options_.poll_every = options_.ask_all_every = absl::Milliseconds(20);
  }

  // Of one of the servers alone.
  MysqlTableOptions At(size_t i) {
    MysqlTableOptions options;
    options.mariadb = servers_[i]->OptionsFor(database_);
    options.mariadb.timeout = options.mariadb.connect_timeout = absl::Seconds(10);
    return options;
  }
  void Publish(size_t i, uint64_t epoch, uint64_t expected, uint32_t weight = 100) {
    absl::Status status =
        MysqlTablePublisher::Open(At(i)).value()->Publish(Table(epoch, weight), expected);
    EXPECT_TRUE(status.ok()) << status;
  }
  void Open() { source_ = MysqlTableSource::Open(options_).value(); }

  // One answer of the source, beyond what it answered before.
  absl::StatusOr<std::optional<SourcedTable>> Next() {
    auto next = source_->Next(known_, std::chrono::steady_clock::now());
    if (next.ok() && *next) known_ = (*next)->version;
    return next;
  }
  // The table that comes next, within 20 s or so.
  RoutingTable News() {
    std::optional<SourcedTable> news;
    EXPECT_TRUE(WaitUntil([&] {
      auto next = Next();
      if (next.ok()) news = *std::move(next);
      return news.has_value();
    }));
    return news ? RoutingTable::Parse(news->document).value() : Table(999);
  }
  // All were asked, and are not for an hour.
  void OpenWhereAllHaveOne() {
    options_.ask_all_every = absl::Hours(1);
    Publish(0, 1, 0);
    Publish(1, 1, 0);
    Open();
    EXPECT_EQ(News(), Table(1));
    ExpectNoNews();
  }
  void ExpectNoNews() {
    auto next = Next();
    EXPECT_TRUE(next.ok() && !*next) << next.status();
  }

  static MariadbServer* servers_[2];
  const std::string database_ = absl::StrCat("locus_hosts_", ++made_);
  MysqlTableOptions options_;
  std::unique_ptr<MysqlTableSource> source_;
  std::string known_;

 private:
  static int made_;
};
MariadbServer* MysqlTableHostsTest::servers_[2];
int MysqlTableHostsTest::made_ = 0;

TEST_F(MysqlTableHostsTest, FailedOverToOneThatIsBehind_ComesBackWithTheFirst) {
  Publish(0, 1, 0);
  Publish(1, 1, 0);
  Open();
  EXPECT_EQ(News(), Table(1));
  servers_[0]->KillHard();
  ExpectNoNews();
  ASSERT_TRUE(servers_[0]->Start());
  Publish(0, 2, 1);
  EXPECT_EQ(News(), Table(2)) << "though the other one answers all the time";
  ExpectNoNews();
}

TEST_F(MysqlTableHostsTest, FirstThatIsBehind_HidesNothing) {
  Publish(0, 1, 0);
  Publish(1, 2, 0);
  Open();
  EXPECT_EQ(News(), Table(1)) << "the first that answers";
  EXPECT_EQ(News(), Table(2));
  Publish(1, 3, 2);
  EXPECT_EQ(News(), Table(3));
  Publish(0, 4, 1);
  EXPECT_EQ(News(), Table(4)) << "the host that is ahead";
  for (int i = 0; i < 10; ++i) ExpectNoNews();
}

TEST_F(MysqlTableHostsTest, NewestIsGone_TheOlderIsHandedOutUntilItIsBack) {
  Publish(0, 2, 0);
  Publish(1, 1, 0);
  Open();
  EXPECT_EQ(News(), Table(2));
  servers_[0]->KillHard();
  EXPECT_EQ(News(), Table(1));
  ASSERT_TRUE(servers_[0]->Start());
  EXPECT_EQ(News(), Table(2));
}

TEST_F(MysqlTableHostsTest, SameEpochOnBoth_TheFirstCounts) {
  Publish(0, 1, 0, 7);
  Publish(1, 2, 0, 8);
  Open();
  EXPECT_EQ(News(), Table(1, 7));
  EXPECT_EQ(News(), Table(2, 8));
  Publish(0, 2, 1, 7);
  EXPECT_EQ(News(), Table(2, 7));
  for (int i = 0; i < 10; ++i) ExpectNoNews();
}

TEST_F(MysqlTableHostsTest, LookNow_AsksAll) {
  OpenWhereAllHaveOne();
  Publish(1, 2, 1);
  ExpectNoNews();
  source_->LookNow();
  auto next = Next();
  ASSERT_TRUE(next.ok() && *next) << next.status();
  EXPECT_EQ(RoutingTable::Parse((*next)->document).value(), Table(2));
}

TEST_F(MysqlTableHostsTest, LookNowWhereTheOneAskedHasNews_AsksAllAfterThem) {
  OpenWhereAllHaveOne();
  Publish(0, 2, 1);
  Publish(1, 3, 1);
  source_->LookNow();
  EXPECT_EQ(News(), Table(2));
  EXPECT_EQ(News(), Table(3));
}

TEST_F(MysqlTableHostsTest, EmptyOrRefusing_ArePassedOver) {
  Publish(1, 1, 0);
  Open();
  EXPECT_EQ(News(), Table(1)) << "the first is empty";
  servers_[0]->Sql(absl::StrCat("DROP DATABASE ", database_));
  Open();
  known_.clear();
  EXPECT_EQ(News(), Table(1)) << "the first refuses";
  EXPECT_EQ(source_->Stats().failures, 0u);
  servers_[1]->Sql(absl::StrCat("DELETE FROM ", database_, ".routing_table"));
  absl::Status status = Next().status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("1049")) << "both are told of";
}

TEST_F(MysqlTableHostsTest, NoneAnswers_IsUnavailableAndFollowedAgain) {
  Publish(0, 1, 0);
  Open();
  EXPECT_EQ(News(), Table(1));
  for (MariadbServer* server : servers_) server->KillHard();
  absl::Status status = Next().status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  for (MariadbServer* server : servers_) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(server->port())));
  }
  EXPECT_EQ(source_->Stats().failures, 1u);
  for (MariadbServer* server : servers_) ASSERT_TRUE(server->Start());
  ExpectNoNews();
}

}  // namespace
}  // namespace locus
