// SPDX-License-Identifier: Apache-2.0
// Faults of the servers of a move while orders are written.
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "nlohmann/json.hpp"
#include "tests/run/fault_fixture.h"

namespace locus {
namespace {

using internal::Phase;
using ::testing::HasSubstr;

class ServerFaultsTest : public FaultFixture {
 protected:
  std::unique_ptr<SqlSession> SessionOn(size_t server) {
    MysqlOptions options = As(server, "mover");
    options.timeout = absl::Seconds(60);
    auto session = SqlSession::Open(options);
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }
  // Returns the limit that was there.
  rlimit LimitFiles(size_t server, uint64_t bytes) {
    std::ifstream in(servers_[server]->path("pid"));
    pid_t pid = 0;
    in >> pid;
    rlimit old{};
    EXPECT_EQ(prlimit(pid, RLIMIT_FSIZE, nullptr, &old), 0);
    const rlimit limit{bytes, old.rlim_max};
    EXPECT_EQ(prlimit(pid, RLIMIT_FSIZE, &limit, nullptr), 0);
    return old;
  }
  // A table of the target that is larger than all its other files, by orders that do not move.
  void MakeBallast() {
    servers_[1]->Stop();
    signal(SIGXFSZ, SIG_IGN);  // the server inherits it, and is told by the write instead
    ASSERT_TRUE(servers_[1]->Start());
    ASSERT_TRUE(SessionOn(1)->Run(absl::StrCat(kBallast, "seq, 1 FROM seq_1_to_450000")).ok());
  }
  // From now on that table has no room. Returns the limit that was there.
  rlimit FillTarget() {
    const rlimit old =
        LimitFiles(1, std::filesystem::file_size(servers_[1]->path("data/locus_shop/orders.ibd")));
    uint64_t next = 1'000'000;
    for (uint64_t rows : {50'000, 5'000, 500, 50, 1}) {
      do {
        next += rows;
      } while (
          SessionOn(1)->Run(absl::StrCat(kBallast, next, " + seq, 1 FROM seq_1_to_", rows)).ok());
    }
    return old;
  }
  uint64_t Status(size_t server, const std::string& name) {
    return std::stoull(Value(server, absl::StrCat("SELECT VARIABLE_VALUE FROM information_schema."
                                                  "GLOBAL_STATUS WHERE VARIABLE_NAME = '",
                                                  name, "'")));
  }
  static constexpr char kBallast[] =
      "SET sql_log_bin = 0; INSERT INTO orders (order_id, value) SELECT (500 << 47) + ";
  static constexpr char kMovedVnodes[] =
      "(order_id >> 47 BETWEEN 0 AND 99 OR order_id >> 47 BETWEEN 200 AND 299)";
};

// Stopped at rest and in a step, each for longer than anybody waits.
TEST_F(ServerFaultsTest, ShardsThatStandStill_AreWaitedForAndNothingIsLost) {
  StartReady(4);
  uint32_t share = 0;
  for (size_t server : {1, 0}) {
    SCOPED_TRACE(server == 0 ? "source" : "target");
    servers_[server]->Stall();
    EXPECT_FALSE(WaitUntil([&] { return runner_->status.ok(); }, Outage()));
    servers_[server]->Resume();
    StepTo(share += 2500);
    if (HasFailure()) return;
    // The other one gives the band up, this one does not answer.
    AskFor(share += 2500);
    ASSERT_TRUE(WaitUntil([&] {
      return Value(0, absl::StrCat("SELECT own_lo = ", share,
                                   " FROM locus_shop.locus_fence WHERE lo = 0")) == "1";
    }));
    servers_[server]->Stall();
    EXPECT_FALSE(WaitUntil([&] { return runner_->status.ok(); }, Outage()));
    servers_[server]->Resume();
    WaitForShare(share);
    if (HasFailure()) return;
    orders_->WaitForWrites(50);
  }
  ExpectNothingLost();
  std::cout << orders_->done() << " writes, " << orders_->faults() << " without an answer\n";
}

// A limit on the size of files acts as a full disk: no table of the target can grow.
TEST_F(ServerFaultsTest, TargetWithoutSpace_IsReportedAndContinuesWhenThereIsSome) {
  gate_patience_ = absl::Seconds(1);
  MakeBallast();
  StartReady(2);
  StepTo(2500);
  const rlimit old = FillTarget();
  // Orders that need room, of cohorts that stay with the source.
  uint64_t sequence = 1000;
  std::string moved;
  for (int i = 0; i < 3000; ++i) {
    absl::StrAppend(&moved, i == 0 ? "" : ", ", "(", Number(NextIn(7, sequence, 5000, 9999)),
                    ", 1)");
  }
  Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) VALUES ", moved));
  ASSERT_TRUE(WaitUntil([&] { return StatusSays("is full (1114)"); })) << Record().status;
  EXPECT_EQ(Record().wish.hold, "") << "streams try again; only steps wait";
  AskFor(5000);
  WaitForHold("is full (1114)");
  LimitFiles(1, old.rlim_cur);
  const std::string late =
      "FROM locus_shop.orders WHERE order_id >> 47 = 7 AND order_id & 4294967295 > 1000";
  ASSERT_TRUE(WaitUntil([&] { return Value(1, "SELECT COUNT(*) " + late) == "3000"; }))
      << Record().status;
  Sql(0, "DELETE " + late);
  ASSERT_TRUE(WaitUntil([&] { return Value(1, "SELECT COUNT(*) " + late) == "0"; }));
  StepTo(5000);
  ExpectNothingLost();
}

TEST_F(ServerFaultsTest, CopyToATargetWithoutSpace_ReportsTheCauseAndNoEnd) {
  MakeBallast();
  Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) SELECT (7 << 47) + seq, seq FROM"
                      " seq_1_to_20000"));
  const rlimit old = FillTarget();
  Begin();
  auto runner = StartRunner("one");
  ASSERT_TRUE(WaitUntil([&] { return StatusSays("is full (1114)"); })) << Record().status;
  const auto status = nlohmann::json::parse(Record().status);
  EXPECT_EQ(status.at("state"), "COPYING");
  EXPECT_THAT(std::string(status.at("copied").at("waiting")), HasSubstr("is full (1114)"));
  EXPECT_EQ(status.at("copied").at("left_s"), -1);
  EXPECT_GT(status.at("copied").at("estimated"), 1000);
  LimitFiles(1, old.rlim_cur);
  WaitForPhase(Phase::kReady);
  runner->End();
  EXPECT_EQ(nlohmann::json::parse(Record().status).at("copied").at("rows"), 20000);
}

