// SPDX-License-Identifier: Apache-2.0
// Order IDs of a cluster, over its API.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd.h"
#include "tests/engine/locusd/api_cluster.h"
#include "tests/segment/segment_store_contract.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<LocusdSegmentStore> Segments(const ApiCluster& cluster, Clock& clock) {
  auto store = LocusdSegmentStore::Open(cluster.options(), clock);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}
class SegmentsUnderTest : public StoreUnderTest {
 public:
  std::unique_ptr<SegmentStore> Connect() override { return Segments(cluster_, clock_); }
  // All data directories, as a cluster that is begun anew under its old name.
  void LoseSpaces() override { cluster_.LoseAll(); }
  fakes::ManualClock& clock() override { return clock_; }
  bool has_own_clock() const override { return true; }

 private:
  fakes::ManualClock clock_;
  // Elections take their time; what three nodes add is tested below.
  ApiCluster cluster_{1, clock_};
};

INSTANTIATE_TEST_SUITE_P(Locusd, SegmentStoreContract,
                         ::testing::Values(Engine{
                             "locusd", [] { return std::make_unique<SegmentsUnderTest>(); }}));

class LocusdSegmentStoreTest : public ::testing::Test {
 protected:
  absl::StatusOr<SegmentReply> Allocate(SegmentStore& store, uint64_t seen = 0) {
    const SegmentRequest request{7, 64, seen};
    return store.Allocate(space_, options_, {&request, 1}, clock_.Now());
  }

  fakes::ManualClock clock_;
  const SpaceName space_;
  const SpaceOptions options_ = {};
};

TEST_F(LocusdSegmentStoreTest, LeadersKilled_NoSequenceIsAllocatedTwice) {
  ApiCluster cluster(3, clock_);
  auto store = Segments(cluster, clock_);
  ASSERT_TRUE(store->Create(space_, options_, clock_.Now()).ok());
  uint64_t end = 0;
  for (int round = 0; round < 3; ++round) {
    const int leader = cluster.nodes().WaitForLeader();
    ASSERT_GE(leader, 0);
    cluster.Kill(leader);
    for (int i = 0; i < 5; ++i) {
      auto reply = Allocate(*store);
      ASSERT_TRUE(reply.ok()) << reply.status();
      EXPECT_FALSE(reply->loss_noticed);
      EXPECT_GE(reply->grants[0].segment.first, end);
      end = reply->grants[0].segment.end();
    }
    cluster.Start(leader);
  }
  EXPECT_GT(store->Stats().failures, 0u);
  auto view = store->Show(space_, clock_.Now());
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->sections.at(0).head, end);
}

// The data of all nodes are put back from an older copy: nothing in the cluster shows it, but a
// live process has seen more.
TEST_F(LocusdSegmentStoreTest, AllNodesPutBack_SeenShowsTheLoss) {
  ApiCluster cluster(3, clock_);
  auto store = Segments(cluster, clock_);
  ASSERT_TRUE(store->Create(space_, options_, clock_.Now()).ok());
  auto first = Allocate(*store);
  ASSERT_TRUE(first.ok()) << first.status();
  auto all = [&cluster](auto what) {
    for (int i = 0; i < cluster.nodes().size(); ++i) what(i);
  };
  all([&](int node) { cluster.Kill(node); });
  cluster.nodes().KeepFiles();
  all([&](int node) { cluster.Start(node); });
  auto later = Allocate(*store);
  ASSERT_TRUE(later.ok()) << later.status();
  const uint64_t seen = later->grants[0].segment.end();
  all([&](int node) { cluster.Kill(node); });
  cluster.nodes().PutFilesBack();
  all([&](int node) { cluster.Start(node); });

  const auto before = store->Show(space_, clock_.Now());
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->sections.at(0).head, first->grants[0].segment.end()) << "it is forgotten";
  auto reply = Allocate(*store, seen);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_TRUE(reply->loss_noticed);
  EXPECT_GE(reply->grants[0].segment.first, seen);
  EXPECT_EQ(store->Show(space_, clock_.Now())->losses, before->losses + 1);
}

