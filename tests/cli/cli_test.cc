// SPDX-License-Identifier: Apache-2.0
// The frame of the command line, and the verbs that answer value by value.
#include <csignal>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "src/base/text/text.h"
#include "tests/cli/command.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

using ::testing::AllOf;
using testing::CommandTest;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunLocus;
using testing::RunningCommand;
using ::testing::StartsWith;

// One line that names the verb.
auto IsOneLine(const std::string& start) {
  return AllOf(StartsWith(start), EndsWith("\n"), ::testing::Not(::testing::ContainsRegex("\n.")));
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  return lines;
}

TEST(FrameTest, Version_IsPrinted) {
  Outcome outcome = RunLocus({"--version"});
  EXPECT_EQ(outcome.exit, 0);
  // The commit is there where the sources are a clone.
  EXPECT_THAT(outcome.out,
              ::testing::MatchesRegex("locus 0\\.1\\.0( \\(commit [0-9a-f]{12}\\))?\n"));
}

TEST(FrameTest, Help_GoesToStdout) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"--help"}, {"keys", "--help"}, {"gene", "--help"}, {"keys", "add", "-h"}}) {
    Outcome outcome = RunLocus(words);
    EXPECT_EQ(outcome.exit, 0) << words[0];
    EXPECT_THAT(outcome.out, HasSubstr("locus")) << words[0];
    EXPECT_EQ(outcome.err, "");
  }
  EXPECT_THAT(RunLocus({"gene", "--help"}).out, HasSubstr("--type"));
}

TEST(FrameTest, HelpAndVersion_AreVerbsToo) {
  EXPECT_EQ(RunLocus({"version"}).out, RunLocus({"--version"}).out);
  EXPECT_EQ(RunLocus({"help"}).out, RunLocus({"--help"}).out);
  EXPECT_EQ(RunLocus({"help", "keys"}).out, RunLocus({"keys", "--help"}).out);
  EXPECT_EQ(RunLocus({"help", "plan", "apply"}).out, RunLocus({"plan", "apply", "--help"}).out);
  EXPECT_EQ(RunLocus({"help", "plan"}).out, RunLocus({"plan", "--help"}).out);
  EXPECT_EQ(RunLocus({"help", "frobnicate"}).exit, 2);
  EXPECT_THAT(RunLocus({"help"}).out, AllOf(HasSubstr("\nRouting tables:\n  table new "),
                                            HasSubstr("\nOther numbers:\n  seq create ")));
}

TEST(FrameTest, AMistypedVerb_IsCorrected) {
  EXPECT_EQ(RunLocus({"asign"}).err, "locus: unknown verb \"asign\"; did you mean \"assign\"?\n");
  EXPECT_THAT(RunLocus({"table", "pubish"}).err, HasSubstr("did you mean \"table publish\"?"));
  EXPECT_THAT(RunLocus({"tabel", "get"}).err, HasSubstr("did you mean \"table\"?"));
}

TEST(FrameTest, HelpAndVersion_OnAFullDevice_Fail) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"--help"}, {"--version"}, {"keys", "--help"}, {"gene", "--help"}}) {
    Outcome outcome = RunningCommand(words, "/dev/full").Finish();
    EXPECT_EQ(outcome.exit, 1) << words[0];
    EXPECT_THAT(outcome.err, AllOf(IsOneLine("locus " + words[0]), HasSubstr("No space left")));
  }
}

