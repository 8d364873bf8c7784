// SPDX-License-Identifier: Apache-2.0
// Strict sequences kept by a cluster, over its API.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd.h"
#include "locus/strict_sequencer.h"
#include "tests/engine/locusd/api_cluster.h"
#include "tests/strict/strict_store_contract.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using Verdict = StrictGrant::Verdict;

std::unique_ptr<LocusdStrictStore> MustOpen(const LocusdOptions& options, Clock& clock) {
  auto store = LocusdStrictStore::Open(options, clock);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// The clients' clock: it continues when the nodes' clocks are set.
class ClientClock : public Clock {
 public:
  explicit ClientClock(Clock& nodes) : nodes_(nodes) {}
  absl::Time Now() override { return began_ + (SinceBoot() - boot_); }
  absl::Duration SinceBoot() override { return nodes_.SinceBoot(); }

 private:
  Clock& nodes_;
  const absl::Time began_ = nodes_.Now();
  const absl::Duration boot_ = nodes_.SinceBoot();
};

class ClusterUnderTest : public StrictStoreUnderTest {
 public:
  std::unique_ptr<StrictStore> Connect() override {
    return MustOpen(cluster_.options(), client_clock_);
  }
  fakes::ManualClock& clock() override { return clock_; }

 private:
  fakes::ManualClock clock_;
  ClientClock client_clock_{clock_};
  ApiCluster cluster_{3, clock_};
};

INSTANTIATE_TEST_SUITE_P(Locusd, StrictStoreContract,
                         ::testing::Values(StrictEngine{
                             "locusd", [] { return std::make_unique<ClusterUnderTest>(); }}));

class LocusdStrictStoreTest : public ::testing::Test {
 protected:
  LocusdStrictStoreTest() { options_.uids = 1'000'000; }
  static StrictOwner Owner(const std::string& name) { return {name, name + ":7070", 1000}; }
  StrictGrant Take(StrictStore& store, const std::string& owner, uint32_t section = 3,
                   uint64_t seen = 0) {
    auto reply = store.Take(set_, options_, {Owner(owner), {{section, seen}}});
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? reply->items[0] : StrictGrant();
  }
  StrictReply<StrictExtended> Extend(StrictStore& store, const std::string& owner,
                                     const StrictGrant& grant, uint64_t raise_to = 0) {
    auto reply = store.Extend(
        set_, options_, {Owner(owner), {{grant.section, grant.token, grant.max_seq, raise_to}}});
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *reply : StrictReply<StrictExtended>{0, false, {StrictExtended()}};
  }

  fakes::ManualClock clock_;
  const SpaceName set_;
  StrictSetOptions options_;
};

// Each call that loses its leader is sent again, and done once: the token that the owner knows is
// the one that counts, and max_seq rises by what was asked for.
TEST_F(LocusdStrictStoreTest, LeadersKilled_EachCallIsCarriedOutOnce) {
  ApiCluster cluster(3, clock_);
  auto store = MustOpen(cluster.options(), clock_);
  ASSERT_TRUE(store->Create(set_, options_, {.first_ever = true}).ok());
  StrictGrant grant = Take(*store, "a");
  uint64_t tables = 1;
  for (int round = 0; round < 3; ++round) {
    const int leader = cluster.nodes().WaitForLeader();
    ASSERT_GE(leader, 0);
    cluster.Kill(leader);
    for (int i = 0; i < 3; ++i) {
      const StrictExtended extended =
          Extend(*store, "a", grant, grant.max_seq + options_.step).items[0];
      ASSERT_TRUE(extended.held);
      EXPECT_EQ(extended.max_seq, grant.max_seq + options_.step);
      grant.max_seq = extended.max_seq;
      const StrictGrant other = Take(*store, "b", 5);
      EXPECT_EQ(other.verdict, Verdict::kGranted);
      EXPECT_EQ(other.start, tables * options_.step - options_.step);
      ++tables;
    }
    cluster.Start(leader);
  }
  EXPECT_GT(store->Stats().failures, 0u);
  const auto view = store->Show(set_);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->table_version, tables) << "no section was taken twice";
  EXPECT_EQ(view->losses, 0u);
}

