// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_INTERNAL_METRICS_TEXT_H_
#define LOCUS_INTERNAL_METRICS_TEXT_H_

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "locus/latency_histogram.h"

namespace locus::metrics {

// Of src/metrics/metrics.h, which has a constant for each metric.
struct Metric;
struct Counter;
struct Gauge;
struct Histogram;

// Writes every /metrics of locus: samples as the text that Prometheus scrapes. It takes only
// metrics of the table; their types are checked by the compiler. Thread safety: none.
class MetricsText {
 public:
  // As PrometheusText::Labels.
  using Labels = std::vector<std::pair<std::string, std::string>>;

  void Add(const Counter& metric, uint64_t value, const Labels& labels = {});
  void Add(const Gauge& metric, double value, const Labels& labels = {});
  void Add(const Gauge& metric, absl::Duration value, const Labels& labels = {});
  void Add(const Gauge& metric, std::integral auto value, const Labels& labels = {}) {
    Add(metric, static_cast<double>(value), labels);
  }
  // As seconds of Unix time.
  void Add(const Gauge& metric, absl::Time value, const Labels& labels = {});
  void Add(const Histogram& metric, const LatencyHistogram& value, const Labels& labels = {});
  // Shows name, help and type even where no sample is added.
  void Show(const Metric& metric);

  // Everything that was added, by name. The samples of a metric stand together, behind its HELP and
  // TYPE.
  std::string ToString() const;

 private:
  struct Family {
    const Metric* metric;
    std::string samples;
  };

  std::string& SamplesOf(const Metric& metric);

  std::map<std::string_view, Family> families_;
};

}  // namespace locus::metrics

#endif  // LOCUS_INTERNAL_METRICS_TEXT_H_
