// SPDX-License-Identifier: Apache-2.0
// Two datacenters, and the link between them is cut.
#include <iostream>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/proof/lease/spaces.h"
#include "apps/proof/lease/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/proof/clients.h"
#include "tests/proof/cluster.h"
#include "tests/proof/network.h"
#include "tests/proof/seeds.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::proof {
namespace {

using ::testing::IsEmpty;

constexpr uint64_t kDiskBytes = 8 << 20;

class TwoDatacentersTest : public ::testing::Test {
 protected:
  // The clients that make IDs within so much time, from now on.
  std::set<int> Working(const Clients& clients, absl::Duration within) {
    std::vector<uint64_t> before;
    for (int i = 0; i < clients.count(); ++i) before.push_back(clients.Written(i));
    std::set<int> working;
    WaitUntil(
        [&] {
          for (int i = 0; i < clients.count(); ++i) {
            if (clients.Written(i) > before[static_cast<size_t>(i)]) working.insert(i);
          }
          return working.size() == before.size();
        },
        within);
    return working;
  }
  bool AllWork(const Clients& clients, absl::Duration within = absl::Minutes(1)) {
    return Working(clients, within).size() == static_cast<size_t>(clients.count());
  }
  static Clients::Options OptionsOf(const Cluster& cluster, int count, int first_host) {
    Clients::Options options;
    options.count = count;
    options.first_host = first_host;
    options.endpoints = cluster.Endpoints();
    options.steady = true;
    return options;
  }

  TemporaryDirectory directory_;
  const Secrets secrets_{directory_.str()};
};

// Three of five nodes are here, two there. Each side keeps working; the side without a majority
// until its leases end.
TEST_F(TwoDatacentersTest, OneClusterCutInTwo_BothWorkWithinTheirTtlAndNeitherRepeats) {
  const std::set<int> hosts_there = {3, 4, 8, 9, 10};
  auto network = MakeNetwork(11, directory_.str(), hosts_there);
  ASSERT_TRUE(network.ok()) << network.status();
  Cluster cluster(**network, directory_.str(), secrets_, 5, kDiskBytes);
  ASSERT_TRUE(cluster.Begin(5)) << cluster.wrong().front();
  ASSERT_TRUE(MakeSpaces(secrets_, cluster.EndpointsFromHere()));
  Clients::Options options = OptionsOf(cluster, 6, 5);
  options.workers = 7;
  Clients clients(**network, directory_.str(), secrets_, options);
  clients.StartAll();
  ASSERT_TRUE(AllWork(clients));
  const std::set<int> here = {0, 1, 2};

  (*network)->CutLink();
  const absl::Time cut = absl::Now();
  // Of an election here, and of the renewal that was the last one there. Each lease is renewed
  // every third of its ttl: 4 s later it still has 2.
  ASSERT_TRUE(WaitUntil([&] { return absl::Now() - cut > absl::Seconds(4); }));
  EXPECT_TRUE(AllWork(clients, absl::Seconds(2)));
  std::set<int> working;
  EXPECT_TRUE(WaitUntil(
      [&] {
        working = Working(clients, absl::Seconds(2));
        return working == here;
      },
      absl::Minutes(1)));
  EXPECT_EQ(working, here);

  (*network)->HealLink();
  EXPECT_TRUE(AllWork(clients));
  EXPECT_TRUE(WaitUntil([&] { return cluster.Agrees(); }, absl::Minutes(1)));
  clients.KillAll();
  cluster.Supervise();
  cluster.End();
  Verdict verdict;
  JudgeIds(clients.outs(), verdict);
  JudgeHistories(clients.outs(), 1, verdict);
  EXPECT_THAT(verdict.wrong, IsEmpty());
  EXPECT_THAT(cluster.wrong(), IsEmpty());
  std::cout << Summary(verdict);
}

// Each has a cluster of its own, and the worker IDs of its own datacenter: the cut has no effect.
TEST_F(TwoDatacentersTest, TwoClustersCutApart_BothWorkBeyondTheirTtlAndNeitherRepeats) {
  constexpr uint64_t kWorkersOfADatacenter = 32;
  const std::set<int> hosts_there = {3, 4, 5, 8, 9};
  auto network = MakeNetwork(10, directory_.str(), hosts_there);
  ASSERT_TRUE(network.ok()) << network.status();
  Cluster here(**network, directory_.str(), secrets_, 3, kDiskBytes);
  Cluster there(**network, directory_.str(), secrets_, 3, kDiskBytes, 3);
  std::vector<std::unique_ptr<Clients>> clients;
  uint64_t datacenter = 1;
  for (Cluster* cluster : {&here, &there}) {
    ASSERT_TRUE(cluster->Begin(3)) << cluster->wrong().front();
    ASSERT_TRUE(MakeSpaces(secrets_, cluster->EndpointsFromHere()));
    const int first_host = cluster == &here ? 6 : 8;
    Clients::Options options = OptionsOf(*cluster, 2, first_host);
    options.first_worker = datacenter * kWorkersOfADatacenter;
    options.workers = 3;
    options.seed = datacenter++;
    const std::string own = directory_ / absl::StrCat("clients-", first_host);
    std::filesystem::create_directory(own);
    clients.push_back(std::make_unique<Clients>(**network, own, secrets_, options));
    clients.back()->StartAll();
  }
  for (const auto& each : clients) EXPECT_TRUE(AllWork(*each));
  (*network)->CutLink();
  const absl::Time cut = absl::Now();
  while (absl::Now() - cut < kTtl + absl::Seconds(2)) {
    for (const auto& each : clients) EXPECT_TRUE(AllWork(*each, absl::Seconds(15)));
  }
  (*network)->HealLink();
  Verdict verdict;
  std::vector<std::string> all;
  for (const auto& each : clients) {
    EXPECT_TRUE(AllWork(*each));
    each->KillAll();
    all.insert(all.end(), each->outs().begin(), each->outs().end());
    JudgeHistories(each->outs(), 1, verdict);
  }
  JudgeIds(all, verdict);
  EXPECT_THAT(verdict.wrong, IsEmpty());
  std::cout << Summary(verdict);
}

}  // namespace
}  // namespace locus::proof
