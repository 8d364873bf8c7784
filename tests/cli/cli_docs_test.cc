// SPDX-License-Identifier: Apache-2.0
// Man page and completions know every verb and option that the command knows.
#include <algorithm>
#include <array>
#include <cstdio>
#include <regex>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/command.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using testing::ReadFile;
using testing::RunLocus;
using testing::WriteFile;

std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Every match of the first group of `pattern`.
std::set<std::string> AllOf(const std::string& text, const char* pattern) {
  std::set<std::string> found;
  std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    found.insert((*it)[1]);
  }
  return found;
}

std::set<std::string> Verbs() {
  return AllOf(RunLocus({"--help"}).out, "\n  ([a-z]+(?: [a-z-]+){0,2})  ");
}

std::set<std::string> OptionsOf(const std::string& verb) {
  std::vector<std::string> words = Words(verb);
  words.push_back("--help");
  return AllOf(RunLocus(words).out, "\n  (?:-h,)?(--[a-z][-a-z0-9]*)");
}

// The man page without font changes and escapes.
std::string ManText() {
  std::string page = ReadFile(LOCUS_MAN_PAGE);
  page = std::regex_replace(page, std::regex("\\\\f[A-Z]"), "");
  return std::regex_replace(page, std::regex("\\\\-"), "-");
}

// The parts of the man page on this verb and its group.
std::string ManSection(const std::string& verb) {
  std::string page = ManText();
  std::string first = Words(verb)[0];
  std::regex heading("\n\\.SS locus [^\n]*\\b" + first + "\\b[^\n]*\n");
  std::string sections;
  for (std::sregex_iterator it(page.begin(), page.end(), heading), end; it != end; ++it) {
    std::string rest = it->suffix();
    sections += it->str() + rest.substr(0, rest.find("\n.S"));
  }
  EXPECT_NE(sections, "") << verb;
  return sections;
}

std::string OutputOf(const std::string& shell_command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(shell_command.c_str(), "r"), pclose);
  std::string out;
  std::array<char, 4096> block;
  while (size_t count = fread(block.data(), 1, block.size(), pipe.get())) {
    out.append(block.data(), count);
  }
  return out;
}

// What bash puts for the end of `line`, which is being typed.
std::set<std::string> Completions(const std::string& line) {
  std::string script =
      "PATH=" LOCUS_BINARY_DIR ":$PATH; source " LOCUS_COMPLETION "; COMP_LINE=\"" + line +
      "\"; COMP_POINT=${#COMP_LINE}; _locus; "
      "for word in \"${COMPREPLY[@]}\"; do echo \" $word\"; done";
  return AllOf(OutputOf("bash -c '" + script + "'"), " ([^\n]+)\n");
}

TEST(CommandDocsTest, TheHelpNamesEveryVerb) {
  EXPECT_GE(Verbs().size(), 25u);
  EXPECT_TRUE(OptionsOf("assign").contains("--buyer-column"));
  EXPECT_TRUE(OptionsOf("store raise").contains("--to"));
}

TEST(CommandDocsTest, TheManPageHasEveryVerbAndOption) {
  for (const std::string& verb : Verbs()) {
    std::string section = ManSection(verb);
    EXPECT_THAT(section, HasSubstr(Words(verb).back())) << verb;
    for (const std::string& option : OptionsOf(verb)) {
      if (option == "--help" || option == "--quiet") continue;  // under OPTIONS
      EXPECT_THAT(section, HasSubstr(option)) << verb;
    }
  }
  EXPECT_THAT(ManText(), HasSubstr("--help"));
  EXPECT_THAT(ManText(), HasSubstr("--version"));
}

TEST(CommandDocsTest, TheCompletionHasEveryVerbAndOption) {
  for (const std::string& verb : Verbs()) {
    std::vector<std::string> words = Words(verb);
    EXPECT_TRUE(Completions("locus " + words[0].substr(0, 2)).contains(words[0])) << verb;
    std::string before = "locus ";
    for (const std::string& word : words) {
      EXPECT_TRUE(Completions(before).contains(word)) << verb;
      before += word + " ";
    }
    EXPECT_EQ(Completions("locus " + verb + " --"), OptionsOf(verb)) << verb;
  }
  EXPECT_EQ(Completions("locus he"), std::set<std::string>{"help"});
}

