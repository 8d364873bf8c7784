// SPDX-License-Identifier: Apache-2.0
#include "statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace shop {
namespace {

using locus::LatencyHistogram;
using Buckets = std::array<uint64_t, LatencyHistogram::kBuckets>;

// The upper bound of the bucket below which `share` of the calls lie, in microseconds; in the last
// bucket, which has none, `longest`.
int64_t QuantileOf(const Buckets& buckets, double share, int64_t longest) {
  uint64_t total = 0, seen = 0;
  for (const uint64_t count : buckets) total += count;
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(total)));
  for (size_t i = 0; i < LatencyHistogram::kUpperBounds.size(); ++i) {
    seen += buckets[i];
    if (total > 0 && seen >= wanted) {
      return std::min(longest, absl::ToInt64Microseconds(LatencyHistogram::kUpperBounds[i]));
    }
  }
  return total == 0 ? 0 : longest;
}

nlohmann::ordered_json WaitsJson(const Buckets& buckets, int64_t longest) {
  return {{"count", buckets},
          {"p50_us", QuantileOf(buckets, 0.5, longest)},
          {"p99_us", QuantileOf(buckets, 0.99, longest)},
          {"max_us", longest}};
}

// Members that the processes' lines add up to.
constexpr const char* kSums[] = {"writes_a_second", "writes",  "inserts",       "refused",
                                 "refusals",        "unknown", "open",          "reads",
                                 "failed_reads",    "stale",   "contradictions"};

std::string LineOf(const std::string& name, const nlohmann::ordered_json& one) {
  auto number = [&](const char* member) { return one[member].get<uint64_t>(); };
  auto wait = [&](const char* member) { return one["waits"][member].get<double>() / 1000; };
  return absl::StrFormat(
      "%-22s %8.0f writes/s %10d writes %7d refused %8d refusals %5d open  waits p50 %.0f p99 %.0f"
      " max %.0f ms  %d reads, %d stale\n",
      name, one["writes_a_second"].get<double>(), number("writes"), number("refused"),
      number("refusals"), number("open"), wait("p50_us"), wait("p99_us"), wait("max_us"),
      number("reads"), number("stale"));
}

}  // namespace

void Statistics::Count(const Written& written, bool insert, absl::Duration took) {
  std::lock_guard lock(mutex_);
  counts_.refusals += written.refusals;
  counts_.unknown += written.unknown;
  switch (written.outcome) {
    case Written::Outcome::kAcknowledged:
      ++counts_.writes;
      if (insert) ++counts_.inserts;
      if (written.refusals > 0) {
        counts_.waits.Add(took);
        counts_.longest_wait = std::max(counts_.longest_wait, took);
      }
      break;
    case Written::Outcome::kRefused:
      ++counts_.refused;
      counts_.last_refusal = std::string(written.status.message());
      break;
    case Written::Outcome::kOpen:
      ++counts_.open;
      break;
    case Written::Outcome::kContradicted:
      ++counts_.contradictions;
  }
}

void Statistics::CountRead(bool ok, bool stale) {
  std::lock_guard lock(mutex_);
  ++(ok ? counts_.reads : counts_.failed_reads);
  if (stale) ++counts_.stale;
}

ClientCounts Statistics::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

absl::Status WriteStatus(const std::string& path, const ClientStatus& status) {
  const ClientCounts& counts = status.counts;
  Buckets buckets{};
  for (size_t i = 0; i < buckets.size(); ++i) buckets[i] = counts.waits.count(i);
  const nlohmann::ordered_json json = {
      {"kind", status.kind},
      {"pid", status.pid},
      {"epoch", status.epoch},
      {"running_seconds", absl::ToDoubleSeconds(status.running)},
      {"writes_a_second", status.writes_a_second},
      {"writes", counts.writes},
      {"inserts", counts.inserts},
      {"refused", counts.refused},
      {"refusals", counts.refusals},
      {"unknown", counts.unknown},
      {"open", counts.open},
      {"reads", counts.reads},
      {"failed_reads", counts.failed_reads},
      {"stale", counts.stale},
      {"contradictions", counts.contradictions},
      {"waits", WaitsJson(buckets, absl::ToInt64Microseconds(counts.longest_wait))},
      {"last_refusal", counts.last_refusal}};
  const std::string beside = path + ".new";
  std::ofstream(beside) << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                        << "\n";
  std::error_code error;
  std::filesystem::rename(beside, path, error);
  if (error) return absl::UnavailableError(absl::StrCat(path, ": ", error.message()));
  return absl::OkStatus();
}

absl::StatusOr<std::string> StatusText(const std::string& directory, bool json) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".status") paths.push_back(entry.path());
  }
  if (paths.empty()) {
    return absl::NotFoundError(absl::StrCat(directory, " has no file *.status yet"));
  }
  std::sort(paths.begin(), paths.end());
  nlohmann::ordered_json sum, clients;
  Buckets buckets{};
  int64_t longest = 0;
  std::string text;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path);
    nlohmann::ordered_json one = nlohmann::ordered_json::parse(file, nullptr, false);
    const bool whole = one.is_object() && one.contains("waits") && one.contains("kind") &&
                       one["waits"]["count"].size() == buckets.size();
    if (!whole) return absl::DataLossError(absl::StrCat(path.string(), " is no status"));
    for (const char* member : kSums) {
      sum[member] = sum.contains(member) ? sum[member].get<double>() + one[member].get<double>()
                                         : one[member].get<double>();
    }
    for (size_t i = 0; i < buckets.size(); ++i) {
      buckets[i] += one["waits"]["count"][i].get<uint64_t>();
    }
    longest = std::max(longest, one["waits"]["max_us"].get<int64_t>());
    const std::string name = path.stem().string();
    text += LineOf(absl::StrCat(name, " ", one["kind"].get<std::string>()), one);
    clients[name] = std::move(one);
  }
  for (const char* member : kSums) {
    if (std::string_view(member) != "writes_a_second") {
      sum[member] = static_cast<uint64_t>(sum[member].get<double>());
    }
  }
  sum["waits"] = WaitsJson(buckets, longest);
  if (!json) return absl::StrCat(text, LineOf("together", sum));
  sum["clients"] = std::move(clients);
  return absl::StrCat(sum.dump(), "\n");
}

}  // namespace shop
