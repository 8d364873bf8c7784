// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_INTERNAL_DEADLINE_H_
#define LOCUS_INTERNAL_DEADLINE_H_

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"
#include "locus/internal/cxx20.h"

namespace locus::internal {

// `timeout` from now. Infinite or longer than 100 years: 100 years; negative: now.
inline std::chrono::steady_clock::time_point DeadlineAfter(absl::Duration timeout) {
  constexpr absl::Duration kLongest = absl::Hours(100 * 365 * 24);
  return std::chrono::steady_clock::now() +
         absl::ToChronoNanoseconds(std::clamp(timeout, absl::ZeroDuration(), kLongest));
}

}  // namespace locus::internal

#endif  // LOCUS_INTERNAL_DEADLINE_H_
