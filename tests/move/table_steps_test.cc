// SPDX-License-Identifier: Apache-2.0
// How a move reads the routing table, and the tables that it publishes.
#include "migration/move/table_steps.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::internal {
namespace {

using Kind = TableSight::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const MoveLeg kLeg{.source = 1, .target = 3, .ranges = {{100, 199}, {300, 399}}};

// Shards 1 and 2 own a half each, shard 3 nothing yet; besides the leg a move of shard 2.
RoutingTable TableAt(uint32_t share, uint64_t step) {
  return RoutingTable::Make(
             7,
             {{1, "a", "mysql://a/o", 100, {}},
              {2, "b", "mysql://b/o", 100, {}},
              {3, "c", "mysql://c/o", 100, {}}},
             {{32767, 1}, {65535, 2}},
             {{100, 199, 3, share, step}, {300, 399, 3, share, step}, {40000, 40009, 3, 200, 9}})
      .value();
}

TEST(SightOfTest, MoveUnderWay_ShareAndStep) {
  const TableSight sight = SightOf(TableAt(1500, 4), kLeg);
  EXPECT_EQ(sight.kind, Kind::kUnderWay);
  EXPECT_EQ(sight.share, 1500);
  EXPECT_EQ(sight.step, 4);
}

TEST(SightOfTest, AVnodeMoreThanTheMoveHas_Other) {
  MoveLeg leg = kLeg;
  leg.ranges[1].hi = 400;
  EXPECT_EQ(SightOf(TableAt(1500, 4), leg).kind, Kind::kOther);
}

TEST(WithShareTest, OnlyTheLegChanges) {
  const RoutingTable next = WithShare(TableAt(1500, 4), kLeg, 2000, 5).value();
  EXPECT_EQ(next.epoch(), 8);
  EXPECT_THAT(next.moves(),
              ElementsAre(VnodeMove{100, 199, 3, 2000, 5}, VnodeMove{300, 399, 3, 2000, 5},
                          VnodeMove{40000, 40009, 3, 200, 9}));
}

TEST(WithEndTest, TheTargetOwnsAllAtTheWholeShare) {
  const RoutingTable next = WithEnd(TableAt(10000, 8), kLeg).value();
  EXPECT_EQ(SightOf(next, kLeg).kind, Kind::kEnded);
  EXPECT_THAT(next.moves(), ElementsAre(VnodeMove{40000, 40009, 3, 200, 9}));
  EXPECT_EQ(next.OwnerOf(ShardGene::FromUint16(uint16_t{200})).id, 1);
}

// The source still owns orders: a reader of such a table would look for them on the target.
TEST(WithEndTest, NotTheWholeShare_Aborted) {
  for (uint32_t share : {0u, 1500u, 9999u}) {
    const auto next = WithEnd(TableAt(share, 8), kLeg);
    EXPECT_TRUE(absl::IsAborted(next.status())) << share << ": " << next.status();
    EXPECT_THAT(std::string(next.status().message()), HasSubstr("from shard 1 to shard 3"));
  }
}

TEST(WithoutMoveTest, TheSourceOwnsAllAtShareZero) {
  const RoutingTable next = WithoutMove(TableAt(0, 0), kLeg).value();
  EXPECT_EQ(SightOf(next, kLeg).kind, Kind::kAbsent);
  EXPECT_THAT(next.moves(), ElementsAre(VnodeMove{40000, 40009, 3, 200, 9}));
}

TEST(WithoutMoveTest, SomeShare_Aborted) {
  for (uint32_t share : {1u, 10000u}) {
    EXPECT_TRUE(absl::IsAborted(WithoutMove(TableAt(share, 8), kLeg).status())) << share;
  }
}

TEST(TableStepsTest, MoveThatEnded_Aborted) {
  const RoutingTable ended = WithEnd(TableAt(10000, 8), kLeg).value();
  EXPECT_TRUE(absl::IsAborted(WithShare(ended, kLeg, 500, 9).status()));
  EXPECT_TRUE(absl::IsAborted(WithEnd(ended, kLeg).status()));
  EXPECT_TRUE(absl::IsAborted(WithoutMove(ended, kLeg).status()));
}

}  // namespace
}  // namespace locus::internal
