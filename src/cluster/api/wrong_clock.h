// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_WRONG_CLOCK_H_
#define LOCUS_SRC_CLUSTER_API_WRONG_CLOCK_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace locus::cluster_api {

// Beyond it callers with max_skew of its default, 10 s, are soon refused.
inline constexpr absl::Duration kMostClockOff = absl::Seconds(5);

// The flaw and its remedy; empty: none. `off`: a node's clock less the cluster's time.
inline std::string WrongClock(absl::Duration off) {
  if (absl::AbsDuration(off) <= kMostClockOff) return "";
  const bool ahead = off > absl::ZeroDuration();
  return absl::StrCat(
      "its clock is ", absl::FormatDuration(absl::AbsDuration(off)),
      ahead ? " ahead of" : " behind",
      " the cluster's time: mend its NTP. If the clocks of most nodes are right, the time is ",
      ahead ? "behind and gains 1/16; locus cluster time --advance sets it at once"
            : "ahead and runs at 1/16 until they have caught up (locus cluster time)");
}

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_WRONG_CLOCK_H_
