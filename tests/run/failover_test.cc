// SPDX-License-Identifier: Apache-2.0
// A replica is promoted in place of the source in the middle of a move.
#include "tests/run/move_fixture.h"

namespace locus {
namespace {

using internal::Ending;
using internal::Phase;
using internal::Wish;

class FailoverTest : public MoveFixture {
 protected:
  // A replica of the source, from its first transaction on.
  void StartReplica() {
    MariadbServer::Settings settings = FencedServer(3);
    for (const char* line : {"binlog_row_metadata=FULL", "gtid_strict_mode=ON",
                             "binlog_checksum=CRC32", "log_slave_updates", "read_only"}) {
      settings.lines.push_back(line);
    }
    settings.make_accounts = false;
    replica_ = std::make_unique<MariadbServer>(settings);
    ASSERT_TRUE(replica_->Start());
    replica_->Sql(absl::StrCat(
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = ", servers_[0]->port(),
        ", MASTER_USER = 'mover', MASTER_PASSWORD = 's3cret', MASTER_USE_GTID = slave_pos,"
        " MASTER_CONNECT_RETRY = 1; START SLAVE"));
    CatchUp();
  }
  void CatchUp() {
    const std::string position = servers_[0]->Value("SELECT @@GLOBAL.gtid_binlog_pos");
    ASSERT_EQ(replica_->Value(absl::StrCat("SELECT MASTER_GTID_WAIT('", position, "', 60)")), "0");
  }
  MariadbOptions Replica() {
    MariadbOptions options = As(0, "mover");
    options.hosts = {{"127.0.0.1", replica_->port()}};
    return options;
  }
  std::unique_ptr<Running> StartFollowing() {
    move_.source.server.hosts = {{"127.0.0.1", servers_[0]->port()},
                                 {"127.0.0.1", replica_->port()}};
    mariadb::RunnerOptions options = TestRunner("one", directory_ / "");
    options.source_candidates = {Replica()};
    auto running = std::make_unique<Running>();
    running->runner = mariadb::MoveRunner::Create(move_, options, *publisher_).value();
    running->thread =
        std::thread([raw = running.get()] { raw->status = raw->runner->Run(raw->stop); });
    return running;
  }
  // The operator looks at the source wherever it is.
  void LookAt(const MariadbOptions& source) {
    link_ = mariadb::ShardLink::Create(source).value();
    records_ = std::make_unique<mariadb::MoveRecords>(*link_);
  }

  std::unique_ptr<MariadbServer> replica_;
};

TEST_F(FailoverTest, SourcePromotedInTheMiddle_IsBoundAndTheMoveGoesOn) {
  StartReplica();
  Sql(0, "INSERT INTO orders (order_id, value) SELECT seq, seq FROM seq_1_to_300");
  Begin();
  auto runner = StartFollowing();
  WaitForPhase(Phase::kReady);
  Ask([](Wish& wish) { wish.goal = 5000; });
  WaitForShare(5000);

  // What the candidate does not have is not applied. The order's cohort is the source's.
  uint64_t sequence = 1000;
  const std::string held = Number(NextIn(7, sequence, 6000, 9999));
  replica_->Sql("STOP SLAVE SQL_THREAD");
  Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", held, ", 1)"));
  const std::string count =
      absl::StrCat("SELECT COUNT(*) FROM locus_shop.orders WHERE order_id = ", held);
  ASSERT_FALSE(WaitUntil([&] { return Value(1, count) != "0"; }, absl::Seconds(2)));
  replica_->Sql("START SLAVE SQL_THREAD");
  ASSERT_TRUE(WaitUntil([&] { return Value(1, count) == "1"; }));

  CatchUp();
  servers_[0]->KillHard();
  replica_->Sql("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0");
  LookAt(Replica());
  ASSERT_TRUE(WaitUntil([&] {
    return replica_->Value(
               "SELECT COUNT(*) FROM locus_shop.locus_fence WHERE server_id <> @@server_id") == "0";
  })) << Record().status
      << Record().wish.hold;
  Ask([](Wish& wish) {
    wish.hold.clear();
    wish.goal = 10000;
  });
  WaitForShare(10000);
  Ask([](Wish& wish) { wish.ending = Ending::kFinalize; });
  WaitForPhase(Phase::kFinalized);
  runner->End();
  EXPECT_EQ(OrdersOn(1).size(), 301u);
}

TEST_F(FailoverTest, CandidateGone_StopsTheStreamUntilItIsDropped) {
  StartReplica();
  Begin();
  auto runner = StartFollowing();
  WaitForPhase(Phase::kReady);
  replica_->KillHard();
  Sql(0, "INSERT INTO orders (order_id, value) VALUES (7, 7)");
  ASSERT_FALSE(WaitUntil([&] { return !OrdersOn(1).empty(); }, absl::Seconds(2)));
  const std::string candidate = absl::StrCat("127.0.0.1:", replica_->port());
  ASSERT_TRUE(records_->DropCandidate(move_.name, candidate).ok());
  ASSERT_TRUE(records_->DropCandidate(move_.name, candidate).ok()) << "twice is once";
  EXPECT_TRUE(WaitUntil([&] { return !OrdersOn(1).empty(); })) << Record().status;
  EXPECT_EQ(Record().dropped, std::vector<std::string>{candidate});
  runner->End();
}

}  // namespace
}  // namespace locus
