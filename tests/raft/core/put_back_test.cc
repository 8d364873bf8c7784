// SPDX-License-Identifier: Apache-2.0
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/raft/core/core.h"
#include "tests/raft/core/net.h"

namespace locus::raft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A disk is put back: entries that the node had confirmed are gone, and perhaps its votes.
class PutBackTest : public ::testing::Test {
 protected:
  PutBackTest() {
    net_.Elect(1, net_.all());
    const Remembered older{3, {net_[3].term(), 1}, {}, {net_[3].At(1), net_[3].At(2)}};
    net_.Do(1, net_[1].Propose("a"));
    net_.DeliverAmong(net_.all());
    net_.Add(older);
  }
  void Beat(const std::set<NodeId>& among) {
    for (int i = 0; i < 4; ++i) {
      net_.Do(1, net_[1].Heartbeat());
      net_.DeliverAmong(among);
    }
  }
  Net net_{{1, 2, 3}};
};

TEST_F(PutBackTest, LeaderAndNodeNoticeIt_AndTheNodeGetsTheLogAgain) {
  Beat(net_.all());
  EXPECT_TRUE(net_[1].HasForgotten(3));
  EXPECT_TRUE(net_[3].HasForgotten(3));
  EXPECT_FALSE(net_[1].HasForgotten(2));
  EXPECT_FALSE(net_[2].HasForgotten(3)) << "nobody has told it";
  EXPECT_EQ(net_[3].last_index(), 3u);
  EXPECT_EQ(net_[1].Transfer(3).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PutBackTest, NodeDoesNotCount) {
  Beat({1, 3});
  net_.Do(1, net_[1].Propose("b"));
  net_.Do(1, net_[1].Read(7));
  Beat({1, 3});
  EXPECT_EQ(net_[3].last_index(), 4u);
  EXPECT_EQ(net_[1].commit(), 3u);
  EXPECT_THAT(net_.reads, IsEmpty());
  Beat({1, 2, 3});
  EXPECT_EQ(net_[1].commit(), 4u);
  EXPECT_THAT(net_.reads, ElementsAre(ReadAnswer{7, 3}));
}

TEST_F(PutBackTest, NodeNeitherVotesNorStands_AndReportsItToTheNextLeader) {
  Beat(net_.all());
  for (int i = 0; i < 2; ++i) net_.Do(1, net_[1].CheckQuorum());
  net_.Do(2, net_[2].ElectionTimeout());
  net_.DeliverAmong({2, 3});
  EXPECT_NE(net_[2].role(), Role::kLeader);
  net_.Do(3, net_[3].ElectionTimeout());
  net_.DeliverAmong(net_.all());
  EXPECT_EQ(net_[3].role(), Role::kFollower);
  net_.Elect(2, {1, 2});
  net_.Do(2, net_[2].Heartbeat());
  net_.DeliverAmong(net_.all());
  EXPECT_TRUE(net_[2].HasForgotten(3));
}

// Its log is as long as it was; its term, and the vote in it, are older.
TEST(PutBackTermTest, OnlyTheTermIsOlder_IsNoticed) {
  Net net({1, 2, 3});
  net.Elect(1, net.all());
  Remembered older{3, {net[3].term(), 1}, {}, {net[3].At(1), net[3].At(2)}};
  net.Elect(2, {1, 2, 3});
  older.entries.push_back(net[3].At(3));
  older.entries.back().term = older.vote.term;
  net.Add(older);
  net.Do(2, net[2].Heartbeat());
  net.DeliverAmong(net.all());
  EXPECT_TRUE(net[2].HasForgotten(3));
}

// Confirmations that were on their way when the disk was put back.
TEST_F(PutBackTest, LateConfirmations_DoNotHideIt) {
  Beat(net_.all());
  net_.Do(1, net_[1].Receive(3, AppendReply{net_[1].term(), true, 3, 0, 0}, false));
  net_.Add({3, {net_[3].term(), 1}, {}, {net_[3].At(1)}});
  Beat(net_.all());
  EXPECT_TRUE(net_[1].HasForgotten(3));
  EXPECT_EQ(net_[3].last_index(), 3u);
}

}  // namespace
}  // namespace locus::raft
