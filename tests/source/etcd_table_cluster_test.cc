// SPDX-License-Identifier: Apache-2.0
// Routing tables followed through the loss of members of a cluster of three.
#include <algorithm>

#include "tests/source/etcd_table_place.h"

namespace locus {
namespace {

class EtcdTableClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start());
    publisher_ = MustMakePublisher(server_.options());
    Publish();
  }
  void Publish() {
    ++epoch_;
    MustPublish(*publisher_, TableOfEpoch(epoch_), epoch_ - 1);
  }
  EtcdOptions BeginningWith(int member) {
    EtcdOptions options = server_.options();
    std::rotate(options.endpoints.begin(), options.endpoints.begin() + member,
                options.endpoints.end());
    return options;
  }
  // Follows from `member`, until its stream is open.
  std::unique_ptr<EtcdTableSource> FollowFrom(int member) {
    auto source = MustFollow(BeginningWith(member));
    known_ = NewsOf(*source, "").version;
    EXPECT_TRUE(
        WaitUntil([&] { return NextWithin(*source, known_, absl::Milliseconds(50)).ok(); }));
    return source;
  }
  void ExpectNews(TableSource& source) {
    SourcedTable news = NewsOf(source, known_);
    EXPECT_EQ(EpochOf(news), epoch_);
    known_ = news.version;
  }
  int Leader() {
    int leader = -1;
    EXPECT_TRUE(WaitUntil([&] { return (leader = server_.Leader()) >= 0; }));
    return leader;
  }

  EtcdServer server_{3};
  std::unique_ptr<EtcdTablePublisher> publisher_;
  uint64_t epoch_ = 0;
  std::string known_;
};

TEST_F(EtcdTableClusterTest, MemberKilled_IsLeftForAnotherAtOnce) {
  for (bool leader_dies : {true, false}) {
    int leader = Leader();
    int victim = leader_dies ? leader : (leader + 1) % 3;
    auto source = FollowFrom(victim);
    server_.KillHard(victim);
    // Without any publication the followed table is confirmed, by the others.
    EXPECT_TRUE(WaitUntil([&] {
      auto answer = NextWithin(*source, known_, absl::Milliseconds(100));
      EXPECT_FALSE(answer.ok() && answer->has_value());
      return answer.ok();
    }));
    Publish();
    ExpectNews(*source);
    ASSERT_TRUE(server_.StartMember(victim));
    ASSERT_TRUE(server_.WaitForLeader());
    Publish();
    ExpectNews(*source);
  }
}

TEST_F(EtcdTableClusterTest, MemberStalled_IsFoundByTheDeadlineAndLeft) {
  for (bool leader_stalls : {false, true}) {
    int leader = Leader();
    int victim = leader_stalls ? leader : (leader + 1) % 3;
    auto source = FollowFrom(victim);
    // The publisher's member is another one.
    publisher_ = MustMakePublisher(BeginningWith((victim + 1) % 3));
    server_.Stall(victim);
    Publish();
    ExpectNews(*source);
    Publish();
    auto answer = NextWithin(*source, known_, absl::Seconds(60));
    ASSERT_TRUE(answer.ok() && answer->has_value()) << answer.status();
    EXPECT_EQ(EpochOf(**answer), epoch_);
    server_.Resume(victim);
    ASSERT_TRUE(server_.WaitForLeader());
  }
}

// The stream is on the stalled member, and the confirmation comes from another one: the source goes
// there, so that news need no deadline.
TEST_F(EtcdTableClusterTest, StreamOnStalledMember_GoesWhereConfirmationsComeFrom) {
  int victim = (Leader() + 1) % 3;
  auto source = FollowFrom(victim);
  publisher_ = MustMakePublisher(BeginningWith((victim + 1) % 3));
  server_.Stall(victim);
  absl::StatusOr<std::optional<SourcedTable>> answer;
  ASSERT_TRUE(WaitUntil([&] {
    answer = NextWithin(*source, known_, absl::Milliseconds(100));
    return answer.ok();
  })) << answer.status();
  EXPECT_FALSE(answer->has_value());
  Publish();
  answer = NextWithin(*source, known_, absl::Seconds(600));
  ASSERT_TRUE(answer.ok() && answer->has_value()) << answer.status();
  EXPECT_EQ(EpochOf(**answer), epoch_);
  server_.Resume(victim);
}

TEST_F(EtcdTableClusterTest, MemberThatLosesItsLeader_EndsTheStream) {
  int follower = (Leader() + 1) % 3;
  EtcdOptions options = server_.options(follower);
  auto source = MustFollow(options);
  known_ = NewsOf(*source, "").version;
  ASSERT_TRUE(NextWithin(*source, known_, absl::Milliseconds(50)).ok());
  server_.KillHard((follower + 1) % 3);
  server_.KillHard((follower + 2) % 3);
  absl::Status status = NextWithin(*source, known_, absl::Seconds(60)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  ASSERT_TRUE(server_.StartMember((follower + 1) % 3));
  ASSERT_TRUE(server_.StartMember((follower + 2) % 3));
  ASSERT_TRUE(server_.WaitForLeader());
  Publish();
  ExpectNews(*source);
}

TEST_F(EtcdTableClusterTest, AllMembersDownAndUp_IsFollowedOn) {
  auto source = FollowFrom(0);
  server_.KillHard();
  absl::Status status = NextWithin(*source, known_, absl::Seconds(60)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::IsUnavailable(publisher_->Current().status()));
  ASSERT_TRUE(server_.Start());
  Publish();
  ExpectNews(*source);
}

}  // namespace
}  // namespace locus
