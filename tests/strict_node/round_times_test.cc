// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/round_times.h"

#include "gtest/gtest.h"

namespace locus::locusd {
namespace {

// The longest time between two looks of a node that has a round each second, for ten minutes.
absl::Duration LongestWithoutLook(absl::Duration ttl) {
  RoundTimes times(ttl);
  absl::Duration looked, longest;
  for (absl::Duration now; now < absl::Minutes(10); now += absl::Seconds(1)) {
    const bool looks = times.LookIsDue(now);
    const bool spreads = times.SpreadIsDue(now);
    longest = std::max(longest, now - looked);
    if (looks) looked = now;
    if (looks || spreads) times.Ended(now, looks, absl::InfiniteDuration(), spreads);
  }
  return longest;
}

TEST(RoundTimesTest, LongOwnerships_AreCheckedEveryThird) {
  for (const int seconds : {3, 10, 30, 31, 60, 600}) {
    const absl::Duration ttl = absl::Seconds(seconds);
    EXPECT_LE(LongestWithoutLook(ttl), ttl / 3 + absl::Seconds(1)) << ttl;
  }
}

TEST(RoundTimesTest, AnOwnershipThatEnds_IsCheckedThen) {
  RoundTimes times(absl::Minutes(1));
  times.Ended({}, /*looked=*/true, absl::Seconds(5), /*spread=*/true);
  times.Ended(absl::Seconds(4), /*looked=*/false, absl::Seconds(5), /*spread=*/true);
  EXPECT_FALSE(times.LookIsDue(absl::Seconds(4)));
  EXPECT_TRUE(times.LookIsDue(absl::Seconds(5)));
  EXPECT_FALSE(times.SpreadIsDue(absl::Seconds(13)));
  EXPECT_TRUE(times.SpreadIsDue(absl::Seconds(14)));
}

}  // namespace
}  // namespace locus::locusd
