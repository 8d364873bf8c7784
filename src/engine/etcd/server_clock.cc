// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/server_clock.h"

#include <string>

#include "src/base/text/text.h"

namespace locus::etcd {

using internal::ToAbsl;

std::optional<absl::Time> ServerClock::ParseDate(std::string_view date) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", ToAbsl(date), &time, &error)) {
    return std::nullopt;
  }
  // ParseTime also takes "infinite-future", and years with which later sums would overflow.
  if (time < absl::UnixEpoch() || time > absl::FromUnixSeconds(int64_t{1} << 33)) {
    return std::nullopt;
  }
  return time;
}

void ServerClock::Note(absl::Time date, absl::Duration sent, absl::Duration received) {
  TimeSpan offset{date - received, date + absl::Seconds(1) - sent};
  newest_ = received;
  bool agrees = known_ && offset.earliest <= offset_.latest && offset_.earliest <= offset.latest;
  if (agrees) {
    offset.earliest = std::max(offset.earliest, offset_.earliest);
    offset.latest = std::min(offset.latest, offset_.latest);
  }
  known_ = true;
  offset_ = offset;
}

std::optional<TimeSpan> ServerClock::At(absl::Duration since_boot,
                                        absl::Duration not_before) const {
  if (!known_ || newest_ < not_before) return std::nullopt;
  return TimeSpan{offset_.earliest + since_boot, offset_.latest + since_boot};
}

}  // namespace locus::etcd
