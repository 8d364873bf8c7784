// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd_cluster.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Node 1 leads three voters; `silent`: how long it has not heard nodes 2 and 3, which answer or do
// not.
LocusdClusterView ViewOf(absl::Duration silent, bool answer) {
  LocusdClusterView view;
  LocusdNode leader;
  for (uint64_t id = 1; id <= 3; ++id) {
    LocusdMember member;
    member.id = id;
    member.voter = true;
    member.raft = absl::StrCat("r:", id);
    member.api = absl::StrCat("a:", id);
    member.silent_for = id == 1 ? absl::ZeroDuration() : silent;
    leader.members.push_back(member);
  }
  for (const LocusdMember& member : leader.members) {
    LocusdNode node;
    node.id = member.id;
    node.raft = member.raft;
    node.api = member.api;
    node.members = leader.members;
    node.role = member.id == 1 ? LocusdNode::Role::kLeader : LocusdNode::Role::kFollower;
    node.leads_for_sure = member.id == 1;
    absl::StatusOr<LocusdNode> said = std::move(node);
    if (member.id != 1 && !answer) said = absl::UnavailableError("Connection refused");
    view.rows.push_back({member.api, std::move(said)});
  }
  return view;
}

TEST(ClusterViewTest, MembersThatDoNotAnswer_CountAsFailedOnceTheLeaderLacksThem) {
  // The leader still hears them: it is the way from here that is cut.
  LocusdClusterView view = ViewOf(absl::Milliseconds(100), false);
  EXPECT_FALSE(view.IsMissing(view.Members()[1]));
  EXPECT_TRUE(view.Health().ok()) << view.Health();
  // Killed a moment ago: the view shows it before kSilent has passed.
  view = ViewOf(LocusdCluster::kFresh, false);
  EXPECT_FALSE(view.IsMissing(view.Members()[0]));
  EXPECT_TRUE(view.IsMissing(view.Members()[1]));
  EXPECT_THAT(std::string(view.Health().message()), HasSubstr("leads, but hears 1 of 3 voters"));
}

TEST(ClusterViewTest, MembersThatAnswer_CountAsFailedOnceTheyAreSilent) {
  LocusdClusterView view = ViewOf(LocusdCluster::kFresh * 2, true);
  EXPECT_FALSE(view.IsMissing(view.Members()[1]));
  EXPECT_TRUE(view.Health().ok()) << view.Health();
  view = ViewOf(LocusdCluster::kSilent, true);
  EXPECT_TRUE(view.IsMissing(view.Members()[1]));
  EXPECT_FALSE(view.Health().ok());
}

TEST(ClusterViewTest, NodeWhoseClockIsOff_IsNamedWithTheRemedy) {
  for (const int seconds : {-3595, 5, 3600}) {
    LocusdClusterView view = ViewOf(absl::Milliseconds(100), true);
    view.rows[2].node->clock_off = absl::Seconds(seconds);
    EXPECT_EQ(view.Health().ok(), seconds == 5) << seconds;
    if (seconds == 5) continue;
    EXPECT_THAT(
        std::string(view.Health().message()),
        AllOf(HasSubstr("node 3"),
              HasSubstr(seconds < 0 ? "59m55s behind the cluster's time"
                                    : "1h ahead of the cluster's time"),
              HasSubstr("mend its NTP"),
              HasSubstr(seconds < 0 ? "locus cluster time" : "locus cluster time --advance")));
  }
}

}  // namespace
}  // namespace locus
