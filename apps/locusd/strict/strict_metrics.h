// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_STRICT_METRICS_H_
#define LOCUS_APPS_LOCUSD_STRICT_STRICT_METRICS_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "apps/locusd/strict/strict_node.h"

namespace locus::locusd {

// Requests for numbers since the start; counts, which publish nothing else.
struct StrictCounts {
  std::atomic<uint64_t> requests = 0;
  std::atomic<uint64_t> numbers = 0;
  std::atomic<uint64_t> refused = 0;      // at fault
  std::atomic<uint64_t> elsewhere = 0;    // 421
  std::atomic<uint64_t> unavailable = 0;  // 503
  std::atomic<uint64_t> failed = 0;       // 500
};

// For Prometheus.
std::string StrictMetrics(const StrictNode& node, const StrictCounts& counts);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_STRICT_METRICS_H_
