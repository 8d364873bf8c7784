// SPDX-License-Identifier: Apache-2.0
#include "src/counter/callers_clock.h"

#include <algorithm>

namespace locus::internal {
namespace {

// A thread may be suspended between two readings of one clock.
constexpr absl::Duration kNoJump = absl::Seconds(1);

}  // namespace

CallersClock::CallersClock(Clock& clock, absl::Duration ttl)
    : clock_(clock),
      believed_after_(ttl == absl::ZeroDuration() ? absl::Hours(24) : ttl),
      boot_(clock.Now() - clock.SinceBoot()) {}

absl::Time CallersClock::Earlier() {
  const absl::Time wall = clock_.Now();
  const absl::Duration since_boot = clock_.SinceBoot();
  const absl::Time boot = wall - since_boot;
  if (home_.forked()) return wall;
  MutexLock lock(mutex_);
  if (boot <= boot_) {
    boot_ = boot;
    later_.reset();
    return wall;
  }
  if (!later_ || boot > later_->boot + kNoJump) {
    later_ = Later{boot, since_boot};
  } else {
    later_->boot = std::min(later_->boot, boot);
  }
  if (since_boot - later_->since >= believed_after_) {
    boot_ = later_->boot;
    later_.reset();
  }
  return std::min(wall, boot_ + since_boot);
}

}  // namespace locus::internal
