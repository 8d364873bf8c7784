// SPDX-License-Identifier: Apache-2.0
// What a client with a token can claim about leases that are not its own, at real nodes.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "src/cluster/machine/machine.h"
#include "src/raft/log/log_store.h"
#include "tests/locusd/locusd_cluster.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kForged = uint64_t{1} << 62;

WorkerAcquire Wish(const std::string& nonce) {
  WorkerAcquire wish;
  wish.term = {absl::Seconds(10), absl::Seconds(10)};
  wish.nonce = nonce;
  wish.holder = "{}";
  wish.caller_now = absl::Now();
  return wish;
}

std::string Body(nlohmann::json body) { return body.dump(); }

nlohmann::json RenewalOf(const std::string& space, uint64_t token, const std::string& nonce) {
  const int64_t now = absl::ToUnixMillis(absl::Now());
  return {{"space", space},  {"token", absl::StrCat(token)}, {"ceiling_ms", now + 5000},
          {"ttl_ms", 10000}, {"max_skew_ms", 10000},         {"nonce", nonce},
          {"holder", "{}"},  {"caller_now_ms", now}};
}

// With all that the list shows.
TEST(LocusdClaimsTest, ClientWithoutTheNonce_CannotMakeAnIdRepeat) {
  LocusdCluster cluster(3);
  ASSERT_GE(cluster.WaitForLeader(), 0);
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
  auto grant = store->Acquire(SpaceName(), Wish("the-secret"));
  ASSERT_TRUE(grant.ok()) << grant.status();
  const std::string space = SpaceName().str();
  const std::string path = absl::StrCat("/v1/leases/", grant->worker);
  LocusdNode& node = cluster.node(cluster.WaitForLeader());
  const std::string list = node.Ask("GET", "/v1/leases?space=" + space, 200).value_or("");
  EXPECT_THAT(list, HasSubstr(absl::StrCat("\"", grant->token, "\"")));
  EXPECT_THAT(list, Not(HasSubstr("the-secret")));
  const nlohmann::json listed = nlohmann::json::parse(list)["workers"][0];
  nlohmann::json release = {{"space", space}, {"token", listed["token"]}, {"last_used_ms", 0}};
  EXPECT_EQ(node.StatusOf("DELETE", path, Body(release)), 400u);
  release["nonce"] = listed["nonce"];
  EXPECT_EQ(node.StatusOf("DELETE", path, Body(release)), 409u);
  EXPECT_EQ(node.StatusOf("PUT", path, Body(RenewalOf(space, kForged, "forged"))), 412u);
  // One behind the clock, as a token is that was forgotten.
  ASSERT_TRUE(WaitUntil([&] {
    return node.StatusOf("PUT", path, Body(RenewalOf(space, grant->token + 1, "forged"))) == 409;
  }));
  for (int i = 0; i < 70; ++i) {
    EXPECT_EQ(node.StatusOf("PUT", path, Body(RenewalOf(absl::StrCat("s", i), 1, "forged"))), 404u);
  }
  EXPECT_EQ(
      node.StatusOf("PUT", "/v1/spaces/room",
                    Body({{"rest_ms", 0}, {"caller_now_ms", absl::ToUnixMillis(absl::Now())}})),
      204u);
  // The holder is where it was.
  WorkerRenew renewal{grant->worker, grant->token, grant->ceiling, Wish("").term,
                      "the-secret",  "{}",         absl::Now()};
  auto renewed = store->Renew(SpaceName(), renewal);
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  // It says too little of what it used; nobody is granted less than it renewed.
  ASSERT_TRUE(
      store->Release(SpaceName(), {grant->worker, grant->token, absl::UnixEpoch(), "the-secret"})
          .ok());
  const auto view = store->Show(SpaceName());
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->workers[0].ceiling, renewed->granted_at);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(cluster.node(i).LogText(), Not(HasSubstr("the-secret")));
  }
}

// What the renewal of one client left in the snapshot of a node of an earlier version.
TEST(LocusdClaimsTest, SnapshotWithAForgedToken_IsReadAndMended) {
  LocusdCluster cluster(1);
  LocusdNode& node = cluster.node(0);
  ASSERT_GE(cluster.WaitForLeader(), 0);
  node.process().KillHard();
  {
    auto store = raft::LogStore::Open(node.data() + "/node.db", "leases");
    ASSERT_TRUE(store.ok()) << store.status();
    auto stored = (*store)->Load();
    ASSERT_TRUE(stored.ok()) << stored.status();
    raft::SnapshotMark mark = stored->remembered.snapshot;
    for (const raft::Entry& entry : stored->remembered.entries) {
      ++mark.index;
      mark.term = entry.term;
      if (entry.kind == raft::Entry::Kind::kMembers) mark.members = entry.members;
    }
    using namespace cluster_machine;
    Machine machine;
    const SpaceName space;
    absl::Time now = absl::Now() - absl::Minutes(1);
    const WorkerLeaseTerm term{absl::Seconds(10), absl::Seconds(10)};
    machine.Apply({now, false, {{{}, space, Create{absl::ZeroDuration(), now}, {}}}});
    machine.Apply(
        {now, false, {{{}, space, WorkerRenew{0, kForged, now, term, "x", "", now}, {}}}});
    now += absl::Seconds(30);
    WorkerAcquire wish = Wish("honest");
    wish.caller_now = now;
    const auto granted = machine.Apply({now, true, {{{}, space, wish, {}}}}).answers[0].grant;
    ASSERT_TRUE(granted.has_value());
    ASSERT_EQ(granted->token, kForged + 1);
    ASSERT_TRUE((*store)->Compact(mark, machine.Snapshot()).ok());
  }
  ASSERT_TRUE(node.Start()) << node.LogText();
  ASSERT_TRUE(WaitUntil([&] { return cluster.WaitForLeader() == 0; }));
  EXPECT_TRUE(WaitUntil([&] {
    return node.LogText().find("warn a lease was mended") != std::string::npos;
  })) << node.LogText();
  auto store = cluster.Connect();
  auto view = store->Show(SpaceName());
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_LT(view->workers[0].token, kForged / 2);
  EXPECT_TRUE(WaitUntil([&] { return store->Acquire(SpaceName(), Wish("b")).ok(); }));
  // And once more, with what it wrote.
  node.process().KillHard();
  EXPECT_TRUE(node.Start()) << node.LogText();
}

}  // namespace
}  // namespace locus
