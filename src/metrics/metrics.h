// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_METRICS_METRICS_H_
#define LOCUS_SRC_METRICS_METRICS_H_

#include <string_view>

#include "locus/internal/metrics_text.h"

// What locus shows to Prometheus. metrics.inc declares each metric once: this header makes a
// constant of it, MetricsText writes it, and docs/run/metrics.md is generated from it. A constant
// is called as its metric, so that a search for the name in an alert finds the line that sets it.

namespace locus::metrics {

enum class Unit {
  kCount,      // of the things that the help names
  kSeconds,    // a duration
  kTimestamp,  // seconds of Unix time
  kBytes,
  kRatio,   // 0 to 1
  kFlag,    // 0 or 1
  kNumber,  // an epoch, a version or an index
};

struct Metric {
  std::string_view name;
  std::string_view type;  // as in # TYPE
  Unit unit;
  std::string_view labels;  // with commas between
  std::string_view help;    // one line without a backslash
};
struct Counter : Metric {
  static constexpr std::string_view kType = "counter";
};
struct Gauge : Metric {
  static constexpr std::string_view kType = "gauge";
};
struct Histogram : Metric {
  static constexpr std::string_view kType = "histogram";
};

// Whether the name says type and unit in the way that Prometheus recommends.
constexpr bool IsWellNamed(const Metric& metric) {
  const std::string_view name = metric.name;
  const bool time = name.ends_with("_timestamp_seconds") || name.ends_with("_time_seconds");
  return (name.starts_with("locus_") || name.starts_with("locusd_") ||
          name.starts_with("process_")) &&
         name.ends_with("_total") == (metric.type == Counter::kType) &&
         time == (metric.unit == Unit::kTimestamp) &&
         (name.ends_with("_seconds") && !time) == (metric.unit == Unit::kSeconds) &&
         name.ends_with("_bytes") == (metric.unit == Unit::kBytes) &&
         name.ends_with("_ratio") == (metric.unit == Unit::kRatio);
}

#define LOCUS_METRICS(title, where)
#define LOCUS_METRIC(name, type, unit, labels, help)                          \
  inline constexpr type name{{#name, type::kType, Unit::unit, labels, help}}; \
  static_assert(IsWellNamed(name));
#include "src/metrics/metrics.inc"

}  // namespace locus::metrics

#endif  // LOCUS_SRC_METRICS_METRICS_H_
