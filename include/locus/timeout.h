// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TIMEOUT_H_
#define LOCUS_TIMEOUT_H_

#include <chrono>

#include "absl/time/time.h"
#include "locus/internal/cxx20.h"

namespace locus {

// How long a call waits at most: an absl::Duration, or any std::chrono::duration (1s, 50ms). A
// number without a unit does not compile. Negative: as zero.
class Timeout {
 public:
  constexpr Timeout(absl::Duration timeout) : timeout_(timeout) {}  // NOLINT: implicit
  // Of durations longer than 2^53 ns, about 104 days, the last digits are rounded.
  template <typename Rep, typename Period>
  constexpr Timeout(std::chrono::duration<Rep, Period> timeout)  // NOLINT: implicit
      : timeout_(absl::Nanoseconds(std::chrono::duration<double, std::nano>(timeout).count())) {}

  constexpr operator absl::Duration() const { return timeout_; }  // NOLINT: implicit

 private:
  absl::Duration timeout_;
};

}  // namespace locus

#endif  // LOCUS_TIMEOUT_H_
