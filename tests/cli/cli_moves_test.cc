// SPDX-License-Identifier: Apache-2.0
// Moves as operators make them, by the real command on two servers with two shards each: a split
// and a merge under live traffic, two files in one table, and mistakes.
#include "tests/cli/moves_fixture.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::RunLocus;
using testing::RunningCommand;
using testing::WriteFile;

// The names of all members, also of those inside.
void NamesIn(const nlohmann::json& value, std::set<std::string>& names) {
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) names.insert(name);
  }
  if (!value.is_structured()) return;
  for (const auto& member : value) NamesIn(member, names);
}

// What `locus move run --metrics` writes once it has that line.
std::string MetricsWith(const std::string& path, const std::string& line) {
  std::string text;
  EXPECT_TRUE(WaitUntil([&] {
    text = testing::ReadFile(path);
    return absl::StrContains(text, line);
  })) << line
      << text;
  return text;
}

TEST_F(CliMovesTest, SplitIntoThreeAndMergedAgain_EveryAcknowledgedWriteIsThereOnce) {
  // Fences first, so that orders are written while the copy begins.
  for (uint32_t id = 1; id <= 4; ++id) {
    MysqlOptions options = Server(id).Account(absl::StrCat("shop", id));
    options.user = "mover";
    GuardedTable orders, items;
    orders.name = "orders";
    items.name = "items";
    const absl::Status status = ShardFence::Create(options, FenceOf({items, orders}))
                                    ->Install(publisher_->Current().value(), id);
    ASSERT_TRUE(status.ok()) << status;
  }
  LiveOrders orders(*publisher_, 4);
  orders.WaitForWrites(300);
  struct Leg {
    uint16_t first, last;
    uint32_t shard;
  };
  const std::vector<Leg> legs = {{0, 49, 2},    {50, 74, 3},   {75, 99, 4},
                                 {200, 249, 2}, {250, 274, 3}, {275, 299, 4}};
  for (const std::string name : {"split", "merge"}) {
    SCOPED_TRACE(name);
    std::vector<VnodeMove> moves;
    for (const Leg& leg : legs) {
      moves.push_back({leg.first, leg.last, name == "split" ? leg.shard : 1});
    }
    Publish(With(moves));
    const std::string file = File(name);
    EXPECT_THAT(Done({"start", file, "--dry-run"}), HasSubstr("would begin"));
    KilledAndRepeated({"start", file});
    RunningCommand runner({"move", "run", file});
    WaitFor(file, "READY");
    if (HasFatalFailure()) return;
    KilledAndRepeated({"auto", file, "--by", "5000", "--dwell", "0s"});
    WaitFor(file, "SWITCHED");
    if (HasFatalFailure()) return;
    orders.WaitForWrites(100);
    KilledAndRepeated({"rollback", file, "--to", "4000"});
    WaitFor(file, "STEP(4000)");
    if (HasFatalFailure()) return;
    orders.WaitForWrites(100);
    KilledAndRepeated({"step", file, "--to", "10000"});
    WaitFor(file, "SWITCHED");
    if (HasFatalFailure()) return;
    KilledAndRepeated({"hold", file});
    KilledAndRepeated({"resume", file});
    KilledAndRepeated({"finalize", file});
    WaitFor(file, "FINALIZED");
    if (HasFatalFailure()) return;
    KilledAndRepeated({"cleanup", file});
    WaitFor(file, "DONE");
    if (HasFatalFailure()) return;
    EXPECT_EQ(runner.Finish().exit, 0);
    orders.WaitForWrites(100);
    const RoutingTable table = publisher_->Current().value();
    EXPECT_THAT(table.moves(), ::testing::IsEmpty());
    for (const Leg& leg : legs) {
      EXPECT_EQ(table.OwnerOf(ShardGene::FromUint16(leg.last)).id, name == "split" ? leg.shard : 1);
    }
    if (name == "split") {
      EXPECT_EQ(OrdersOn(1).size(), 0u);
    }
  }
  orders.Stop();
  EXPECT_EQ(OrdersOn(1), orders.Expected());
  for (uint32_t id : {2u, 3u, 4u}) {
    EXPECT_EQ(Value(id, "SELECT (SELECT COUNT(*) FROM orders) + (SELECT COUNT(*) FROM items)"),
              "0");
  }
}