TEST(FrameTest, WrongUsage_IsOneLineThatNamesTheWord) {
  struct Case {
    std::vector<std::string> words;
    std::string named;
  };
  const std::vector<Case> cases = {
      {{}, "a verb is needed"},
      {{"frobnicate"}, "\"frobnicate\""},
      {{"keys"}, "\"keys\""},
      {{"keys", "frobnicate"}, "\"keys frobnicate\""},
      {{"gene", "1"}, "--type"},
      {{"gene", "--type", "int", "1"}, "\"int\""},
      {{"gene", "--type"}, "--type"},
      {{"gene", "--type", "text", "--type", "text"}, "--type"},
      {{"gene", "--type", "text", "--bogus", "1"}, "\"--bogus\""},
      {{"gene", "--type", "text", "-x"}, "\"-x\""},
      {{"keys", "list"}, "FILE"},
      {{"keys", "list", "a", "b"}, "\"b\""},
      {{"keys", "new", "-"}, "FILE: a key ring is a file"},
      {{"keys", "add", "-"}, "FILE: a key ring is a file"},
      {{"keys", "rotate", "-"}, "FILE: a key ring is a file"},
      {{"keys", "list", "-"}, "FILE: a key ring is a file"},
      {{"keys", "activate", "-", "1"}, "FILE: a key ring is a file"},
      {{"keys", "retire", "-", "1"}, "FILE: a key ring is a file"},
      {{"keys", "activate", "a"}, "VERSION"},
      {{"keys", "activate", "a", "128"}, "\"128\""},
      {{"keys", "retire", "a", "01"}, "\"01\""},
      {{"store", "show", "oracle://h"}, "\"oracle\""},
      {{"store", "show", "plain"}, "\"plain\""},
      {{"store", "show", "sqlite:"}, "\"sqlite:\""},
      {{"store", "show", "sqlite:x", "--space", "A"}, "\"A\""},
      {{"store", "raise", "sqlite:x"}, "--to"},
      {{"store", "raise", "sqlite:x", "--to", "72057594037927936"}, "\"72057594037927936\""},
      {{"table", "new"}, "--shard"},
      {{"table", "new", "--shard", "a"}, "\"a\""},
      {{"table", "new", "--shard", "[a,b]"}, "\"[a,b]\""},
      {{"table", "new", "--shard", "a=b"}, "\"b\" is no endpoint; it is a URI like mysql://"},
      {{"table", "new", "--shard", "a=://h"}, "\"://h\" is no endpoint"},
      {{"plan", "aply"}, "unknown verb \"plan aply\"; did you mean \"plan apply\"?"},
      {{"table", "check"}, "FILE"},
      {{"ring"}, "FILE"},
      {{"assign"}, "--buyer-column"},
      {{"assign", "--buyer-column=b", "--store=sqlite:s", "--table=t", "--keys=-"},
       "--keys: a key ring is a file"},
      {{"encode", "1"}, "--keys"},
      {{"encode", "--keys", "-", "1"}, "--keys: a key ring is a file"},
      {{"decode", "--keys", "-", "1"}, "--keys: a key ring is a file"},
      {{"inspect", "--keys", "-", "1"}, "--keys: a key ring is a file"},
      {{"encode", "--keys", "k", "--key-version", "x", "1"}, "\"x\""},
      {{"encode", "--keys", "k", "--scheme", "ctr64", "1"}, "--allow-keystream-reuse"},
      {{"decode", "--keys", "k", "--allow-keystream-reuse", "1"}, "\"--allow-keystream-reuse\""},
      {{"inspect", "--scheme", "siv", "1"}, "\"siv\""},
      {{"inspect", "--key-version", "1", "1"}, "--scheme"},
  };
  for (const Case& each : cases) {
    Outcome outcome = RunLocus(each.words);
    std::string shown = ::testing::PrintToString(each.words);
    EXPECT_EQ(outcome.exit, 2) << shown;
    EXPECT_EQ(outcome.out, "") << shown;
    EXPECT_THAT(outcome.err, AllOf(IsOneLine("locus"), HasSubstr(each.named))) << shown;
  }
}

TEST(FrameTest, OperandsAreTakenAsTheyAre) {
  EXPECT_EQ(RunLocus({"gene", "--type", "text", "[a,b]", "gene", "--", "--type", "-h"}).out,
            RunLocus({"gene", "--type=text"}, "[a,b]\ngene\n--type\n-h\n").out);
  EXPECT_EQ(RunLocus({"gene", "17850", "--type", "uint64"}).out, "17850\t15903\n")
      << "options may follow operands";
  Outcome negative = RunLocus({"gene", "--type", "uint64", "-5"});
  EXPECT_EQ(negative.exit, 3) << "a refused value, no option";
  EXPECT_EQ(RunLocus({"encode", "--keys=", "1"}).exit, 1) << "an empty name, not the next word";
}

