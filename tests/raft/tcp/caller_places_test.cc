// SPDX-License-Identifier: Apache-2.0
#include "src/raft/tcp/caller_places.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::raft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CallerPlacesTest : public ::testing::Test {
 protected:
  CallerPlaces::Caller Enter(const std::string& address) {
    places_.Enter(++last_, address, leaves_);
    return last_;
  }
  CallerPlaces::Caller Come(NodeId id, bool heard = false) {
    const CallerPlaces::Caller caller = Enter("1.1.1.1");
    places_.Name(caller, id, false, leaves_);
    if (heard) places_.Hear(caller);
    return caller;
  }

  std::vector<CallerPlaces::Caller> gone_;
  const CallerPlaces::Leaves leaves_ = [this](CallerPlaces::Caller caller) {
    gone_.push_back(caller);
  };
  CallerPlaces places_{{.unnamed = 3, .strangers = 2, .of_one = 2}};
  CallerPlaces::Caller last_ = 0;
};

TEST_F(CallerPlacesTest, TooManyUnnamed_TheOldestOfTheBusiestAddressLeaves) {
  Enter("2.2.2.2");
  const auto first = Enter("1.1.1.1");
  const auto second = Enter("1.1.1.1");
  EXPECT_THAT(gone_, IsEmpty());
  Enter("3.3.3.3");
  EXPECT_THAT(gone_, ElementsAre(first));
  Enter("1.1.1.1");
  EXPECT_THAT(gone_, ElementsAre(first, second));
  EXPECT_EQ(places_.size(), 3u);
}

TEST_F(CallerPlacesTest, StrangersShareFewPlaces_MembersDoNotCount) {
  places_.set_members({1, 2, 3});
  for (NodeId id = 1; id <= 3; ++id) Come(id);
  const auto silent = Come(10);
  const auto heard = Come(11, true);
  EXPECT_THAT(gone_, IsEmpty());
  const auto next = Come(12, true);
  EXPECT_THAT(gone_, ElementsAre(silent));
  // All have sent something: the one that was silent longest.
  Come(13);
  EXPECT_THAT(gone_, ElementsAre(silent, heard));
  places_.Hear(next);
  places_.Leave(last_);
  Come(14);
  EXPECT_EQ(gone_.size(), 2u);
}

TEST_F(CallerPlacesTest, SilentCallerUnderAMembersId_LeavesBeforeTheMember) {
  places_.set_members({1, 2});
  const auto member = Come(2, true);
  const auto liar = Come(2);
  Come(2);
  EXPECT_THAT(gone_, ElementsAre(liar));
  // The member calls anew: what it has lost leaves once both have sent something.
  const auto anew = last_;
  places_.Hear(anew);
  Come(2);
  EXPECT_THAT(gone_, ElementsAre(liar, member));
}

TEST_F(CallerPlacesTest, FormerMember_IsAStranger) {
  places_.set_members({1, 2});
  const auto former = Come(2);
  places_.set_members({1});
  Come(10);
  Come(11);
  EXPECT_THAT(gone_, ElementsAre(former));
}

}  // namespace
}  // namespace locus::raft
