// SPDX-License-Identifier: Apache-2.0
// locus seq type, seq --type and number next, on the engine that needs no server.
#include <sqlite3.h>

#include <cstdlib>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"

namespace locus {
namespace {

using testing::CommandTest;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::Outcome;
using testing::RunLocus;

class SeqTypeTest : public CommandTest {
 protected:
  Outcome Run(std::vector<std::string> words, const std::vector<std::string>& more = {}) {
    words.insert(words.end(), {"--store", store_});
    words.insert(words.end(), more.begin(), more.end());
    return RunLocus(words);
  }
  // What it prints; fails the test where the exit code is another.
  std::string Says(const std::vector<std::string>& words, const std::vector<std::string>& more = {},
                   int exit = 0) {
    Outcome outcome = Run(words, more);
    EXPECT_EQ(outcome.exit, exit) << outcome.err;
    return outcome.out;
  }
  std::string Refusal(const std::vector<std::string>& words, const std::vector<std::string>& more,
                      int exit) {
    Outcome outcome = Run(words, more);
    EXPECT_EQ(outcome.exit, exit) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  }
  // As a machine sees it that does not know its zone.
  void SpoilTypeOf(const std::string& type) {
    sqlite3* db;
    ASSERT_EQ(sqlite3_open(store_.substr(store_.find(':') + 1).c_str(), &db), SQLITE_OK);
    const std::string sql =
        "UPDATE locus_sequence_type SET rule = CAST(replace(CAST(rule AS TEXT), 'zone=UTC',"
        " 'zone=Mars/Olympus') AS BLOB) WHERE name = CAST('" +
        type + "' AS BLOB)";
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }
  void CreateInvoices(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"--period", "day", "--pattern", "{date:yyyyMMdd}{seq:8}"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_THAT(Says({"seq", "type", "create", "invoices"}, words),
                MatchesRegex("version [1-9][0-9]*\n"));
  }
};

TEST_F(SeqTypeTest, NumbersOfARule_AreOfTodayAndGoOn) {
  CreateInvoices({"--time-zone", "Asia/Shanghai"});
  absl::TimeZone zone;
  ASSERT_TRUE(absl::LoadTimeZone("Asia/Shanghai", &zone));
  auto three_of = [&](absl::Time time) {
    std::string day = absl::FormatTime("%Y%m%d", time, zone);
    return day + "00000001\n" + day + "00000002\n" + day + "00000003\n";
  };
  std::string before = three_of(absl::Now());
  std::string out = Says({"number", "next", "--type", "invoices"}, {"--count", "3"});
  EXPECT_TRUE(out == before || out == three_of(absl::Now())) << out;
}

TEST_F(SeqTypeTest, ShowListAlterDrop_TellTheRule) {
  CreateInvoices({"--start", "1000", "--step", "5", "--ttl", "72h", "--buffer", "100",
                  "--leftovers", "drop", "--lifetime", "5"});
  std::string shown = Says({"seq", "type", "show", "invoices"});
  EXPECT_THAT(shown, HasSubstr("name invoices\nversion "));
  EXPECT_THAT(shown, HasSubstr("\npattern {date:yyyyMMdd}{seq:8}\nperiod day\ntime_zone UTC\nstart "
                               "1000\nstep 5\nmax_value 99999999\nat_max error\nttl 72h\nbuffer "
                               "100\nleftovers drop\nlifetime 5s\n"));
  EXPECT_THAT(Says({"seq", "type", "list"}), HasSubstr("invoices"));
  auto json = nlohmann::json::parse(Says({"seq", "type", "show", "invoices", "--json"}));
  EXPECT_EQ(json["step"], "5");
  EXPECT_EQ(Says({"seq", "type", "list", "--json"}),
            Says({"seq", "type", "show", "invoices", "--json"}));
  std::string version = json["version"];
  std::string next = std::to_string(std::stoull(version) + 1);
  EXPECT_EQ(Says({"seq", "type", "alter", "invoices"}, {"--step", "7", "--version", version}),
            "version " + next + "\n");
  EXPECT_THAT(
      Refusal({"seq", "type", "alter", "invoices"}, {"--step", "9", "--version", version}, 1),
      HasSubstr("has version " + next + " now, not " + version));
  EXPECT_THAT(Refusal({"seq", "type", "drop", "invoices"}, {"--version", version}, 1),
              HasSubstr("has version " + next));
  EXPECT_THAT(Says({"seq", "type", "show", "invoices"}), HasSubstr("\nstep 7\n"));
  EXPECT_THAT(Says({"seq", "type", "show", "invoices"}), HasSubstr("\nstart 1000\n"));
  Says({"seq", "type", "alter", "invoices"}, {"--leftovers", "return", "--lifetime", "1h"});
  EXPECT_THAT(Says({"seq", "type", "show", "invoices"}),
              HasSubstr("\nleftovers return\nlifetime 1h\n"));
  EXPECT_EQ(Says({"seq", "type", "drop", "invoices"}), "");
  EXPECT_THAT(Refusal({"seq", "type", "show", "invoices"}, {}, 1),
              HasSubstr("sequence type invoices was dropped"));
}

TEST_F(SeqTypeTest, DroppedType_KeepsItsNameUntilItIsCreatedAgain) {
  Says({"seq", "type", "create", "tickets"}, {"--pattern", "{seq:5}"});
  EXPECT_EQ(Says({"number", "next", "--type", "tickets"}), "00001\n");
  Says({"seq", "type", "drop", "tickets"});
  EXPECT_EQ(Says({"seq", "type", "list", "--json"}), "");
  EXPECT_THAT(Says({"seq", "type", "list", "--dropped"}), HasSubstr("tickets"));
  for (const char* key : {"tickets", "tickets:", "tickets:shop"}) {
    EXPECT_THAT(Refusal({"seq", "next", "--key", key}, {}, 1), HasSubstr("--type tickets")) << key;
  }
  EXPECT_THAT(Refusal({"number", "next", "--type", "tickets"}, {}, 1), HasSubstr("was dropped"));
  EXPECT_THAT(Refusal({"seq", "type", "create", "tickets"}, {"--pattern", "{seq:4}1"}, 1),
              HasSubstr("numbers may be written twice"));
  Says({"seq", "type", "create", "tickets"}, {"--pattern", "{seq:5}"});
  EXPECT_EQ(Says({"number", "next", "--type", "tickets"}), "00002\n");
}

TEST_F(SeqTypeTest, NameOfACounterInUse_IsNoTypeUnlessThatIsConfirmed) {
  Says({"seq", "type", "create", "others"});  // makes the store
  Says({"seq", "set", "--key", "tickets"}, {"--value", "700"});
  EXPECT_THAT(Refusal({"seq", "type", "create", "tickets"}, {}, 1),
              AllOf(HasSubstr("the counter tickets is in use without a type and is at 700"),
                    HasSubstr("--may-repeat")));
  EXPECT_EQ(Says({"seq", "next", "--key", "tickets"}), "701\n") << "nothing has changed";
  Says({"seq", "type", "create", "tickets"}, {"--may-repeat"});
  Says({"seq", "set", "--type", "tickets"}, {"--value", "701"});
  EXPECT_EQ(Says({"seq", "next", "--type", "tickets"}), "702\n");
}

TEST_F(SeqTypeTest, NameOfATypesCounter_IsNoKeyOfOtherCounters) {
  Says({"seq", "type", "create", "tickets"}, {"--step", "10"});
  for (const char* key : {"tickets", "tickets:", "tickets:shop"}) {
    for (const char* verb : {"next", "batch"}) {
      EXPECT_THAT(Refusal({"seq", verb, "--key", key}, {}, 1), HasSubstr("--type tickets")) << key;
    }
    EXPECT_THAT(Refusal({"seq", "set", "--key", key}, {"--value", "7"}, 1),
                HasSubstr("--type tickets"));
  }
  EXPECT_THAT(Refusal({"seq", "next", "--prefix", "tickets", "--key", ":"}, {}, 1),
              HasSubstr("--type tickets"));
  EXPECT_EQ(Says({"seq", "next", "--key", "tickets2"}), "1\n");
  EXPECT_EQ(Says({"seq", "next", "--key", "a:b"}), "1\n");
  EXPECT_EQ(Says({"seq", "next", "--key", "Not a type:"}), "1\n");
  EXPECT_EQ(Says({"seq", "next", "--type", "tickets"}), "10\n");
  EXPECT_EQ(Says({"seq", "get", "--key", "tickets:"}), "10\n") << "is only read";
}

TEST_F(SeqTypeTest, ChangeThatMayRepeatNumbers_NeedsAConfirmation) {
  Says({"seq", "type", "create", "tickets"}, {"--pattern", "{seq:5}"});
  EXPECT_THAT(Refusal({"seq", "type", "alter", "tickets"}, {"--pattern", "{seq:4}1"}, 1),
              HasSubstr("--may-repeat"));
  EXPECT_THAT(Refusal({"seq", "type", "alter", "tickets"}, {"--ttl", "1h"}, 1),
              HasSubstr("with expiry 1h instead of 0"));
  Says({"seq", "type", "alter", "tickets"}, {"--pattern", "{seq:6}"});
  Says({"seq", "type", "alter", "tickets"}, {"--pattern", "{seq:5}1", "--may-repeat"});
}

TEST_F(SeqTypeTest, RuleThatCannotBeRead_IsListedAndDropped) {
  Says({"seq", "type", "create", "bad"});
  Says({"seq", "type", "create", "good"});
  SpoilTypeOf("bad");
  const Outcome list = Run({"seq", "type", "list"});
  EXPECT_EQ(list.exit, 1);
  EXPECT_THAT(list.out, HasSubstr("good"));
  EXPECT_THAT(list.out, MatchesRegex("(.|\n)*bad +\\? +\\?(.|\n)*"));
  EXPECT_THAT(list.err, HasSubstr("Mars/Olympus"));
  EXPECT_THAT(Refusal({"seq", "type", "show", "bad"}, {}, 1),
              HasSubstr("locus seq type drop bad --version "));
  Says({"seq", "type", "drop", "bad"});
  EXPECT_THAT(Says({"seq", "type", "list"}), HasSubstr("good"));
  EXPECT_THAT(Says({"seq", "type", "list", "--dropped", "--json"}),
              MatchesRegex("\\{\"name\":\"bad\",\"version\":\"[0-9]+\"\\}\n"));
  const std::string refused = Refusal({"seq", "type", "create", "bad"}, {}, 1);
  EXPECT_THAT(refused, HasSubstr("cannot be compared"));
  EXPECT_THAT(refused, HasSubstr("--may-repeat"));
  Says({"seq", "type", "create", "bad"}, {"--may-repeat"});
}

TEST_F(SeqTypeTest, PasswordThatCannotBeRead_LeavesNoStore) {
  ::setenv("LOCUS_AUDIT_PASSWORD_FILE", "/nonexistent/password", 1);
  const std::string refused =
      Refusal({"seq", "type", "create", "a"}, {"--audit", "localhost:1"}, 1);
  ::unsetenv("LOCUS_AUDIT_PASSWORD_FILE");
  EXPECT_THAT(refused, HasSubstr("/nonexistent/password"));
  EXPECT_THAT(Refusal({"seq", "type", "list"}, {}, 1), HasSubstr("does not exist"));
}

TEST_F(SeqTypeTest, CountersOfAType_FollowItsRule) {
  Says({"seq", "type", "create", "tickets"}, {"--start", "100", "--step", "10"});
  EXPECT_EQ(Says({"seq", "next", "--type", "tickets"}), "100\n");
  EXPECT_EQ(Says({"seq", "next", "--type", "tickets"}, {"--step", "10"}), "110\n");
  EXPECT_EQ(Says({"seq", "batch", "--type", "tickets"}, {"--count", "3"}), "120 10 3\n");
  EXPECT_EQ(Says({"seq", "next", "--type", "tickets"}, {"--key", "shop"}), "100\n");
  EXPECT_EQ(Says({"seq", "get", "--key", "tickets:shop"}), "100\n") << "the documented name";
  EXPECT_EQ(Says({"seq", "set", "--type", "tickets"}, {"--value", "500"}),
            "before 140\nvalue 500\n");
  EXPECT_EQ(Says({"seq", "get", "--type", "tickets"}), "500\n");
}

TEST_F(SeqTypeTest, OptionAgainstTheType_IsRefusedWithBothValues) {
  Says({"seq", "type", "create", "tickets"}, {"--step", "10"});
  std::vector<std::string> next = {"seq", "next", "--type", "tickets"};
  EXPECT_THAT(Refusal(next, {"--step", "3"}, 1),
              HasSubstr("step is 3, but sequence type tickets has 10"));
  EXPECT_THAT(Refusal(next, {"--max-value", "50"}, 1), HasSubstr("max_value is 50"));
  EXPECT_THAT(Refusal(next, {"--at-max", "wrap"}, 1), HasSubstr("at_max is wrap"));
  EXPECT_THAT(Refusal(next, {"--ttl", "60"}, 1), HasSubstr("ttl is 1m"));
  EXPECT_THAT(Refusal(next, {"--prefix", "p"}, 2), HasSubstr("--type excludes --prefix"));
  EXPECT_THAT(Refusal({"seq", "get", "--type", "tickets"}, {}, 1), HasSubstr("is unknown"))
      << "nothing was taken";
  EXPECT_THAT(Refusal({"seq", "next"}, {}, 2), HasSubstr("--key K is required"));
  EXPECT_THAT(Refusal({"seq", "next", "--type", "nobody"}, {}, 1), HasSubstr("nobody"));
}

TEST_F(SeqTypeTest, FieldsOfTheCaller_AreWrittenAndChecked) {
  Says({"seq", "type", "create", "plates"}, {"--pattern", "{town:A-Z;2}-{seq:3}{check}"});
  std::vector<std::string> next = {"number", "next", "--type", "plates"};
  EXPECT_EQ(Says(next, {"--field", "town=HH", "--count", "2"}), "HH-0013\nHH-0021\n");
  EXPECT_THAT(Refusal(next, {}, 2), HasSubstr("field \"town\" of type \"plates\" needs"));
  EXPECT_THAT(Refusal(next, {"--field", "town=H"}, 2), HasSubstr("\"H\""));
  EXPECT_THAT(Refusal(next, {"--field", "town=HH", "--field", "seq=5"}, 2),
              HasSubstr("\"seq\" of type \"plates\" is not given"));
  EXPECT_EQ(Says({"seq", "get", "--type", "plates"}), "2\n") << "refused calls took nothing";
  EXPECT_THAT(Refusal(next, {"--field", "town=HH", "--count", "998"}, 1),
              HasSubstr("would pass the limit 999"));
  Says({"seq", "type", "create", "plain"});
  EXPECT_EQ(Says({"number", "next", "--type", "plain"}), "1\n");
  Says({"seq", "type", "create", "daily"}, {"--period", "day"});
  EXPECT_THAT(Refusal({"number", "next", "--type", "daily"}, {}, 1), HasSubstr("has no pattern"));
}

TEST_F(SeqTypeTest, WrongRule_IsRefusedBeforeAnythingIsMade) {
  std::vector<std::string> create = {"seq", "type", "create", "a"};
  EXPECT_THAT(Refusal(create, {"--period", "day", "--pattern", "{seq:8}"}, 2),
              HasSubstr("writes the day"));
  EXPECT_THAT(Refusal(create, {"--time-zone", "Mars/Olympus"}, 2), HasSubstr("Mars/Olympus"));
  EXPECT_THAT(Refusal({"seq", "type", "create", "A"}, {}, 2), HasSubstr("\"A\""));
  EXPECT_THAT(Refusal(create, {"--lifetime", "500ms"}, 2), HasSubstr("--lifetime"));
  EXPECT_THAT(Refusal(create, {"--leftovers", "keep"}, 2), HasSubstr("keep"));
  EXPECT_THAT(Refusal({"seq", "type", "list"}, {}, 1), HasSubstr("does not exist"));
  Says(create);
  EXPECT_THAT(Refusal(create, {}, 1), HasSubstr("there is a sequence type a already"));
  EXPECT_THAT(Refusal({"seq", "type", "alter", "a"}, {"--period", "day"}, 1),
              HasSubstr("cannot become day"));
}

TEST(SeqTypeVerbTest, GroupOfTwoWords_HasHelpAndNamesWhatIsMissing) {
  EXPECT_THAT(RunLocus({"seq", "type"}).err, HasSubstr("a verb is needed after \"seq type\""));
  EXPECT_THAT(RunLocus({"seq", "type", "--help"}).out, HasSubstr("seq type alter"));
  EXPECT_THAT(RunLocus({"help", "seq", "type", "drop"}).out, HasSubstr("locus seq type drop"));
  EXPECT_THAT(RunLocus({"seq", "type", "crate"}).err,
              HasSubstr("did you mean \"seq type create\""));
}

}  // namespace
}  // namespace locus
