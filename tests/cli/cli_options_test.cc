// SPDX-License-Identifier: Apache-2.0
// How the command reads the options and operands of any verb.
#include <filesystem>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/command.h"

namespace locus {
namespace {

using ::testing::AllOf;
using testing::CommandTest;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::ReadFile;
using testing::RunLocus;
using testing::Variable;
using testing::WriteFile;

std::string Refusal(const std::vector<std::string>& words) {
  Outcome outcome = RunLocus(words);
  EXPECT_EQ(outcome.exit, 2) << ::testing::PrintToString(words);
  EXPECT_EQ(outcome.out, "");
  return outcome.err;
}

TEST(OptionsTest, AllMissingOptions_AreNamedAtOnce) {
  EXPECT_THAT(Refusal({"assign"}), AllOf(HasSubstr("--buyer-column NAME"), HasSubstr("--store URI"),
                                         HasSubstr("--table FILE"), HasSubstr("--keys FILE")));
  EXPECT_THAT(Refusal({"assign", "--keys", "k", "--store", "sqlite:s"}),
              AllOf(HasSubstr("--buyer-column NAME"), HasSubstr("--table FILE"),
                    Not(HasSubstr("--keys")), Not(HasSubstr("--store"))));
  EXPECT_THAT(Refusal({"keys", "activate"}), AllOf(HasSubstr("FILE"), HasSubstr("VERSION")));
}

TEST(OptionsTest, AMistypedOptionOrChoice_IsCorrected) {
  EXPECT_EQ(Refusal({"uuid", "--coutn", "3"}),
            "locus uuid: unknown option \"--coutn\"; did you mean \"--count\"?\n");
  EXPECT_THAT(Refusal({"plan", "apply", "--most=3"}), HasSubstr("mean \"--most-per-shard\""));
  EXPECT_THAT(Refusal({"gene", "--type", "unit64"}),
              HasSubstr("--type: \"unit64\" is not one of uint64, text; did you mean \"uint64\"?"));
  EXPECT_THAT(Refusal({"uuid", "--frobnicate"}), Not(HasSubstr("did you mean")));
}

TEST(OptionsTest, AValue_IsCheckedAgainstItsTypeAndLimits) {
  EXPECT_THAT(Refusal({"snowflake", "next", "--worker", "1024"}),
              HasSubstr("--worker: \"1024\" is not a whole number in 0..1023"));
  EXPECT_THAT(Refusal({"table", "history", "file:t", "--most=0"}),
              HasSubstr("--most: \"0\" is not a whole number in 1..1000000"));
  EXPECT_THAT(Refusal({"uuid", "--count"}), HasSubstr("--count N: the value is missing"));
  EXPECT_THAT(Refusal({"plan", "--table", "t", "--json=yes"}), HasSubstr("--json takes no value"));
  EXPECT_THAT(Refusal({"plan", "--table", "t", "--hot-above", "2"}),
              HasSubstr("--hot-above needs --load"));
}

TEST(OptionsTest, Durations_AreSecondsOrHaveAUnit) {
  auto seq_with_ttl = [](const std::string& ttl) {
    return std::vector<std::string>{"seq",   "next", "--store", "sqlite:/nowhere/x.db",
                                    "--key", "k",    "--ttl",   ttl};
  };
  for (const char* good : {"0", "90", "90s", "10m", "2h", "365d", "1500ms"}) {
    EXPECT_EQ(RunLocus(seq_with_ttl(good)).exit, 1) << good << " is read; there is no store";
  }
  for (const char* bad : {"", "-1", "1.5", "s", "10 m", "5w", "36501d", "99999999999999999999s"}) {
    EXPECT_THAT(Refusal(seq_with_ttl(bad)), HasSubstr("is not a duration in 0..3153600000"));
  }
}

TEST(OptionsTest, AnEnvironmentVariable_StandsForAnOptionThatIsNotGiven) {
  Variable keys("LOCUS_KEYS", "/nowhere/a.ring");
  Variable store("LOCUS_STORE", "oracle://h");
  EXPECT_THAT(RunLocus({"decode", "1"}).err, HasSubstr("/nowhere/a.ring"));
  EXPECT_THAT(RunLocus({"decode", "--keys", "/nowhere/b.ring", "1"}).err,
              AllOf(HasSubstr("/nowhere/b.ring"), Not(HasSubstr("a.ring"))));
  EXPECT_THAT(Refusal({"store", "show"}), HasSubstr("LOCUS_STORE: "))
      << "the message says where the value came from";
  EXPECT_THAT(RunLocus({"store", "show", "sqlite:/nowhere/x.db"}).err, HasSubstr("/nowhere/x.db"));
}

class OutputTest : public CommandTest {};

// Each output of each verb, and every kind of input that it must not replace.
TEST_F(OutputTest, AnOutputThatIsAnInput_IsRefusedAndLeftAsItWas) {
  std::string linked = directory_ / "linked.json", hard = directory_ / "hard.json";
  std::filesystem::create_symlink(table_, linked);
  std::filesystem::create_hard_link(table_, hard);
  std::string load = directory_ / "load.csv", password = directory_ / "password";
  WriteFile(load, "1,1\n");
  WriteFile(password, "secret\n");
  Variable file("LOCUS_PASSWORD_FILE", password);
  Variable keys("LOCUS_KEYS", keys_);
  const std::string before = ReadFile(table_), ring = ReadFile(keys_);
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"ring", table_, "--svg", table_},
           {"ring", table_, "--svg", linked},
           {"ring", table_, "--svg", hard},
           {"ring", linked, "--svg", table_},
           {"ring", table_, "--svg", password},
           {"plan", "--table", table_, "--svg", table_},
           {"plan", "--table", table_, "--load", load, "--svg", load},
           {"plan", "apply", "--table", table_, "--plan", load, "--out", table_},
           {"plan", "apply", "--table", table_, "--plan", load, "--out", load},
           {"assign", "--buyer-column=b", "--store=" + store_, "--table", table_, "--out", keys_},
           {"table", "watch", "file:" + table_, "--last-good", hard}}) {
    EXPECT_THAT(Refusal(words), HasSubstr("are the same file"));
  }
  EXPECT_EQ(ReadFile(table_), before);
  EXPECT_EQ(ReadFile(keys_), ring);
  EXPECT_EQ(ReadFile(password), "secret\n");
  EXPECT_EQ(ReadFile(load), "1,1\n");
}

