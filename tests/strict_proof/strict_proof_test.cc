// SPDX-License-Identifier: Apache-2.0
// Three sequence-nodes over etcd, and six processes that draw numbers of the same users, while
// nodes are killed, stopped beyond the end of their ownership, cut off the store or the callers,
// and handed over, and while the store stalls and is put back. All drawn numbers are checked for
// the strict order.
//
// strict_proof_test --numbers=N  runs until so many were drawn [20,000,000]
//                   --seed=S     the order of the faults [1]
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/proof/strict/call_log.h"
#include "apps/proof/strict/verdict.h"
#include "gtest/gtest.h"
#include "locus/clock.h"
#include "locus/engine/strict_client.h"
#include "tests/engine/etcd/etcd_server.h"
#include "tests/strict_proof/nodes.h"
#include "tests/support/private_server.h"

namespace locus::strict_proof {
namespace {

using std::chrono::steady_clock;

uint64_t wanted = 20'000'000;
uint64_t seed = 1;

constexpr int kNodes = 3;
constexpr int kCallers = 6;

StrictSetOptions SetOptions() {
  StrictSetOptions set;
  set.uids = 1200;
  set.section_size = 100;
  set.step = 20'000;
  set.ttl = absl::Seconds(3);
  return set;
}

class StrictProof : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(etcd_.Start());
    nodes_ = std::make_unique<Nodes>(directory_, kNodes, PortOf(etcd_.endpoint(0)), SetOptions());
    for (int i = 0; i < kNodes; ++i) ASSERT_TRUE(nodes_->Start(i)) << nodes_->LogOf(i);
    StrictClientOptions options;
    options.endpoints = nodes_->Endpoints();
    auto client = StrictClient::Open(options, steady_clock::now() + std::chrono::seconds(60));
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    AllAnswer();
    for (int i = 0; i < kCallers; ++i) StartCaller();
  }

  // --- callers
  void StartCaller() {
    const int number = static_cast<int>(logs_.size());
    logs_.push_back(directory_ / absl::StrCat("caller-", number, ".calls"));
    std::vector<std::string> command = {LOCUS_STRICT_CALLER, logs_.back(),
                                        absl::StrCat(seed * 1000 + number)};
    for (const std::string& endpoint : nodes_->Endpoints()) command.push_back(endpoint);
    callers_.push_back(std::make_unique<PrivateServer>(
        command, directory_ / absl::StrCat("caller-", number, ".log")));
    ASSERT_TRUE(callers_.back()->Start([] { return true; }));
  }
  // As the callers say, each second.
  uint64_t Drawn() const {
    uint64_t drawn = 0;
    for (size_t i = 0; i < logs_.size(); ++i) {
      std::ifstream in(directory_ / absl::StrCat("caller-", i, ".log"));
      uint64_t said = 0, last = 0;
      while (in >> said) last = said;
      drawn += last;
    }
    return drawn;
  }
  // Waits until so many more were drawn.
  void Draw(uint64_t more) {
    const uint64_t before = Drawn();
    EXPECT_TRUE(WaitUntil([&] { return Drawn() >= before + more; }, absl::Minutes(2)))
        << Drawn() - before << " of " << more;
  }

  // --- the test's own calls, one of each section; they are part of the history
  absl::Status AskSection(uint32_t section, absl::Duration within) {
    const uint64_t uid = uint64_t{section} * SetOptions().section_size;
    const int64_t called = Now();
    auto number = client_->Next(uid, steady_clock::now() + absl::ToChronoMilliseconds(within));
    if (number.ok()) own_.push_back({uid, *number, called, Now(), 1});
    return number.status();
  }
  void AllAnswer() {
    for (uint32_t section = 0; section < SetOptions().sections(); ++section) {
      const absl::Status status = AskSection(section, absl::Seconds(60));
      ASSERT_TRUE(status.ok()) << "section " << section << ": " << status;
    }
  }
  static int64_t Now() { return absl::ToInt64Nanoseconds(Clock::System().SinceBoot()); }

