// SPDX-License-Identifier: Apache-2.0
// Processes of examples/order_service write while `locus move` takes their orders from one shard to
// another, back and there again, for good. Processes are killed at random meanwhile. At the end
// every acknowledged write is there once, with its last value, and nothing else is.
//   order_service_move_test --orders=N   orders that there are before the move (scripts/soak)
//                           --rate=N     writes a second meanwhile
//                           --by=N       cohorts of a step
//                           --seed=N     of the kills
//                           --servers=1  also kills the servers of both shards
#include <signal.h>

#include <iostream>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "examples/order_service/record.h"
#include "gtest/gtest.h"
#include "tests/order_service/two_shards.h"

namespace locus {
namespace {

using nlohmann::json;

struct Scale {
  uint64_t orders = 100'000;
  uint64_t rate = 400;
  uint64_t by = 1000;
  uint64_t seed = 1;
  uint64_t servers = 0;
  // Of a wait for what takes as long as there are orders.
  absl::Duration patience() const {
    return absl::Minutes(10) + absl::Milliseconds(static_cast<int64_t>(orders));
  }
};
Scale scale;

constexpr uint16_t kLast = 49151;  // vnodes 0..kLast move; all others stay on the first shard
constexpr absl::Duration kApart = absl::Seconds(3);  // kills, at first
constexpr absl::Duration kLook = absl::Milliseconds(200);
constexpr long kMostResidentKib = 128 << 10;  // of `locus move run`, for any amount to move

// `locus move VERB peak.toml`, and the process of `locus move run`.
class MoveCommand {
 public:
  explicit MoveCommand(const TwoShards& shards)
      : shards_(shards),
        runner_({LOCUS_BINARY, "move", "run", file_, "--take-over-after", "1s", "--spool",
                 shards.path("")},
                shards.path("runner.log")) {
    std::ofstream(file_) << R"(
name = "peak"
movers = ["mover@127.0.0.1"]
table = "file:)" << shards.path("table.json")
                         << R"("
[[tables]]
name = "orders"
[[tables]]
name = "order_items"
primary_key = ["order_id", "line"]
[[tables]]
name = "payments"
primary_key = ["order_id", "payment_no"]
[accounts]
administrators = ["locus@%"]
[accounts.mover]
user = "mover"
password_file = ")" << shards.path("password")
                         << R"("
[pace]
accept_within = "10s"
[gates]
lag = "5s"
oldest_transaction = "30s"
patience = "10m"
)";
  }

  // Exit code of the verb; what it prints is Output().
  int Run(std::vector<std::string> words) const {
    words.insert(words.begin(), {LOCUS_BINARY, "move"});
    words.insert(words.begin() + 3, file_);
    return RunProgram(words, shards_.path("move.out"));
  }
  std::string Output() const { return shards_.Text("move.out"); }
  // Of the one move; null while a shard does not answer.
  json Status() const {
    if (Run({"status", "--json"}) != 0) return json();
    const json moves = json::parse(Output(), nullptr, false);
    return moves.is_array() && moves.size() == 1 ? moves[0] : json();
  }

  void StartRunner() {
    ASSERT_TRUE(runner_.Start([] { return true; }));
  }
  void KillRunner() { runner_.KillHard(); }
  void SampleRunner() {
    std::ifstream file(absl::StrCat("/proc/", runner_.pid(), "/status"));
    for (std::string line; std::getline(file, line);) {
      long kib = 0;
      if (sscanf(line.c_str(), "VmHWM: %ld", &kib) == 1) resident_ = std::max(resident_, kib);
    }
  }
  bool RunnerRuns() { return runner_.running(); }
  std::string RunnerLog() const { return runner_.LogTail(); }
  // Of all runners that were sampled, at their largest.
  long resident_kib() const { return resident_; }

