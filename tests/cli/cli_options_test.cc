// SPDX-License-Identifier: Apache-2.0
// How the command reads the options and operands of any verb.
#include <sys/resource.h>

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
using testing::RunningCommand;
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
  EXPECT_THAT(
      Refusal({"table", "publish", "file:t", "t.json", "--reason", "--dry-run"}),
      HasSubstr("--reason TEXT: the value is missing before --dry-run; a value like that is "
                "given as --reason=--dry-run"));
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

TEST(OptionsTest, AnErrorAboutAValue_NamesTheVariableThatItCameFrom) {
  testing::TemporaryDirectory directory;
  const std::string missing = directory / "table.json", other = directory / "other.json";
  Variable table("LOCUS_TABLE", missing);
  EXPECT_THAT(RunLocus({"ring"}).err, HasSubstr(" (from LOCUS_TABLE)\n"));
  EXPECT_THAT(RunLocus({"ring", other}).err, Not(HasSubstr("LOCUS_TABLE")))
      << "an operand beats it";
  EXPECT_THAT(Refusal({"ring", "--svg", missing}), HasSubstr("LOCUS_TABLE"));
  Variable store("LOCUS_STORE", "sqlite:/nowhere/x.db");
  EXPECT_THAT(RunLocus({"store", "show"}).err, HasSubstr(" (from LOCUS_STORE)\n"));
}

