// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd.h"
#include "tests/locusd/locusd_cluster.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

TEST(LocusdProbesTest, HolderThatMayNotBeProbed_IsToldOf) {
  LocusdWish wish;
  wish.more = "[health]\nallowed = [\"10.1.0.0/16\"]\ninterval = \"1s\"\ntimeout = \"500ms\"\n";
  LocusdCluster cluster(1, wish);
  ASSERT_EQ(cluster.WaitForLeader(), 0);
  LocusdOptions options;
  options.endpoints = {cluster.node(0).api()};
  auto store = *LocusdWorkerLeaseStore::Open(options);
  ASSERT_TRUE(store->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
  WorkerAcquire acquire;
  acquire.nonce = "a";
  acquire.holder = R"({"health":"http://10.2.0.7/"})";
  acquire.caller_now = absl::Now();
  ASSERT_TRUE(store->Acquire(SpaceName(), acquire).ok());
  LocusdNode& node = cluster.node(0);
  EXPECT_TRUE(WaitUntil([&] {
    return node.LogText().find("warn holders are not probed holders=1 why=\"space orders") !=
           std::string::npos;
  })) << node.LogText();
  EXPECT_TRUE(WaitUntil([&] {
    return absl::StrContains(node.Ask("GET", "/metrics", 200).value_or(""),
                             "\nlocusd_health_refused 1\n");
  }));
}

}  // namespace
}  // namespace locus