TEST_F(OutputTest, AKeyRingOrADatabase_IsNeverReplaced) {
  ASSERT_EQ(RunLocus({"store", "init", store_}).exit, 0);
  const std::string database = directory_ / "store.db";
  for (const std::string& kept : {keys_, database}) {
    const std::string before = ReadFile(kept);
    EXPECT_THAT(Refusal({"ring", table_, "--svg", kept}), HasSubstr("is not replaced"));
    EXPECT_EQ(ReadFile(kept), before);
  }
}

TEST_F(OutputTest, ADanglingLinkToAnotherOutput_IsRefused) {
  const std::string link = directory_ / "link.csv", out = directory_ / "out.csv";
  std::filesystem::create_symlink("out.csv", link);
  EXPECT_THAT(Refusal({"assign", "--buyer-column=b", "--store=" + store_, "--table", table_,
                       "--keys", keys_, "--out", out, "--rejects", link}),
              HasSubstr("are the same file"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(OutputTest, TwoInputsFromStdin_AreRefused) {
  EXPECT_THAT(Refusal({"plan", "--table", "-", "--load", "-"}), HasSubstr("are both stdin"));
  EXPECT_THAT(Refusal({"inspect", "--table", "-"}), HasSubstr("are both stdin"));
}

TEST(OptionsTest, TheHelp_IsWrappedAndHasAnExample) {
  Variable columns("COLUMNS", "60");
  for (const auto& verb : std::vector<std::vector<std::string>>{
           {"assign"}, {"seq", "next"}, {"plan"}, {"table", "diff"}, {"snowflake", "next"}}) {
    std::vector<std::string> words = verb;
    words.push_back("--help");
    Outcome outcome = RunLocus(words);
    EXPECT_EQ(outcome.exit, 0);
    size_t example = outcome.out.find("\nExample:\n  locus ");
    ASSERT_NE(example, std::string::npos) << verb[0];
    for (size_t begin = 0, end; begin < example; begin = end + 1) {
      end = outcome.out.find('\n', begin);
      std::string line = outcome.out.substr(begin, end - begin);
      bool one_word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
      EXPECT_TRUE(line.size() <= 60 || one_word) << line;
    }
  }
}

}  // namespace
}  // namespace locus
