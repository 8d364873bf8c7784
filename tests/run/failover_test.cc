// SPDX-License-Identifier: Apache-2.0
// Replicas are promoted in place of a shard in the middle of a move, at any point of a step, with
// and without what the shard did last.
#include "absl/strings/match.h"
#include "migration/run/move_control.h"
#include "tests/run/move_fixture.h"

namespace locus {
namespace {

using internal::Ending;
using internal::Phase;
using internal::Wish;
using ::testing::HasSubstr;

class FailoverTest : public MoveFixture {
 protected:
  // Another replica of a shard, from its first transaction on.
  MariadbServer& AddReplica(size_t shard) {
    MariadbServer::Settings settings = FencedServer(next_server_id_++);
    for (const char* line : {"log_slave_updates", "read_only"}) settings.lines.push_back(line);
    settings.make_accounts = false;
    replicas_[shard].push_back(std::make_unique<MariadbServer>(settings));
    MariadbServer& replica = *replicas_[shard].back();
    EXPECT_TRUE(replica.Start());
    replica.Sql(absl::StrCat(
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = ", servers_[shard]->port(),
        ", MASTER_USER = 'mover', MASTER_PASSWORD = 's3cret', MASTER_USE_GTID = slave_pos,"
        " MASTER_CONNECT_RETRY = 1; START SLAVE"));
    CatchUp(shard, replica);
    return replica;
  }
  void CatchUp(size_t shard, MariadbServer& replica) {
    const std::string position = servers_[shard]->Value("SELECT @@GLOBAL.gtid_binlog_pos");
    ASSERT_EQ(replica.Value(absl::StrCat("SELECT MASTER_GTID_WAIT('", position, "', 60)")), "0");
  }
  MysqlOptions OptionsOf(const MariadbServer& server) {
    MysqlOptions options = As(0, "mover");
    options.hosts = {{"127.0.0.1", server.port()}};
    return options;
  }
  // A runner that knows where all replicas are; `candidates`: and that they may be promoted.
  std::unique_ptr<Running> StartFollowing(bool candidates = true,
                                          mysql::ShardLink::Hook before_statement = {}) {
    mysql::RunnerOptions options = TestRunner("one", directory_ / "");
    options.before_statement = std::move(before_statement);
    options.pace.accept_within = absl::Seconds(3);
    for (size_t shard : {0, 1}) {
      auto& named = shard == 0 ? options.source_candidates : options.target_candidates;
      auto& hosts = (shard == 0 ? move_.source : move_.target).server.hosts;
      for (const auto& replica : replicas_[shard]) {
        hosts.push_back({"127.0.0.1", replica->port()});
        if (candidates) named.push_back(OptionsOf(*replica));
      }
    }
    return StartRunner(options);
  }
  static void Promote(MariadbServer& replica) {
    replica.Sql("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0");
  }
  // The operator looks at the source wherever it is.
  void LookAt(const MariadbServer& source) {
    link_ = mysql::ShardLink::Create(OptionsOf(source)).value();
    records_ = std::make_unique<mysql::MoveRecords>(*link_);
  }
  static std::string FenceOf(MariadbServer& server) {
    return server.Value(
        "SELECT CONCAT_WS(' ', own_lo, own_hi, step, IF(server_id = @@server_id, 'bound',"
        " 'unbound')) FROM locus_shop.locus_fence WHERE lo = 0");
  }
  // An order of the source's cohorts where the target has half of them, and one of the target's.
  std::string SourceOrder() { return Number(NextIn(7, sequence_, 6000, 9999)); }
  std::string TargetOrder() { return Number(NextIn(7, sequence_, 0, 4000)); }
  static void Insert(MariadbServer& server, const std::string& order) {
    server.Sql(
        absl::StrCat("INSERT INTO locus_shop.orders (order_id, value) VALUES (", order, ", 1)"));
  }
  static bool Has(MariadbServer& server, const std::string& order) {
    return server.Value(absl::StrCat("SELECT COUNT(*) FROM locus_shop.orders WHERE order_id = ",
                                     order)) == "1";
  }
  bool StatusSays(const std::string& text) { return absl::StrContains(Record().status, text); }
  void GoTo(uint32_t share) {
    Ask([&](Wish& wish) {
      wish.hold.clear();
      wish.goal = share;
      wish.by = 10000;
    });
  }
  void Finalize() {
    GoTo(10000);
    WaitForShare(10000);
    Ask([](Wish& wish) { wish.ending = Ending::kFinalize; });
    WaitForPhase(Phase::kFinalized);
  }

