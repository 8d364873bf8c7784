// SPDX-License-Identifier: Apache-2.0
// locus move: files written and read, and a preflight of servers that fail it.
#include <sys/stat.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/routing_table.h"
#include "migration/fence/guard_sql.h"
#include "migration/mysql/marker_tables.h"
#include "migration/run/move_records.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"
#include "tests/engine/mysql/mariadb_server.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::ReadFile;
using testing::RunLocus;
using testing::WriteFile;

class CliMoveTest : public testing::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    WriteFile(table_,
              RoutingTable::Make(
                  4,
                  {{.id = 1, .name = "a", .endpoint = "mysql://127.0.0.1:1/shop", .labels = {}},
                   {.id = 2, .name = "b", .endpoint = "mysql://127.0.0.1:2/shop", .labels = {}}},
                  {{65535, 1}}, {{.first = 0, .last = 9, .to = 2}})
                  ->ToJson());
  }
  std::string file_ = directory_ / "peak.toml";
};

TEST_F(CliMoveTest, New_WritesAFileThatNamesTheMoves) {
  const Outcome outcome =
      RunLocus({"move", "new", "--table", table_, "--name", "peak", "--out", file_});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(ReadFile(file_), HasSubstr("#   peak.1>2   a -> b, vnodes 0-9"));
  EXPECT_THAT(ReadFile(file_), HasSubstr("table = \"file:" + table_ + "\""))
      << "where runners publish";
  EXPECT_THAT(RunLocus({"move", "new", "--table", table_}).out, HasSubstr("name = \"move-4\""));
  // The file's verbs may run in another directory, and take URIs only.
  const std::string place = absl::StrCat("\ntable = \"file:", table_, "\"\n");
  const std::string relative = std::filesystem::relative(table_);
  for (const std::string& table : {table_, "file:" + table_, relative, "file:" + relative}) {
    EXPECT_THAT(RunLocus({"move", "new", "--table", table}).out, HasSubstr(place)) << table;
  }
}

