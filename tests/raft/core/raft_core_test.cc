// SPDX-License-Identifier: Apache-2.0
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/raft/core/core.h"
#include "src/raft/core/flaw.h"
#include "tests/raft/core/net.h"

namespace locus::raft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Members With(Members members, NodeId id, bool voter) {
  std::erase_if(members, [&](const Member& one) { return one.id == id; });
  members.push_back({id, voter, ""});
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.id < b.id; });
  return members;
}
Members Without(Members members, NodeId id) {
  std::erase_if(members, [&](const Member& one) { return one.id == id; });
  return members;
}

TEST(RaftCoreTest, ThreeNodes_ElectALeaderAndCommit) {
  Net net({1, 2, 3});
  net.Elect(2, net.all());
  EXPECT_EQ(net[1].leader(), 2u);
  EXPECT_TRUE(net[2].LeadsForSure());
  net.Do(2, net[2].Propose("a"));
  net.DeliverAmong(net.all());
  EXPECT_EQ(net[2].commit(), 3u);
  EXPECT_EQ(net[2].At(3).data, "a");
  // The others learn it from the next message.
  net.Do(2, net[2].Heartbeat());
  net.DeliverAmong(net.all());
  EXPECT_EQ(net[1].commit(), 3u);
}

TEST(RaftCoreTest, OneNode_LeadsAndCommitsByItself) {
  Net net({7});
  net.Do(7, net[7].ElectionTimeout());
  EXPECT_TRUE(net[7].LeadsForSure());
  net.Do(7, net[7].Propose("a"));
  EXPECT_EQ(net[7].commit(), 3u);
  net.Do(7, net[7].Read(1));
  EXPECT_THAT(net.reads, ElementsAre(ReadAnswer{1, 3}));
}

TEST(RaftCoreTest, NothingIsAnsweredBeforeItIsDurable) {
  Core core = Core::Restore(FirstNode(1, {{1, true, ""}, {2, true, ""}, {3, true, ""}})).value();
  Actions actions = core.Receive(2, VoteRequest{2, 1, 1, false, false, 1}, false);
  ASSERT_TRUE(actions.write);
  EXPECT_EQ(actions.write->vote, (Vote{2, 2}));
  ASSERT_EQ(actions.sends.size(), 1u);
  EXPECT_EQ(actions.sends[0].after, actions.write->number);
  // A second request for the same vote writes nothing, and still waits for the first write.
  Actions again = core.Receive(2, VoteRequest{2, 1, 1, false, false, 1}, false);
  EXPECT_FALSE(again.write);
  EXPECT_EQ(again.sends[0].after, actions.write->number);
  // No other node gets the vote.
  Actions other = core.Receive(3, VoteRequest{2, 1, 1, false, false, 1}, false);
  EXPECT_FALSE(std::get<VoteReply>(other.sends[0].message).granted);
  Actions append =
      core.Receive(2, Append{2, 1, 1, {{2, Entry::Kind::kNothing, "", {}}}, 0, 0}, false);
  EXPECT_EQ(append.sends[0].after, append.write->number);
  EXPECT_EQ(append.write->from, 2u);
}

TEST(RaftCoreTest, LeaderCountsItselfOnlyWhenDurable) {
  Core core = Core::Restore(FirstNode(1, {{1, true, ""}})).value();
  Actions actions = core.ElectionTimeout();
  EXPECT_EQ(core.role(), Role::kCandidate);
  actions = core.Written(actions.write->number);
  EXPECT_EQ(core.role(), Role::kLeader);
  EXPECT_EQ(core.commit(), 0u);
  core.Written(actions.write->number);
  EXPECT_EQ(core.commit(), 2u);
}

TEST(RaftCoreTest, NodeThatWasCutOff_DoesNotEndTheLeadersTerm) {
  Net net({1, 2, 3});
  net.Elect(1, net.all());
  const Term term = net[1].term();
  for (int i = 0; i < 5; ++i) {
    net.Do(3, net[3].ElectionTimeout());
    net.DeliverAmong({3});
  }
  EXPECT_EQ(net[3].term(), term) << "a pre-vote raises nothing";
  net.Do(3, net[3].ElectionTimeout());
  net.DeliverAmong(net.all(), /*leader_is_alive=*/true);
  EXPECT_EQ(net[1].role(), Role::kLeader);
  EXPECT_EQ(net[1].term(), term);
}

