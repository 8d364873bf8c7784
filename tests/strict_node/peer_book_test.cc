// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/peer_book.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::locusd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

StrictNews Of(const std::string& name, std::vector<StrictPeer> others = {}) {
  StrictNews news;
  news.self = {name, name + ":1", 100};
  news.others = std::move(others);
  return news;
}

TEST(PeerBookTest, ANodeThatIsHeard_IsAliveForAWhile) {
  PeerBook book("me", "me:1");
  EXPECT_TRUE(*book.Heard(Of("a"), absl::Seconds(1)));
  EXPECT_FALSE(*book.Heard(Of("a"), absl::Seconds(2)));
  EXPECT_THAT(book.Live(absl::Seconds(2)), ElementsAre(StrictPeer{"a", "a:1", 100}));
  EXPECT_THAT(book.Live(absl::Seconds(2) + PeerBook::kAlive), IsEmpty());
  EXPECT_EQ(book.AddressOf("a"), "a:1") << "it is told where it was";
  EXPECT_EQ(book.AddressOf("b"), "");
  EXPECT_TRUE(*book.Heard(Of("a"), absl::Minutes(1))) << "it came back";
}

TEST(PeerBookTest, OneThatDoesNotAnswer_IsDeadAtOnce) {
  PeerBook book("me", "me:1");
  EXPECT_TRUE(book.Heard(Of("a"), absl::Seconds(1)).ok());
  book.Silent("a:1");
  EXPECT_THAT(book.Live(absl::Seconds(1)), IsEmpty());
  EXPECT_THAT(book.AddressesToAsk(absl::Seconds(1)), IsEmpty());
}

TEST(PeerBookTest, Rumours_AreAskedUntilTheyAreHeardOrSilent) {
  PeerBook book("me", "me:1");
  book.Rumour("a:1");
  book.Rumour("me:1");
  book.Rumour("");
  EXPECT_THAT(book.AddressesToAsk({}), ElementsAre("a:1"));
  EXPECT_TRUE(
      book.Heard(Of("a", {{"b", "b:1", 1}, {"me", "elsewhere:1", 1}}), absl::Seconds(1)).ok());
  EXPECT_THAT(book.AddressesToAsk(absl::Seconds(1)), ElementsAre("a:1", "b:1"));
  book.Silent("b:1");
  EXPECT_THAT(book.AddressesToAsk(absl::Seconds(1)), ElementsAre("a:1"));
}

TEST(PeerBookTest, OfItsOwnName_HearsNothing) {
  PeerBook book("me", "me:1");
  EXPECT_FALSE(*book.Heard(Of("me"), absl::Seconds(1)));
  EXPECT_THAT(book.Live(absl::Seconds(1)), IsEmpty());
}

TEST(PeerBookTest, ASecondNodeOfOneName_IsRefusedWhileTheFirstIsAlive) {
  PeerBook book("me", "me:1");
  StrictNews first = Of("a"), second = Of("a");
  second.self.address = "b:1";
  EXPECT_TRUE(*book.Heard(first, absl::Seconds(1)));
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<bool> refused = book.Heard(second, absl::Seconds(1));
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status()));
    EXPECT_THAT(refused.status().message(), HasSubstr("at b:1 is named a, as is the one at a:1"));
    EXPECT_FALSE(*book.Heard(first, absl::Seconds(1))) << "nothing is new";
  }
  EXPECT_EQ(book.AddressOf("a"), "a:1");
  // It was started anew elsewhere.
  book.Silent("a:1");
  EXPECT_TRUE(*book.Heard(second, absl::Seconds(2)));
  EXPECT_TRUE(*book.Heard(first, absl::Seconds(2) + PeerBook::kAlive));
}

TEST(PeerBookTest, AnotherWeight_IsNews) {
  PeerBook book("me", "me:1");
  EXPECT_TRUE(book.Heard(Of("a"), absl::Seconds(1)).ok());
  StrictNews news = Of("a");
  news.self.weight = 0;
  EXPECT_TRUE(*book.Heard(news, absl::Seconds(1)));
}

TEST(PeerBookTest, LoadsAndVersions_AreOfThoseThatAreAlive) {
  PeerBook book("me", "me:1");
  StrictNews a = Of("a"), b = Of("b");
  a.loads = {{1, 10}};
  a.table_version = 7;
  b.loads = {{2, 20}};
  b.table_version = 9;
  EXPECT_TRUE(book.Heard(a, absl::Seconds(1)).ok());
  EXPECT_TRUE(book.Heard(b, absl::Seconds(2)).ok());
  EXPECT_THAT(book.Loads(absl::Seconds(2)), ElementsAre(Pair(1, 10), Pair(2, 20)));
  EXPECT_EQ(book.TableVersion(absl::Seconds(2)), 9u);
  book.Silent("b:1");
  EXPECT_THAT(book.Loads(absl::Seconds(2)), ElementsAre(Pair(1, 10)));
  EXPECT_EQ(book.TableVersion(absl::Seconds(2)), 7u);
  EXPECT_TRUE(book.Heard(Of("a"), absl::Seconds(3)).ok());
  EXPECT_THAT(book.Loads(absl::Seconds(3)), ElementsAre(Pair(1, 10))) << "it was not asked";
}

TEST(PeerBookTest, MoreNamesThanItKeeps_PushTheDeadOut) {
  PeerBook book("me", "me:1");
  for (size_t i = 0; i < kMostPeers; ++i)
    EXPECT_TRUE(book.Heard(Of(absl::StrCat("n", i)), absl::Seconds(1)).ok());
  EXPECT_TRUE(book.Heard(Of("late"), absl::Seconds(1)).ok());
  EXPECT_THAT(book.Live(absl::Seconds(1)), SizeIs(kMostPeers));
  EXPECT_EQ(book.AddressOf("late"), "");
  EXPECT_TRUE(*book.Heard(Of("late"), absl::Minutes(1)));
  EXPECT_THAT(book.Live(absl::Minutes(1)), SizeIs(1));
}

}  // namespace
}  // namespace locus::locusd
