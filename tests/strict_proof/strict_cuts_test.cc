// SPDX-License-Identifier: Apache-2.0
// Strict sequences in the store that a cluster of locusd keeps, raft://, while the network is cut:
// between the nodes of the cluster, between these and the sequence-nodes, and around both. Three
// cluster-nodes, three sequence-nodes and three programs that draw numbers of the same users, each
// on a host of its own. All that was drawn is checked for the strict order. With LOCUS_LONG_FAULTS
// many random cuts follow.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "apps/proof/strict/call_log.h"
#include "apps/proof/strict/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/clock.h"
#include "src/http/tls_context.h"
#include "tests/proof/cluster.h"
#include "tests/proof/network.h"
#include "tests/proof/places.h"
#include "tests/proof/process.h"
#include "tests/proof/seeds.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::strict_proof {
namespace {

using proof::Network;
using strict::Drawn;
using ::testing::IsEmpty;

constexpr int kClusterNodes = 3;
constexpr int kSequenceNodes = 3;
constexpr int kCallers = 3;
constexpr uint16_t kPort = 7070;
constexpr uint64_t kDiskBytes = 64 << 20;
constexpr uint64_t kUids = 1200;
constexpr uint64_t kSectionSize = 100;
constexpr absl::Duration kTtl = absl::Seconds(3);
constexpr uint32_t kSections = kUids / kSectionSize;

int64_t Now() { return absl::ToInt64Nanoseconds(Clock::System().SinceBoot()); }

// A program that draws, and what it was answered.
struct Caller {
  proof::Process process;
  std::string calls;
  size_t read = 0;
  std::vector<Drawn> drawn;
  // When the last call of each section began that was answered.
  std::array<int64_t, kSections> last = {};