// A service that is enabled before an operator starts the move.
TEST_F(CliMovesTest, RunBeforeStart_WaitsForTheRecordAndEndsBySignal) {
  Publish(With({{0, 49, 2}}));
  const std::string file = File("early"), metrics = directory_ / "early.prom";
  for (const bool starts : {false, true}) {
    SCOPED_TRACE(starts);
    WriteFile(metrics, "");
    RunningCommand runner({"move", "run", file, "--metrics", metrics});
    if (!starts) MetricsWith(metrics, "locus_move_unbegun{move=\"early.1>2\"} 1\n");
    if (starts) {
      Done({"start", file});
      WaitFor(file, "READY");
    }
    runner.Signal(SIGTERM);
    const Outcome outcome = runner.Finish();
    EXPECT_EQ(outcome.exit, 130) << outcome.err;
    if (!starts) {
      EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat(
                                   "early.1>2: not begun; waits for `locus move start ", file)));
    }
  }
  // A record that a runner has seen, and that is gone, is lost.
  Server(1).Sql("DELETE FROM shop1.locus_move");
  const Outcome outcome = Move({"run", file});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("locus_move, or its row, was lost"));
  Done({"start", file});
}

TEST_F(CliMovesTest, TwoFilesInOneTable_NoVerbTouchesTheOthersMove) {
  Server(1).Sql(
      "INSERT INTO shop1.orders (order_id, value) SELECT (seq << 47) + seq, seq FROM"
      " seq_1_to_99");
  Publish(With({{0, 49, 2}, {50, 99, 3}}));
  const std::string a = File("a"), b = File("b");
  EXPECT_THAT(Done({"start", a, "--only", "a.1>2"}),
              AllOf(HasSubstr("a.1>2"), Not(HasSubstr("3"))));
  EXPECT_THAT(Done({"start", b}), AllOf(HasSubstr("b.1>3"), Not(HasSubstr("1>2"))));
  EXPECT_THAT(States(a), ElementsAre("a.1>2 PLANNED"));
  EXPECT_THAT(States(b), ElementsAre("b.1>3 PLANNED"));
  EXPECT_THAT(Done({"preflight", a}), Not(HasSubstr("1>3")));
  RunningCommand run_a({"move", "run", a}), run_b({"move", "run", b});
  WaitFor(a, "READY");
  WaitFor(b, "READY");
  if (HasFatalFailure()) return;

  // Neither aborts nor rolls back the other's.
  Done({"step", a, "--to", "5000"});
  Done({"step", b, "--to", "5000"});
  WaitFor(a, "STEP(5000)");
  WaitFor(b, "STEP(5000)");
  if (HasFatalFailure()) return;
  Done({"rollback", b});
  WaitFor(b, "READY");
  if (HasFatalFailure()) return;
  EXPECT_THAT(States(a), ElementsAre("a.1>2 STEP(5000)"));

  // A third operator publishes a move of the same pair at share 0: those that run are as they were.
  Publish(With({{200, 209, 2}}));
  const std::string c = File("c");
  EXPECT_THAT(States(a), ElementsAre("a.1>2 STEP(5000)"));
  EXPECT_THAT(States(c), ElementsAre("c.1>2 not begun"));
  EXPECT_THAT(Refused({"start", c}), HasSubstr("other-moves"));
  EXPECT_THAT(Done({"abort", b}), Not(HasSubstr("a.")));
  WaitFor(b, "ABORTED");
  if (HasFatalFailure()) return;
  EXPECT_EQ(run_b.Finish().exit, 0);
  Done({"step", a, "--to", "10000"});
  WaitFor(a, "SWITCHED");
  if (HasFatalFailure()) return;
  Done({"finalize", a});
  WaitFor(a, "FINALIZED");
  if (HasFatalFailure()) return;
  EXPECT_THAT(Refused({"finalize", c}), HasSubstr("`locus move start` begins it"));
  EXPECT_THAT(States(b), ElementsAre("b.1>3 ABORTED"));
  Done({"cleanup", a});
  WaitFor(a, "DONE");
  if (HasFatalFailure()) return;
  EXPECT_EQ(run_a.Finish().exit, 0);
  EXPECT_EQ(Value(1, "SELECT COUNT(*) FROM orders"), "50");
  EXPECT_EQ(Value(2, "SELECT COUNT(*) FROM orders"), "49");
  EXPECT_EQ(Value(3, "SELECT COUNT(*) FROM orders"), "0");
  // A file may say which moves are its own before anybody has begun one.
  Publish(With({{50, 99, 3}, {300, 309, 4}}));
  EXPECT_THAT(States(File("d", "moves = [\"1>4\"]\n")), ElementsAre("d.1>4 not begun"));
  EXPECT_THAT(States(File("e", "moves = [\"1>3\", \"1>2\"]\n")),
              ElementsAre("e.1>2 not begun", "e.1>3 not begun"));
  EXPECT_THAT(Refused({"start", File("f", "moves = [\"4>1\"]\n")}), HasSubstr("has no moves"));

  EXPECT_EQ(Move({"report", a, "--svg", a}).exit, 2);
  const Outcome picture = Move({"report", a, "--svg", password_});
  EXPECT_EQ(picture.exit, 2);
  EXPECT_THAT(picture.err, HasSubstr("password_file of the move file are the same file"));
  EXPECT_EQ(Move({"report", a, "--svg", directory_ / "table.json"}).exit, 2);
  EXPECT_EQ(Move({"new", "--table", "file:" + directory_ / "table.json", "--out", a}).exit, 2);
  EXPECT_EQ(testing::ReadFile(password_), "s3cret\n");
}

