// SPDX-License-Identifier: Apache-2.0
// Moves as operators make them, by the real command on two servers with two shards each: a split
// and a merge under live traffic, two files in one table, and mistakes.
#include <sys/stat.h>

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/file_table.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"
#include "tests/fence/fence_fixture.h"
#include "tests/run/live_orders.h"
#include "tests/support/golden.h"

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

class CliMovesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (uint16_t i = 0; i < 2; ++i) {
      MariadbServer::Settings settings = FencedServer(static_cast<uint16_t>(i + 1));
      settings.lines.push_back("max_connections=400");
      settings.make_accounts = false;
      servers_[i] = new MariadbServer(settings);
      ASSERT_TRUE(servers_[i]->Start());
      const auto results = servers_[i]->Sql("SELECT Host FROM mysql.global_priv WHERE User = ''");
      for (const auto& row : results[0].rows) {
        servers_[i]->Sql("DROP USER ''@'" + row[0].value() + "'");
      }
      servers_[i]->Sql(
          "CREATE USER mover@'127.0.0.1' IDENTIFIED BY 's3cret'; GRANT SELECT, INSERT, UPDATE,"
          " DELETE, CREATE, DROP, TRIGGER ON `shop%`.* TO mover@'127.0.0.1';"
          "GRANT REPLICATION SLAVE, BINLOG MONITOR, PROCESS ON *.* TO mover@'127.0.0.1';"
          "GRANT SELECT ON mysql.* TO mover@'127.0.0.1';"
          "CREATE USER shop@'127.0.0.1' IDENTIFIED BY 's3cret';"
          "GRANT SELECT, INSERT, UPDATE, DELETE ON `shop%`.* TO shop@'127.0.0.1'");
    }
  }
  static void TearDownTestSuite() {
    for (MariadbServer* server : servers_) delete server;
  }

  // Shards 1 and 4 are databases of the first server, 2 and 3 of the second; 1 has all orders.
  void SetUp() override {
    std::vector<Shard> shards;
    for (uint32_t id = 1; id <= 4; ++id) {
      const std::string database = absl::StrCat("shop", id);
      Server(id).Sql(absl::StrCat(
          "DROP DATABASE IF EXISTS ", database, "; CREATE DATABASE ", database, "; USE ", database,
          "; CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, value BIGINT, version "
          "BIGINT"
          " UNSIGNED NOT NULL DEFAULT 1); CREATE TABLE items (order_id BIGINT UNSIGNED, line INT,"
          " value BIGINT, version BIGINT UNSIGNED NOT NULL DEFAULT 1, PRIMARY KEY (order_id, line),"
          " FOREIGN KEY (order_id) REFERENCES orders (order_id))"));
      shards.push_back(
          {.id = id,
           .name = absl::StrCat("orders-", id),
           .endpoint = absl::StrCat("mysql://127.0.0.1:", Server(id).port(), "/", database),
           .labels = {}});
    }
    publisher_ = FileTablePublisher::Open(directory_ / "table.json").value();
    Publish(RoutingTable::Make(1, shards, {{65535, 1}}, {}).value());
    WriteFile(password_, "s3cret\n");
    ASSERT_EQ(chmod(password_.c_str(), 0600), 0);
  }

  static MariadbServer& Server(uint32_t shard) {
    return *servers_[shard == 1 || shard == 4 ? 0 : 1];
  }
  void Publish(const RoutingTable& table, const GuardedChanges& named = {}) {
    const absl::Status status = publisher_->Publish(table, table.epoch() - 1, named);
    ASSERT_TRUE(status.ok()) << status;
  }
  // The table in force with these moves, too.
  RoutingTable With(std::vector<VnodeMove> moves) {
    const RoutingTable now = publisher_->Current().value();
    moves.insert(moves.end(), now.moves().begin(), now.moves().end());
    std::sort(moves.begin(), moves.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return RoutingTable::Make(now.epoch() + 1, now.shards(), now.ranges(), moves, now.table_id())
        .value();
  }
  // A move file; `more` stands before its tables. Children are listed before their parents.
  std::string File(const std::string& name, const std::string& more = "") {
    const std::string path = directory_ / (name + ".toml");
    WriteFile(path,
              absl::StrCat("name = \"", name, "\"\ntable = \"file:", directory_ / "table.json",
                           "\"\nmovers = [\"mover@127.0.0.1\"]\n", more,
                           "[[tables]]\nname = \"items\"\nprimary_key = [\"order_id\","
                           " \"line\"]\n[[tables]]\nname = \"orders\"\n[accounts.mover]\n"
                           "user = \"mover\"\npassword_file = \"",
                           password_,
                           "\"\ntimeout = \"20s\"\n[pace]\naccept_within = \"10s\"\n[gates]\n"
                           "lag = \"10s\"\noldest_transaction = \"30s\"\n"));
    return path;
  }
  static Outcome Move(std::vector<std::string> words) {
    words.insert(words.begin(), "move");
    return RunLocus(std::move(words));
  }
  static std::string Done(std::vector<std::string> words) {
    const Outcome outcome = Move(std::move(words));
    EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
    return outcome.out;
  }
  static std::string Refused(std::vector<std::string> words) {
    const Outcome outcome = Move(std::move(words));
    EXPECT_EQ(outcome.exit, 1) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, Not(HasSubstr("s3cret")));
    return outcome.err;
  }
  static nlohmann::json Status(const std::string& file) {
    return nlohmann::json::parse(Done({"status", file, "--json"}));
  }
  // Every move of the file by its name and state.
  static std::set<std::string> States(const std::string& file) {
    std::set<std::string> states;
    for (const auto& move : Status(file)) {
      states.insert(absl::StrCat(std::string(move.at("move")), " ", std::string(move.at("state"))));
    }
    return states;
  }
  // Until all moves of the file are in the state.
  static void WaitFor(const std::string& file, const std::string& state) {
    std::string last;
    ASSERT_TRUE(WaitUntil([&] {
      bool all = true, held = false;
      const auto status = Status(file);
      last = status.dump();
      for (const auto& move : status) {
        all = all && move.at("state") == state;
        held = held || (move.contains("wish") && move.at("wish").at("hold") != "");
      }
      return all || held;
    }));
    for (const auto& move : Status(file)) ASSERT_EQ(move.at("state"), state) << last;
  }
  // A verb that is killed somewhere, and then runs twice.
  void KilledAndRepeated(std::vector<std::string> words) {
    std::vector<std::string> all = {"move"};
    all.insert(all.end(), words.begin(), words.end());
    {
      RunningCommand killed(all);
      std::this_thread::sleep_for(std::chrono::milliseconds(kill_after_ % 200));
      killed.Signal(SIGKILL);
      killed.Finish();
    }
    kill_after_ += 23;
    Done(words);
    Done(std::move(words));
  }
  std::string Value(uint32_t shard, const std::string& query) {
    return Server(shard).Sql(absl::StrCat("USE shop", shard, "; ", query))[1].rows[0][0].value();
  }
  static std::map<std::string, std::string> OrdersOn(uint32_t shard) {
    std::map<std::string, std::string> rows;
    const auto results = Server(shard).Sql(
        absl::StrCat("SELECT order_id, value FROM shop", shard, ".orders JOIN shop", shard,
                     ".items USING (order_id, value) WHERE order_id >> 47 BETWEEN 0 AND 299"));
    for (const auto& row : results[0].rows) rows[*row[0]] = *row[1];
    return rows;
  }

  static inline MariadbServer* servers_[2];
  TemporaryDirectory directory_;
  const std::string password_ = directory_ / "password";
  std::unique_ptr<FileTablePublisher> publisher_;
  int kill_after_ = 5;
};

TEST_F(CliMovesTest, SplitIntoThreeAndMergedAgain_EveryAcknowledgedWriteIsThereOnce) {
  // Fences first, so that orders are written while the copy begins.
  for (uint32_t id = 1; id <= 4; ++id) {
    MariadbOptions options = Server(id).Account(absl::StrCat("shop", id));
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
  Done({"start", file});
  EXPECT_THAT(Refused({"step", file}), HasSubstr("no step can be made before it is READY"));
  {
    RunningCommand runner({"move", "run", file});
    WaitFor(file, "READY");
    if (HasFatalFailure()) return;
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
  }
  EXPECT_THAT(Refused({"start", file}), HasSubstr("give the next one another name"));
  EXPECT_EQ(Value(1, "SELECT COUNT(*) FROM orders"), "99");
  EXPECT_EQ(Value(2, "SELECT COUNT(*) FROM orders"), "0");
}

}  // namespace
}  // namespace locus