TEST(RaftCoreTest, LeaderWithoutAMajority_StepsDownAndKeepsItsVote) {
  Net net({1, 2, 3});
  net.Elect(1, net.all());
  net.Do(1, net[1].CheckQuorum());
  EXPECT_EQ(net[1].role(), Role::kLeader) << "it heard them since it was elected";
  net.Do(1, net[1].CheckQuorum());
  EXPECT_EQ(net[1].role(), Role::kFollower);
  Actions actions =
      net[1].Receive(2, VoteRequest{net[1].term(), 9, net[1].term(), false, false, 1}, false);
  EXPECT_FALSE(std::get<VoteReply>(actions.sends[0].message).granted);
}

// Figure 3.7: an entry of an earlier term that a majority has is not committed by counting, since a
// node that lacks it may still be elected.
TEST(RaftCoreTest, EntryOfAnEarlierTerm_IsCommittedOnlyWithOneOfTheOwn) {
  for (Flaw one : {Flaw::kNone, Flaw::kEarlierTermsCountedByIndex}) {
    Net net({1, 2, 3, 4, 5});
    net.ElectSilently(1, net.all());
    const Index x = net[1].last_index();
    net.Do(1, net[1].Heartbeat());
    net.DeliverAmong({1, 2});
    net.ElectSilently(5, {3, 4, 5});  // and has an entry of its own at the same index
    net.Do(1, net[1].CheckQuorum());
    net.Do(1, net[1].CheckQuorum());
    net.ElectSilently(1, {1, 2, 3});
    ASSERT_EQ(net[1].last_index(), x + 1);
    // A majority has x, and not yet the entry behind it.
    flaw = one;
    for (NodeId id : {2, 3}) {
      const Append only_x{net[1].term(), x - 1, net[1].TermAt(x - 1), {net[1].At(x)}, 0, 0};
      net.Do(id, net[id].Receive(1, only_x, false));
      net.DeliverUntil({1, id}, [&] { return net[1].MatchOf(id) == x; });
    }
    flaw = Flaw::kNone;
    EXPECT_EQ(net[1].commit() >= x, one != Flaw::kNone);
    net.Do(1, net[1].Heartbeat());
    net.DeliverAmong({1, 2, 3});
    EXPECT_EQ(net[1].commit(), x + 1);
  }
}

TEST(RaftCoreTest, FollowerWithAnotherBranch_IsBroughtBack) {
  Net net({1, 2, 3});
  net.Elect(1, net.all());
  for (int i = 0; i < 30; ++i) {
    net.Do(1, net[1].Propose("lost"));
    net.DeliverAmong({1});
  }
  net.Elect(2, {2, 3});
  net.Do(2, net[2].Propose("kept"));
  net.DeliverAmong({2, 3});
  net.Do(1, net[1].CheckQuorum());
  net.Do(2, net[2].Heartbeat());
  net.DeliverAmong(net.all());
  net.Do(2, net[2].Heartbeat());
  net.DeliverAmong(net.all());
  ASSERT_EQ(net[1].last_index(), net[2].last_index());
  EXPECT_EQ(net[1].At(net[1].last_index()).data, "kept");
  EXPECT_EQ(net[1].commit(), net[2].commit());
}

TEST(RaftCoreTest, Reads_WaitForAMajorityThatStillFollows) {
  Net net({1, 2, 3});
  net.Elect(1, net.all());
  net.Do(2, net[2].Read(1));
  EXPECT_THAT(net.reads, ElementsAre(ReadAnswer{1, 0})) << "followers do not answer";
  net.reads.clear();
  net.Do(1, net[1].Read(2));
  EXPECT_THAT(net.reads, IsEmpty());
  net.DeliverAmong(net.all());
  EXPECT_THAT(net.reads, ElementsAre(ReadAnswer{2, net[1].commit()}));
  net.reads.clear();
  // Deposed without knowing.
  net.Elect(2, {2, 3});
  net.Do(1, net[1].Read(3));
  net.DeliverAmong({1});
  EXPECT_THAT(net.reads, IsEmpty());
  net.Do(1, net[1].CheckQuorum());
  net.Do(1, net[1].CheckQuorum());
  EXPECT_THAT(net.reads, ElementsAre(ReadAnswer{3, 0}));
}

