// SPDX-License-Identifier: Apache-2.0
#include "locus/internal/metrics_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"
#include "src/metrics/metrics.h"

namespace locus::metrics {

using internal::ToAbsl;

namespace {

// StrCat has six digits, which would round counters and times.
std::string NumberText(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  if (std::isnan(value)) return "NaN";
  char text[32];
  // Whole numbers with all their digits: 3127529914433960, not 3.12752991443396e+15.
  if (std::trunc(value) == value && std::abs(value) < 0x1p53) {
    std::snprintf(text, sizeof text, "%.0f", value);
    return text;
  }
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

std::string EscapedValue(std::string_view value) {
  std::string escaped;
  for (char c : value) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string LabelName(std::string_view name) {
  std::string valid;
  for (char c : name) {
    bool digit = c >= '0' && c <= '9';
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    valid += letter || (digit && !valid.empty()) ? c : '_';
  }
  return valid.empty() ? "_" : valid;
}

std::string LabelText(const MetricsText::Labels& labels) {
  if (labels.empty()) return "";
  std::string text = "{";
  for (const auto& [name, value] : labels) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "", LabelName(name), "=\"", EscapedValue(value),
                    "\"");
  }
  return text + "}";
}

void AppendSample(std::string& samples, const Metric& metric, const char* suffix,
                  const MetricsText::Labels& labels, const std::string& value) {
  absl::StrAppend(&samples, ToAbsl(metric.name), suffix, LabelText(labels), " ", value, "\n");
}

}  // namespace

std::string& MetricsText::SamplesOf(const Metric& metric) {
  return families_.try_emplace(metric.name, Family{&metric, ""}).first->second.samples;
}

void MetricsText::Show(const Metric& metric) { SamplesOf(metric); }

void MetricsText::Add(const Counter& metric, uint64_t value, const Labels& labels) {
  AppendSample(SamplesOf(metric), metric, "", labels, absl::StrCat(value));
}

void MetricsText::Add(const Gauge& metric, double value, const Labels& labels) {
  AppendSample(SamplesOf(metric), metric, "", labels, NumberText(value));
}

void MetricsText::Add(const Gauge& metric, absl::Duration value, const Labels& labels) {
  Add(metric, absl::ToDoubleSeconds(value), labels);
}

void MetricsText::Add(const Gauge& metric, absl::Time value, const Labels& labels) {
  Add(metric, value - absl::UnixEpoch(), labels);
}

void MetricsText::Add(const Histogram& metric, const LatencyHistogram& value,
                      const Labels& labels) {
  std::string& samples = SamplesOf(metric);
  uint64_t count = 0;
  for (size_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
    count += value.count(i);
    const double bound = i < LatencyHistogram::kUpperBounds.size()
                             ? absl::ToDoubleSeconds(LatencyHistogram::kUpperBounds[i])
                             : HUGE_VAL;
    Labels with_bound = labels;
    with_bound.emplace_back("le", NumberText(bound));
    AppendSample(samples, metric, "_bucket", with_bound, absl::StrCat(count));
  }
  AppendSample(samples, metric, "_sum", labels, NumberText(absl::ToDoubleSeconds(value.sum())));
  AppendSample(samples, metric, "_count", labels, absl::StrCat(count));
}

std::string MetricsText::ToString() const {
  std::string text;
  for (const auto& [name, family] : families_) {
    const Metric& metric = *family.metric;
    absl::StrAppend(&text, "# HELP ", ToAbsl(name), " ", ToAbsl(metric.help), "\n# TYPE ",
                    ToAbsl(name), " ", ToAbsl(metric.type), "\n", family.samples);
  }
  return text;
}

}  // namespace locus::metrics
