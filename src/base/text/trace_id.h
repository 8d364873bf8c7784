// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_TEXT_TRACE_ID_H_
#define LOCUS_SRC_BASE_TEXT_TRACE_ID_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"

namespace locus::internal {

// The trace that a request belongs to (W3C Trace Context). Empty: of none.
struct TraceId {
  uint64_t high = 0;
  uint64_t low = 0;

  bool empty() const { return high == 0 && low == 0; }
  friend bool operator==(const TraceId&, const TraceId&) = default;
};

// 32 hex digits; empty: none.
inline std::string ToString(const TraceId& trace) {
  return trace.empty() ? "" : absl::StrFormat("%016x%016x", trace.high, trace.low);
}

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_TEXT_TRACE_ID_H_