TEST_F(CliMoveTest, New_RefusesWhatAFileCannotSay) {
  EXPECT_EQ(RunLocus({"move", "new", "--table", "-"}).exit, 2);
  const Outcome outcome = RunLocus({"move", "new", "--table", table_, "--name", "Peak"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("\"Peak\" is not 1 to 40 bytes of a-z"));
  const std::string odd = directory_ / "\xFF.json";
  WriteFile(odd, ReadFile(table_));
  EXPECT_EQ(RunLocus({"move", "new", "--table", odd}).exit, 1) << "TOML has no such letter";
}

// Two databases of one server without a binary log.
class CliPreflightTest : public CliMoveTest {
 protected:
  void SetUp() override {
    CliMoveTest::SetUp();
    std::vector<Shard> shards;
    for (uint32_t id : {1u, 2u}) {
      const MysqlOptions options = FreshMariadbDatabase();
      servers_.push_back(options);
      shards.push_back({.id = id,
                        .name = absl::StrCat("s", id),
                        .endpoint = absl::StrCat("mysql://127.0.0.1:", options.hosts[0].port, "/",
                                                 options.database),
                        .labels = {}});
    }
    WriteFile(
        table_,
        RoutingTable::Make(4, shards, {{65535, 1}}, {{.first = 0, .last = 9, .to = 2}})->ToJson());
    WriteFile(password_, "s3cret\n");
    ASSERT_EQ(chmod(password_.c_str(), 0600), 0);
    WriteFile(file_, absl::StrCat("name = \"peak\"\ntable = \"file:", table_,
                                  "\"\nmovers = [\"locus@127.0.0.1\"]\n[[tables]]\nname = "
                                  "\"orders\"\n[accounts.mover]\nuser = \"locus\"\n"
                                  "password_file = \"",
                                  password_, "\"\n"));
  }
  std::string password_ = directory_ / "password";
  std::vector<MysqlOptions> servers_;
};

TEST_F(CliPreflightTest, WhatFails_IsSaidWithItsRemedy) {
  const Outcome outcome = RunLocus({"move", "preflight", file_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("peak.1>2: "), HasSubstr("  FAIL  log-bin  s1 at 127.0.0.1:"),
                    HasSubstr("          remedy: start the server with log_bin"),
                    HasSubstr("GRANT SELECT ON mysql.* TO 'locus'@'%'"),
                    HasSubstr("  ok    login  s2 at 127.0.0.1:"), Not(HasSubstr("s3cret"))));
  EXPECT_EQ(outcome.err, "");

  EXPECT_LT(outcome.out.rfind("\n  ok "), outcome.out.find("\n  FAIL ")) << "failures are last";
  const Outcome quiet = RunLocus({"move", "preflight", file_, "--quiet"});
  EXPECT_EQ(quiet.exit, 1);
  EXPECT_THAT(quiet.out, AllOf(HasSubstr("  FAIL  log-bin  s1 at "), Not(HasSubstr("\n  ok "))));

  const auto json = nlohmann::json::parse(RunLocus({"move", "preflight", file_, "--json"}).out);
  EXPECT_FALSE(json.at("ok"));
  EXPECT_EQ(json.at("moves").at(0).at("move"), "peak.1>2");
  EXPECT_EQ(json.at("moves").at(0).at("findings").at(0).at("check"), "login");
}

TEST_F(CliPreflightTest, WhatCannotBeRead_IsNamedLineByLine) {
  WriteFile(file_, "name = 5\ntable = 6\n");
  Outcome outcome = RunLocus({"move", "preflight", file_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("locus move preflight: " + file_ + ":1:8: name is the number 5"),
                    HasSubstr("locus move preflight: " + file_ + ":2:9: table is the number 6")));
}

TEST_F(CliPreflightTest, PasswordFileThatOthersMayRead_IsRefused) {
  ASSERT_EQ(chmod(password_.c_str(), 0644), 0);
  const Outcome outcome = RunLocus({"move", "preflight", file_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr(password_));
}

// A move that is READY at share 0, says its record; of its triggers and markers nothing is there.
class CliRepairTest : public CliPreflightTest {
 protected:
  void SetUp() override {
    CliPreflightTest::SetUp();
    for (const MysqlOptions& server : servers_) {
      sessions_.push_back(SqlSession::Open(server).value());
      const bool source = &server == &servers_[0];
      Sql(source ? 0 : 1,
          absl::StrCat("CREATE TABLE orders (order_id BIGINT PRIMARY KEY, version BIGINT UNSIGNED "
                       "NOT NULL DEFAULT 1);",
                       internal::kCreateFence, ";", absl::StrJoin(CreateTombstones(), "; "),
                       ";INSERT INTO locus_fence SET lo = 0, hi = 9, own_lo = 0, own_hi = ",
                       source ? 10000 : 0, ", step = 1, server_id = @@server_id;",
                       internal::kCreateVnodes, ";", internal::kMapVnodes));
    }
    link_ = mysql::ShardLink::Create(servers_[0]).value();
    records_ = std::make_unique<mysql::MoveRecords>(*link_);
    ASSERT_TRUE(records_->CreateTables().ok());
    ASSERT_TRUE(records_->Begin(kMove, {1, 2, {{0, 9}}}, {}).ok());
    Sql(0, "UPDATE locus_move SET phase = 'READY', hold = 'a trigger is missing'");
  }
  void Sql(size_t server, const std::string& statements) {
    const auto done = sessions_[server]->Run(statements);
    ASSERT_TRUE(done.ok()) << done.status();
  }
  internal::Wish Wish() { return records_->Read(kMove)->wish; }
  // As a move leaves them that has ended at share 10000.
  void SetFences(const std::string& token) {
    Sql(0, absl::StrCat("UPDATE locus_fence SET own_lo = 10000, step = 3, token = ", token));
    Sql(1, "UPDATE locus_fence SET own_hi = 10000, step = 3");
  }
  // To what becomes of the table: the move has ended, and the target has the vnodes.
  void EndMove(std::vector<VnodeMove> moves = {}, uint32_t owner = 2) {
    const RoutingTable table = RoutingTable::Parse(ReadFile(table_)).value();
    auto ended = RoutingTable::Make(table.epoch() + 1, table.shards(), {{9, owner}, {65535, 1}},
                                    std::move(moves), table.table_id());
    ASSERT_TRUE(ended.ok()) << ended.status();
    WriteFile(table_, ended->ToJson());
  }
  static constexpr char kLastToken[] = "'{\"share\": 10000, \"nonce\": 77}'";

  static constexpr char kMove[] = "peak.1>2";
  std::vector<std::unique_ptr<SqlSession>> sessions_;
  std::unique_ptr<mysql::ShardLink> link_;
  std::unique_ptr<mysql::MoveRecords> records_;
};

TEST_F(CliRepairTest, SaysWhatIsLostAndAsksTheRunnerToMendIt) {
  Sql(1, "CREATE TRIGGER audit BEFORE INSERT ON orders FOR EACH ROW SET @x = 1");
  Outcome outcome = RunLocus({"move", "repair", file_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(
      outcome.out,
      AllOf(
          HasSubstr("peak.1>2: READY at share 0, held: a trigger is missing\n"),
          HasSubstr("  in excess   s2: trigger \"audit\" on orders would run again for rows that a "
                    "mover writes; make it anew with "),
          HasSubstr("              LEFT to you: mend it on both shards"),
          HasSubstr("nothing was asked for")));
  EXPECT_EQ(Wish().repair, internal::Repair());
  Sql(1, "DROP TRIGGER audit");

  outcome = RunLocus({"move", "repair", file_, "--dry-run"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("  lost        s1: trigger locus_guard_orders_insert is missing\n"),
            HasSubstr("  lost        s2: trigger locus_version_orders_before_update is mis"),
            HasSubstr("  lost        s2: table locus_checkpoint: how far the stream from s1"
                      " has come\n"),
            HasSubstr("  would ask   guards")));
  EXPECT_EQ(Wish().repair, internal::Repair());
  outcome = RunLocus({"move", "repair", file_});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("  asked for   guards and version triggers are made again"));
  EXPECT_EQ(Wish().repair, (internal::Repair{true, true, false}));
  EXPECT_EQ(Wish().hold, "");
  EXPECT_THAT(RunLocus({"move", "status", file_}).out, HasSubstr("repair of guards,forth"));
}

TEST_F(CliRepairTest, StreamThatIsToBeginAnew_IsAskedForBySide) {
  EXPECT_EQ(RunLocus({"move", "repair", file_, "--reseed", "back"}).exit, 2);
  const Outcome outcome = RunLocus({"move", "repair", file_, "--reseed", "target"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("the stream from s2 begins anew"));
  EXPECT_TRUE(Wish().repair.back);
  Sql(0, "UPDATE locus_move SET phase = 'DONE', repair = ''");
  EXPECT_THAT(RunLocus({"move", "repair", file_, "--reseed", "target"}).err,
              HasSubstr("the streams have ended"));
}

TEST_F(CliRepairTest, FileWithOtherTablesThanTheMoveBeganWith_IsRefused) {
  MovedTable orders, items;
  orders.guard.name = "orders";
  items.guard.name = "order_items";
  items.primary_key = {"order_id", "line"};
  ASSERT_TRUE(records_->Begin("other", {1, 2, {{20, 29}}}, {}, {orders, items}).ok());
  Sql(0, absl::StrCat("UPDATE locus_move_tables SET move = '", kMove,
                      "'; UPDATE locus_move SET hold = '', started = 1"));
  const std::string lacks =
      "move \"peak.1>2\" was begun with other [[tables]] than the move file has now; the file "
      "lacks: order_items: order_id order_id, primary key (order_id, line), version version; ";
  for (const char* verb : {"run", "step", "auto", "resume", "repair", "abort", "start"}) {
    const Outcome outcome = RunLocus({"move", verb, file_});
    EXPECT_EQ(outcome.exit, 1) << verb;
    EXPECT_THAT(outcome.err, HasSubstr("peak.1>2: " + lacks)) << verb;
  }
  EXPECT_THAT(RunLocus({"move", "status", file_}).out,
              AllOf(HasSubstr("  FILE      " + lacks), HasSubstr("next      put the [[tables]]")));
  EXPECT_EQ(records_->Read(kMove)->run, 0u) << "the runner with the right file goes on";
  // What makes a move safer needs no right file.
  EXPECT_EQ(RunLocus({"move", "hold", file_}).exit, 0);
  EXPECT_EQ(RunLocus({"move", "rollback", file_}).exit, 0);

  Sql(0, "UPDATE locus_move SET phase = 'PLANNED'");
  orders.version = "rev";
  EXPECT_TRUE(records_->Begin(kMove, {1, 2, {{0, 9}}}, {}, {orders}).ok()) << "begun again";
  EXPECT_TRUE(records_->CheckTables(kMove, {orders}).ok());
  EXPECT_THAT(RunLocus({"move", "run", file_}).err,
              AllOf(HasSubstr("lacks: orders: order_id order_id, primary key (order_id), version "
                              "rev; it has instead: orders: "),
                    HasSubstr("version version; ")));
}

TEST_F(CliRepairTest, VersionTriggersOfOtherMovers_AreMadeAgainAndNotLeftToTheOperator) {
  MovedTable orders;
  orders.guard.name = "orders";
  for (size_t server : {0u, 1u}) {
    for (const VersionTrigger& trigger : VersionTriggersOf(orders, {"locus@10.0.0.9"})) {
      Sql(server, absl::StrCat("CREATE TRIGGER ", trigger.name, " ", trigger.timing, " ",
                               trigger.event, " ON orders FOR EACH ROW ", trigger.body));
    }
  }
  const Outcome outcome = RunLocus({"move", "repair", file_, "--dry-run"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(Not(HasSubstr("in excess")), Not(HasSubstr("LEFT to you")),
                                 HasSubstr("  wrong       s1: trigger "
                                           "locus_version_orders_before_update has another body"),
                                 HasSubstr("  would ask   guards")));
}

TEST_F(CliRepairTest, ShardThatDoesNotAnswer_IsNoReasonNotToHold) {
  Sql(0, "UPDATE locus_move SET hold = ''");
  RoutingTable table = RoutingTable::Parse(ReadFile(table_)).value();
  std::vector<Shard> shards = table.shards();
  shards[1].endpoint = "mysql://127.0.0.1:1/shop";
  WriteFile(
      table_,
      RoutingTable::Make(5, shards, table.ranges(), table.moves(), table.table_id())->ToJson());
  Outcome outcome = RunLocus({"move", "hold", file_, "--why", "s2 is away"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("READY at a share that is not known now, goal 0, held: s2"));
  EXPECT_EQ(Wish().hold, "s2 is away");
  EXPECT_THAT(RunLocus({"move", "status", file_}).out,
              HasSubstr("  state     READY, held, share not known, goal 0"));
  EXPECT_TRUE(nlohmann::json::parse(RunLocus({"move", "status", file_, "--json"}).out)
                  .at(0)
                  .at("share")
                  .is_null());
  EXPECT_EQ(RunLocus({"move", "rollback", file_}).exit, 1) << "that needs the share";
}

TEST_F(CliRepairTest, ReasonOfAHold_IsKeptWithoutPasswords) {
  Sql(0, "UPDATE locus_move SET hold = ''");
  const Outcome outcome =
      RunLocus({"move", "hold", file_, "--why", "mysql://u:s3cret@s2/x?password=s3cret is away"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("s3cret")));
  EXPECT_EQ(Wish().hold, "mysql://...@s2/x?... is away");
}

TEST_F(CliRepairTest, RowsThatACleanupKept_AreDeletedByALaterOne) {
  Sql(0, "UPDATE locus_move SET phase = 'DONE', keep = 1, hold = '', goal = 10000");
  EXPECT_EQ(RunLocus({"move", "cleanup", file_, "--keep"}).exit, 0);
  SetFences("NULL");
  for (const char* dry : {"--dry-run", "--quiet"}) {
    const Outcome refused = RunLocus({"move", "cleanup", file_, dry});
    EXPECT_EQ(refused.exit, 1) << "another move was prepared since";
    EXPECT_THAT(refused.err,
                HasSubstr("the fence of s1 says that a later move has used the vnodes"));
  }
  SetFences(kLastToken);
  // It left the fence as this one did, and may go back.
  Sql(0,
      "CREATE TABLE later SELECT * FROM locus_move; UPDATE later SET move = 'later.1>3', target = "
      "3, phase = 'READY', keep = 0; INSERT INTO locus_move SELECT * FROM later");
  for (const char* dry : {"--dry-run", "--quiet"}) {
    const Outcome refused = RunLocus({"move", "cleanup", file_, dry});
    EXPECT_EQ(refused.exit, 1);
    EXPECT_THAT(refused.err, HasSubstr("has not ended (READY): rows of these vnodes on s1 are"));
    EXPECT_EQ(records_->Read(kMove)->phase, internal::Phase::kDone);
  }
  Sql(0, "UPDATE locus_move SET phase = 'DONE' WHERE move = 'later.1>3'");
  EXPECT_EQ(RunLocus({"move", "cleanup", file_, "--dry-run"}).exit, 0);
  EXPECT_EQ(records_->Read(kMove)->phase, internal::Phase::kDone);
  for (int again = 0; again < 2; ++again) {
    const Outcome outcome = RunLocus({"move", "cleanup", file_});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(records_->Read(kMove)->phase, internal::Phase::kCleanup);
    EXPECT_FALSE(Wish().keep);
  }
}

TEST_F(CliRepairTest, CleanupOfAMoveThatIsDone_RemovesWhatIsLeftOrSaysThatNothingIs) {
  Sql(0, "UPDATE locus_move SET phase = 'DONE', hold = '', goal = 10000, ending = 'cleanup'");
  SetFences(kLastToken);
  EndMove();
  for (int again = 0; again < 2; ++again) {
    const Outcome outcome = RunLocus({"move", "cleanup", file_});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "peak.1>2: already cleaned up; nothing is left\n");
    EXPECT_EQ(records_->Read(kMove)->phase, internal::Phase::kDone);
  }
  // A promoted replica may lack the cleanup.
  Sql(1, absl::StrCat("CREATE TABLE locus_moved_table (tbl VARCHAR(64), move VARCHAR(64)); INSERT"
                      " INTO locus_moved_table VALUES ('orders', '",
                      kMove, "')"));
  Sql(0, "INSERT INTO orders VALUES (5, 1)");
  Outcome outcome = RunLocus({"move", "cleanup", file_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err,
              HasSubstr("s1 has rows of vnodes 0-9 in \"orders\" again, written past"));
  EXPECT_EQ(records_->Read(kMove)->phase, internal::Phase::kDone);
  Sql(0, "DELETE FROM orders");
  EXPECT_EQ(RunLocus({"move", "cleanup", file_, "--dry-run"}).out,
            "peak.1>2: would be cleaned up again: s2: locus_moved_table\n");
  EXPECT_EQ(records_->Read(kMove)->phase, internal::Phase::kDone);
  outcome = RunLocus({"move", "cleanup", file_});
  EXPECT_EQ(outcome.out, "peak.1>2: is cleaned up again: s2: locus_moved_table\n") << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("nobody runs it now"));
  EXPECT_EQ(records_->Read(kMove)->phase, internal::Phase::kCleanup);
}

// Its source has orders of a later move, or copies of one under way. "Delete them by hand" was the
// advice.
TEST_F(CliRepairTest, CleanupOfAMoveThatIsDone_SaysThatALaterMoveHasUsedItsVnodes) {
  Sql(0,
      "UPDATE locus_move SET phase = 'DONE', hold = '', goal = 10000, ending = 'cleanup';"
      "INSERT INTO orders VALUES (5, 1)");
  auto says_used = [&](const std::string& when) {
    const Outcome outcome = RunLocus({"move", "cleanup", file_});
    EXPECT_EQ(outcome.exit, 0) << when << ": " << outcome.err;
    EXPECT_EQ(outcome.out,
              "peak.1>2: already cleaned up; a later move has used vnodes 0-9, or some of them: s1 "
              "was not looked at for rows of them\n")
        << when;
  };
  EndMove();
  SetFences("NULL");
  says_used("a move back was prepared");
  SetFences(kLastToken);
  EndMove({{5, 9, 1, 0, 0}});
  says_used("a move back stands in the table");
  EndMove({}, 1);
  says_used("the table gives the vnodes to the source");
  EndMove();
  // A client kept the earlier row, so that it still ends at 9.
  Sql(0,
      "INSERT INTO locus_fence SET lo = 5, hi = 9, own_lo = 10000, own_hi = 10000, step = 7,"
      " server_id = @@server_id");
  says_used("a later move cut the row");
  Sql(0, "UPDATE locus_fence SET hi = 4 WHERE lo = 0");
  says_used("the row was shortened");
  Sql(0, "UPDATE locus_move SET keep = 1");
  const Outcome kept = RunLocus({"move", "cleanup", file_});
  EXPECT_EQ(kept.exit, 1);
  EXPECT_THAT(kept.err, HasSubstr("locus_fence has no row for vnodes 0-9, but 0-4, 5-9"));
  EXPECT_EQ(records_->Read(kMove)->phase, internal::Phase::kDone);
}

TEST_F(CliRepairTest, StartAgain_MakesDroppedTablesOfTheMove) {
  Sql(0, "UPDATE locus_move SET started = 1; DROP TABLE locus_move_event, locus_move_tables");
  EXPECT_EQ(RunLocus({"move", "resume", file_}).exit, 1);
  const Outcome outcome = RunLocus({"move", "start", file_});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(RunLocus({"move", "hold", file_}).exit, 0);
  EXPECT_EQ(RunLocus({"move", "resume", file_}).exit, 0);
}

TEST_F(CliRepairTest, LostRecord_IsNotBegunAnewAndNamedByTheRunner) {
  Sql(0, "DROP TABLE locus_move");
  const std::string lost =
      "has no record of move \"peak.1>2\", which was begun: locus_move, or its row, was lost; "
      "restore "
      "it from a backup";
  // Each shard knows which runner has had the move.
  Sql(1, absl::StrCat(absl::StrJoin(mysql::CreateMarkerTables(), ";"),
                      "; INSERT INTO locus_run SET move = '", kMove,
                      "', run = 5, ping = 0, counter = 0"));
  Outcome outcome = RunLocus({"move", "run", file_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr(lost));
  Sql(1, "DELETE FROM locus_run");
  Sql(0, "UPDATE locus_fence SET own_lo = 2500, step = 2");
  Sql(1, "UPDATE locus_fence SET own_hi = 2500, step = 2");
  outcome = RunLocus({"move", "run", file_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr(lost)) << "bands have stepped";
  EXPECT_THAT(RunLocus({"move", "status", file_}).out,
              AllOf(HasSubstr("  state     LOST at share 2500\n"),
                    HasSubstr("  next      restore locus_move of the source from a backup")));
  outcome = RunLocus({"move", "start", file_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("stands at share 2500, and locus_move on s1 has no record"));
}

TEST_F(CliPreflightTest, StartThatTheShardsAreNotReadyFor_SaysEachReasonOnALine) {
  const Outcome outcome = RunLocus({"move", "start", file_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("\nlocus move start: peak.1>2: log-bin s2 at 127.0.0.1:"),
                    HasSubstr("\nlocus move start: peak.1>2: nothing was begun; "),
                    HasSubstr(absl::StrCat("`locus move preflight ", file_, "` shows all\n"))));
}

TEST_F(CliPreflightTest, StatusOfAMoveThatNobodyBegan_NamesNoMissingTables) {
  EXPECT_THAT(RunLocus({"move", "status", file_}).out,
              AllOf(HasSubstr("  state     not begun\n  s1 no fence yet\n  s2 no fence yet\n"),
                    Not(HasSubstr("1146"))));
}

// An account that may write to locus_move must not be able to control the operator's terminal.
TEST_F(CliRepairTest, ControlSequencesOfTheShard_AreShownAsSuch) {
  Sql(0,
      "UPDATE locus_move SET hold = CONCAT(CHAR(27), '[2J');"
      "INSERT INTO locus_move_event (move, at, kind, share, text) SELECT move, NOW(6),"
      " CONCAT(CHAR(27), '[31m'), 5, CHAR(27) FROM locus_move");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"move", "report", file_},
        std::vector<std::string>{"move", "hold", file_, "--dry-run"}}) {
    const Outcome outcome = RunLocus(words);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("\\x1b["), Not(HasSubstr("\x1b"))));
  }
}

}  // namespace
}  // namespace locus
