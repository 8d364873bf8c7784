// SPDX-License-Identifier: Apache-2.0
// The commands of docs/run/engines-mysql.md for MariaDB, run exactly as written there.
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "tests/engine/mysql/mariadb_fixture.h"
#include "tests/engine/mysql/mariadb_replica.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

constexpr char kDatabase[] = "locus_runbook";

// The indented lines between two lines that begin so, without their indentation.
std::string Commands(const std::string& from, const std::string& to) {
  std::ifstream runbook(golden::ProjectDirectory() + "/docs/run/engines-mysql.md");
  std::string commands, line;
  while (std::getline(runbook, line) && !absl::StartsWith(line, from)) continue;
  while (std::getline(runbook, line) && !absl::StartsWith(line, to)) {
    if (absl::StartsWith(line, "    ")) {
      absl::StrAppend(&commands, line.substr(line.find_first_not_of(' ')), "\n");
    }
  }
  EXPECT_NE(commands, "") << from;
  return commands;
}

TEST(MysqlRunbookTest, GrantsOfTheSetUp_SufficeForInitAndAllocations) {
  MariadbServer& server = SharedMariadb();
  std::string grants = Commands("A database, an account for", "`locus store init`");
  ASSERT_TRUE(absl::StrContains(grants, "locus_init@"));
  // Accounts and database of the test's own; TLS has tests of its own.
  server.Sql(absl::StrReplaceAll(grants, {{"DATABASE locus", "DATABASE runbook_grants"},
                                          {"ON locus.", "ON runbook_grants."},
                                          {"locus@'10.%'", "runbook@'%'"},
                                          {"locus_init@'10.%'", "runbook_init@'%'"},
                                          {"…", "s3cret"},
                                          {" REQUIRE SSL", ""}}));
  MysqlOptions init = server.Account("runbook_grants"), plain = init;
  init.user = "runbook_init";
  plain.user = "runbook";
  absl::Status refused = MysqlSegmentStore::CreateSchema(plain);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  absl::Status created = MysqlSegmentStore::CreateSchema(init);
  ASSERT_TRUE(created.ok()) << created;
  CreateSpace(*MustOpen(init));

  auto store = MustOpen(plain);
  uint64_t end = EndOf(Allocate(*store));
  EXPECT_EQ(FirstOf(Allocate(*store)), end) << "the quick path needs no more rights";
  ASSERT_TRUE(store->DeclareRestored(SpaceName(), absl::Now()).ok());
  EXPECT_GE(FirstOf(Allocate(*store)), end);
  auto sequencer = MysqlSequencer::Open(plain, {});
  ASSERT_TRUE(sequencer.ok()) << sequencer.status();
  EXPECT_EQ((*sequencer)->Next("a").value(), 1);
}

TEST(MysqlRunbookTest, DumpAndRestore_LoseNothing) {
  MariadbServer server;
  ASSERT_TRUE(server.Start());
  MysqlOptions options = server.OptionsFor(kDatabase);
  ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options).ok());
  auto store = MustOpen(options);
  CreateSpace(*store);
  Allocate(*store);
  const std::string login =
      absl::StrCat(" --no-defaults -h127.0.0.1 -P", server.port(), " -uroot ");
  auto run = [&](const std::string& commands) {
    std::string words =
        absl::StrReplaceAll(commands, {{"mariadb-dump ", "mariadb-dump" + login},
                                       {"mariadb locus", "mariadb" + login + "locus"},
                                       {" locus ", absl::StrCat(" ", kDatabase, " ")},
                                       {"locus.sql", server.path("locus.sql")}});
    words = absl::StrReplaceAll(words, {{login + "locus <", login + kDatabase + " <"}});
    EXPECT_EQ(RunProgram({"sh", "-ec", words}, server.path("runbook.log")), 0) << words;
  };
  run(Commands("**Backup.** The tables", "**Restore of a dump.**"));
  uint64_t end = 0;
  for (int i = 0; i < 20; ++i) end = EndOf(Allocate(*store));

  run(Commands("**Restore of a dump.**", "2. Declare it"));
  ASSERT_TRUE(store->DeclareRestored(SpaceName(), absl::Now()).ok());
  EXPECT_GE(store->Show(SpaceName(), absl::Now())->losses, 2u);
  EXPECT_GE(FirstOf(Allocate(*store)), end);
  EXPECT_GE(FirstOf(Allocate(*MustOpen(options))), end);
}

