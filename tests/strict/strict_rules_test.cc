// SPDX-License-Identifier: Apache-2.0
#include "src/strict/strict_rules.h"

#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace locus::strict {
namespace {

using Verdict = StrictGrant::Verdict;

const absl::Time kEpoch = absl::FromUnixSeconds(1'672'531'200);  // of FloorAt

class StrictRulesTest : public ::testing::Test {
 protected:
  StrictRulesTest() {
    batch_.set.options.uids = 1'000'000;
    batch_.set.options.step = 10'000;
  }
  static StrictOwner Owner(const char* name) { return {name, "", 7}; }

  // Like a section that was owned before, and released.
  void Put(uint32_t section, uint64_t max_seq) {
    Record& record = batch_.records[section];
    record.max_seq = record.start = max_seq;
    record.token = 1;
  }
  StrictGrant Take(uint32_t section, uint64_t seen = 0) {
    Anew();
    return Rules::Take(batch_, {Owner("a"), {{section, seen}}}, now_).items[0];
  }
  StrictExtended Extend(const StrictGrant& grant, uint64_t max_seq, uint64_t raise_to) {
    Anew();
    const StrictExtend::Section section{grant.section, grant.token, max_seq, raise_to};
    return Rules::Extend(batch_, {Owner("a"), {section}}, now_).items[0];
  }
  StrictExtended Release(const StrictGrant& grant, uint64_t max_seq) {
    Anew();
    return Rules::Release(batch_, {Owner("a"), {{grant.section, grant.token, max_seq}}, ""}, now_)
        .items[0];
  }
  // Each call is one of its own.
  void Anew() {
    batch_.changed.clear();
    batch_.set_changed = batch_.loss_noticed = false;
  }

  Batch batch_;
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
};

TEST_F(StrictRulesTest, SectionsNearTheirLastNumbers_AreGrantedTheRest_AndOthersAsUsual) {
  Put(1, kMostNumber);
  Put(2, kMostNumber - 7);
  Put(3, 500);
  const auto taken =
      Rules::Take(batch_, {Owner("a"), {{1, kMostNumber}, {2, 0}, {3, 0}}}, now_).items;
  for (const StrictGrant& grant : taken) {
    EXPECT_EQ(grant.verdict, Verdict::kGranted) << grant.section;
    EXPECT_TRUE(CheckRecord(batch_.records[grant.section]).ok());
  }
  EXPECT_EQ(taken[0].start, kMostNumber);
  EXPECT_EQ(taken[0].max_seq, kMostNumber);
  EXPECT_EQ(taken[1].start, kMostNumber - 7);
  EXPECT_EQ(taken[1].max_seq, kMostNumber);
  EXPECT_EQ(taken[2].max_seq, 10'500u);

  Anew();
  StrictExtend extend{Owner("a"), {}};
  for (const StrictGrant& grant : taken) {
    extend.sections.push_back(
        {grant.section, grant.token, grant.max_seq, grant.max_seq + batch_.set.options.step});
  }
  const auto extended = Rules::Extend(batch_, extend, now_ + absl::Seconds(1)).items;
  for (const StrictExtended& one : extended) EXPECT_TRUE(one.held) << one.section;
  EXPECT_EQ(extended[0].max_seq, kMostNumber);
  EXPECT_EQ(extended[2].max_seq, 20'500u);
  EXPECT_EQ(batch_.records[1].ends_at, now_ + absl::Seconds(11)) << "renewed";
  EXPECT_EQ(batch_.set.losses, 0u);
}

TEST_F(StrictRulesTest, AnOwnerRaises_ToTheLimitAtMost_AndByAStepFromThere) {
  const StrictGrant grant = Take(3);
  EXPECT_EQ(Extend(grant, grant.max_seq, kMostRaise - 1).max_seq, kMostRaise - 1);
  EXPECT_EQ(Extend(grant, grant.max_seq, UINT64_MAX).max_seq, kMostRaise + kMostStrictStep - 1);
  EXPECT_EQ(batch_.set.losses, 0u);
}

// Neither by raise_to, nor by numbers that it claims the store forgot, in any call.
TEST_F(StrictRulesTest, ALiar_LeavesNumbersToAll) {
  const StrictGrant grant = Take(3);
  EXPECT_FALSE(Extend(grant, kMostNumber, 0).held) << "an answer that no store gave";
  EXPECT_EQ(batch_.set.losses, 1u);
  EXPECT_LT(batch_.records[3].max_seq, kMostRaise);
  EXPECT_TRUE(Release(grant, kMostNumber).held);
  EXPECT_EQ(batch_.records[3].max_seq, kMostRaise);

  now_ += batch_.set.options.ttl + absl::Seconds(1);
  const StrictGrant next = Take(3);
  EXPECT_EQ(next.start, kMostRaise);
  // With an earlier token: "granted to another one below what I used".
  EXPECT_FALSE(Extend(grant, kMostNumber, 0).held);
  EXPECT_EQ(batch_.records[3].max_seq, next.max_seq + kMostStrictStep);

  // And so a take.
  EXPECT_EQ(Take(4, kMostNumber).verdict, Verdict::kResting);
  now_ += batch_.set.options.ttl + absl::Seconds(1);
  const StrictGrant other = Take(4);
  EXPECT_EQ(other.verdict, Verdict::kGranted);
  EXPECT_EQ(other.start, kMostRaise);
}

TEST_F(StrictRulesTest, OwnersAfterARewind_AreBelievedUpToTheLimit) {
  const StrictGrant grant = Take(3);
  const StrictExtended extended = Extend(grant, kMostRaise, 0);
  EXPECT_TRUE(extended.held);
  EXPECT_EQ(extended.max_seq, kMostRaise);
  EXPECT_EQ(batch_.set.losses, 1u);
}

// A `seen` above the floor, from a wrong clock or a broken owner, is a loss once; then it is
// stored, and the set grants sections again.
TEST_F(StrictRulesTest, SeenAboveTheFloor_IsOneLoss_AndIsGrantedAfterTheRest) {
  for (const uint32_t section : {3, 4}) {
    if (section == 4) Put(section, 500);
    const uint64_t losses = batch_.set.losses;
    const uint64_t seen = kMostRaise - 5;
    EXPECT_EQ(Take(section, seen).verdict, Verdict::kResting);
    now_ += batch_.set.options.ttl + absl::Seconds(1);
    const StrictGrant grant = Take(section, seen);
    EXPECT_EQ(grant.verdict, Verdict::kGranted) << section;
    EXPECT_GE(grant.start, seen);
    EXPECT_EQ(batch_.set.losses, losses + 1);
    EXPECT_TRUE(CheckRecord(batch_.records[section]).ok());
    now_ += batch_.set.options.ttl + absl::Seconds(1);
  }
}

// By as much as its numbers may rise, a loss is covered.
TEST_F(StrictRulesTest, LargestStep_SectionChangesItsOwnerEverySecond_RisesWithTheFloor) {
  uint64_t& step = batch_.set.options.step;
  step = uint64_t{1} << 40;
  while (!batch_.set.options.Check().ok()) step /= 2;
  ASSERT_GT(step, 1u);
  const absl::Time began = now_ = kEpoch;
  constexpr int kSeconds = 10'000;
  for (int second = 0; second < kSeconds; ++second) {
    const StrictGrant grant = Take(3);
    ASSERT_EQ(grant.verdict, Verdict::kGranted);
    ASSERT_TRUE(Release(grant, grant.max_seq).held);
    now_ += absl::Seconds(1);
  }
  EXPECT_GE(FloorAt(now_) - FloorAt(began), batch_.records[3].max_seq);
  Batch older;
  older.set.options = batch_.set.options;
  Rules::NoteLoss(older, now_);
  EXPECT_GE(older.set.base, batch_.records[3].max_seq);
}

TEST_F(StrictRulesTest, EndedOwnership_IsGivenUpAsIfItWasReleased) {
  const StrictGrant grant = Take(3);
  Record& record = batch_.records[3];
  EXPECT_FALSE(Rules::GiveUpEnded(batch_.set, record, now_ + batch_.set.options.ttl));
  now_ += batch_.set.options.ttl + absl::Milliseconds(1);
  EXPECT_FALSE(Rules::GiveUpEnded(batch_.set, record, StoreTime(now_ - absl::Seconds(1), now_)))
      << "it may not have ended";
  EXPECT_TRUE(Rules::GiveUpEnded(batch_.set, record, now_));
  EXPECT_FALSE(Rules::GiveUpEnded(batch_.set, record, now_)) << "it has no owner";
  EXPECT_TRUE(record.owner.name.empty());
  EXPECT_TRUE(CheckRecord(record).ok());
  EXPECT_FALSE(Extend(grant, grant.max_seq, 50'000).held);
  EXPECT_EQ(batch_.set.losses, 0u) << "its owner knows of no more than is stored";
  EXPECT_EQ(Take(3).start, grant.max_seq);
}

TEST_F(StrictRulesTest, SectionOfASuccessorThatDidNotCome_IsGivenUp) {
  const StrictGrant grant = Take(3);
  Anew();
  Rules::Release(batch_, {Owner("a"), {{3, grant.token, grant.max_seq}}, "b"}, now_);
  Record& record = batch_.records[3];
  EXPECT_FALSE(Rules::GiveUpEnded(batch_.set, record, now_ + kHandOverRest));
  const uint64_t token = record.token;
  now_ += kHandOverRest + absl::Milliseconds(1);
  EXPECT_TRUE(Rules::GiveUpEnded(batch_.set, record, now_));
  EXPECT_EQ(record.successor, "");
  EXPECT_EQ(record.token, token);
}

}  // namespace
}  // namespace locus::strict