TEST_F(CliMovesTest, MistakesOfTheOperator_AreRefusedBeforeAnythingChanges) {
  Server(1).Sql(
      "INSERT INTO shop1.orders (order_id, value) SELECT (seq << 47) + seq, seq FROM"
      " seq_1_to_99");
  const std::string file = File("peak");
  EXPECT_THAT(Refused({"start", file}), HasSubstr("`locus plan apply` begins those of a plan"));
  Publish(With({{0, 49, 2}}));
  auto refused = [&](const char* check, uint32_t shard, const std::string& mistake,
                     const std::string& undo, const std::string& remedy) {
    Server(shard).Sql(absl::StrCat("USE shop", shard, "; ", mistake));
    EXPECT_THAT(Refused({"start", file}),
                AllOf(HasSubstr("nothing was begun"), HasSubstr(check), HasSubstr(remedy)));
    Server(shard).Sql(absl::StrCat("USE shop", shard, "; ", undo));
  };
  refused("stray-rows", 2, "INSERT INTO orders (order_id) VALUES (5)", "DELETE FROM orders",
          "find out whose they are");
  refused("schemas", 2, "ALTER TABLE orders ADD note INT", "ALTER TABLE orders DROP note",
          "ALTER TABLE on one of them");
  {
    testing::Variable shifted("LD_PRELOAD", LOCUS_SHIFTED_CLOCK);
    servers_[1]->Stop();
    ASSERT_TRUE(servers_[1]->Start());
  }
  refused("clocks: they differ by ", 2, "DO 1", "DO 1", "set the clocks by NTP");
  servers_[1]->Stop();
  ASSERT_TRUE(servers_[1]->Start());
  refused("rights", 1, "REVOKE TRIGGER ON `shop%`.* FROM mover@'127.0.0.1'",
          "GRANT TRIGGER ON `shop%`.* TO mover@'127.0.0.1'",
          "GRANT TRIGGER ON `shop1`.* TO 'mover'@'127.0.0.1'");
  refused("tables", 1, "RENAME TABLE items TO others", "RENAME TABLE others TO items",
          "correct [[tables]]");
  for (uint32_t shard : {1u, 2u}) {
    EXPECT_EQ(Value(shard,
                    "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA ="
                    " DATABASE()"),
              "2")
        << "nothing was made";
  }
  // Out of order.
  for (const char* verb :
       {"step", "auto", "hold", "resume", "rollback", "finalize", "cleanup", "abort"}) {
    EXPECT_THAT(Refused({verb, file}), HasSubstr("`locus move start` begins it")) << verb;
  }
  EXPECT_THAT(Refused({"report", file}), HasSubstr("`locus move start` begins it"));
  EXPECT_THAT(Done({"explain", file}), HasSubstr("  may be asked  start\n"));
  Done({"start", file});
  EXPECT_THAT(Refused({"step", file}), HasSubstr("no step can be made before it is READY"));
  {
    const std::string metrics = directory_ / "locus.prom";
    RunningCommand runner({"move", "run", file, "--metrics", metrics});
    WaitFor(file, "READY");
    if (HasFatalFailure()) return;
    const std::string at_work = MetricsWith(metrics, "locus_move_held{move=\"peak.1>2\"} 0\n");
    EXPECT_THAT(at_work, AllOf(HasSubstr("locus_move_compared_estimated_rows{move=\"peak.1>2\"} "),
                               HasSubstr("locus_move_compared_left_seconds{move=\"peak.1>2\"} "),
                               HasSubstr("locus_move_copied_left_seconds{move=\"peak.1>2\"} ")));
    EXPECT_THAT(Refused({"finalize", file}), HasSubstr("at share 10000 only"));
    EXPECT_THAT(Refused({"cleanup", file}), HasSubstr("only after `locus move finalize`"));
    EXPECT_THAT(Refused({"rollback", file, "--to", "10"}),
                HasSubstr("use `locus move step --to 10`"));
    // The same vnodes to another shard, as another table says.
    const RoutingTable now = publisher_->Current().value();
    const RoutingTable elsewhere = RoutingTable::Make(now.epoch() + 1, now.shards(), now.ranges(),
                                                      {{40, 69, 3}}, now.table_id())
                                       .value();
    Publish(elsewhere, GuardedChangesBetween(&now, elsewhere));
    const std::string other = File("other");
    EXPECT_THAT(States(other), ElementsAre("other.1>3 not begun"));
    EXPECT_THAT(Refused({"start", other}),
                HasSubstr("peak.1>2 is READY, vnodes 0-49; needed: no other move of these vnodes"));
    ASSERT_TRUE(WaitUntil([&] { return Status(file)[0].at("wish").at("hold") != ""; }));
    const std::string held = MetricsWith(metrics, "locus_move_held{move=\"peak.1>2\"} 1\n");
    servers_[1]->Stop();
    const std::string troubled = MetricsWith(metrics, "locus_move_troubled{move=\"peak.1>2\"} 1\n");
    ASSERT_TRUE(servers_[1]->Start());
    MetricsWith(metrics, "locus_move_troubled{move=\"peak.1>2\"} 0\n");
    WriteFile(directory_ / "at_work", at_work);
    WriteFile(directory_ / "held", held);
    WriteFile(directory_ / "troubled", troubled);
    EXPECT_EQ(std::system(absl::StrCat("python3 ", golden::ProjectDirectory(),
                                       "/tests/deploy/move_alerts.py ", directory_ / "at_work", " ",
                                       directory_ / "held", " ", directory_ / "troubled", " >&2")
                              .c_str()),
              0)
        << "alerts and dashboard do not fit: " << held;
    Publish(
        RoutingTable::Make(now.epoch() + 2, now.shards(), now.ranges(), now.moves(), now.table_id())
            .value(),
        GuardedChangesBetween(&elsewhere, now));
    // Again, where the runner still knows the other table.
    ASSERT_TRUE(WaitUntil([&] {
      Move({"resume", file});
      Move({"step", file, "--to", "2500"});
      return States(file) == std::set<std::string>{"peak.1>2 STEP(2500)"};
    })) << Status(file);
    EXPECT_THAT(Refused({"abort", file}), HasSubstr("orders live on the target"));
    EXPECT_THAT(Refused({"step", file, "--to", "10"}),
                HasSubstr("use `locus move rollback --to 10`"));
    EXPECT_THAT(Refused({"finalize", file}), HasSubstr("at share 10000 only"));
    std::set<std::string> names;
    NamesIn(Status(file), names);
    const std::string manual = testing::ReadFile(golden::ProjectDirectory() + "/docs/locus.1");
    const size_t begin = manual.find("Print a JSON array.\nMembers may be added");
    ASSERT_NE(begin, std::string::npos);
    const std::string described = manual.substr(begin, manual.find(".B move report") - begin);
    EXPECT_GT(names.size(), 40u);
    for (const std::string& name : names) {
      EXPECT_THAT(described, ::testing::ContainsRegex("[^a-z_]" + name + "[^a-z_]"));
    }
    // Nothing that is only tried changes a wish.
    const auto wish = Status(file)[0].at("wish");
    for (std::vector<std::string> words : std::vector<std::vector<std::string>>{{"step", file},
                                                                                {"auto", file},
                                                                                {"hold", file},
                                                                                {"rollback", file},
                                                                                {"resume", file}}) {
      words.push_back("--dry-run");
      EXPECT_THAT(Done(words), HasSubstr("would be"));
    }
    Done({"rebind", file, "--dry-run"});
    EXPECT_EQ(Status(file)[0].at("wish"), wish);
    Done({"rollback", file});
    WaitFor(file, "READY");
    if (HasFatalFailure()) return;
    Done({"abort", file});
    WaitFor(file, "ABORTED");
    if (HasFatalFailure()) return;
    EXPECT_EQ(runner.Finish().exit, 0);
    EXPECT_THAT(testing::ReadFile(metrics),
                AllOf(HasSubstr("locus_move_over{move=\"peak.1>2\"} 1\n"),
                      HasSubstr("locus_move_state{move=\"peak.1>2\",state=\"ABORTED\"} 1\n")));
  }
  EXPECT_THAT(Refused({"start", file}), HasSubstr("give the next one another name"));
  EXPECT_EQ(Value(1, "SELECT COUNT(*) FROM orders"), "99");
  EXPECT_EQ(Value(2, "SELECT COUNT(*) FROM orders"), "0");
}

}  // namespace
}  // namespace locus