// Processes keep working while a dump is read in. Segments that they allocate after locus_birth is
// made anew, but before the later tables are, would be dropped and allocated again.
TEST(MysqlRunbookTest, HalfOfADump_AllocatesNothing) {
  MariadbServer server;
  ASSERT_TRUE(server.Start());
  MysqlOptions options = server.OptionsFor(kDatabase);
  ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options).ok());
  auto store = MustOpen(options);
  CreateSpace(*store);
  const uint64_t before = EndOf(Allocate(*store));

  const std::string birth = absl::StrCat(kDatabase, ".locus_birth");
  const std::string made =
      absl::StrCat("CREATE TABLE ", birth,
                   " (one TINYINT NOT NULL PRIMARY KEY) ENGINE=InnoDB WITH SYSTEM VERSIONING");
  server.Sql(absl::StrCat("DROP TABLE ", birth, ";", made));
  for (bool filled : {false, true}) {
    // An hour later than the other tables, which are minutes old here.
    if (filled) {
      server.Sql(absl::StrCat("SET timestamp = UNIX_TIMESTAMP() + 3600; INSERT INTO ", birth,
                              " VALUES (1)"));
    }
    absl::StatusOr<SegmentReply> reply = TryAllocate(*store);
    EXPECT_TRUE(absl::IsUnavailable(reply.status())) << reply.status();
    EXPECT_THAT(reply.status().message(), testing::HasSubstr("a dump is being put back"));
    EXPECT_TRUE(absl::IsUnavailable(store->DeclareRestored(SpaceName(), absl::Now())));
    EXPECT_EQ(store->Show(SpaceName(), absl::Now())->losses, 1u);
  }

  // Whole: birth is not later than the others any more.
  server.Sql(absl::StrCat("DELETE FROM ", birth, "; INSERT INTO ", birth, " VALUES (1)"));
  SegmentReply reply = Allocate(*store);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GE(FirstOf(reply), before);
}

TEST(MysqlRunbookTest, Failover_LosesNothing) {
  MariadbServer primary{ReplicaSettings(1)}, replica{ReplicaSettings(2)};
  for (MariadbServer* server : {&primary, &replica}) ASSERT_TRUE(server->Start());
  Replicate(primary, replica);
  MysqlOptions options = primary.OptionsFor(kDatabase);
  options.hosts.push_back({"127.0.0.1", replica.port()});
  ASSERT_TRUE(MysqlSegmentStore::CreateSchema(options).ok());
  auto store = MustOpen(options);
  CreateSpace(*store);
  WaitForReplica(primary, replica);
  CutOff(replica);  // it lacks what is allocated from here on
  uint64_t end = 0;
  for (int i = 0; i < 20; ++i) end = EndOf(Allocate(*store));

  // As an operator's client does: statement by statement, each to its end.
  auto run = [](MariadbServer& server, const std::string& statements) {
    EXPECT_EQ(RunProgram({"mariadb", "--no-defaults", "-h127.0.0.1",
                          absl::StrCat("-P", server.port()), "-uroot", "-e", statements}),
              0)
        << statements;
  };
  run(primary, Commands("1. Fence the old primary", "2. On the replica"));
  run(replica, Commands("2. On the replica", "3. Processes switch"));

  absl::StatusOr<SegmentReply> reply = absl::UnavailableError("not asked yet");
  ASSERT_TRUE(WaitUntil([&] {
    reply = TryAllocate(*store);
    return reply.ok();
  })) << reply.status();
  EXPECT_TRUE(reply->loss_noticed);
  EXPECT_GE(FirstOf(*reply), end);
  EXPECT_EQ(store->Show(SpaceName(), absl::Now())->losses, 2u);
  EXPECT_FALSE(Allocate(*store).loss_noticed);
}

}  // namespace
}  // namespace locus