  uint16_t next_server_id_ = 3;
  uint64_t sequence_ = 1000;
  std::vector<std::unique_ptr<MariadbServer>> replicas_[2];
};

TEST_F(FailoverTest, SourcePromotedInTheMiddle_IsBoundAndTheMoveContinues) {
  MariadbServer& replica = AddReplica(0);
  Sql(0, "INSERT INTO orders (order_id, value) SELECT seq, seq FROM seq_1_to_300");
  Begin();
  auto runner = StartFollowing();
  WaitForPhase(Phase::kReady);
  GoTo(5000);
  WaitForShare(5000);

  // Changes that the candidate lacks are not applied.
  const std::string held = SourceOrder();
  replica.Sql("STOP SLAVE SQL_THREAD");
  Insert(*servers_[0], held);
  ASSERT_FALSE(WaitUntil([&] { return Has(*servers_[1], held); }, absl::Seconds(1)));
  replica.Sql("START SLAVE SQL_THREAD");
  ASSERT_TRUE(WaitUntil([&] { return Has(*servers_[1], held); }));

  // A switch that was planned: the old primary lives, and is read-only.
  servers_[0]->Sql("SET GLOBAL read_only = 1");
  CatchUp(0, replica);
  Promote(replica);
  LookAt(replica);
  ASSERT_TRUE(WaitUntil([&] { return absl::EndsWith(FenceOf(replica), " bound"); }))
      << Record().status << Record().wish.hold;
  const std::string later = SourceOrder();
  Insert(replica, later);
  ASSERT_TRUE(WaitUntil([&] { return Has(*servers_[1], later); })) << Record().status;
  EXPECT_EQ(Record().wish.hold, "");
  Finalize();
  runner->End();
  EXPECT_EQ(OrdersOn(1).size(), 302u);
}

TEST_F(FailoverTest, PromotedInAStep_SourceWithItsEndAndTargetWithout_TheStepsAreMade) {
  MariadbServer& of_source = AddReplica(0);
  MariadbServer& of_target = AddReplica(1);
  Begin();
  // The target cannot open: a session holds its fence from the moment when the source gives the
  // band up.
  auto holder = SqlSession::Open(As(1, "mover")).value();
  // In the second step, the target's replica stops when the source gives the band up. Not before:
  // the stream from the target waits for it, and its gate would hold the step.
  std::atomic<bool> held = false, stopped = false;
  auto runner = StartFollowing(true, [&](const std::string& statement) {
    if (absl::StrContains(statement, "UPDATE locus_fence SET own_lo = 10000") &&
        !stopped.exchange(true)) {
      of_target.Sql("STOP SLAVE SQL_THREAD");
    }
    if (!absl::StrContains(statement, "UPDATE locus_fence SET own_lo = 5000") || held) return;
    held = true;
    EXPECT_TRUE(holder->Run("START TRANSACTION; SELECT * FROM locus_fence FOR UPDATE").ok());
  });
  WaitForPhase(Phase::kReady);
  const std::string before = FenceOf(*servers_[0]);
  GoTo(5000);
  ASSERT_TRUE(WaitUntil([&] { return FenceOf(*servers_[0]) != before; }));
  CatchUp(0, of_source);
  servers_[0]->KillHard();
  Promote(of_source);
  ASSERT_TRUE(holder->Run("ROLLBACK").ok());
  LookAt(of_source);
  WaitForShare(5000);
  EXPECT_TRUE(absl::EndsWith(FenceOf(of_source), " bound"));

  // The target opens for more, and takes an order: its replica has neither.
  const std::string order = TargetOrder();
  Insert(*servers_[1], order);
  ASSERT_TRUE(WaitUntil([&] { return Has(of_source, order); })) << Record().status;
  GoTo(10000);
  ASSERT_TRUE(WaitUntil([&] { return absl::StartsWith(FenceOf(*servers_[1]), "0 10000 "); }))
      << Record().status;
  const std::string lost = TargetOrder();
  Insert(*servers_[1], lost);
  ASSERT_FALSE(WaitUntil([&] { return Has(of_source, lost); }, absl::Seconds(1)));
  servers_[1]->KillHard();
  of_target.Sql("STOP SLAVE; RESET SLAVE ALL");
  EXPECT_TRUE(absl::StartsWith(FenceOf(of_target), "0 5000 ")) << FenceOf(of_target);
  of_target.Sql("SET GLOBAL read_only = 0");
  ASSERT_TRUE(WaitUntil([&] {
    const std::string fence = FenceOf(of_target);
    return absl::StartsWith(fence, "0 10000 ") && absl::EndsWith(fence, " bound");
  })) << Record().status;
  Finalize();
  runner->End();
  EXPECT_TRUE(Has(of_target, order));
  EXPECT_FALSE(Has(of_source, lost)) << "only the old target ever had it";
}

TEST_F(FailoverTest, PromotedWhileAStepIsTakenBack_NoOrderIsAcceptedTwice) {
  MariadbServer& of_source = AddReplica(0);
  MariadbServer& of_target = AddReplica(1);
  Begin();
  // The source's candidate does not get the token, so the target never does. It is stopped when the
  // source lets go: a step is not begun while the stream stands.
  std::string lost;
  std::atomic<int> stops = 0;
  auto runner = StartFollowing(true, [&](const std::string& statement) {
    if (!absl::StrContains(statement, "UPDATE locus_fence SET own_lo = ")) return;
    const bool whole = absl::StrContains(statement, "own_lo = 10000");
    if (stops != (whole ? 1 : 0)) return;
    ++stops;
    of_source.Sql("STOP SLAVE SQL_THREAD");
    if (!whole) return;
    // Also an order that no other server has seen.
    lost = SourceOrder();
    Insert(*servers_[0], lost);
  });
  WaitForPhase(Phase::kReady);
  // The target's candidate does not get the refusal, so the source may not go back.
  const std::string before = FenceOf(*servers_[0]), refused = FenceOf(*servers_[1]);
  of_target.Sql("STOP SLAVE SQL_THREAD");
  GoTo(5000);
  ASSERT_TRUE(WaitUntil([&] { return FenceOf(*servers_[1]) != refused; })) << Record().status;
  ASSERT_TRUE(WaitUntil([&] { return StatusSays("does not have step"); })) << Record().status;
  const std::string closed = FenceOf(*servers_[0]);
  EXPECT_TRUE(absl::StartsWith(closed, "5000 10000 ")) << closed;
  of_target.Sql("STOP SLAVE; RESET SLAVE ALL");
  servers_[1]->KillHard();
  const std::string promoted = FenceOf(of_target);
  of_target.Sql("SET GLOBAL read_only = 0");
  of_source.Sql("START SLAVE SQL_THREAD");
  WaitForShare(5000);
  EXPECT_TRUE(absl::StartsWith(FenceOf(*servers_[0]), "5000 10000 ")) << FenceOf(*servers_[0]);
  EXPECT_TRUE(absl::StartsWith(FenceOf(of_target), "0 5000 "))
      << promoted << " " << FenceOf(of_target);

  WaitForPhase(Phase::kReady);

  // Now the source, without its end: a step that no other server has seen.
  GoTo(10000);
  ASSERT_TRUE(WaitUntil([&] { return absl::StartsWith(FenceOf(*servers_[0]), "10000 10000 "); }))
      << Record().status;
  servers_[0]->KillHard();
  of_source.Sql("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0");
  LookAt(of_source);
  ASSERT_TRUE(WaitUntil([&] { return absl::EndsWith(FenceOf(of_source), " bound"); }))
      << Record().status;
  Finalize();
  runner->End();
  EXPECT_FALSE(Has(of_target, lost));
}

// A candidate that stays on the branch of the old primary has pings and GTIDs of the same numbers.
TEST_F(FailoverTest, CandidateOnTheOldBranch_ConfirmsNothing) {
  MariadbServer& promoted = AddReplica(0);
  MariadbServer& ahead = AddReplica(0);
  Begin();
  auto runner = StartFollowing();
  WaitForPhase(Phase::kReady);
  promoted.Sql("STOP SLAVE SQL_THREAD");
  const std::string ping = "SELECT ping FROM locus_shop.locus_run";
  // Far more pings than follow in the wait below.
  for (int i = 0; i < 2000; i += 100) {
    servers_[0]->Sql("UPDATE locus_shop.locus_run SET ping = ping + 100");
  }
  CatchUp(0, ahead);
  servers_[0]->KillHard();
  Promote(promoted);
  LookAt(promoted);
  ASSERT_TRUE(WaitUntil([&] { return absl::EndsWith(FenceOf(promoted), " bound"); }));
  EXPECT_GT(std::stoull(ahead.Value(ping)), std::stoull(promoted.Value(ping)));
  const std::string order = SourceOrder();
  Insert(promoted, order);
  EXPECT_FALSE(WaitUntil([&] { return Has(*servers_[1], order); }, absl::Seconds(1)));
  ASSERT_TRUE(records_->DropCandidate(move_.name, absl::StrCat("127.0.0.1:", ahead.port())).ok());
  EXPECT_TRUE(WaitUntil([&] { return Has(*servers_[1], order); })) << Record().status;
  runner->End();
}

TEST_F(FailoverTest, OtherReplicaPromotedWithoutItsEnd_IsNotBoundAndTheMoveIsHeld) {
  MariadbServer& replica = AddReplica(0);
  Begin();
  auto runner = StartFollowing(/*candidates=*/false);
  WaitForPhase(Phase::kReady);
  CatchUp(0, replica);
  replica.Sql("STOP SLAVE SQL_THREAD");
  GoTo(5000);
  WaitForShare(5000);
  servers_[0]->KillHard();
  replica.Sql("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0");
  LookAt(replica);
  ASSERT_TRUE(WaitUntil([&] { return !Record().wish.hold.empty(); })) << Record().status;
  EXPECT_THAT(Record().wish.hold, HasSubstr("the source accepts cohorts 0 to below 10000 at step"));
  EXPECT_THAT(Record().wish.hold, HasSubstr("the target cohorts 0 to below 5000 at step"));
  auto control = mysql::MoveControl::Create(move_).value();
  const RoutingTable table = publisher_->Current().value();
  auto bindable = control->MayBind(table, false);
  ASSERT_TRUE(bindable.ok()) << bindable.status();
  EXPECT_TRUE(bindable->contradict);
  EXPECT_FALSE(bindable->fits);
  move_.source.server = OptionsOf(replica);
  auto bound = mysql::RebindShard(move_.source, table, {}, false);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->left.size(), 2u);
  EXPECT_TRUE(absl::EndsWith(FenceOf(replica), " unbound"));
  EXPECT_FALSE(
      replica.TrySql("USE locus_shop; INSERT INTO orders (order_id, value) VALUES (7, 1)").ok());
  runner->End();
}

// Two moves of one source: one has begun, the other stands in the table only.
TEST_F(FailoverTest, SourceOfAMoveThatHasNotBegun_IsBoundByItsRunner) {
  MariadbServer& replica = AddReplica(0);
  Begin();
  auto runner = StartFollowing();
  WaitForPhase(Phase::kReady);
  auto now = publisher_->Current().value();
  std::vector<VnodeMove> moves = now.moves();
  moves.push_back({400, 499, 2, 0, 0});
  ASSERT_TRUE(publisher_->Publish(TableAt(now.epoch() + 1, moves), now.epoch()).ok());

  servers_[0]->Sql("SET GLOBAL read_only = 1");
  CatchUp(0, replica);
  Promote(replica);
  LookAt(replica);
  auto unbound = [&] {
    return replica.Value(
        "SELECT GROUP_CONCAT(lo, '-', hi ORDER BY lo) FROM locus_shop.locus_fence"
        " WHERE server_id <> @@server_id");
  };
  // What does not move at all, or moves by this runner, is bound; the rest of its row is cut off.
  ASSERT_TRUE(WaitUntil([&] { return unbound() == "400-499"; })) << unbound() << Record().status;

  Move next = move_;
  next.name = "next.1>2";
  next.ranges = {{400, 499}};
  const auto begun = records_->Begin(next.name, {1, 2, next.ranges}, {});
  ASSERT_TRUE(begun.ok()) << begun;
  std::swap(move_, next);
  auto second = StartFollowing();
  EXPECT_TRUE(WaitUntil([&] { return unbound() == "NULL" || unbound().empty(); })) << unbound();
  std::swap(move_, next);
  const std::string order = Number(NextIn(450, sequence_, 0, 9999));
  Insert(replica, order);
  EXPECT_TRUE(Has(replica, order));
  second->End();
  runner->End();
}

// A target that accepts orders of which the promoted source knows nothing.
TEST_F(FailoverTest, SourceWithoutTheMove_IsNotBoundWhereTheTargetAcceptsOrders) {
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  runner->End();
  const std::string fence = "UPDATE locus_fence SET ";
  Sql(0, fence + "other = NULL, step = 0; SET GLOBAL server_id = 9; DELETE FROM locus_move");
  Sql(1, fence + "own_lo = 0, own_hi = 500, step = 2");
  auto control = mysql::MoveControl::Create(move_).value();
  auto look = [&] { return control->MayBind(publisher_->Current().value(), false); };
  auto bindable = look();
  ASSERT_TRUE(bindable.ok()) << bindable.status();
  EXPECT_FALSE(bindable->fits);
  EXPECT_THAT(bindable->fences, HasSubstr("accepts cohorts 0 to below 500 of vnodes 0-99"));
  // Prepared only: its run is burnt, so that no token is obeyed any more.
  Sql(1, fence + "own_lo = 0, own_hi = 0, step = 1");
  const std::string run = Value(1, "SELECT run FROM locus_shop.locus_run");
  bindable = look();
  ASSERT_TRUE(bindable.ok()) << bindable.status();
  EXPECT_TRUE(bindable->fits) << bindable->fences;
  EXPECT_NE(Value(1, "SELECT run FROM locus_shop.locus_run"), run);
}

TEST_F(FailoverTest, CandidateGone_StopsTheStreamUntilItIsDropped) {
  MariadbServer& replica = AddReplica(0);
  Begin();
  auto runner = StartFollowing();
  WaitForPhase(Phase::kReady);
  replica.KillHard();
  Sql(0, "INSERT INTO orders (order_id, value) VALUES (7, 7)");
  ASSERT_FALSE(WaitUntil([&] { return !OrdersOn(1).empty(); }, absl::Seconds(1)));
  const std::string candidate = absl::StrCat("127.0.0.1:", replica.port());
  ASSERT_TRUE(records_->DropCandidate(move_.name, candidate).ok());
  ASSERT_TRUE(records_->DropCandidate(move_.name, candidate).ok()) << "twice is once";
  EXPECT_TRUE(WaitUntil([&] { return !OrdersOn(1).empty(); })) << Record().status;
  EXPECT_EQ(Record().dropped, std::vector<std::string>{candidate});
  runner->End();
}

}  // namespace
}  // namespace locus
