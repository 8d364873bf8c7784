// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/cluster/machine/counter/counters.h"

namespace locus::counter_machine {
namespace {

absl::Status OutOf(const char* what, int64_t is, int64_t least, const char* to) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " of a counter is ", is, "; it must be ", least, " to ", to));
}

}  // namespace

absl::Status Check(const Call& call) {
  if (call.name.empty() || call.name.size() > kLongestName) {
    return absl::InvalidArgumentError(absl::StrCat("the name of a counter has ", call.name.size(),
                                                   " bytes; it must have 1 to ", kLongestName));
  }
  const bool takes = call.kind == Call::Kind::kTake;
  if (call.number < (takes ? 1 : 0)) {
    return OutOf(takes ? "the span" : "the value", call.number, takes ? 1 : 0, "2^63 - 1");
  }
  if (call.max_value < 0) return OutOf("the max_value", call.max_value, 0, "2^63 - 1");
  if (takes && call.last_of_first < 1) {
    return OutOf("the last_of_first", call.last_of_first, 1, "2^63 - 1");
  }
  const int64_t highest = std::max(call.number, call.last_of_first);
  if (takes && call.max_value > 0 && highest > call.max_value) {
    return absl::InvalidArgumentError(absl::StrCat("a counter is to rise by ", call.number,
                                                   " or to begin with ", call.last_of_first,
                                                   "; its max_value is ", call.max_value));
  }
  if (call.wraps && call.max_value == 0) {
    return absl::InvalidArgumentError("a counter wraps that has no max_value");
  }
  if (call.last < 0) return OutOf("the last number", call.last, 0, "2^63 - 1");
  if (call.ttl < absl::ZeroDuration() || call.ttl > kLongestTtl) {
    return absl::InvalidArgumentError(absl::StrCat("the ttl of a counter is ",
                                                   absl::FormatDuration(call.ttl),
                                                   "; it must be 0 to 36500 days"));
  }
  return absl::OkStatus();
}

}  // namespace locus::counter_machine
