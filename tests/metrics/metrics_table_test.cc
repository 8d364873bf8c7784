// SPDX-License-Identifier: Apache-2.0
// What is derived from src/metrics/metrics.inc: docs/run/metrics.md, and the names that alerts and
// the dashboard use.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/base/text/text.h"
#include "src/metrics/metrics.h"

namespace locus::metrics {
namespace {

constexpr char kWrite[] =
    "LOCUS_WRITE_PAGES=1 build/dev/bin/tests_metrics --entry=metrics_table_test";

constexpr char kHead[] = R"(# Metrics

Every metric of `locusd`, of your own programs and of `locus move run`. `Add(...)` is a function of
`PrometheusText` (`include/locus/routing/metrics.h`), which also takes labels of your own. A metric
without a unit counts what its meaning names. A histogram has the samples NAME`_bucket` (label `le`),
NAME`_sum` and NAME`_count`.

Generated from `src/metrics/metrics.inc`:

    )";

std::filesystem::path Root() { return LOCUS_ROOT; }

std::string Read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// Behind the type.
const char* UnitText(Unit unit) {
  switch (unit) {
    case Unit::kCount:
      return "";
    case Unit::kSeconds:
      return ", seconds";
    case Unit::kTimestamp:
      return ", Unix time";
    case Unit::kBytes:
      return ", bytes";
    case Unit::kRatio:
      return ", 0 to 1";
    case Unit::kFlag:
      return ", 0 or 1";
    case Unit::kNumber:
      return ", number";
  }
  return "";
}

std::string Row(const Metric& metric) {
  using internal::ToAbsl;
  const std::string labels =
      metric.labels.empty() ? "" : absl::StrCat("{", ToAbsl(metric.labels), "}");
  return absl::StrCat("| `", ToAbsl(metric.name), labels, "` | ", ToAbsl(metric.type),
                      UnitText(metric.unit), " | ", ToAbsl(metric.help), " |\n");
}

std::string Page() {
  std::string page = absl::StrCat(kHead, kWrite, "\n");
#define LOCUS_METRICS(title, where)                     \
  absl::StrAppend(&page, "\n## ", title, "\n\n", where, \
                  ".\n\n| metric | type, unit | meaning |\n| --- | --- | --- |\n");
#define LOCUS_METRIC(name, ...) page += Row(name);
#include "src/metrics/metrics.inc"
  return page;
}

void AddNames(const Metric& metric, std::set<std::string>& names) {
  names.emplace(metric.name);
  if (metric.type != Histogram::kType) return;
  for (const char* part : {"_bucket", "_sum", "_count"}) {
    names.insert(std::string(metric.name) + part);
  }
}

std::set<std::string> Names() {
  std::set<std::string> names;
#define LOCUS_METRICS(title, where)
#define LOCUS_METRIC(name, ...) AddNames(name, names);
#include "src/metrics/metrics.inc"
  return names;
}

TEST(MetricsTableTest, ItsPage_SaysWhatTheTableSays) {
  const std::filesystem::path file = Root() / "docs/run/metrics.md";
  if (std::getenv("LOCUS_WRITE_PAGES") != nullptr) std::ofstream(file) << Page();
  EXPECT_EQ(Read(file), Page()) << "docs/run/metrics.md is stale. Write it again:\n  " << kWrite;
}

TEST(MetricsTableTest, AlertsAndDashboard_NameMetricsOfTheTable) {
  const std::set<std::string> names = Names();
  const std::regex name("\\b(locusd?|process)_[a-z0-9_]+\\b");
  for (const char* file : {"deploy/prometheus/locus.rules.yml", "deploy/grafana/locus.json"}) {
    const std::string text = Read(Root() / file);
    int found = 0;
    for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it, ++found) {
      EXPECT_TRUE(names.contains(it->str())) << file << " names " << it->str();
    }
    EXPECT_GT(found, 50) << file;
  }
}

}  // namespace
}  // namespace locus::metrics