  void ReadMore() {
    const size_t before = drawn.size();
    // It is not there until the caller has begun.
    static_cast<void>(ReadCallsFrom(calls, read, drawn));
    for (size_t i = before; i < drawn.size(); ++i) {
      int64_t& of_section = last[drawn[i].uid / kSectionSize];
      of_section = std::max(of_section, drawn[i].called);
    }
  }
  // The last answered call of all sections, and of the section that waits longest.
  int64_t Latest() const { return *std::max_element(last.begin(), last.end()); }
  int64_t Oldest() const { return *std::min_element(last.begin(), last.end()); }
};

class StrictCutsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto network = proof::MakeNetwork(kClusterNodes + kSequenceNodes + kCallers, directory_.str());
    ASSERT_TRUE(network.ok()) << network.status();
    network_ = *std::move(network);
    cluster_ = std::make_unique<proof::Cluster>(*network_, directory_.str(), secrets_,
                                                kClusterNodes, kDiskBytes, 0, "store = true\n");
    for (int i = 0; i < kSequenceNodes; ++i) network_->Serve(HostOf(i), kPort);
    auto tls = http::TlsContext::Load({secrets_.authority, "", ""});
    ASSERT_TRUE(tls.ok()) << tls.status();
    tls_ = *std::move(tls);
    ASSERT_TRUE(cluster_->Begin(kClusterNodes)) << cluster_->wrong().front();
    for (int i = 0; i < kSequenceNodes; ++i) StartNode(i);
    for (int i = 0; i < kSequenceNodes; ++i) {
      EXPECT_TRUE(WaitUntil([&] { return Owned(i) > 0; })) << proof::TailOf(LogOf(i));
    }
    for (int i = 0; i < kCallers; ++i) StartCaller(i);
    ExpectAllServed({0, 1, 2}, "before anything is cut");
  }

  static int HostOf(int node) { return kClusterNodes + node; }
  static int HostOfCaller(int caller) { return kClusterNodes + kSequenceNodes + caller; }
  static std::string ApiOf(int node) {
    return absl::StrCat(Network::AddressOf(HostOf(node)), ":", kPort);
  }
  std::string LogOf(int node) const { return directory_ / absl::StrCat("strict-", node, ".log"); }

  void StartNode(int node) {
    std::string store = "raft://";
    for (const std::string& endpoint : cluster_->Endpoints()) {
      absl::StrAppend(&store, store.ends_with('/') ? "" : ",", endpoint);
    }
    const std::string file = directory_ / absl::StrCat("strict-", node, ".toml");
    std::ofstream(file) << "roles = [\"sequence-node\"]\n[api]\nlisten = \"" << ApiOf(node)
                        << "\"\ntoken_files = [\"" << secrets_.token_file << "\"]\ncertificate = \""
                        << secrets_.certificate << "\"\nkey = \"" << secrets_.key
                        << "\"\n[strict]\nname = \"node-" << node << "\"\nstore = \"" << store
                        << "?tls=on&tls_ca=" << secrets_.authority << "\"\npassword_file = \""
                        << secrets_.token_file << "\"\ncreate = true\nuids = " << kUids
                        << "\nsection_size = " << kSectionSize << "\nstep = 20000\nttl = \""
                        << absl::ToInt64Seconds(kTtl) << "s\"\ntoken_file = \""
                        << secrets_.token_file << "\"\nauthority = \"" << secrets_.authority
                        << "\"\n";
    proof::Command command;
    command.words = {proof::LocusdProgram(), "--config", file};
    command.log = LogOf(node);
    network_->Put(HostOf(node), command);
    nodes_[node].Start(command);
  }
  void StartCaller(int number) {
    callers_[number].calls = directory_ / absl::StrCat("caller-", number, ".calls");
    proof::Command command;
    command.words = {
        LOCUS_STRICT_CALLER, "--ca=" + secrets_.authority, "--token=" + secrets_.token_file,
        "--pause=5",         callers_[number].calls,       absl::StrCat(number)};
    for (int i = 0; i < kSequenceNodes; ++i) command.words.push_back(ApiOf(i));
    command.log = directory_ / absl::StrCat("caller-", number, ".log");
    network_->Put(HostOfCaller(number), command);
    callers_[number].process.Start(command);
  }

  // How many sections the node answers for; 0: it says nothing.
  uint32_t Owned(int node) {
    const auto metrics = proof::AskNode(network_->FromHere(HostOf(node), kPort), *tls_,
                                        secrets_.token, "GET", "/metrics");
    if (!metrics.ok()) return 0;
    const std::string name = "\nlocus_strict_sections_owned ";
    const size_t at = metrics->find(name);
    if (at == std::string::npos) return 0;
    const size_t from = at + name.size();
    uint32_t owned = 0;
    return absl::SimpleAtoi(metrics->substr(from, metrics->find('\n', from) - from), &owned) ? owned
                                                                                             : 0;
  }
  // The one with the most sections, of which there are always some.
  int MostOwner() {
    int most = 0;
    uint32_t sections = 0;
    EXPECT_TRUE(WaitUntil([&] {
      for (int i = 0; i < kSequenceNodes; ++i) {
        const uint32_t owned = Owned(i);
        if (owned > sections) {
          most = i;
          sections = owned;
        }
      }
      return sections > 0;
    }));
    return most;
  }
  // Its ownerships have ended, and the others have its sections.
  void ExpectOthersToOwnAll(int node, const std::string& when) {
    EXPECT_TRUE(WaitUntil([&] {
      cluster_->Supervise();
      uint32_t owned = 0;
      for (int i = 0; i < kSequenceNodes; ++i) owned += i == node ? 0 : Owned(i);
      return owned == kSections;
    })) << when;
  }
  // From now on each of these callers is answered for each section.
  void ExpectAllServed(const std::set<int>& callers, const std::string& when) {
    const int64_t since = Now();
    EXPECT_TRUE(WaitUntil([&] {
      cluster_->Supervise();
      bool all = true;
      for (const int caller : callers) {
        callers_[caller].ReadMore();
        all = callers_[caller].Oldest() >= since && all;
      }
      return all;
    })) << when;
    std::cout << absl::ToInt64Milliseconds(absl::Now() - begun_) << " ms: " << when
              << ": all are served after " << (Now() - since) / 1'000'000 << " ms\n"
              << std::flush;
  }
  // The same, by ownerships that were renewed since.
  void ExpectAllServedBeyondOwnerships(const std::string& when) {
    const absl::Time ended = absl::Now() + kTtl + absl::Seconds(1);
    WaitUntil([&] { return absl::Now() > ended; });
    ExpectAllServed({0, 1, 2}, when);
  }
  void HealAndExpectAllServed(const std::string& what) {
    network_->HealAll();
    ExpectAllServed({0, 1, 2}, absl::StrCat("healed after ", what));
  }
  int Leader() {
    const int leader = cluster_->WaitForLeader();
    EXPECT_GE(leader, 0);
    return leader;
  }

  void Judge() {
    std::vector<Drawn> history;
    for (int i = 0; i < kCallers; ++i) {
      Caller& caller = callers_[i];
      EXPECT_FALSE(caller.process.Ended().has_value())
          << "a caller ended by itself: "
          << proof::TailOf(directory_ / absl::StrCat("caller-", i, ".log"));
      caller.process.Kill();
      caller.ReadMore();
      history.insert(history.end(), caller.drawn.begin(), caller.drawn.end());
    }
    for (int i = 0; i < kSequenceNodes; ++i) {
      EXPECT_FALSE(nodes_[i].Ended().has_value()) << proof::TailOf(LogOf(i));
      if (HasFailure()) std::cout << "--- node-" << i << "\n" << proof::TailOf(LogOf(i));
      nodes_[i].Kill();
    }
    Verdict verdict = strict_proof::Judge(history);
    verdict.callers = kCallers;
    EXPECT_TRUE(verdict.ok());
    EXPECT_EQ(verdict.uids, kUids) << "each was drawn for";
    std::cout << Told(verdict);
    // That it would be found.
    EXPECT_TRUE(Spoil(history, history.size() / 2));
    EXPECT_NE(strict_proof::Judge(history).flaws.order, "");
    cluster_->Supervise();
    cluster_->End();
    EXPECT_THAT(cluster_->wrong(), IsEmpty());
  }

  const absl::Time begun_ = absl::Now();
  TemporaryDirectory directory_;
  const proof::Secrets secrets_{directory_.str()};
  std::unique_ptr<Network> network_;
  std::unique_ptr<proof::Cluster> cluster_;
  std::unique_ptr<http::TlsContext> tls_;
  std::array<proof::Process, kSequenceNodes> nodes_;
  std::array<Caller, kCallers> callers_;
};