TEST(RaftCoreTest, NewLeader_AnswersReadsAfterAnEntryOfItsOwn) {
  Net net({1, 2, 3});
  net.Elect(1, net.all());
  net.Do(1, net[1].Propose("a"));
  net.DeliverAmong(net.all());
  // Committed, and the others do not know it yet.
  const Index committed = net[1].commit();
  ASSERT_LT(net[2].commit(), committed);
  net.ElectSilently(2, {2, 3});
  EXPECT_FALSE(net[2].LeadsForSure());
  net.Do(2, net[2].Read(1));
  net.DeliverAmong({2});
  EXPECT_THAT(net.reads, IsEmpty());
  net.Do(2, net[2].Heartbeat());
  net.DeliverAmong({2, 3});
  EXPECT_TRUE(net[2].LeadsForSure());
  EXPECT_THAT(net.reads, ElementsAre(ReadAnswer{1, committed + 1}));
}

TEST(RaftCoreTest, Transfer_ElectsTheOtherAtOnce) {
  Net net({1, 2, 3});
  net.Elect(1, net.all());
  EXPECT_TRUE(absl::IsNotFound(net[1].Transfer(9).status()));
  net.Do(1, net[1].Transfer(3));
  EXPECT_TRUE(absl::IsUnavailable(net[1].Propose("late").status()));
  net.DeliverAmong(net.all(), /*leader_is_alive=*/true);
  EXPECT_EQ(net[3].role(), Role::kLeader);
  EXPECT_EQ(net[1].role(), Role::kFollower);
  // If it fails, the leader continues after a while.
  net.Do(3, net[3].Transfer(2));
  net.DeliverAmong({3});
  net.Do(3, net[3].CheckQuorum());
  EXPECT_TRUE(net[3].Propose("again").ok());
}

TEST(RaftCoreTest, Members_ChangeOneAtATimeAndLearnersFirst) {
  Net net({1, 2, 3});
  net.Elect(1, net.all());
  const Members three = net.members();
  auto refusal = [&](const Members& members) {
    return std::string(net[1].ProposeMembers(members).status().message());
  };
  EXPECT_THAT(refusal(With(three, 4, true)), HasSubstr("a learner before it votes"));
  EXPECT_THAT(refusal({{2, true, ""}, {1, true, ""}}), HasSubstr("member 1 is 0, or not above"));
  EXPECT_THAT(refusal({{1, true, std::string(257, 'a')}}), HasSubstr("257 bytes"));
  EXPECT_TRUE(
      absl::IsInvalidArgument(net[1].Propose(std::string(kMostEntryBytes + 1, 'x')).status()));
  EXPECT_THAT(refusal(With(With(three, 4, false), 5, false)), HasSubstr("2 members differ"));
  EXPECT_THAT(refusal(three), HasSubstr("0 members differ"));
  EXPECT_THAT(refusal(With(three, 2, false)), HasSubstr("remove it instead"));
  net.Add({4, {}, {}, {}});
  net.Do(1, net[1].ProposeMembers(With(three, 4, false)));
  EXPECT_THAT(refusal(Without(With(three, 4, false), 3)), HasSubstr("not committed yet"));
  EXPECT_THAT(refusal(With(three, 4, true)), HasSubstr("not committed yet"));
  net.DeliverAmong({1, 2, 3});
  EXPECT_THAT(refusal(With(three, 4, true)), HasSubstr("too far behind"));
  net.Do(1, net[1].Heartbeat());
  net.DeliverAmong(net.all());
  EXPECT_EQ(net[4].last_index(), net[1].last_index()) << "from the first entry on";
  net.Do(1, net[1].ProposeMembers(With(three, 4, true)));
  net.DeliverAmong(net.all());
  EXPECT_EQ(net[1].commit(), net[1].members_index());
  EXPECT_FALSE(net[4].removed());
  net.Elect(4, {2, 3, 4});
}