  // --- what goes wrong. Each ends with all sections being answered for again.
  void HandOver(int node) {
    Say(absl::StrCat(Nodes::NameOf(node), " hands all of its sections over"));
    EXPECT_EQ(nodes_->Tell(node, "/v1/strict/sections:hand_over", "{}"), 200u);
    AllAnswer();
    EXPECT_EQ(nodes_->Metric(node, "locus_strict_sections_owned"), 0u);
    EXPECT_EQ(nodes_->Tell(node, "/v1/strict/sections:take", "{}"), 200u);
    WaitUntilItOwns(node);
  }
  void KillNode(int node) {
    Say(absl::StrCat(Nodes::NameOf(node), " is killed"));
    nodes_->Kill(node);
    WaitUntilOthersOwnAll(node);
    AllAnswer();
    EXPECT_TRUE(nodes_->Start(node)) << nodes_->LogOf(node);
    WaitUntilItOwns(node);
  }
  void PauseNode(int node) {
    Say(absl::StrCat(Nodes::NameOf(node), " is stopped until others have its sections"));
    nodes_->Stall(node);
    WaitUntilOthersOwnAll(node);
    nodes_->Resume(node);
    AllAnswer();
    WaitUntilItOwns(node);
  }
  void CutNodeFromStore(int node) {
    Say(absl::StrCat(Nodes::NameOf(node), " is cut off the store until others have its sections"));
    nodes_->CutFromStore(node, true);
    WaitUntilOthersOwnAll(node);
    nodes_->CutFromStore(node, false);
    AllAnswer();
    WaitUntilItOwns(node);
  }
  void CutNodeFromCallers(int node) {
    Say(absl::StrCat(Nodes::NameOf(node), " is cut off callers and nodes"));
    nodes_->CutFromCallers(node, true);
    Draw(500'000);
    nodes_->CutFromCallers(node, false);
    AllAnswer();
    WaitUntilItOwns(node);
  }
  void StallStore() {
    Say("the store stalls for a while");
    etcd_.Stall();
    // On a machine that is slow, it is longer than an ownership.
    const uint64_t before = Drawn();
    EXPECT_TRUE(WaitUntil([&] {
      return Drawn() >= before + 200'000 || !AskSection(0, absl::Milliseconds(200)).ok();
    }));
    etcd_.Resume();
    AllAnswer();
  }
  void StallStoreBeyondOwnerships() {
    Say("the store stalls until all ownerships have ended");
    etcd_.Stall();
    EXPECT_TRUE(WaitUntil([&] { return !AskSection(0, absl::Milliseconds(200)).ok(); }));
    etcd_.Resume();
    AllAnswer();
  }
  void RestoreStore() {
    Say("a snapshot of the store from the beginning is restored");
    EXPECT_TRUE(etcd_.RestoreSnapshot(Snapshot()));
    AllAnswer();
    for (int i = 0; i < kNodes; ++i) WaitUntilItOwns(i);
  }
  void PutStoreBack() {
    Say("the data directory of the store from the beginning is put back");
    EXPECT_TRUE(etcd_.PutDataBack());
    AllAnswer();
    for (int i = 0; i < kNodes; ++i) WaitUntilItOwns(i);
  }
  void StopNode(int node) {
    Say(absl::StrCat(Nodes::NameOf(node), " is ended, and started again"));
    EXPECT_EQ(nodes_->Stop(node), 0);
    AllAnswer();
    EXPECT_TRUE(nodes_->Start(node)) << nodes_->LogOf(node);
    WaitUntilItOwns(node);
  }
  void KillCaller() {
    Say("a caller is killed, and another one begins");
    callers_.front()->KillHard();
    callers_.erase(callers_.begin());
    StartCaller();
  }

  // Its ownerships have ended.
  void WaitUntilOthersOwnAll(int node) {
    EXPECT_TRUE(WaitUntil([&] {
      uint64_t owned = 0;
      for (int i = 0; i < kNodes; ++i) {
        if (i != node) owned += nodes_->Metric(i, "locus_strict_sections_owned");
      }
      return owned == SetOptions().sections();
    }));
  }
  void WaitUntilItOwns(int node) {
    EXPECT_TRUE(WaitUntil([&] { return nodes_->Metric(node, "locus_strict_sections_owned") > 0; }))
        << nodes_->LogOf(node);
  }
  std::string Snapshot() { return directory_ / "snapshot.db"; }
  static uint16_t PortOf(const std::string& endpoint) {
    return static_cast<uint16_t>(std::stoi(endpoint.substr(endpoint.find(':') + 1)));
  }
  void Say(const std::string& what) {
    ++faults_;
    std::cout << absl::ToInt64Seconds(absl::Now() - begun_) << " s, " << Drawn()
              << " numbers: " << what << "\n"
              << std::flush;
  }

  // Ends all processes.
  Verdict End() {
    for (int i = 0; HasFailure() && i < kNodes; ++i) {
      std::cout << "--- the log of " << Nodes::NameOf(i) << "\n" << nodes_->LogOf(i);
    }
    for (auto& caller : callers_) {
      EXPECT_TRUE(caller->running()) << "it found something wrong: " << caller->LogTail();
      caller->KillHard();
    }
    for (int i = 0; i < kNodes; ++i) EXPECT_EQ(nodes_->Stop(i), 0) << nodes_->LogOf(i);
    std::vector<strict::Drawn> history = own_;
    for (const std::string& log : logs_) EXPECT_TRUE(ReadCalls(log, history).ok()) << log;
    Verdict verdict = Judge(history);
    verdict.callers = logs_.size() + 1;
    // That it would be found.
    for (uint64_t choice = 0; choice < 3; ++choice) {
      std::vector<strict::Drawn> spoilt = history;
      EXPECT_TRUE(Spoil(spoilt, choice * history.size() / 3));
      EXPECT_NE(Judge(spoilt).flaws.order, "");
    }
    return verdict;
  }

  const absl::Time begun_ = absl::Now();
  TemporaryDirectory directory_;
  EtcdServer etcd_;
  std::unique_ptr<Nodes> nodes_;
  std::unique_ptr<StrictClient> client_;
  std::vector<std::string> logs_;
  std::vector<std::unique_ptr<PrivateServer>> callers_;
  std::vector<strict::Drawn> own_;
  uint64_t faults_ = 0;
};

TEST_F(StrictProof, NumbersRiseInRealTimeWhateverGoesWrong) {
  std::mt19937_64 random(seed);
  auto node = [&] { return static_cast<int>(random() % kNodes); };
  ASSERT_TRUE(etcd_.SaveSnapshot(Snapshot()));
  ASSERT_TRUE(etcd_.KeepData());
  AllAnswer();
  // A store that is put back without a trace is noticed only by nodes that have seen more of it, so
  // no node is restarted in between.
  std::vector<std::function<void()>> faults = {
      [&] { HandOver(node()); },
      [&] { KillNode(node()); },
      [&] { PauseNode(node()); },
      [&] { CutNodeFromStore(node()); },
      [&] { CutNodeFromCallers(node()); },
      [&] { StallStore(); },
      [&] { StallStoreBeyondOwnerships(); },
      [&] { RestoreStore(); },
      [&] { PutStoreBack(); },
      [&] { StopNode(node()); },
      [&] { KillCaller(); },
  };
  std::shuffle(faults.begin(), faults.end(), random);
  for (const auto& fault : faults) {
    fault();
    if (HasFailure()) break;
  }
  while (!HasFailure() && Drawn() < wanted) {
    Draw(std::min<uint64_t>(wanted - std::min(wanted, Drawn()), 1'000'000));
  }
  const Verdict verdict = End();
  EXPECT_GE(verdict.numbers, wanted);
  EXPECT_EQ(verdict.uids, SetOptions().uids) << "each was drawn for";
  EXPECT_TRUE(verdict.ok());
  std::cout << faults_ << " things went wrong in " << absl::ToInt64Seconds(absl::Now() - begun_)
            << " s\n"
            << Told(verdict);
}

}  // namespace
}  // namespace locus::strict_proof

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const absl::string_view word = argv[i];
    uint64_t* to = absl::StartsWith(word, "--numbers=") ? &locus::strict_proof::wanted
                   : absl::StartsWith(word, "--seed=")  ? &locus::strict_proof::seed
                                                        : nullptr;
    if (to == nullptr || !absl::SimpleAtoi(word.substr(word.find('=') + 1), to)) {
      std::cerr << "usage: strict_proof_test [--numbers=N] [--seed=S]\n";
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
