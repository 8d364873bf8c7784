// SPDX-License-Identifier: Apache-2.0
// locus lease acquire --hold: processes that hold a lease for a command.
#include <signal.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"

namespace locus {
namespace {

using nlohmann::json;
using testing::CommandTest;
using ::testing::ContainsRegex;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::ReadFile;
using testing::RunLocus;
using testing::RunningCommand;

class HoldTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    ASSERT_EQ(RunLocus({"lease", "create", store_, "--first-ever"}).exit, 0);
  }
  // The one worker ID that was ever granted.
  json Worker() {
    const Outcome outcome = RunLocus({"lease", "list", store_, "--json"});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    const json workers = json::parse(outcome.out, nullptr, false)["workers"];
    return workers.empty() ? json() : workers[0];
  }
  std::vector<std::string> Hold(std::vector<std::string> command,
                                std::vector<std::string> options = {}) {
    std::vector<std::string> words = {"lease", "acquire", store_, "--hold"};
    words.insert(words.end(), options.begin(), options.end());
    if (!command.empty()) words.push_back("--");
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  static std::vector<std::string> Shell(const std::string& script) { return {"sh", "-c", script}; }
};

TEST_F(HoldTest, WithoutACommand_HoldsUntilASignal) {
  for (int signal : {SIGTERM, SIGINT}) {
    RunningCommand hold(Hold({}));
    const json grant = json::parse(hold.ReadLine(), nullptr, false);
    ASSERT_TRUE(grant["worker"].is_number()) << grant;
    hold.Signal(signal);
    const Outcome outcome = hold.Finish();
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
  }
  EXPECT_EQ(Worker()["state"], "resting");
}

TEST_F(HoldTest, Command_HasTheLeaseAndTheExitCode) {
  RunningCommand hold(
      Hold(Shell("echo $LOCUS_WORKER $LOCUS_WORKER_TOKEN; read x; exit 7"), {"--range", "5-5"}));
  const std::string line = hold.ReadLine();
  const json held = Worker();
  EXPECT_EQ(held["state"], "held");
  EXPECT_EQ(line, "5 " + held["token"].get<std::string>());
  EXPECT_EQ(hold.Finish().exit, 7);
  EXPECT_EQ(Worker()["state"], "resting");
  EXPECT_EQ(RunLocus(Hold(Shell("kill -9 $$"))).exit, 128 + 9);
  const Outcome missing = RunLocus(Hold({"no-such-command"}));
  EXPECT_EQ(missing.exit, 127);
  EXPECT_THAT(missing.err, HasSubstr("\"no-such-command\" cannot be run: No such file"));
  EXPECT_EQ(RunLocus(Hold({"/etc/passwd"})).exit, 126);
  // What this process ignores is not ignored there: a closed pipe ends the command.
  EXPECT_EQ(RunLocus(Hold(Shell("kill -PIPE $$"))).exit, 128 + 13);
}

TEST_F(HoldTest, OptionsOfTheCommand_AreItsOwn) {
  const Outcome outcome = RunLocus(Hold({"echo", "--range", "x", "--", "--hold"}));
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "--range x -- --hold\n");
  EXPECT_THAT(RunLocus({"lease", "acquire", store_, "--", "echo"}).err,
              HasSubstr("COMMAND needs --hold"));
}

TEST_F(HoldTest, Signal_GoesOnToTheCommand) {
  RunningCommand hold(
      Hold(Shell("trap 'echo ended; exit 9' TERM; echo up; while :; do sleep 0.05; done")));
  EXPECT_EQ(hold.ReadLine(), "up");
  hold.Signal(SIGTERM);
  EXPECT_EQ(hold.ReadLine(), "ended");
  EXPECT_EQ(hold.Finish().exit, 9);
  EXPECT_EQ(Worker()["state"], "resting");
}

TEST_F(HoldTest, LostLease_EndsTheCommand) {
  // The second one does not listen, and is killed.
  for (const char* trap : {"trap 'echo told; exit 0' TERM", "trap '' TERM; echo deaf"}) {
    RunningCommand hold(
        Hold(Shell(absl::StrCat(trap, "; echo $LOCUS_WORKER; while :; do sleep 0.05; done")),
             {"--ttl", "10s"}));
    std::string worker = hold.ReadLine();
    if (worker == "deaf") worker = hold.ReadLine();
    std::string token;
    const json all = json::parse(RunLocus({"lease", "list", store_, "--json"}).out);
    for (const json& one : all["workers"]) {
      if (absl::StrCat(one["worker"].get<uint64_t>()) == worker) token = one["token"];
    }
    ASSERT_EQ(RunLocus({"lease", "release", store_, "--worker", worker, "--token", token}).exit, 0);
    const Outcome outcome = hold.Finish();
    EXPECT_EQ(outcome.exit, 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("worker " + worker + " was lost: "));
  }
}

// Its numbers would be the next holder's: it is not asked, but killed.
TEST_F(HoldTest, HolderStoppedPastTheEnd_KillsTheCommandAtOnce) {
  RunningCommand hold(Hold(Shell("trap 'echo told' TERM; echo up; while :; do sleep 0.05; done"),
                           {"--ttl", "10s"}));
  EXPECT_EQ(hold.ReadLine(), "up");
  hold.Signal(SIGSTOP);
  const absl::Time past = absl::Now() + absl::Seconds(11);  // of what the lease may be used for
  ASSERT_TRUE(Eventually([&] { return absl::Now() > past; }));
  hold.Signal(SIGCONT);
  const Outcome outcome = hold.Finish();
  EXPECT_EQ(outcome.exit, 1) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, ContainsRegex("not renewed for 1[0-9.]+s, and a renewal lasts for 8"));
}

TEST_F(HoldTest, KilledHolder_TakesTheCommandWithIt) {
  const std::string told = directory_ / "told";
  RunningCommand hold(Hold(
      Shell("trap 'echo yes > " + told + "; exit 0' TERM; echo up; while :; do sleep 0.05; done")));
  EXPECT_EQ(hold.ReadLine(), "up");
  hold.Signal(SIGKILL);
  EXPECT_EQ(hold.Finish().signal, SIGKILL);
  EXPECT_TRUE(Eventually([&] {
    const std::vector<std::string> names = directory_.Names();
    return std::find(names.begin(), names.end(), "told") != names.end() &&
           ReadFile(told) == "yes\n";
  }));
}

}  // namespace
}  // namespace locus