TEST(RaftCoreTest, RemovedNode_LearnsOfItEvenIfItWasAway) {
  Net net({1, 2, 3});
  net.Elect(1, net.all());
  net.Do(1, net[1].ProposeMembers(Without(net.members(), 3)));
  net.DeliverAmong({1, 2});
  net.Do(1, net[1].Heartbeat());
  net.DeliverAmong({1, 2});
  EXPECT_FALSE(net[3].removed());
  net.Do(3, net[3].ElectionTimeout());
  net.DeliverAmong(net.all(), /*leader_is_alive=*/true);
  EXPECT_TRUE(net[3].removed());
  EXPECT_EQ(net[1].role(), Role::kLeader);
}

// After a restart a node does not know which entries are committed.
TEST(RaftCoreTest, RemovedNodeThatHasItsRemoval_LearnsItAgainAfterARestart) {
  Net net({1, 2, 3});
  net.Elect(1, net.all());
  net.Do(1, net[1].ProposeMembers(Without(net.members(), 3)));
  net.DeliverAmong(net.all());
  ASSERT_TRUE(net[3].removed());
  Remembered remembered = FirstNode(3, net.members());
  remembered.vote.term = net[3].term();
  remembered.entries.push_back({net[3].term(), Entry::Kind::kNothing, "", {}});
  remembered.entries.push_back(
      {net[3].term(), Entry::Kind::kMembers, "", Without(net.members(), 3)});
  ASSERT_EQ(remembered.entries.size(), net[3].last_index());
  net.Add(std::move(remembered));
  ASSERT_FALSE(net[3].removed());
  net.Do(3, net[3].ElectionTimeout());
  net.DeliverAmong(net.all(), /*leader_is_alive=*/true);
  EXPECT_TRUE(net[3].removed());
  EXPECT_EQ(net[1].role(), Role::kLeader);
}

TEST(RaftCoreTest, LeaderThatIsRemoved_CommitsItAndStepsDown) {
  Net net({1, 2, 3});
  net.Elect(1, net.all());
  net.Do(1, net[1].ProposeMembers(Without(net.members(), 1)));
  net.DeliverAmong(net.all());
  EXPECT_TRUE(net[1].removed());
  EXPECT_EQ(net[1].role(), Role::kFollower);
  net.Elect(2, {2, 3});
}

// Ongaro's note of 2015, with a learner that becomes a voter: two leaders whose members have
// majorities that share no node.
TEST(RaftCoreTest, MembersChangedBeforeAnOwnEntry_LoseCommittedEntries) {
  for (Flaw one : {Flaw::kNone, Flaw::kMembersBeforeOwnEntry}) {
    Net net({1, 2, 3, 4});
    net.Elect(1, net.all());
    net.Add({5, {}, {}, {}});
    const Members learning = With(net.members(), 5, false);
    net.Do(1, net[1].ProposeMembers(learning));
    net.DeliverAmong({1, 2, 3, 4});
    net.Do(1, net[1].Heartbeat());
    net.DeliverAmong(net.all());
    net.Do(1, net[1].ProposeMembers(With(learning, 5, true)));
    net.DeliverAmong({1, 5});
    const Index split = net[1].last_index();
    net.ElectSilently(2, {2, 3, 4});
    flaw = one;
    auto changed = net[2].ProposeMembers(Without(learning, 1));
    if (one == Flaw::kNone) {
      EXPECT_THAT(std::string(changed.status().message()), HasSubstr("no entry of this leader"));
      continue;
    }
    net.Do(2, std::move(changed));
    net.DeliverAmong({2, 3});
    net.Do(2, net[2].Heartbeat());
    net.DeliverAmong({2, 3});
    EXPECT_GE(net[2].commit(), split);
    net.Do(1, net[1].CheckQuorum());
    net.Do(1, net[1].CheckQuorum());
    net.ElectSilently(1, {1, 4, 5});
    net.Do(1, net[1].Heartbeat());
    net.DeliverAmong({1, 4, 5});
    EXPECT_GE(net[1].commit(), split);
    EXPECT_NE(net[1].At(split), net[2].At(split)) << "both are committed";
    flaw = Flaw::kNone;
  }
}