// The same, and no process is left that has seen more: all allocations since the copy repeat,
// unless an operator declares the loss.
TEST_F(LocusdSegmentStoreTest, AllNodesPutBack_RepeatUntilAProcessHasSeenMore) {
  ApiCluster cluster(1, clock_);
  auto store = Segments(cluster, clock_);
  ASSERT_TRUE(store->Create(space_, options_, clock_.Now()).ok());
  cluster.Kill(0);
  cluster.nodes().KeepFiles();
  cluster.Start(0);
  const auto lost = Allocate(*store);
  ASSERT_TRUE(lost.ok()) << lost.status();
  cluster.Kill(0);
  cluster.nodes().PutFilesBack();
  cluster.Start(0);
  const auto again = Allocate(*store);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->grants[0].segment, lost->grants[0].segment);
  ASSERT_TRUE(store->DeclareRestored(space_, clock_.Now()).ok());
  const auto after = Allocate(*store);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_GE(after->grants[0].segment.first, lost->grants[0].segment.end());
}

// Base never falls: believed, one request with the token of any client would end the space.
TEST_F(LocusdSegmentStoreTest, SeenAtTheEndOfAllSequences_IsRefusedAndOthersAllocate) {
  ApiCluster cluster(1, clock_);
  auto store = Segments(cluster, clock_);
  ASSERT_TRUE(store->Create(space_, options_, clock_.Now()).ok());
  const uint64_t base = store->Show(space_, clock_.Now())->base;
  const absl::Status refused = Allocate(*store, (uint64_t{1} << 56) - 128).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("72057594037927808"), HasSubstr("locus store raise")));
  EXPECT_EQ(store->Show(space_, clock_.Now())->base, base);
  const auto reply = Allocate(*store);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->grants[0].segment, (Segment{base, 64}));
}

TEST_F(LocusdSegmentStoreTest, ClusterBegunAnew_AllocatesAboveAllThatItAllocatedBefore) {
  ApiCluster cluster(3, clock_);
  auto store = Segments(cluster, clock_);
  ASSERT_TRUE(store->Create(space_, options_, clock_.Now()).ok());
  auto before = Allocate(*store);
  ASSERT_TRUE(before.ok()) << before.status();
  cluster.LoseAll();
  EXPECT_EQ(Allocate(*store).status().code(), absl::StatusCode::kNotFound);
  clock_.Advance(absl::Seconds(1));
  ASSERT_TRUE(store->Create(space_, options_, clock_.Now()).ok());
  auto after = Allocate(*store);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_GE(after->grants[0].segment.first, before->grants[0].segment.end());
}

TEST_F(LocusdSegmentStoreTest, NodesThatKeepNoStore_Refuse) {
  ApiCluster cluster(1, clock_, {},
                     [](int, cluster_api::ApiOptions& options) { options.keeps_store = false; });
  auto store = Segments(cluster, clock_);
  const absl::Status status = store->Create(space_, options_, clock_.Now());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("api.store = true"));
}

TEST_F(LocusdSegmentStoreTest, MoreSectionsThanAnAllocationMayName_AreRefused) {
  ApiCluster cluster(1, clock_);
  auto store = Segments(cluster, clock_);
  SpaceOptions narrow;
  narrow.section_size = 1;
  ASSERT_TRUE(store->Create(space_, narrow, clock_.Now()).ok());
  std::vector<SegmentRequest> requests(4097);
  for (size_t i = 0; i < requests.size(); ++i) requests[i].section = static_cast<uint16_t>(i);
  const absl::Status status = store->Allocate(space_, narrow, requests, clock_.Now()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("4097"));
  requests.pop_back();
  auto reply = store->Allocate(space_, narrow, requests, clock_.Now());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->grants.size(), 4096u);
  EXPECT_EQ(store->Show(space_, clock_.Now())->sections.size(), 4096u);
}

}  // namespace
}  // namespace locus
