// SPDX-License-Identifier: Apache-2.0
// locus seq, on the engine that needs no server.
#include <sys/stat.h>

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/command.h"

namespace locus {
namespace {

using testing::CommandTest;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::RunLocus;
using testing::WriteFile;

class SeqTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    ASSERT_EQ(RunLocus({"store", "init", store_}).exit, 0);
  }
  Outcome Seq(const std::string& verb, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"seq", verb, "--store", store_};
    words.insert(words.end(), more.begin(), more.end());
    return RunLocus(words);
  }
  // What it prints; fails the test where the exit code is another.
  std::string Says(const std::string& verb, const std::vector<std::string>& more, int exit = 0) {
    Outcome outcome = Seq(verb, more);
    EXPECT_EQ(outcome.exit, exit) << outcome.err;
    return outcome.out;
  }
};

TEST_F(SeqTest, EachVerb_SaysWhatScriptsRead) {
  EXPECT_EQ(Says("get", {"--key", "a"}, 1), "");
  EXPECT_THAT(Seq("get", {"--key", "a"}).err, HasSubstr("key \"a\" is unknown in " + store_));
  EXPECT_EQ(Says("next", {"--key", "a"}), "1\n");
  EXPECT_EQ(Says("next", {"--key", "a"}), "2\n");
  EXPECT_EQ(Says("batch", {"--key", "a", "--count", "5"}), "3 1 5\n");
  EXPECT_EQ(Says("batch", {"--key", "a"}), "8 1 1\n");
  EXPECT_EQ(Says("get", {"--key", "a"}), "8\n");
  EXPECT_EQ(Says("set", {"--key", "a", "--value", "100"}), "before 8\nvalue 100\n");
  EXPECT_EQ(Says("get", {"--key", "a"}), "100\n");
  EXPECT_EQ(Says("set-if-not-exists", {"--key", "a", "--value", "7"}), "kept\n");
  EXPECT_EQ(Says("set-if-not-exists", {"--key", "b", "--value", "7"}), "set\n");
  EXPECT_EQ(Says("next", {"--key", "b"}), "8\n");
  EXPECT_THAT(Seq("next", {"--key", "ko\u0308ln"}).err, HasSubstr("has U+0308"));
}

TEST_F(SeqTest, Create_MarksAStoreOnce) {
  const std::string fresh = "sqlite:" + (directory_ / "fresh.db");
  EXPECT_EQ(RunLocus({"seq", "create", "--store", fresh}).exit, 2);
  EXPECT_THAT(RunLocus({"seq", "create", "--store", fresh, "--first-ever", "--counters-set"}).err,
              HasSubstr("say one of --first-ever"));
  const Outcome first = RunLocus({"seq", "create", "--store", fresh, "--first-ever"});
  EXPECT_EQ(first.exit, 0) << first.err;
  EXPECT_THAT(first.out, ::testing::MatchesRegex("marked 20..-..-..T..:..:..Z\n"));
  EXPECT_EQ(RunLocus({"seq", "create", "--store", fresh, "--counters-set"}).out, first.out);
  EXPECT_THAT(Seq("next", {"--key", "Locus.first-start"}).err, HasSubstr("is not counted"));
}

TEST_F(SeqTest, Json_HasNumbersAsTexts) {
  EXPECT_EQ(Says("next", {"--key", "a", "--json"}), "{\"value\":\"1\"}\n");
  EXPECT_EQ(Says("batch", {"--key", "a", "--count", "5", "--json"}),
            "{\"first\":\"2\",\"step\":\"1\",\"count\":\"5\"}\n");
  EXPECT_EQ(Says("get", {"--key", "a", "--json"}), "{\"value\":\"6\"}\n");
  EXPECT_EQ(Says("set", {"--key", "b", "--value", "9", "--json"}),
            "{\"before\":null,\"value\":\"9\"}\n");
  EXPECT_EQ(Says("set-if-not-exists", {"--key", "b", "--value", "7", "--json"}),
            "{\"set\":false}\n");
  EXPECT_EQ(Says("get", {"--key", "none", "--json"}, 1), "");
}

