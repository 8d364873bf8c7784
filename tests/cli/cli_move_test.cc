// SPDX-License-Identifier: Apache-2.0
// locus move: files written and read, and a preflight of servers that fail it.
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/routing_table.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"
#include "tests/engine/mariadb/mariadb_server.h"

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
  EXPECT_THAT(RunLocus({"move", "new", "--table", table_}).out, HasSubstr("name = \"move-4\""));
}

TEST_F(CliMoveTest, New_RefusesWhatAFileCannotSay) {
  EXPECT_EQ(RunLocus({"move", "new", "--table", "-"}).exit, 2);
  const Outcome outcome = RunLocus({"move", "new", "--table", table_, "--name", "Peak"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("\"Peak\" is not 1 to 40 bytes of a-z"));
}

// Two databases of one server without a binary log.
class CliPreflightTest : public CliMoveTest {
 protected:
  void SetUp() override {
    CliMoveTest::SetUp();
    std::vector<Shard> shards;
    for (uint32_t id : {1u, 2u}) {
      const MariadbOptions options = FreshMariadbDatabase();
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
    WriteFile(file_, absl::StrCat("name = \"peak\"\ntable = \"", table_,
                                  "\"\nmovers = [\"locus@127.0.0.1\"]\n[[tables]]\nname = "
                                  "\"orders\"\n[accounts.mover]\nuser = \"locus\"\n"
                                  "password_file = \"",
                                  password_, "\"\n"));
  }
  std::string password_ = directory_ / "password";
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

}  // namespace
}  // namespace locus
