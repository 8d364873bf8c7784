// SPDX-License-Identifier: Apache-2.0
#include "src/engine/locusd/join_rules.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd_cluster.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

std::string Said(const absl::Status& status) {
  return absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message());
}

// The rules, of what nodes say.
class JoinRulesTest : public ::testing::Test {
 protected:
  static LocusdMember Of(uint64_t id, bool voter = true,
                         std::optional<absl::Duration> silent = absl::ZeroDuration()) {
    LocusdMember member;
    member.id = id;
    member.voter = voter;
    member.raft = absl::StrCat("r:", id);
    member.api = absl::StrCat("a:", id);
    member.silent_for = silent;
    return member;
  }
  static LocusdNode Node(uint64_t id, std::vector<LocusdMember> members = {}) {
    LocusdNode node;
    node.id = id;
    node.cluster = "c";
    node.raft = absl::StrCat("r:", id);
    node.api = absl::StrCat("a:", id);
    node.members = std::move(members);
    return node;
  }
  const LocusdNode leader_ = Node(1, {Of(1), Of(2), Of(3)});
};

TEST_F(JoinRulesTest, WhoMayJoin) {
  auto says = [&](const LocusdNode& node) {
    return Said(locusd::CheckJoins(node, leader_, "here"));
  };
  EXPECT_EQ(says(Node(4)), "OK: ");
  EXPECT_EQ(says(Node(2)), "OK: ") << "again";
  // An attempt was lost with its leader: the node has heard of it, and has not voted.
  LocusdNode heard = Node(4, {Of(1), Of(4, false)});
  heard.term = 3;
  EXPECT_EQ(says(heard), "OK: ");
  heard.leader = 2;
  EXPECT_EQ(says(heard), "OK: ");
  heard.leader = 9;
  heard.held = 7;
  EXPECT_THAT(says(heard), HasSubstr("follows node 9"));
  EXPECT_THAT(says(heard), HasSubstr("check the address: this node is of a cluster with 2 members "
                                     "that holds 7 leases. Only if"));
  // Its own log says that it was removed, or it has not heard so.
  LocusdNode once = Node(4, {Of(1), Of(2), Of(3)});
  once.term = 3;
  EXPECT_EQ(says(once), "OK: ") << "it has heard of the term, and has no log";
  once.last = 8;
  EXPECT_THAT(says(once), HasSubstr("has a log of 8 entries, and is no member. It was a member "
                                    "once: stop it, empty its data directory"));
  EXPECT_THAT(says(Node(4, {Of(1), Of(4)})), HasSubstr("It was a member once"));
  EXPECT_THAT(says(Node(4, {Of(4)})), HasSubstr("a member of a cluster already"));
  EXPECT_THAT(says(Node(4, {Of(8), Of(4, false)})), HasSubstr("a member of a cluster already"));
  LocusdNode node = Node(4);
  node.removed = true;
  EXPECT_THAT(says(node), HasSubstr("was removed"));
  node = Node(4);
  node.raft = "";
  EXPECT_THAT(says(node), HasSubstr("does not report its addresses"));
  node = Node(4);
  node.failure = "disk full";
  EXPECT_THAT(says(node), HasSubstr("disk full"));
  node = Node(4);
  node.raft = "r:2";
  EXPECT_THAT(says(node), HasSubstr("has an address of node 2"));
  EXPECT_THAT(says(node), HasSubstr("locus cluster remove URI 2"));
}

TEST_F(JoinRulesTest, ViewOfTwoClustersOrOfForgottenEntries_IsNotHealthy) {
  LocusdNode leader = leader_;
  leader.leads_for_sure = true;
  leader.term = 4;
  auto health = [&](const LocusdNode& other) {
    LocusdClusterView view;
    view.rows.push_back({"a:1", leader});
    view.rows.push_back({"a:2", Node(2, {Of(1), Of(2), Of(3)})});
    view.rows.push_back({"x:1", other});
    return Said(view.Health());
  };
  LocusdNode other = Node(3, leader_.members);
  EXPECT_EQ(health(other), "OK: ");
  other.leads_for_sure = true;
  EXPECT_THAT(health(other), HasSubstr("leads, too (term 0), while node 1 leads (term 4)"));
  EXPECT_THAT(health(Node(9)), HasSubstr("node 9 at x:1 answers, and is no member"));
  leader.members[1].forgot = true;
  EXPECT_THAT(health(Node(3, leader_.members)), HasSubstr("node 2 at a:2 has forgotten what"));
  leader.members[1].forgot = false;
  EXPECT_THAT(health(Node(3, {Of(3), Of(8)})), HasSubstr("has other members"));
  other = Node(3, leader_.members);
  other.api = "b:3";
  EXPECT_THAT(health(other),
              HasSubstr("has the addresses r:3, b:3, and the members have r:3, a:3"));
  other.id = 2;
  EXPECT_THAT(health(other), HasSubstr("node 2 answers at a:2 and at x:1: two processes"));
}