TEST_F(StrictCutsTest, CutOfEachKind_NumbersRiseInRealTimeAndAllIsServedAgain) {
  // An owner that its callers reach, and that cannot renew its ownership.
  int owner = MostOwner();
  for (int i = 0; i < kClusterNodes; ++i) {
    network_->Cut(HostOf(owner), i);
    network_->Cut(i, HostOf(owner));
  }
  ExpectOthersToOwnAll(owner, "a sequence-node does not reach the cluster");
  ExpectAllServed({0, 1, 2}, "a sequence-node does not reach the cluster");
  HealAndExpectAllServed("a sequence-node did not reach the cluster");

  // An owner, a caller and the leader, on an island: the caller is answered until its ownership
  // ends.
  owner = MostOwner();
  int leader = Leader();
  network_->CutOff({leader, HostOf(owner), HostOfCaller(0)});
  ExpectOthersToOwnAll(owner, "an owner, a caller and the leader are cut off");
  const int64_t taken_over = Now();
  ExpectAllServed({1, 2}, "an owner, a caller and the leader are cut off");
  callers_[0].ReadMore();
  EXPECT_LT(callers_[0].Latest(), taken_over) << "an owner answered after its ownership had ended";
  HealAndExpectAllServed("an owner, a caller and the leader were cut off");

  // One direction: the cluster hears the owner, whose renewals come in, and their answers do not.
  // Proxies cut connections by the side that made them, and the cluster makes none.
  if (!network_->of_proxies()) {
    owner = MostOwner();
    for (int i = 0; i < kClusterNodes; ++i) network_->Cut(i, HostOf(owner));
    ExpectOthersToOwnAll(owner, "a sequence-node gets no answers of the cluster");
    HealAndExpectAllServed("a sequence-node got no answers of the cluster");
  }

  // The leader hears no other node of the cluster, or is not heard; sequence-nodes reach it.
  leader = Leader();
  for (int i = 0; i < kClusterNodes; ++i) network_->Cut(i, leader);
  ExpectAllServedBeyondOwnerships("the leader hears no other node");
  HealAndExpectAllServed("a leader heard nobody");
  leader = Leader();
  for (int i = 0; i < kClusterNodes; ++i) {
    network_->Cut(i, leader);
    network_->Cut(leader, i);
  }
  ExpectAllServedBeyondOwnerships("the leader is cut off the other nodes");
  HealAndExpectAllServed("the leader was cut off the other nodes");

  if (std::getenv("LOCUS_LONG_FAULTS") != nullptr) {
    const uint64_t seed = std::random_device()();
    std::cout << "seed " << seed << "\n";
    std::mt19937_64 random(seed);
    for (int round = 0; round < 100 && !HasFailure(); ++round) {
      const absl::Time until = absl::Now() + network_->CutAtRandom(random);
      WaitUntil([&] { return absl::Now() > until; });
      HealAndExpectAllServed(absl::StrCat("random cuts, round ", round));
    }
  }
  Judge();
}

}  // namespace
}  // namespace locus::strict_proof
