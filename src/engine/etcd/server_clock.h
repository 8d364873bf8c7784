// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_SERVER_CLOCK_H_
#define LOCUS_SRC_ENGINE_ETCD_SERVER_CLOCK_H_

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/time/time.h"

namespace locus::etcd {

// A span in which the time of a clock lies.
struct TimeSpan {
  absl::Time earliest;
  absl::Time latest;

  absl::Time Nearest(absl::Time to) const { return std::clamp(to, earliest, latest); }
};

// A clock that is known by the Date headers of answers: whole seconds, rounded down, of some moment
// between request and answer. Each answer bounds it from both sides; the bounds of several narrow
// it below a second. An answer that contradicts the bounds (the clock was set, or another member
// answered, whose clock differs) starts them anew. Moments of this process are since boot.
// Thread safety: none.
class ServerClock {
 public:
  // nullopt: it is not an HTTP date.
  static std::optional<absl::Time> ParseDate(std::string_view date);

  void Note(absl::Time date, absl::Duration sent, absl::Duration received);
  // nullopt: there was no answer yet, or none since `not_before`.
  std::optional<TimeSpan> At(absl::Duration since_boot, absl::Duration not_before) const;

 private:
  bool known_ = false;
  absl::Duration newest_;
  // The clock less the time since boot.
  TimeSpan offset_;
};

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_SERVER_CLOCK_H_