TEST_F(ServerFaultsTest, LogPurgedThatTheStreamNeeds_IsHeldWithTheReason) {
  StartReady(4);
  StepTo(5000);
  // Only a stream that is away can lose its log: the server keeps what is being read.
  runner_->End();
  orders_->WaitForWrites(50);
  Sql(0, "FLUSH BINARY LOGS");
  orders_->WaitForWrites(50);
  const std::string newest = servers_[0]->Sql("SHOW MASTER STATUS")[0].rows[0][0].value();
  ASSERT_TRUE(WaitUntil([&] {
    servers_[0]->Sql(absl::StrCat("PURGE BINARY LOGS TO '", newest, "'"));
    return servers_[0]->Sql("SHOW BINARY LOGS")[0].rows.size() == 1;
  }));
  runner_ = StartFaulty(OptionsOf("two"), *publisher_);
  WaitForHold("the stream from the source stopped: ");
  EXPECT_THAT(Record().wish.hold, ::testing::HasSubstr("purged"));
  EXPECT_THAT(Record().wish.hold, ::testing::HasSubstr("(1236)"));
  // The way back needs the other stream alone.
  AskFor(0);
  ASSERT_TRUE(WaitUntil([&] { return Published(0); })) << Record().status;
  ExpectEachOnItsOwner(0);
}

