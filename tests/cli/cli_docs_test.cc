// SPDX-License-Identifier: Apache-2.0
// Man page and bash completion know every verb and option that the command knows.
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
  return AllOf(RunLocus({"--help"}).out, "\n  ([a-z]+(?: [a-z-]+)?)  ");
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

// The part of the man page on this verb.
std::string ManSection(const std::string& verb) {
  std::string page = ManText();
  std::string first = Words(verb)[0];
  std::regex heading("\n\\.SS locus [^\n]*\\b" + first + "\\b[^\n]*\n");
  std::smatch match;
  EXPECT_TRUE(std::regex_search(page, match, heading)) << verb;
  std::string rest = match.suffix();
  return match.str() + rest.substr(0, rest.find("\n.S"));
}

// What bash offers after `line`, whose last word is being typed.
std::set<std::string> Completions(const std::string& line) {
  std::string script = "source " + std::string(LOCUS_COMPLETION) + "; COMP_WORDS=(" + line +
                       "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _locus; "
                       "for word in \"${COMPREPLY[@]}\"; do echo \" $word\"; done";
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("bash -c '" + script + "'").c_str(), "r"),
                                             pclose);
  std::string out;
  std::array<char, 4096> block;
  while (size_t count = fread(block.data(), 1, block.size(), pipe.get())) {
    out.append(block.data(), count);
  }
  return AllOf(out, " ([^\n]+)\n");
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
      if (option == "--help") continue;  // under OPTIONS
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
    if (words.size() == 2) {
      EXPECT_TRUE(Completions("locus " + words[0] + " \"\"").contains(words[1])) << verb;
    }
    EXPECT_EQ(Completions("locus " + verb + " --"), OptionsOf(verb)) << verb;
  }
}

}  // namespace
}  // namespace locus