 private:
  const TwoShards& shards_;
  const std::string file_ = shards_.path("peak.toml");
  PrivateServer runner_;
  long resident_ = 0;
};

class OrderServiceMoveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    random_.seed(scale.seed);
    ASSERT_TRUE(shards_.StartServers());
    shards_.Publish(RoutingTable::Make(1, shards_.Shards(), {{65535, 1}}).value());
  }

  // Waits until `condition` holds, and kills a process now and then.
  void Await(const std::string& what, const std::function<bool()>& condition) {
    absl::Time look = absl::Now();
    const bool came = WaitUntil(
        [&] {
          if (HasFailure()) return true;
          if (kills_ && absl::Now() > next_kill_) KillOne();
          if (absl::Now() < look) return false;
          const bool holds = condition();
          look = absl::Now() + kLook;
          return holds;
        },
        scale.patience());
    if (came && !HasFailure()) return;
    move_.Run({"report"});
    ASSERT_TRUE(came) << "waited too long for " << what << "; " << move_.Status() << "\n"
                      << move_.RunnerLog() << move_.Output();
  }
  void AwaitState(const std::string& state) {
    Await(state, [&] {
      move_.SampleRunner();
      const bool runs = move_.RunnerRuns();
      const json status = move_.Status();
      if (!status.is_object()) return false;
      EXPECT_TRUE(runs || status["state"] == "DONE") << move_.RunnerLog();
      ResumeIfHeld(status);
      return status["state"] == state;
    });
    if (HasFailure()) return;
    apart_ = kApart;
    const absl::Duration took = absl::Now() - begun_;
    std::cout << absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(100))) << " " << state
              << ", " << shards_.Writes() << " writes" << std::endl;
  }
  // Nothing holds a move but a shard that is away, or a runner that is killed again and again.
  void ResumeIfHeld(const json& status) {
    if (!status.contains("wish") || status["wish"]["hold"] == "") return;
    std::cout << "held: " << status["wish"]["hold"] << std::endl;
    EXPECT_NE(scale.servers, 0u) << status;
    move_.Run({"resume"});
  }
  // A command fails only while a shard is away.
  void Ask(const std::vector<std::string>& words) {
    Await(words[0], [&] {
      const int exit = move_.Run(words);
      if (scale.servers == 0) {
        EXPECT_EQ(exit, 0) << words[0] << ": " << move_.Output();
      }
      return exit == 0 || scale.servers == 0;
    });
  }
  void WaitForWrites(uint64_t more) {
    const uint64_t before = shards_.Writes();
    Await("more writes", [&] { return shards_.Writes() > before + more; });
  }

  void BeginKills() {
    kills_ = true;
    PlanKill();
  }
  // Each time later, until the move has come to the next state: a copy or a comparison that is
  // killed again and again would never end.
  void PlanKill() {
    next_kill_ = absl::Now() + apart_ * std::uniform_real_distribution<double>(0.2, 1.8)(random_);
    apart_ *= 1.3;
  }
  void KillOne() {
    const uint64_t what = random_() % (scale.servers != 0 ? 10 : 6);
    if (what < 4) {
      KillClient();
    } else if (what < 6) {
      move_.KillRunner();
      move_.StartRunner();
      ++killed_["runner"];
    } else {
      shards_.server(what % 2).KillHard();
      ASSERT_TRUE(shards_.server(what % 2).Start());
      ++killed_[what % 2 == 0 ? "source" : "target"];
    }
    PlanKill();
  }
  void KillClient() {
    const json status = shards_.Status();
    std::vector<json> clients(status["clients"].begin(), status["clients"].end());
    std::shuffle(clients.begin(), clients.end(), random_);
    for (const json& client : clients) {
      // One that was killed has left its status; its number may be any process's by now.
      const int pid = client["pid"].get<int>();
      std::ifstream file(absl::StrCat("/proc/", pid, "/cmdline"));
      const std::string words{std::istreambuf_iterator<char>(file), {}};
      if (words.find(shards_.record()) == std::string::npos) continue;
      ASSERT_EQ(kill(pid, SIGKILL), 0);
      ++killed_[client["kind"]];
      return;
    }
  }

  // Of the clients of this kind, also of those that were killed.
  uint64_t Sum(const std::string& kind, const std::string& figure) const {
    uint64_t sum = 0;
    const json status = shards_.Status();
    for (const json& client : status["clients"]) {
      if (client["kind"] == kind) sum += client[figure].get<uint64_t>();
    }
    return sum;
  }
  // Reads that clients made without a fence, by their records.
  uint64_t UnfencedReads() const {
    uint64_t reads = 0;
    for (const std::string& path : shop::RecordFilesIn(shards_.record())) {
      EXPECT_TRUE(shop::ReadRecords(path, [&](const shop::Record& record) {
                    if (record.what == shop::Record::What::kUnfencedRead) ++reads;
                  }).ok());
    }
    return reads;
  }

  const absl::Time begun_ = absl::Now();
  TwoShards shards_{{"innodb_buffer_pool_size=256M", "innodb_log_file_size=256M"}};
  MoveCommand move_{shards_};
  std::mt19937_64 random_;
  bool kills_ = false;
  absl::Duration apart_ = kApart;
  absl::Time next_kill_;
  std::map<std::string, int> killed_;
};

