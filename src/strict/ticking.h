// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_STRICT_TICKING_H_
#define LOCUS_SRC_STRICT_TICKING_H_

#include <cstdint>

#include "locus/clock.h"
#include "src/base/run/tick_clock.h"

namespace locus::strict {

// The ticks up to which sections may be used without reading the clock. There are none for a clock
// that is not the system's, or if the kernel does not trust the processor's counter.
// Thread safety: none.
class Ticking {
 public:
  explicit Ticking(Clock& clock) : clock_(clock), of_system_(&clock == &Clock::System()) {}

  // Measures the counter once a second. True: it measured, and earlier ticks should be replaced.
  bool Measure();
  // 0: none.
  uint64_t TickOf(int64_t deadline_ns) const;

 private:
  internal::TickClock::Sample Sample() const;

  Clock& clock_;
  const bool of_system_;
  internal::TickClock ticks_;
  int64_t next_ns_ = 0;
};

}  // namespace locus::strict

#endif  // LOCUS_SRC_STRICT_TICKING_H_
