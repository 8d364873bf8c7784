// SPDX-License-Identifier: Apache-2.0
// Members shown and changed by the client of the library, over nodes of this process.
#include "locus/engine/locusd_cluster.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/version.h"
#include "tests/engine/locusd/api_cluster.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

std::string Said(const absl::Status& status) {
  return absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message());
}

class LocusdClusterTest : public ::testing::Test {
 protected:
  std::unique_ptr<LocusdCluster> Open(const ApiCluster& cluster, int endpoints) {
    LocusdOptions options = cluster.options();
    options.endpoints.resize(static_cast<size_t>(endpoints));
    return Open(options);
  }
  std::unique_ptr<LocusdCluster> Open(const LocusdOptions& options) {
    auto opened = LocusdCluster::Open(options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  // The log is longer than nothing.
  void Lease(ApiCluster& cluster) {
    auto store = cluster.Connect();
    ASSERT_TRUE(store->Create(SpaceName(), {.first_ever = true}, Clock::System().Now()).ok());
    WorkerAcquire wish;
    wish.nonce = "a";
    wish.caller_now = Clock::System().Now();
    ASSERT_TRUE(store->Acquire(SpaceName(), wish).ok());
  }
};

TEST_F(LocusdClusterTest, Show_ListsEachNodeAndTheSilentOnes) {
  ApiCluster cluster(3, Clock::System(), {"s3cret"});
  auto admin = Open(cluster, 3);
  const int leader = cluster.nodes().WaitForLeader();
  ASSERT_GE(leader, 0);
  Lease(cluster);
  auto leads = admin->Leader();
  ASSERT_TRUE(leads.ok()) << leads.status();
  EXPECT_EQ(leads->id, cluster.id(leader));
  EXPECT_EQ(leads->cluster, "leases");
  EXPECT_EQ(leads->version, Version());
  EXPECT_EQ(leads->held, 1u);
  EXPECT_EQ(leads->api, cluster.endpoint(leader));
  ASSERT_TRUE(WaitUntil([&] { return admin->Show().Health().ok(); }));
  LocusdClusterView view = admin->Show();
  ASSERT_EQ(view.rows.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const auto& row = view.rows[static_cast<size_t>(i)];
    ASSERT_TRUE(row.node.ok()) << row.node.status();
    EXPECT_EQ(row.endpoint, cluster.endpoint(i));
    EXPECT_EQ(row.node->id, cluster.id(i));
    EXPECT_EQ(row.node->members.size(), 3u);
  }
  const int killed = (leader + 1) % 3;
  const uint64_t killed_id = cluster.id(killed);
  cluster.Kill(killed);
  view = admin->Show();
  EXPECT_EQ(view.rows[static_cast<size_t>(killed)].node.status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_TRUE(view.Health().ok()) << view.Health();
  ASSERT_TRUE(WaitUntil([&] { return admin->Leader()->Find(killed_id)->IsSilent(); }));
  EXPECT_TRUE(admin->Show().Health().ok()) << "two of three are a majority";
  cluster.Kill((leader + 2) % 3);
  ASSERT_TRUE(WaitUntil([&] { return !admin->Show().Health().ok(); }));
  EXPECT_THAT(Said(admin->Show().Health()), HasSubstr("UNAVAILABLE: no leader: 1 of 3 nodes"));
  // Whichever node is asked last, the error of the remaining one is reported, not those of the
  // nodes that are down.
  for (size_t first = 0; first < 3; ++first) {
    LocusdOptions options = cluster.options();
    options.timeout = absl::Seconds(1);
    std::rotate(options.endpoints.begin(),
                options.endpoints.begin() + static_cast<ptrdiff_t>(first), options.endpoints.end());
    EXPECT_THAT(Said(cluster.Connect(options)->Show(SpaceName()).status()),
                HasSubstr("knows no leader"));
  }
  cluster.Kill(leader);
  EXPECT_THAT(Said(admin->Show().Health()),
              HasSubstr("no node gave its status: locusd 127.0.0.1:"));
}

TEST_F(LocusdClusterTest, OneEndpoint_IsEnoughToFindTheOthersAndTheLeader) {
  ApiCluster cluster(3, Clock::System());
  const int leader = cluster.nodes().WaitForLeader();
  ASSERT_GE(leader, 0);
  const int follower = leader == 0 ? 1 : 0;
  LocusdOptions options = cluster.options();
  options.endpoints = {cluster.endpoint(follower)};
  auto admin = Open(options);
  ASSERT_TRUE(admin->Leader().ok());
  EXPECT_EQ(admin->Show().rows.size(), 3u);
  auto next = admin->Transfer(cluster.id(follower));
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(admin->Leader()->id, cluster.id(follower));
}

TEST_F(LocusdClusterTest, RefusedToken_IsAnAnswerThatNoWaitingMends) {
  ApiCluster cluster(1, Clock::System(), {"s3cret"});
  ASSERT_GE(cluster.nodes().WaitForLeader(), 0);
  LocusdOptions options = cluster.options();
  options.token = "wr0ng";
  const absl::Time start = absl::Now();
  const absl::Status status = Open(options)->Leader().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
  EXPECT_EQ(status.message().find("wr0ng"), absl::string_view::npos);
  // Nor does the token go where nothing hides it.
  EXPECT_THAT(Said(Open(cluster, 1)->Ask("10.1.2.3:7070").status()),
              HasSubstr("FAILED_PRECONDITION: the token for locusd 10.1.2.3:7070 would go"));
}

TEST_F(LocusdClusterTest, Add_WaitsForTheLogAndLetsTheNodeVote) {
  ApiCluster cluster(1, Clock::System());
  Lease(cluster);
  auto admin = Open(cluster, 1);
  const int blank = cluster.AddBlank();
  std::vector<LocusdAddOptions::Progress> seen;
  LocusdAddOptions options;
  options.on_progress = [&seen](const LocusdAddOptions::Progress& progress) {
    seen.push_back(progress);
    return true;
  };
  auto member = admin->Add(cluster.endpoint(blank), options);
  ASSERT_TRUE(member.ok()) << member.status();
  EXPECT_EQ(member->id, cluster.id(blank));
  EXPECT_TRUE(member->voter);
  EXPECT_EQ(member->api, cluster.endpoint(blank));
  ASSERT_FALSE(seen.empty());
  EXPECT_GE(seen.back().match, 2u);
  EXPECT_LE(seen.back().match, seen.back().commit);
  // Again: nothing is left to do.
  auto again = admin->Add(cluster.endpoint(blank), options);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->voter);
  EXPECT_EQ(admin->Leader()->members.size(), 2u);
}

TEST_F(LocusdClusterTest, AddThatWasStopped_LeavesALearnerAndContinuesThere) {
  ApiCluster cluster(1, Clock::System());
  auto admin = Open(cluster, 1);
  const int blank = cluster.AddBlank();
  LocusdAddOptions options;
  options.on_progress = [](const LocusdAddOptions::Progress&) { return false; };
  EXPECT_THAT(Said(admin->Add(cluster.endpoint(blank), options).status()),
              HasSubstr("CANCELLED: node "));
  EXPECT_FALSE(admin->Leader()->Find(cluster.id(blank))->voter);
  options.on_progress = nullptr;
  options.promote = false;
  auto learner = admin->Add(cluster.endpoint(blank), options);
  ASSERT_TRUE(learner.ok()) << learner.status();
  EXPECT_FALSE(learner->voter);
  options.promote = true;
  auto voter = admin->Add(cluster.endpoint(blank), options);
  ASSERT_TRUE(voter.ok()) << voter.status();
  EXPECT_TRUE(voter->voter);
}

TEST_F(LocusdClusterTest, LearnerThatDoesNotAnswer_IsWaitedForNoLongerThanPatience) {
  ApiCluster cluster(1, Clock::System());
  auto admin = Open(cluster, 1);
  const int blank = cluster.AddBlank();
  LocusdAddOptions options;
  options.patience = absl::Seconds(2);
  // It has the log, and then dies: as a voter, it would be half of the cluster.
  const uint64_t id = cluster.id(blank);
  bool killed = false;
  options.on_progress = [&](const LocusdAddOptions::Progress&) {
    if (killed) return true;
    cluster.Kill(blank);
    killed = true;
    return WaitUntil([&] {
      auto silent = admin->Leader()->Find(id)->silent_for;
      return !silent || *silent > absl::Seconds(1);
    });
  };
  EXPECT_THAT(Said(admin->Add(cluster.endpoint(blank), options).status()),
              HasSubstr("DEADLINE_EXCEEDED: node "));
  EXPECT_FALSE(admin->Leader()->Find(id)->voter);
  EXPECT_THAT(Said(admin->Add(cluster.endpoint(blank)).status()), HasSubstr("UNAVAILABLE"))
      << "it does not answer any more";
}

TEST_F(LocusdClusterTest, NodeOfAnotherCluster_IsNotAdded) {
  ApiCluster cluster(1, Clock::System());
  ApiCluster other(1, Clock::System());
  ASSERT_GE(other.nodes().WaitForLeader(), 0);
  auto admin = Open(cluster, 1);
  EXPECT_THAT(Said(admin->Add(other.endpoint(0)).status()),
              HasSubstr("FAILED_PRECONDITION: node "));
  EXPECT_THAT(
      Said(admin->Add(other.endpoint(0)).status()),
      HasSubstr("; check the address: this node is of a cluster with 1 members that holds 0"));
  const int named = cluster.AddBlank("invoices");
  EXPECT_THAT(Said(admin->Add(cluster.endpoint(named)).status()),
              HasSubstr("is one of the cluster \"invoices\", not of \"leases\""));
  EXPECT_THAT(Said(admin->Add("here").status()), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_EQ(admin->Leader()->members.size(), 1u);
}

TEST_F(LocusdClusterTest, Remove_HandsOverFirstAndKeepsTheLastVoter) {
  ApiCluster cluster(3, Clock::System());
  Lease(cluster);
  auto admin = Open(cluster, 3);
  const int leader = cluster.nodes().WaitForLeader();
  const uint64_t removed = cluster.id(leader);
  auto rest = admin->Remove(removed);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(rest->size(), 2u);
  auto now = admin->Leader();
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_NE(now->id, removed);
  EXPECT_EQ(now->Find(removed), nullptr);
  EXPECT_THAT(Said(admin->Remove(removed).status()), HasSubstr("NOT_FOUND: node "));
  const uint64_t other = now->members[0].id == now->id ? now->members[1].id : now->members[0].id;
  ASSERT_TRUE(admin->Remove(other).ok());
  EXPECT_THAT(Said(admin->Remove(now->id).status()), HasSubstr("is the last voter"));
  EXPECT_EQ(admin->Leader()->held, 1u) << "the leases outlive all of it";
}

TEST_F(LocusdClusterTest, RemovedNode_IsNotAddedAgain) {
  ApiCluster cluster(3, Clock::System());
  auto admin = Open(cluster, 3);
  const int leader = cluster.nodes().WaitForLeader();
  const int gone = (leader + 1) % 3;
  auto removed = admin->Remove(cluster.id(gone));
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_THAT(Said(admin->Add(cluster.endpoint(gone)).status()), HasSubstr("a member once"));
  // Started again it does not know so at once.
  cluster.Kill(gone);
  cluster.Start(gone);
  const std::string said = Said(admin->Add(cluster.endpoint(gone)).status());
  EXPECT_THAT(said, HasSubstr("FAILED_PRECONDITION: node "));
  EXPECT_THAT(said, HasSubstr("a member once: stop it, empty its data directory"));
  EXPECT_EQ(admin->Leader()->members.size(), 2u);
}

TEST_F(LocusdClusterTest, LearnerThatHasEnded_IsNotWaitedForUntilPatience) {
  ApiCluster cluster(1, Clock::System());
  auto admin = Open(cluster, 1);
  const int blank = cluster.AddBlank();
  const uint64_t id = cluster.id(blank);
  bool killed = false;
  LocusdAddOptions options;
  options.on_progress = [&](const LocusdAddOptions::Progress&) {
    if (!killed) cluster.Kill(blank);
    killed = true;
    return WaitUntil([&] {
      auto silent = admin->Leader()->Find(id)->silent_for;
      return !silent || *silent > absl::Seconds(1);
    });
  };
  const absl::Time start = absl::Now();
  EXPECT_THAT(Said(admin->Add(cluster.endpoint(blank), options).status()),
              HasSubstr("has not answered for 5s"));
  EXPECT_LT(absl::Now() - start, options.patience / 2);
}

TEST_F(LocusdClusterTest, Remove_ThatLeavesASilentMajority_NeedsForce) {
  ApiCluster cluster(3, Clock::System());
  auto admin = Open(cluster, 3);
  const int leader = cluster.nodes().WaitForLeader();
  const int silent = (leader + 1) % 3, heard = (leader + 2) % 3;
  const uint64_t silent_id = cluster.id(silent), heard_id = cluster.id(heard);
  cluster.Kill(silent);
  ASSERT_TRUE(WaitUntil([&] { return admin->Leader()->Find(silent_id)->IsSilent(); }));
  EXPECT_THAT(Said(admin->Remove(heard_id).status()), HasSubstr("1 of 2 voters would be silent"));
  EXPECT_EQ(admin->Leader()->members.size(), 3u);
  // The silent one may go.
  auto rest = admin->Remove(silent_id);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(rest->size(), 2u);
}

// The leader has heard it a moment ago, and counts it as heard.
TEST_F(LocusdClusterTest, Remove_AsksTheVotersThatRemainBeforeItBelievesThem) {
  ApiCluster cluster(3, Clock::System());
  auto admin = Open(cluster, 3);
  const int leader = cluster.nodes().WaitForLeader();
  const int dead = (leader + 1) % 3, alive = (leader + 2) % 3;
  const uint64_t dead_id = cluster.id(dead), alive_id = cluster.id(alive);
  ASSERT_TRUE(WaitUntil([&] {
    return !admin->Leader()->Find(dead_id)->IsSilent() &&
           !admin->Leader()->Find(alive_id)->IsSilent();
  }));
  cluster.Kill(dead);
  const std::string said = Said(admin->Remove(alive_id).status());
  EXPECT_THAT(said, HasSubstr("FAILED_PRECONDITION: without node "));
  EXPECT_THAT(said, HasSubstr("1 of 2 voters would be missing"));
  EXPECT_THAT(said, HasSubstr(absl::StrCat("do not answer: ", dead_id, " (")));
  EXPECT_EQ(admin->Leader()->members.size(), 3u);
}

TEST_F(LocusdClusterTest, ForcedRemove_SaysThatItMayNotBeCommittedAndForWhomItWaits) {
  ApiCluster cluster(3, Clock::System());
  LocusdOptions options = cluster.options();
  options.timeout = absl::Seconds(4);
  auto admin = Open(options);
  const int leader = cluster.nodes().WaitForLeader();
  const int dead = (leader + 1) % 3, alive = (leader + 2) % 3;
  const uint64_t dead_id = cluster.id(dead), alive_id = cluster.id(alive);
  cluster.Kill(dead);
  const std::string said = Said(admin->Remove(alive_id, {.force = true}).status());
  EXPECT_THAT(said, HasSubstr("UNAVAILABLE: "));
  EXPECT_THAT(said, HasSubstr("may be in the log and not committed"));
  EXPECT_THAT(said, HasSubstr(absl::StrCat("are back: ", dead_id, " (")));
}

TEST_F(LocusdClusterTest, Transfer_GoesToTheNamedNode) {
  ApiCluster cluster(3, Clock::System());
  auto admin = Open(cluster, 3);
  const int leader = cluster.nodes().WaitForLeader();
  const int other = (leader + 1) % 3;
  for (int round = 0; round < 2; ++round) {  // the second one finds it done
    auto next = admin->Transfer(cluster.id(other));
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ(next->id, cluster.id(other));
  }
  auto next = admin->Transfer();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_NE(next->id, cluster.id(other));
  EXPECT_THAT(Said(admin->Transfer(7).status()), HasSubstr("NOT_FOUND: node 7 is no member"));
}

TEST_F(LocusdClusterTest, MembersComeAndGo_WhileLeadersDie) {
  ApiCluster cluster(3, Clock::System());
  Lease(cluster);
  auto admin = Open(cluster, 3);
  const int blank = cluster.AddBlank();
  bool killed = false;
  const int leader = cluster.nodes().WaitForLeader();
  LocusdAddOptions options;
  options.on_progress = [&](const LocusdAddOptions::Progress&) {
    if (!killed) cluster.Kill(leader);
    killed = true;
    return true;
  };
  absl::StatusOr<LocusdMember> member = admin->Add(cluster.endpoint(blank), options);
  // The leader may have died before the learner was known to another one.
  ASSERT_TRUE(member.ok()) << member.status();
  EXPECT_TRUE(member->voter);
  cluster.Start(leader);
  ASSERT_TRUE(WaitUntil([&] { return admin->Show().rows.size() == 4; }));
  EXPECT_EQ(admin->Leader()->members.size(), 4u);
}

}  // namespace
}  // namespace locus