// Were term and vote two records, a crash between their writes would leave the vote of term 3
// beside term 2.
TEST(RaftCoreTest, TermAndVoteWrittenApart_VoteTwice) {
  const Members three = {{1, true, ""}, {2, true, ""}, {3, true, ""}};
  const VoteRequest second{2, 1, 1, false, false, 1};
  Remembered remembered = FirstNode(3, three);
  remembered.vote = {2, 1};
  Core core = Core::Restore(remembered).value();
  Actions actions = core.Receive(2, second, false);
  EXPECT_FALSE(std::get<VoteReply>(actions.sends[0].message).granted);
  actions = core.Receive(2, VoteRequest{3, 1, 1, false, false, 1}, false);
  ASSERT_EQ(actions.write->vote, (Vote{3, 2})) << "one record";
  remembered.vote.candidate = actions.write->vote->candidate;
  core = Core::Restore(remembered).value();
  actions = core.Receive(2, second, false);
  EXPECT_TRUE(std::get<VoteReply>(actions.sends[0].message).granted) << "a second vote of term 2";
}

TEST(RaftCoreTest, Snapshot_BringsAFollowerThatIsTooFarBehind) {
  Net net({1, 2, 3});
  net.Elect(1, {1, 2});
  for (int i = 0; i < 2000; ++i) {
    net.Do(1, net[1].Propose("x"));
    net.DeliverAmong({1, 2});
  }
  const Index index = net[1].commit();
  const SnapshotMark mark = net[1].Compact(index);
  EXPECT_EQ(mark.index, index);
  EXPECT_EQ(mark.members, net.members());
  EXPECT_GT(net[1].first_index(), 2u);
  net.Do(1, net[1].Heartbeat());
  net.DeliverAmong(net.all());
  net.Do(1, net[1].Heartbeat());
  net.DeliverAmong(net.all());
  ASSERT_TRUE(net.snapshots_for.contains(3));
  auto install = net[1].SnapshotFor(3);
  ASSERT_TRUE(install);
  install->state = "state";
  Actions actions = net[3].Receive(1, *install, false);
  EXPECT_TRUE(actions.restored);
  EXPECT_EQ(actions.write->state, "state");
  EXPECT_EQ(net[3].commit(), index);
  net.Do(3, std::move(actions));
  net.DeliverAmong(net.all());
  net.Do(1, net[1].Propose("after"));
  net.DeliverAmong(net.all());
  EXPECT_EQ(net[3].last_index(), index + 1);
  // Once more, and an older one: nothing goes back.
  actions = net[3].Receive(1, *install, false);
  EXPECT_FALSE(actions.restored);
  EXPECT_EQ(net[3].last_index(), index + 1);
}

TEST(RaftCoreTest, DiskThatContradictsItself_IsRefused) {
  Remembered remembered = FirstNode(1, {{1, true, ""}});
  remembered.entries.push_back({3, Entry::Kind::kNothing, "", {}});
  EXPECT_TRUE(absl::IsDataLoss(Core::Restore(remembered).status()));
  remembered.vote.term = 3;
  EXPECT_TRUE(Core::Restore(remembered).ok());
  remembered.entries.push_back({2, Entry::Kind::kNothing, "", {}});
  EXPECT_THAT(std::string(Core::Restore(remembered).status().message()), HasSubstr("entry 3"));
  remembered.entries.pop_back();
  remembered.snapshot.term = 4;
  remembered.entries.clear();
  EXPECT_TRUE(absl::IsDataLoss(Core::Restore(remembered).status()));
}

// --- Messages that cannot be true.

struct Lie {
  const char* what;
  NodeId from;
  Message message;
};

