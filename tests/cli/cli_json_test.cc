// SPDX-License-Identifier: Apache-2.0
// What verbs print with --json, and what they say at a terminal.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"

namespace locus {
namespace {

using nlohmann::json;
using testing::CommandTest;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunLocus;
using testing::WriteFile;

// The object that the verb prints on one line.
json PrintedBy(std::vector<std::string> words) {
  words.push_back("--json");
  Outcome outcome = RunLocus(words);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1);
  return json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
}

class JsonTest : public CommandTest {
 protected:
  // The table of CommandTest as another epoch, with half of its ring given to shard 2.
  std::string NextTable() {
    json table = json::parse(testing::ReadFile(table_));
    table["epoch"] = 2;
    table["ranges"] = {{{"last", 16383}, {"shard", 1}}, {{"last", 65535}, {"shard", 2}}};
    table["shards"][0]["weight"] = 50;
    const std::string path = directory_ / "next.json";
    WriteFile(path, table.dump());
    return path;
  }
};

TEST_F(JsonTest, StoreShow_HasSequencesAsStrings) {
  ASSERT_EQ(RunLocus({"store", "init", store_}).exit, 0);
  std::string csv = directory_ / "orders.csv";
  WriteFile(csv, "buyer\n1\n");
  ASSERT_EQ(RunLocus({"assign", "--buyer-column=buyer", "--store", store_, "--table", table_,
                      "--keys", keys_, "--in", csv, "--quiet"})
                .exit,
            0);
  json shown = PrintedBy({"store", "show", store_});
  EXPECT_EQ(shown.at("space"), "orders");
  EXPECT_TRUE(shown.at("base").is_string());
  EXPECT_TRUE(shown.at("floor").is_string());
  EXPECT_EQ(shown.at("losses"), 1);
  ASSERT_EQ(shown.at("sections").size(), 1u);
  EXPECT_TRUE(shown.at("sections")[0].at("head").is_string());
  EXPECT_EQ(shown.at("sections")[0].at("last_vnode").get<int>() -
                shown.at("sections")[0].at("first_vnode").get<int>(),
            255);
}

TEST_F(JsonTest, TableVerbs) {
  json checked = PrintedBy({"table", "check", table_});
  EXPECT_EQ(checked.at("epoch"), 1);
  EXPECT_EQ(checked.at("shards"), 2);

  json ring = PrintedBy({"ring", table_});
  EXPECT_EQ(ring.at("shards")[1].at("name"), "b,c");
  EXPECT_EQ(
      ring.at("shards")[0].at("vnodes").get<int>() + ring.at("shards")[1].at("vnodes").get<int>(),
      65536);

  json difference = PrintedBy({"table", "diff", table_, NextTable()});
  EXPECT_EQ(difference.at("before").at("epoch"), 1);
  EXPECT_EQ(difference.at("after").at("epoch"), 2);
  ASSERT_EQ(difference.at("owners_changed").size(), 1u);
  EXPECT_EQ(difference.at("owners_changed")[0],
            json({{"first", 16384}, {"last", 32767}, {"from", 1}, {"to", 2}}));
  EXPECT_EQ(difference.at("shards_changed")[0].at("after").at("weight"), 50);
  EXPECT_TRUE(difference.at("shards_added").empty());

  const std::string place = "file:" + directory_ / "published.json";
  ASSERT_EQ(RunLocus({"table", "publish", place, table_}).exit, 0);
  json history = PrintedBy({"table", "history", place});
  ASSERT_EQ(history.at("tables").size(), 1u);
  EXPECT_EQ(history.at("tables")[0].at("epoch"), 1);
  EXPECT_EQ(RunLocus({"ring", table_, "--json", "--svg", "-"}).exit, 2);
}

TEST_F(JsonTest, KeysList) {
  ASSERT_EQ(RunLocus({"keys", "rotate", keys_}).exit, 0);
  EXPECT_EQ(PrintedBy({"keys", "list", keys_}).at("keys"),
            json::parse(R"([{"version":1,"state":"readable"},{"version":2,"state":"active"}])"));
}

struct AtTerminal {
  std::string err;
  int exit = -1;
};

// Runs `locus` with a terminal as its stdin, on which `typed` was typed already: the end of input.
// `shows`: its stderr is the terminal, too.
AtTerminal RunAtTerminal(const std::vector<std::string>& words, const std::string& typed = "\x04",
                         bool shows = false) {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT_GE(terminal, 0);
  EXPECT_EQ(grantpt(terminal), 0);
  EXPECT_EQ(unlockpt(terminal), 0);
  int slave = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  int err[2];
  EXPECT_EQ(pipe2(err, O_CLOEXEC), 0);
  EXPECT_EQ(write(terminal, typed.data(), typed.size()), static_cast<ssize_t>(typed.size()));
  pid_t child = fork();
  if (child == 0) {
    dup2(slave, STDIN_FILENO);
    dup2(shows ? slave : err[1], STDERR_FILENO);
    std::vector<char*> argv = {const_cast<char*>("locus")};
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execv(LOCUS_BINARY, argv.data());
    _exit(127);
  }
  close(err[1]);
  std::string text(4096, '\0');
  ssize_t count = read(err[0], text.data(), text.size());
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  for (int fd : {terminal, slave, err[0]}) close(fd);
  return {text, WEXITSTATUS(status)};
}

std::string StderrAtTerminal(const std::vector<std::string>& words) {
  const AtTerminal run = RunAtTerminal(words);
  EXPECT_EQ(run.exit, 0);
  return run.err;
}

TEST_F(JsonTest, KeysRetire_AsksAtATerminal_AndDestroysWhatIsTyped) {
  ASSERT_EQ(RunLocus({"keys", "rotate", keys_}).exit, 0);
  auto state = [&] { return PrintedBy({"keys", "list", keys_}).at("keys")[0].at("state"); };
  const std::vector<std::string> retire = {"keys", "retire", keys_, "1"};
  for (const char* typed : {"\x04", "\n", "y\n", "2\n"}) {
    EXPECT_EQ(RunAtTerminal(retire, typed, true).exit, 1) << typed;
    EXPECT_EQ(state(), "readable");
  }
  EXPECT_EQ(RunAtTerminal(retire, "1\n", false).exit, 2) << "nobody sees the question";
  EXPECT_EQ(state(), "readable");
  EXPECT_EQ(RunAtTerminal(retire, "1\n", true).exit, 0);
  EXPECT_EQ(state(), "retired");
}

TEST(TerminalTest, AVerbThatReadsTheTerminal_SaysSo) {
  EXPECT_EQ(StderrAtTerminal({"gene", "--type", "text"}),
            "locus: reading standard input; end it with Ctrl-D\n");
  EXPECT_EQ(StderrAtTerminal({"gene", "--type", "text", "--quiet"}), "");
  EXPECT_EQ(RunLocus({"gene", "--type", "text"}).err, "") << "a pipe says nothing";
}

}  // namespace
}  // namespace locus
