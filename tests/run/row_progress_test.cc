// SPDX-License-Identifier: Apache-2.0
#include "migration/run/row_progress.h"

#include "gtest/gtest.h"

namespace locus::mysql {
namespace {

using std::chrono::seconds;

const RowProgress::TimePoint kBegun{seconds(1000)};

TEST(RowProgressTest, SteadyRows_GiveTheRateAndTheRest) {
  RowProgress progress;
  progress.Begin(0, 0, kBegun);
  progress.Expect(6'000);
  progress.Expect(4'000);
  EXPECT_EQ(progress.At(kBegun).left, absl::InfiniteDuration()) << "no row yet";
  for (int i = 0; i <= 20; ++i) progress.Reached(100u * i, kBegun + seconds(i));
  const RowProgress::Sight sight = progress.At(kBegun + seconds(20));
  EXPECT_EQ(sight.rows, 2'000u);
  EXPECT_EQ(sight.estimated, 10'000u);
  EXPECT_DOUBLE_EQ(sight.rows_per_second, 100);
  EXPECT_EQ(sight.left, absl::Seconds(80));
}

// A full table: the rows copied so far do not show when it continues.
TEST(RowProgressTest, Stopped_NothingIsKnownOfTheRest) {
  RowProgress progress;
  progress.Begin(0, 10'000, kBegun);
  for (int i = 0; i <= 20; ++i) progress.Reached(100u * i, kBegun + seconds(i));
  for (int i = 31; i < 200; ++i) {
    progress.Reached(2'000, kBegun + seconds(i));  // tried again, and nothing added
    const RowProgress::Sight sight = progress.At(kBegun + seconds(i));
    EXPECT_TRUE(sight.stands_still());
    EXPECT_EQ(sight.idle, absl::Seconds(i - 20));
    EXPECT_EQ(sight.left, absl::InfiniteDuration());
    EXPECT_DOUBLE_EQ(sight.rows_per_second, 100) << "what was measured while it went on";
  }
  progress.Reached(2'600, kBegun + seconds(206));
  progress.Reached(2'700, kBegun + seconds(207));
  EXPECT_EQ(progress.At(kBegun + seconds(207)).left, absl::Seconds(73));
}

TEST(RowProgressTest, RowsOfARunnerThatIsGone_CountButNotForTheRate) {
  RowProgress progress;
  progress.Begin(9'000, 10'000, kBegun);
  progress.Reached(9'100, kBegun + seconds(10));
  EXPECT_DOUBLE_EQ(progress.At(kBegun + seconds(10)).rows_per_second, 10);
  EXPECT_EQ(progress.At(kBegun + seconds(10)).left, absl::Seconds(90));
}

TEST(RowProgressTest, AnotherAttempt_ShowsTheEstimateBeforeUntilItHasItsOwn) {
  RowProgress progress;
  progress.Begin(0, 0, kBegun);
  progress.Expect(6'000);
  progress.Reached(100, kBegun + seconds(1));
  progress.BeginAgain(kBegun + seconds(2));
  EXPECT_EQ(progress.At(kBegun + seconds(2)).estimated, 6'000u);
  EXPECT_EQ(progress.At(kBegun + seconds(2)).rows, 100u);
  progress.Expect(3'000);
  progress.Expect(1'000);
  EXPECT_EQ(progress.At(kBegun + seconds(3)).estimated, 4'000u);
}

TEST(RowProgressTest, MoreRowsThanEstimated_NothingIsKnownOfTheRest) {
  RowProgress progress;
  progress.Begin(0, 100, kBegun);
  progress.Reached(200, kBegun + seconds(1));
  EXPECT_GT(progress.At(kBegun + seconds(1)).rows_per_second, 0);
  EXPECT_EQ(progress.At(kBegun + seconds(1)).left, absl::InfiniteDuration());
}

}  // namespace
}  // namespace locus::mysql