TEST_F(ServerFaultsTest, TransactionOpenOverAStep_IsWaitedForAndIsNotLost) {
  StartReady(4);
  uint64_t sequence = 1u << 20;
  const std::string id = Number(NextIn(7, sequence, 0, 2499));
  auto shop = As(0, "shop");
  auto session = SqlSession::Open(shop).value();
  ASSERT_TRUE(session
                  ->Run(absl::StrCat("START TRANSACTION; INSERT INTO orders (order_id, value)"
                                     " VALUES (",
                                     id, ", 42)"))
                  .ok());
  AskFor(2500);
  ASSERT_TRUE(WaitUntil([&] { return StatusSays("writers under way kept the fence"); }))
      << Record().status;
  // The others write meanwhile: each attempt holds them up for a moment only.
  orders_->WaitForWrites(50);
  ASSERT_TRUE(session->Run("COMMIT").ok());
  WaitForShare(2500);
  EXPECT_EQ(OrdersOn(1)[id], "42");
  // One that began before the step is refused where it goes on behind it.
  const std::string late = Number(NextIn(7, sequence, 2500, 4999));
  ASSERT_TRUE(session->Run("START TRANSACTION; SELECT 1").ok());
  StepTo(5000);
  EXPECT_FALSE(
      session->Run(absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", late, ", 1)"))
          .ok());
  EXPECT_EQ(session->error(), 1644u);
  ASSERT_TRUE(session->Run("ROLLBACK").ok());
  Sql(1, absl::StrCat("DELETE FROM orders WHERE order_id = ", id));
  ExpectNothingLost();
}

// Sessions that lock rows of orders and of the fence on both shards, in any order, and for longer
// than the tool waits for a lock.
TEST_F(ServerFaultsTest, DeadlocksAndLockWaits_AreRepeated) {
  for (size_t server : {0, 1}) {
    servers_[server]->Sql("SET GLOBAL innodb_lock_wait_timeout = 1");
  }
  StartReady(4);
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> locked = 0;
  std::vector<std::thread> lockers;
  for (size_t server : {0, 1}) {
    for (const char* order : {"ASC", "DESC"}) {
      lockers.emplace_back([&, server, order] {
        auto session = SessionOn(server);
        for (int i = 0; !stop; ++i) {
          // The first row, then all: the other locker has begun at the other end.
          const std::string rows = absl::StrCat("SELECT * FROM orders WHERE ", kMovedVnodes,
                                                " ORDER BY order_id ", order, " LIMIT ");
          const bool done =
              session
                  ->Run(absl::StrCat("START TRANSACTION; ", rows, "1 FOR UPDATE; DO SLEEP(0.02); ",
                                     rows, "1000000 FOR UPDATE; DO SLEEP(",
                                     i % 10 == 9 ? 1.5 : 0.02, "); COMMIT"))
                  .ok();
          if (done) ++locked;
          if (!done) session->Run("ROLLBACK").IgnoreError();
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
      });
    }
  }
  for (uint32_t share : {2500u, 5000u, 0u, 2500u}) {
    StepTo(share);
    if (HasFatalFailure()) break;
    orders_->WaitForWrites(50);
  }
  EXPECT_TRUE(WaitUntil(
      [&] { return Status(0, "INNODB_DEADLOCKS") > 0 && Status(1, "INNODB_DEADLOCKS") > 0; }));
  stop = true;
  for (std::thread& locker : lockers) locker.join();
  std::cout << locked << " times locked, deadlocks: " << Status(0, "INNODB_DEADLOCKS") << " and "
            << Status(1, "INNODB_DEADLOCKS") << ", " << orders_->faults()
            << " writes without success at first\n";
  ExpectNothingLost();
}

// No replica acknowledges: each COMMIT of the source hangs, although it is stored.
TEST_F(ServerFaultsTest, AcknowledgementsOfReplicasStalled_CommitsOfUnknownFateAreKept) {
  StartReady(4);
  StepTo(2500);
  servers_[0]->Sql(
      "SET GLOBAL rpl_semi_sync_master_timeout = 600000;"
      "SET GLOBAL rpl_semi_sync_master_enabled = 1");
  // The answer to this is lost as well.
  const mysql::MoveRecord record = Record();
  internal::Wish wish = record.wish;
  wish.goal = 5000;
  records_->ChangeWish(move_.name, record.serial, wish).IgnoreError();
  const uint64_t faults = orders_->faults();
  // A client gives a COMMIT 10 s.
  ASSERT_TRUE(WaitUntil([&] { return orders_->faults() > faults; }));
  servers_[0]->Sql("SET GLOBAL rpl_semi_sync_master_enabled = 0");
  WaitForShare(5000);
  StepTo(2500);
  ExpectNothingLost();
  std::cout << orders_->done() << " writes, " << orders_->faults() << " without an answer\n";
}

}  // namespace
}  // namespace locus