Entry At(Term term) { return {term, Entry::Kind::kNothing, "", {}}; }

TEST(RaftCoreTest, ImpossibleMessages_AreDropped) {
  constexpr uint64_t kHuge = ~uint64_t{0};
  for (NodeId to : {1, 2}) {  // a leader, and a follower
    Net net({1, 2, 3});
    net.Elect(1, net.all());
    net.Do(1, net[1].Heartbeat());
    net.DeliverAmong(net.all());
    const Term term = net[1].term();
    const Index last = net[1].last_index();
    const Entry entry{term, Entry::Kind::kCommand, "x", {}};
    std::vector<Lie> lies = {
        {"a term near the end", 3, Append{kHuge, 0, 0, {}, 0, 0}},
        {"a term far ahead", 3, VoteRequest{term + (Term{1} << 33), last, term, false, true, 1}},
        {"a vote for a term far ahead", 3, VoteReply{kHuge - 1, false, false}},
        {"a stranger's reply", 99, AppendReply{term + 1, false, 0, 0, 0}},
        {"a stranger's vote", 99, VoteReply{term + 1, false, false}},
        {"a stranger's order to stand", 99, StandNow{term}},
        {"a stranger's removal", 99, Removed{term, last + 1}},
        {"a removal nobody asked for", 3, Removed{term, last + 1}},
        {"a removal at the end", 3, Removed{term, kHuge}},
        {"an entry above its leader's term", 3, Append{term + 1, last, term, {At(term + 2)}, 0, 0}},
        {"terms that fall", 3, Append{term + 1, last, term, {At(term), At(term - 1)}, 0, 0}},
        {"more confirmed than precedes", 3, Append{term + 1, last, term, {entry}, 0, 0, last + 1}},
        {"an index at the end", 3, Append{term + 1, kHuge, term, {entry}, 0, 0}},
        {"another entry where one is committed", 3, Append{term + 1, 0, 0, {At(term + 1)}, 0, 0}},
        {"a snapshot above its term", 3, InstallSnapshot{term + 1, {9, term + 2, {}}, "", 0}},
        {"a vote for a log of a later term", 3, VoteRequest{term + 1, 9, term + 2, false, true, 1}},
    };
    if (to == 1) {
      lies.push_back({"more than the leader has", 3, AppendReply{term, true, last + 1, 0, 0}});
      lies.push_back({"a round that was not", 3, AppendReply{term, true, last, 0, 99}});
      lies.push_back({"another leader", 3, Append{term, last, term, {entry}, 0, 0}});
      lies.push_back({"another leader's snapshot", 3, InstallSnapshot{term, {1, 1, {}}, "", 0}});
    }
    for (const Lie& lie : lies) {
      Core core = net[to];
      const Actions actions = core.Receive(lie.from, lie.message, false);
      EXPECT_FALSE(actions.write) << lie.what;
      EXPECT_THAT(actions.sends, IsEmpty()) << lie.what;
      EXPECT_FALSE(core.removed()) << lie.what;
      EXPECT_EQ(core.Fingerprint(), net[to].Fingerprint()) << lie.what;
      EXPECT_EQ(core.refused(), net[to].refused() + 1) << lie.what;
    }
  }
}

TEST(RaftCoreTest, Candidate_BelievesOnlyMembersThatItIsRemoved) {
  Net net({1, 2, 3});
  net.Elect(1, net.all());
  Core core = net[3];
  core.ElectionTimeout();
  core.Receive(99, Removed{core.term(), 9}, false);
  core.Receive(1, Removed{core.term(), ~Index{0}}, false);
  EXPECT_FALSE(core.removed());
  core.Receive(1, Removed{core.term(), 9}, false);
  EXPECT_TRUE(core.removed());
}

TEST(RaftCoreTest, NewNode_JoinsAClusterOfAnyAge) {
  Core core = Core::Restore({9, {}, {}, {}}).value();
  const Term term = Term{1} << 40;
  core.Receive(1, Append{term, 0, 0, {}, 0, 0}, false);
  EXPECT_EQ(core.term(), term);
}

}  // namespace
}  // namespace locus::raft