TEST(GeneTest, GoldenKeys_ByArgumentAndByStdin) {
  std::vector<std::string> numbers, texts;
  std::string number_answers, text_answers;
  for (const auto& line : golden::Load("gene.json")) {
    bool text = line.at("type") == "text";
    std::string key = line.at("key");
    (text ? texts : numbers).push_back(key);
    (text ? text_answers : number_answers) +=
        key + "\t" + std::to_string(line.at("gene").get<int>()) + "\n";
  }
  auto check = [](const std::string& type, const std::vector<std::string>& keys,
                  const std::string& answers) {
    std::string input;
    for (const std::string& key : keys) input += key + "\n";
    Outcome by_stdin = RunLocus({"gene", "--type", type}, input);
    EXPECT_EQ(by_stdin.exit, 0) << by_stdin.err;
    EXPECT_EQ(by_stdin.out, answers);
    std::vector<std::string> words = {"gene", "--type", type, "--"};
    words.insert(words.end(), keys.begin(), keys.end());
    EXPECT_EQ(RunLocus(words).out, answers);
  };
  check("uint64", numbers, number_answers);
  check("text", texts, text_answers);
}

TEST(GeneTest, RefusedKeys_LeaveEmptyLinesAndAreExplained) {
  Outcome outcome = RunLocus({"gene", "--type", "uint64"}, "1\n01\n\n1\r\n+1\n 1\n1.0\n2");
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(outcome.out, "1\t24031\n\n\n\n\n\n\n2\t60696\n");
  std::vector<std::string> complaints = Lines(outcome.err);
  ASSERT_EQ(complaints.size(), 6u);
  EXPECT_EQ(complaints[0], "locus gene: line 2: \"01\" is not a canonical uint64");
  EXPECT_EQ(complaints[2], "locus gene: line 4: \"1\\x0d\" is not a canonical uint64");

  outcome = RunLocus({"gene", "--type", "uint64", "1", "18446744073709551616"});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(outcome.out, "1\t24031\n\n");
  EXPECT_THAT(outcome.err, IsOneLine("locus gene: value 2: "));
}

TEST(GeneTest, AKeyWithANewline_IsRefused) {
  Outcome outcome = RunLocus({"gene", "--type", "text", "a\nb", "1"});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.out, StartsWith("\n1\t"));
  EXPECT_EQ(Lines(outcome.out).size(), 2u);
  EXPECT_EQ(outcome.err, "locus gene: value 1: \"a\\x0ab\" contains a newline\n");
}

TEST(GeneTest, EmptyStdin_IsDone) {
  Outcome outcome = RunLocus({"gene", "--type", "text"});
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_EQ(outcome.out, "");
}

TEST(GeneTest, EachLine_IsAnsweredBeforeTheNextIsAwaited) {
  RunningCommand gene({"gene", "--type", "uint64"});
  ASSERT_TRUE(gene.Write("1\n"));
  EXPECT_EQ(gene.ReadLine(), "1\t24031");
  ASSERT_TRUE(gene.Write("2\n"));
  EXPECT_EQ(gene.ReadLine(), "2\t60696");
  EXPECT_EQ(gene.Finish().exit, 0);
}

TEST(GeneTest, ClosedPipe_EndsItQuietly) {
  RunningCommand gene({"gene", "--type", "uint64"});
  ASSERT_TRUE(gene.Write("1\n"));
  gene.ReadLine();
  gene.CloseStdout();
  EXPECT_TRUE(testing::Eventually([&] { return !gene.Write("2\n"); }));
  Outcome outcome = gene.Finish();
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST(GeneTest, Interrupted_ExitsWith130) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    RunningCommand gene({"gene", "--type", "uint64"});
    ASSERT_TRUE(gene.Write("1\n"));
    gene.ReadLine();
    gene.Signal(signal);
    EXPECT_EQ(gene.Finish().exit, 130);
  }
}

}  // namespace
}  // namespace locus