TEST(CommandDocsTest, TheCompletionOffersValues) {
  testing::TemporaryDirectory directory;
  const std::string table = directory / "table.json";
  WriteFile(table, RunLocus({"table", "new", "--shard", "alpha=x://h1", "beta=x://h2"}).out);
  using Offers = std::set<std::string>;
  EXPECT_EQ(Completions("locus encode --scheme "), (Offers{"siv", "ff1", "ctr64"}));
  EXPECT_EQ(Completions("locus encode --scheme=c"), Offers{"ctr64"}) << "bash keeps --scheme=";
  Offers stores = {"sqlite:", "mysql://", "redis://", "redis+sentinel://", "etcd://", "locusd://"};
  EXPECT_EQ(Completions("locus seq next --store "), stores);
  stores.insert("zookeeper://");
  EXPECT_EQ(Completions("locus store show "), stores);
  EXPECT_EQ(Completions("locus store show redis+"), Offers{"redis+sentinel://"});
  EXPECT_TRUE(Completions("locus table get ").contains("https://"));
  EXPECT_EQ(Completions("locus plan --table " + table + " --remove "), (Offers{"alpha", "beta"}));
  EXPECT_EQ(Completions("locus plan --table " + table + " --weight b"), Offers{"beta="});
  EXPECT_EQ(Completions("locus ring " + directory / "tab"), Offers{table});
  EXPECT_EQ(Completions("locus ring --svg=" + directory / "tab"), Offers{table});
  EXPECT_EQ(Completions("locus store show sqlite:" + directory / "tab"), Offers{table});
  EXPECT_EQ(Completions("locus plan --table /nowhere --remove "), Offers{}) << "and no message";
}

// Whoever may write a table must not be able to run commands in the shells of those who read it.
TEST(CommandDocsTest, BashQuotesNamesOfShards) {
  testing::TemporaryDirectory directory;
  const std::string table = directory / "table.json";
  WriteFile(table, RunLocus({"table", "new", "--shard", "$(touch${IFS}PWNED)=x://h1", "a b=x://h2",
                             "c;d=x://h3"})
                       .out);
  using Offers = std::set<std::string>;
  const std::string plan = "locus plan --table " + table;
  EXPECT_EQ(Completions(plan + " --remove "),
            (Offers{"\\$\\(touch\\$\\{IFS\\}PWNED\\)", "a\\ b", "c\\;d"}));
  EXPECT_EQ(Completions(plan + " --remove=a"), Offers{"a\\ b"});
  EXPECT_EQ(Completions(plan + " --weight c"), Offers{"c\\;d="});
}

TEST(CommandDocsTest, FishOffersTheSame) {
  auto offers = [](const std::string& line) {
    return OutputOf("PATH=" LOCUS_BINARY_DIR
                    ":$PATH fish --no-config -c 'source " LOCUS_COMPLETION_FISH "; complete -C \"" +
                    line + "\"'");
  };
  EXPECT_EQ(offers("locus uuid --ver"),
            "--version\t7: time first, each above the one before; 4: random\n");
  EXPECT_EQ(offers("locus encode --scheme c"), "ctr64\n");
  EXPECT_THAT(offers("locus store show redis+"), HasSubstr("redis+sentinel://\t"));
  testing::TemporaryDirectory directory;
  WriteFile(directory / "table.json", "");
  const std::string name = directory / "table.json";
  EXPECT_THAT(offers("locus ring --svg=" + directory / "tab"), HasSubstr("--svg=" + name));
}

// zsh completes in its line editor only: stand-ins print what it is given.
TEST(CommandDocsTest, ZshOffersTheSame) {
  auto offers = [](const std::string& words) {
    return OutputOf("PATH=" LOCUS_BINARY_DIR
                    ":$PATH zsh -f -c '_describe() { print -rl -- \"${(@P)2}\" };"
                    "_files() { print -r -- \"files after $IPREFIX\" };"
                    "compset() { IPREFIX=${PREFIX[1,${#2}]} };"
                    "words=(" +
                    words +
                    "); CURRENT=$#words; PREFIX=${words[-1]}; source " LOCUS_COMPLETION_ZSH "'");
  };
  EXPECT_EQ(offers("locus uuid --ver"),
            "--version:7: time first, each above the one before; 4: random\n");
  EXPECT_EQ(offers("locus encode --scheme c"), "ctr64\n");
  EXPECT_THAT(offers("locus store show redis+"), HasSubstr("redis+sentinel\\://:"));
  EXPECT_EQ(offers("locus ring --svg=x"), "files after --svg=\n");
}

TEST(CommandDocsTest, EveryVerbHasAnExample) {
  for (const std::string& verb : Verbs()) {
    std::vector<std::string> words = Words(verb);
    words.insert(words.begin(), "help");
    std::string help = RunLocus(words).out;
    EXPECT_THAT(help, HasSubstr("\nExample:\n  locus " + verb + " ")) << verb;
  }
}

}  // namespace
}  // namespace locus