TEST_F(OrderServiceMoveTest, ForthAndBackAndForGood_EveryAcknowledgedWriteIsThereOnce) {
  std::cout << scale.orders << " orders, " << scale.rate << " writes a second, seed " << scale.seed
            << std::endl;
  auto traffic = shards_.StartTraffic({"--bulk", absl::StrCat(scale.orders), "--rate",
                                       absl::StrCat(scale.rate), "--threads", "2", "--revive",
                                       "--seed", absl::StrCat(scale.seed)});
  Await("the orders", [&] { return shards_.Status()["inserts"] >= scale.orders; });
  ASSERT_EQ(shards_.Status()["refused"], 0u);
  shards_.Publish(
      RoutingTable::Make(2, shards_.Shards(), {{65535, 1}}, {{0, kLast, 2, 0, 0}}).value());
  Ask({"start"});
  move_.StartRunner();
  BeginKills();
  const std::vector<std::string> whole = {"auto", "--by", absl::StrCat(scale.by), "--dwell",
                                          "300ms"};
  AwaitState("READY");
  const uint64_t unfenced = UnfencedReads();
  WaitForWrites(200);
  Ask(whole);
  AwaitState("SWITCHED");
  WaitForWrites(200);
  Ask({"rollback", "--to", "3000"});
  AwaitState("STEP(3000)");
  WaitForWrites(200);
  Ask(whole);
  AwaitState("SWITCHED");
  Ask({"finalize"});
  AwaitState("FINALIZED");
  WaitForWrites(200);
  Ask({"cleanup"});
  AwaitState("DONE");
  kills_ = false;
  // Clients that still have an old table find no rows on the source, only its fence.
  WaitForWrites(300);
  Await("a refusal of each stale client", [&] {
    return Sum("late", "refusals") > 0 && Sum("frozen", "refusals") > 0 &&
           Sum("plain", "refused") > 0;
  });
  if (HasFailure()) return;
  TwoShards::StopWell(*traffic);

  const json verdict = shards_.Verdict({"--final"});
  EXPECT_EQ(verdict["exit"], 0) << verdict;
  EXPECT_EQ(verdict["copies"], 0) << verdict;
  EXPECT_GE(verdict["inserts"], scale.orders) << verdict;
  for (const char* name : {"updates", "deletes", "reads", "refusals", "waits"}) {
    EXPECT_GT(verdict[name], 0) << name << " of " << verdict;
  }
  EXPECT_EQ(verdict["unfenced_reads"], unfenced) << "a read passed the fence: " << verdict;
  // A killed process leaves one write of each thread without an answer.
  int clients = 0;
  for (const char* kind : {"follows", "late", "frozen", "plain"}) clients += killed_[kind];
  EXPECT_LE(verdict["open"], 2 * clients + (scale.servers != 0 ? 1000 : 0)) << verdict;
  EXPECT_GT(clients + killed_["runner"], 0);
  EXPECT_LE(move_.resident_kib(), kMostResidentKib);
  for (const auto& [what, times] : killed_) std::cout << "killed " << what << " " << times << "\n";
  std::cout << "runner at most " << move_.resident_kib() << " KiB\n" << verdict.dump() << std::endl;
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    bool known = false;
    for (const auto& [option, number] : {std::pair("--orders=", &locus::scale.orders),
                                         {"--rate=", &locus::scale.rate},
                                         {"--by=", &locus::scale.by},
                                         {"--seed=", &locus::scale.seed},
                                         {"--servers=", &locus::scale.servers}}) {
      if (word.starts_with(option)) {
        known = absl::SimpleAtoi(word.substr(std::string_view(option).size()), number);
      }
    }
    if (!known) {
      std::cerr << "order_service_move_test: " << word << " is no option with a number\n";
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