TEST_F(SeqTest, SetToLess_NeedsItsOption) {
  EXPECT_EQ(Says("set", {"--key", "a", "--value", "100"}), "before none\nvalue 100\n");
  Outcome outcome = Seq("set", {"--key", "a", "--value", "99"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("key \"a\" is at 100, and 99 is below it: numbers up to 100 "
                                     "would be given again; --lower sets it all the same"));
  EXPECT_EQ(Says("get", {"--key", "a"}), "100\n");
  EXPECT_EQ(Says("set", {"--key", "a", "--value", "100"}), "before 100\nvalue 100\n");
  EXPECT_EQ(Says("set", {"--key", "a", "--value", "99", "--lower"}), "before 100\nvalue 99\n");
  EXPECT_EQ(Says("set", {"--key", "a", "--value", "200", "--quiet"}), "");
  EXPECT_EQ(Says("next", {"--key", "a"}), "201\n");
}

TEST_F(SeqTest, Options_ReachTheSequencer) {
  EXPECT_EQ(Says("batch", {"--key", "a", "--step", "10", "--count", "2"}), "10 10 2\n");
  EXPECT_EQ(Says("next", {"--key", "a", "--prefix", "x/"}), "1\n");
  EXPECT_EQ(Says("get", {"--key", "x/a"}), "1\n");
  std::vector<std::string> limited = {"--key", "a", "--max-value", "25", "--step", "10"};
  Outcome outcome = Seq("next", limited);
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("1 more number by 10 would pass the limit 25 in " + store_));
  EXPECT_EQ(Says("get", {"--key", "a"}), "20\n");
  limited.insert(limited.end(), {"--at-max", "wrap"});
  EXPECT_EQ(Says("next", limited), "10\n");
  EXPECT_EQ(Says("next", {"--key", "brief", "--ttl", "1"}), "1\n");
  EXPECT_TRUE(testing::Eventually([&] { return Seq("get", {"--key", "brief"}).exit == 1; }));
}

TEST_F(SeqTest, BadInput_IsWrongUsageAndChangesNothing) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"batch", "--key", "a", "--count", "0"}, "0"},
      {{"batch", "--key", "a", "--count", "x"}, "--count: \"x\""},
      {{"batch", "--key", "a", "--count", "11", "--max-value", "10"}, "10"},
      {{"next", "--key", "a", "--step", "0"}, "step is 0"},
      {{"next", "--key", "a", "--step", "-1"}, "--step: \"-1\""},
      {{"next", "--key", "a", "--max-value", "9223372036854775808"}, "9223372036854775807"},
      {{"next", "--key", "a", "--at-max", "stop"}, "stop"},
      {{"next", "--key", "a", "--ttl", "1.5"}, "--ttl: \"1.5\""},
      {{"next", "--key", ""}, "1 to 512"},
      {{"next", "--key", std::string(513, 'k')}, "513"},
      {{"set", "--key", "a", "--value", "-5"}, "--value: \"-5\""},
      {{"set", "--key", "a"}, "--value"},
      {{"next"}, "--key"},
      {{"next", "--key", "a", "--count", "2"}, "--count"}};
  for (const auto& [words, named] : cases) {
    Outcome outcome = Seq(words[0], {words.begin() + 1, words.end()});
    EXPECT_EQ(outcome.exit, 2) << words[0] << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(named));
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_EQ(Says("get", {"--key", "a"}, 1), "");
}

TEST_F(SeqTest, MissingStore_IsNotMade) {
  std::string path = directory_ / "other.db";
  Outcome outcome = RunLocus({"seq", "next", "--store", "sqlite:" + path, "--key", "a"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("locus store init sqlite:" + path));
  struct stat there;
  EXPECT_NE(stat(path.c_str(), &there), 0);
}

TEST_F(SeqTest, CeilingWithoutRedis_IsWrongUsage) {
  Outcome outcome = Seq("next", {"--key", "a", "--ceiling", store_});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("redis"));
}

}  // namespace
}  // namespace locus