TEST_F(JoinRulesTest, OneIdInTwoProcesses_IsNotMoved) {
  const LocusdMember member = Of(2);
  LocusdNode moved = Node(2);
  moved.api = "b:2";
  auto says = [&](const LocusdNode& there) {
    return Said(locusd::CheckMoved(moved, member, there));
  };
  EXPECT_THAT(says(Node(2)), HasSubstr("two processes run one node's data. Stop one; a copied"));
  EXPECT_EQ(says(moved), "OK: ") << "it listens there, too";
  EXPECT_EQ(says(Node(9)), "OK: ") << "somebody else is there now";
}

TEST_F(JoinRulesTest, WhoIsWaitedFor) {
  LocusdNode now = Node(4);
  EXPECT_EQ(Said(locusd::CheckWaits(Node(4), now)), "OK: ");
  now.removed = true;
  EXPECT_THAT(Said(locusd::CheckWaits(Node(4), now)), HasSubstr("empty its data directory"));
  now = Node(4);
  now.failure = "disk full";
  EXPECT_THAT(Said(locusd::CheckWaits(Node(4), now)), HasSubstr("has failed: disk full"));
  EXPECT_THAT(Said(locusd::CheckWaits(Node(4), Node(5))), HasSubstr("is now node 5"));
}

TEST_F(JoinRulesTest, WhoMayLeave) {
  auto says = [&](uint64_t id, std::vector<LocusdMember> members, bool force = false) {
    return Said(locusd::CheckLeaves(id, Node(1, std::move(members)), force));
  };
  EXPECT_EQ(says(3, {Of(1), Of(2), Of(3)}), "OK: ");
  EXPECT_THAT(says(9, {Of(1), Of(2)}), HasSubstr("the members are 1 (a:1), 2 (a:2)"));
  EXPECT_THAT(says(1, {Of(1), Of(2, false)}), HasSubstr("the last voter"));
  EXPECT_EQ(says(2, {Of(1), Of(2, false)}), "OK: ") << "a learner always may";
  const auto silent = Of(3, true, absl::Seconds(30)), never = Of(4, true, std::nullopt);
  EXPECT_THAT(says(2, {Of(1), Of(2), silent}), HasSubstr("1 of 2 voters would be silent"));
  EXPECT_THAT(says(2, {Of(1), Of(2), never}), HasSubstr("1 of 2 voters would be silent"));
  EXPECT_EQ(says(2, {Of(1), Of(2), silent}, true), "OK: ");
  EXPECT_THAT(says(1, {Of(1), Of(2, false)}, true), HasSubstr("the last voter"));
  EXPECT_EQ(says(2, {Of(1), Of(2), silent, Of(5)}), "OK: ");
  EXPECT_EQ(says(3, {Of(1), Of(2), silent}), "OK: ");
}

TEST_F(JoinRulesTest, WhoLeadsNext) {
  std::vector<LocusdMember> members = {Of(1), Of(2), Of(3), Of(4, true, std::nullopt),
                                       Of(5, false)};
  members[1].match = 5;
  members[2].match = 7;
  members[3].match = 9;  // but silent
  members[4].match = 9;  // but a learner
  const LocusdNode leader = Node(1, members);
  EXPECT_EQ(locusd::NextLeader(std::nullopt, leader).value(), 3u);
  EXPECT_EQ(locusd::NextLeader(4, leader).value(), 4u);
  EXPECT_THAT(Said(locusd::NextLeader(5, leader).status()), HasSubstr("a learner"));
  EXPECT_THAT(Said(locusd::NextLeader(6, leader).status()), HasSubstr("no member"));
  EXPECT_THAT(Said(locusd::NextLeader(std::nullopt, Node(1, {Of(1), Of(5, false)})).status()),
              HasSubstr("the only voter"));
}

}  // namespace
}  // namespace locus
