// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_ROUND_TIMES_H_
#define LOCUS_APPS_LOCUSD_STRICT_ROUND_TIMES_H_

#include <algorithm>

#include "absl/time/time.h"

namespace locus::locusd {

// When a node reads the table of its set, and when it moves sections by load. Times are of a clock
// that never falls. Both are due from the start.
// Thread safety: none.
class RoundTimes {
 public:
  static constexpr absl::Duration kSpreadEvery = absl::Seconds(10);

  // StrictSetOptions::ttl.
  explicit RoundTimes(absl::Duration ttl) : look_every_(ttl / 3) {}

  bool LookIsDue(absl::Duration now) const { return now >= look_due_; }
  bool SpreadIsDue(absl::Duration now) const { return now >= spread_due_; }
  absl::Duration UntilLook(absl::Duration now) const { return look_due_ - now; }

  // A round that began `now` is over. `looked`: it read the table, by which something changes after
  // `next_end` (RoundPlan); a round that did not puts no look off.
  void Ended(absl::Duration now, bool looked, absl::Duration next_end, bool spread) {
    if (looked) look_due_ = now + std::min(look_every_, next_end);
    if (spread) spread_due_ = now + kSpreadEvery;
  }

 private:
  const absl::Duration look_every_;
  absl::Duration look_due_ = -absl::InfiniteDuration();
  absl::Duration spread_due_ = -absl::InfiniteDuration();
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_ROUND_TIMES_H_