// The data of all nodes are put back from an older copy: nothing in the cluster shows it, but a
// live owner knows of more.
TEST_F(LocusdStrictStoreTest, AllNodesPutBack_AnOwnerShowsTheLoss) {
  ApiCluster cluster(3, clock_);
  auto store = MustOpen(cluster.options(), clock_);
  ASSERT_TRUE(store->Create(set_, options_, {.first_ever = true}).ok());
  StrictGrant grant = Take(*store, "a");
  auto all = [&cluster](auto what) {
    for (int i = 0; i < cluster.nodes().size(); ++i) what(i);
  };
  all([&](int node) { cluster.Kill(node); });
  cluster.nodes().KeepFiles();
  all([&](int node) { cluster.Start(node); });
  grant.max_seq = Extend(*store, "a", grant, 500'000).items[0].max_seq;
  EXPECT_EQ(grant.max_seq, 500'000u);
  all([&](int node) { cluster.Kill(node); });
  cluster.nodes().PutFilesBack();
  all([&](int node) { cluster.Start(node); });

  const auto reply = Extend(*store, "a", grant);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_TRUE(reply.items[0].held) << "the copy knows its owner";
  EXPECT_GE(reply.items[0].max_seq, kStrictLossMargin);
  EXPECT_EQ(Take(*store, "b", 5).verdict, Verdict::kResting);
  clock_.Advance(options_.ttl + absl::Milliseconds(1));
  EXPECT_GE(Take(*store, "b", 5).start, kStrictLossMargin);
}

// As where a set was deleted by hand: it begins at 0, until an earlier owner comes.
TEST_F(LocusdStrictStoreTest, ClusterBegunAnew_GrantsNothingUntilOwnersFromBeforeHaveEnded) {
  ApiCluster cluster(1, clock_);
  auto store = MustOpen(cluster.options(), clock_);
  ASSERT_TRUE(store->Create(set_, options_, {.first_ever = true}).ok());
  const StrictGrant before = Take(*store, "a");
  cluster.LoseAll();
  EXPECT_EQ(store->Show(set_).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(store->Create(set_, options_, StrictSetPast()).ok());
  EXPECT_EQ(store->Show(set_)->losses, 1u);
  EXPECT_EQ(Take(*store, "b").verdict, Verdict::kResting);
  const auto reply = Extend(*store, "a", before);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_FALSE(reply.items[0].held);
}

TEST_F(LocusdStrictStoreTest, MostSectionsOfACall_AreOneCommand) {
  ApiCluster cluster(1, clock_);
  auto store = MustOpen(cluster.options(), clock_);
  options_.section_size = 64;
  ASSERT_TRUE(store->Create(set_, options_, {.first_ever = true}).ok());
  StrictTake take{Owner("a"), {}};
  for (uint32_t section = 0; section < kMostSectionsAtOnce; ++section) {
    take.wishes.push_back({section, 0});
  }
  const auto taken = store->Take(set_, options_, take);
  ASSERT_TRUE(taken.ok()) << taken.status();
  const uint64_t commands = cluster.nodes().node(0)->stats().commands;
  StrictExtend extend{Owner("a"), {}};
  for (const StrictGrant& grant : taken->items) {
    EXPECT_EQ(grant.verdict, Verdict::kGranted);
    extend.sections.push_back({grant.section, grant.token, grant.max_seq, 0});
  }
  const auto extended = store->Extend(set_, options_, extend);
  ASSERT_TRUE(extended.ok()) << extended.status();
  EXPECT_EQ(extended->items.size(), kMostSectionsAtOnce);
  for (const StrictExtended& item : extended->items) EXPECT_TRUE(item.held);
  EXPECT_LE(cluster.nodes().node(0)->stats().commands, commands + 2) << "one, and maybe the time";
  EXPECT_EQ(cluster.nodes().node(0)->stats().strict_sections, kMostSectionsAtOnce);
  EXPECT_EQ(cluster.nodes().node(0)->stats().strict_owners, 1u);
  // Other callers get the owners' names: each owner once.
  take.owner = Owner("b");
  const auto held = store->Take(set_, options_, take);
  ASSERT_TRUE(held.ok()) << held.status();
  for (const StrictGrant& grant : held->items) EXPECT_EQ(grant.holder, Owner("a"));
  EXPECT_EQ(store->Show(set_)->sections.size(), kMostSectionsAtOnce);
  take.wishes.push_back({9999, 0});
  EXPECT_EQ(store->Take(set_, options_, take).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(LocusdStrictStoreTest, SetLargerThanAClusterKeeps_IsNotCreated) {
  ApiCluster cluster(1, clock_);
  auto store = MustOpen(cluster.options(), clock_);
  options_.uids = 20'000'000'000;
  const absl::Status status = store->Create(set_, options_, {.first_ever = true});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  for (const char* const part :
       {"200000 sections", "at most 131072", "a larger section_size", "another store"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
  EXPECT_EQ(store->Show(set_).status().code(), absl::StatusCode::kNotFound);
  options_.uids = 13'107'200'000;  // as many as there may be
  EXPECT_TRUE(store->Create(set_, options_, {.first_ever = true}).ok());
}

TEST_F(LocusdStrictStoreTest, NodesThatKeepNoStore_Refuse) {
  ApiCluster cluster(1, clock_, {},
                     [](int, cluster_api::ApiOptions& options) { options.keeps_store = false; });
  auto store = MustOpen(cluster.options(), clock_);
  const absl::Status status = store->Create(set_, options_, {.first_ever = true});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("api.store = true"));
}

// Where there are operators, they create sets and declare losses; owners need neither.
TEST_F(LocusdStrictStoreTest, WithOperatorTokens_ClientsCreateNothingAndOwn) {
  ApiCluster cluster(1, clock_, {"client"}, [](int, cluster_api::ApiOptions& options) {
    options.admit = AdmitTokens({"client"}, {"operator"});
  });
  auto client = MustOpen(cluster.options(), clock_);
  LocusdOptions of_operator = cluster.options();
  of_operator.token = "operator";
  auto by_operator = MustOpen(of_operator, clock_);
  EXPECT_EQ(client->Create(set_, options_, {.first_ever = true}).code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(by_operator->Create(set_, options_, {.first_ever = true}).ok());
  EXPECT_TRUE(client->Create(set_, options_, {.first_ever = true}).ok()) << "it is there";
  const StrictGrant grant = Take(*client, "a");
  EXPECT_TRUE(Extend(*client, "a", grant).items[0].held);
  EXPECT_EQ(client->DeclareRestored(set_).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(by_operator->DeclareRestored(set_).ok());
  EXPECT_EQ(client->Show(set_)->losses, 1u);
  auto released = client->Release(set_, options_,
                                  {Owner("a"), {{grant.section, grant.token, grant.max_seq}}, "b"});
  EXPECT_TRUE(released.ok()) << released.status();
}

}  // namespace
}  // namespace locus