TEST(OptionsTest, HelpEnvironment_NamesEveryVariable) {
  Outcome outcome = RunLocus({"help", "environment"});
  EXPECT_EQ(outcome.exit, 0);
  for (const char* name : {"LOCUS_STORE", "LOCUS_TABLE", "LOCUS_KEYS", "LOCUS_PASSWORD",
                           "LOCUS_..._FILE", "LOCUS_TABLE_PASSWORD", "LOCUS_SHARD_PASSWORD",
                           "LOCUS_CEILING_PASSWORD", "LOCUS_AUDIT_PASSWORD", "COLUMNS", "LC_ALL"}) {
    EXPECT_THAT(outcome.out, HasSubstr(name));
  }
  EXPECT_THAT(outcome.out, HasSubstr("An option or operand beats its variable."));
  EXPECT_THAT(RunLocus({"help"}).out, HasSubstr("locus help environment"));
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

// What belongs to a place or a store, named by the command line, by the environment or not at all.
TEST_F(OutputTest, WhatBelongsToAPlaceOrAStore_IsNeverReplaced) {
  const std::string place = directory_ / "place.json", database = directory_ / "store.db";
  const std::string last_good = directory_ / "last-good", plan = directory_ / "plan.json";
  ASSERT_EQ(RunLocus({"table", "publish", "file:" + place, table_}).exit, 0);
  ASSERT_EQ(
      RunLocus({"table", "watch", "file:" + place, "--count", "1", "--last-good", last_good}).exit,
      0);
  WriteFile(plan, RunLocus({"plan", "--table", table_, "--add", "c=x://c", "--json"}).out);
  ASSERT_EQ(RunLocus({"store", "init", store_}).exit, 0);
  const std::string kept = place + ".epochs/00000000000000000001.json";
  const std::vector<std::string> precious = {place,
                                             place + ".lock",
                                             place + ".publishing",
                                             kept,
                                             place + ".epochs/other",
                                             last_good,
                                             database,
                                             database + "-locus",
                                             database + "-wal",
                                             database + "-locus-lock",
                                             table_,
                                             plan};
  auto contents = [&] {
    std::string all;
    for (const std::string& path : precious) {
      bool exists = std::filesystem::exists(path);
      all += path + (exists ? ReadFile(path) : std::string("missing"));
    }
    return all;
  };
  const std::string before = contents(), text = ReadFile(table_);
  for (const std::string& path : precious) {
    Outcome outcome = RunLocus({"ring", "-", "--svg", path}, text);
    EXPECT_EQ(outcome.exit, 2) << path;
    EXPECT_THAT(outcome.err, HasSubstr("not replaced; name another file"));
    if (path != table_ && path != plan) {
      EXPECT_EQ(
          RunLocus({"plan", "apply", "--table", "-", "--plan", plan, "--out", path}, text).exit, 2)
          << path;
    }
    if (path != last_good) {
      EXPECT_EQ(RunLocus({"table", "watch", "etcd://127.0.0.1:1/t", "--last-good", path}).exit, 2)
          << path;
    }
  }
  EXPECT_EQ(contents(), before);
}

TEST_F(OutputTest, WhatTheEnvironmentNames_IsNeverReplacedAlsoWhereAnOptionStandsInItsPlace) {
  const std::string store = directory_ / "new.db", place = directory_ / "new.json";
  const std::string keys = directory_ / "new.ring", text = ReadFile(table_);
  Variable store_named("LOCUS_STORE", "sqlite:" + store), keys_named("LOCUS_KEYS", keys);
  Variable table_named("LOCUS_TABLE", "file:" + place);
  // They do not exist yet: only their names say what they are.
  for (const std::string& path : {store, store + "-locus", store + "-locus-lock", keys, place,
                                  place + ".lock", place + ".epochs"}) {
    EXPECT_THAT(Refusal({"ring", table_, "--svg", path}), HasSubstr("are the same file")) << path;
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST_F(OutputTest, ATableOrAPicture_ReplacesOneOfItsKind) {
  const std::string svg = directory_ / "ring.svg", next = directory_ / "next.json";
  const std::string plan = directory_ / "plan.json";
  WriteFile(plan, RunLocus({"plan", "--table", table_, "--add", "c=x://c", "--json"}).out);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(RunLocus({"ring", table_, "--svg", svg}).exit, 0);
    EXPECT_EQ(RunLocus({"plan", "apply", "--table", table_, "--plan", plan, "--out", next}).exit,
              0);
  }
}

// What a verb prints would go to the file that is replaced.
TEST_F(OutputTest, AnOutputThatIsStdout_IsRefusedUnderItsNameAndWrittenUnderThatOfTheDevice) {
  const std::string out = directory_ / "out";
  WriteFile(out, "");
  {
    RunningCommand same({"ring", table_, "--svg", out}, out.c_str());
    Outcome outcome = same.Finish();
    EXPECT_EQ(outcome.exit, 2);
    EXPECT_THAT(outcome.err, HasSubstr("--svg and stdout are the same file"));
  }
  for (const char* device : {"/dev/stdout", "/dev/fd/1"}) {
    WriteFile(out, "");
    RunningCommand ring({"ring", table_, "--svg", device}, out.c_str());
    Outcome outcome = ring.Finish();
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_THAT(ReadFile(out), ::testing::StartsWith("<svg"));
  }
}

TEST_F(OutputTest, ATargetThatCannotBeReplaced_StaysAsItWasAndNothingIsLeftBeside) {
  const std::string locked = directory_ / "locked.svg", folder = directory_ / "folder";
  WriteFile(locked, "mine");
  std::filesystem::permissions(locked, std::filesystem::perms(0444));
  std::filesystem::create_directory(folder);
  const std::vector<std::string> before = directory_.Names();
  for (const std::string& path : {locked, folder, folder + "/", directory_ / "no/such/ring.svg"}) {
    Outcome outcome = RunLocus({"ring", table_, "--svg", path});
    EXPECT_EQ(outcome.exit, 1) << path;
    EXPECT_THAT(outcome.err, HasSubstr(path));
  }
  EXPECT_EQ(ReadFile(locked), "mine");
  EXPECT_EQ(directory_.Names(), before);
}

// As on a full disk: what was there stays, and no part is left.
TEST_F(OutputTest, AFileThatCannotBeWrittenWhole_IsNotWritten) {
  const std::string svg = directory_ / "ring.svg";
  WriteFile(svg, "before");
  const std::vector<std::string> before = directory_.Names();
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small = {1000, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Outcome outcome = RunLocus({"ring", table_, "--svg", svg});
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(outcome.exit, 1) << outcome.signal;
  EXPECT_THAT(outcome.err, HasSubstr("File too large"));
  EXPECT_EQ(ReadFile(svg), "before");
  EXPECT_EQ(directory_.Names(), before);
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
