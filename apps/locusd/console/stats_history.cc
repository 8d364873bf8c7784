// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/stats_history.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/locusd/console/json_text.h"
#include "locus/shard_gene.h"

namespace locus::locusd {

namespace json = boost::json;

namespace {

constexpr size_t kMostSequences = 50;
constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

// Whole milliseconds, or null where there is no end.
json::value Milliseconds(absl::Duration duration) {
  if (duration == absl::InfiniteDuration() || duration == -absl::InfiniteDuration()) return nullptr;
  return absl::ToInt64Milliseconds(duration);
}
json::value ErrorOf(const absl::Status& status) {
  if (status.ok()) return nullptr;
  return JsonText(absl::StrCat(status.message()));
}

float MillisecondsOf(absl::Duration duration) {
  const double ms = absl::ToDoubleMilliseconds(duration);
  return std::isfinite(ms) ? static_cast<float>(ms) : kUnknown;
}

// The bound of the bucket in which this part of the calls ends.
json::value Quantile(const LatencyHistogram& histogram, double part) {
  const double wanted = part * static_cast<double>(histogram.total());
  uint64_t below = 0;
  for (size_t i = 0; i < LatencyHistogram::kUpperBounds.size(); ++i) {
    below += histogram.count(i);
    if (below > 0 && static_cast<double>(below) >= wanted) {
      return absl::ToDoubleMilliseconds(LatencyHistogram::kUpperBounds[i]);
    }
  }
  return nullptr;
}

json::object LatencyOf(const LatencyHistogram& histogram) {
  const uint64_t calls = histogram.total();
  const double mean =
      calls == 0 ? 0 : absl::ToDoubleMilliseconds(histogram.sum()) / static_cast<double>(calls);
  return {{"calls", calls},
          {"mean_ms", mean},
          {"p50_ms", Quantile(histogram, 0.5)},
          {"p99_ms", Quantile(histogram, 0.99)}};
}

json::object StoreOf(const StoreStats& store) {
  return {{"name", JsonText(store.name)},
          {"first_section", store.first_section},
          {"last_section", store.last_section},
          {"allocations", store.allocations},
          {"store_calls", store.store_calls},
          {"store_failures", store.store_failures},
          {"losses", store.losses},
          {"starved", store.starved},
          {"autonomy_ms", Milliseconds(store.autonomy)},
          {"lead_ms", Milliseconds(store.lead)},
          {"clock_offset_ms", Milliseconds(store.clock_offset)},
          {"store_latency", LatencyOf(store.store_latency)},
          {"stalled_ms", Milliseconds(store.stalled)},
          {"error", ErrorOf(store.last_error)}};
}

json::object OrdersOf(const GeneratorStats& stats, double per_second) {
  json::array stores;
  for (const StoreStats& store : stats.stores) stores.push_back(StoreOf(store));
  return {{"ids", stats.ids},
          {"ids_per_second", per_second},
          {"allocations", stats.allocations},
          {"store_calls", stats.store_calls},
          {"store_failures", stats.store_failures},
          {"waits", stats.waits},
          {"first_uses", stats.first_uses},
          {"starved", stats.starved},
          {"losses", stats.losses},
          {"dropped", stats.dropped},
          {"autonomy_ms", Milliseconds(stats.autonomy)},
          {"lead_ms", Milliseconds(stats.lead)},
          {"most_lead_ms", Milliseconds(stats.most_lead)},
          {"clock_offset_ms", Milliseconds(stats.clock_offset)},
          {"store_latency", LatencyOf(stats.store_latency)},
          {"store_error", ErrorOf(stats.last_store_error)},
          {"stores", std::move(stores)}};
}

json::object SnowflakeOf(const LeasedSnowflake<>& snowflake, const LeasedSnowflakeStats& stats,
                         double per_second) {
  return {{"ids", stats.ids.ids},
          {"ids_per_second", per_second},
          {"worker", snowflake.worker()},
          {"held", stats.lease.held},
          {"left_ms", Milliseconds(stats.lease.left)},
          {"renewals", stats.lease.renewals},
          {"renewal_failures", stats.lease.failures},
          {"leases", stats.leases},
          {"losses", stats.losses},
          {"waits", stats.ids.waits},
          {"rollbacks", stats.ids.rollbacks},
          {"refusals", stats.ids.refusals},
          {"furthest_rollback_ms", Milliseconds(stats.ids.furthest_rollback)},
          {"years_left", stats.ids.years_left}};
}

json::object SequenceOf(const std::string& name, const SegmentSequenceStats& stats,
                        double per_second) {
  return {{"name", JsonText(name)},
          {"numbers", stats.numbers},
          {"numbers_per_second", per_second},
          {"segments", stats.segments},
          {"store_failures", stats.store_failures},
          {"waits", stats.waits},
          {"starved", stats.starved},
          {"autonomy_ms", Milliseconds(stats.autonomy)},
          {"store_error", ErrorOf(stats.last_store_error)}};
}

}  // namespace

std::optional<uint64_t> StatsHistory::Rise::By(uint64_t now) {
  const std::optional<uint64_t> last = std::exchange(before, now);
  // A reload may have put another generator in its place.
  if (!last || now < *last) return std::nullopt;
  return now - *last;
}

std::optional<double> StatsHistory::Rise::Rate(uint64_t now, absl::Duration steady) {
  const double seconds = absl::ToDoubleSeconds(steady - std::exchange(at, steady));
  const std::optional<uint64_t> rise = By(now);
  if (!rise || seconds <= 0) return std::nullopt;
  return static_cast<double>(*rise) / seconds;
}

std::string StatsHistory::Sample(const IdParts* parts, const EventHub::Stats& streams,
                                 size_t most_streams, absl::Time wall, absl::Duration steady) {
  Point point{absl::ToUnixMillis(wall), {}};
  point.values.fill(kUnknown);
  auto set = [&point](Series series, const std::optional<double>& value) {
    if (value) point.values[series] = static_cast<float>(*value);
  };
  auto count = [](std::optional<uint64_t> rise) {
    return rise ? std::optional(static_cast<double>(*rise)) : std::nullopt;
  };
  json::object stats{{"at_ms", point.at_ms}, {"orders", nullptr}, {"snowflake", nullptr}};
  if (parts != nullptr && parts->orders) {
    const GeneratorStats orders = parts->orders->Stats();
    const std::optional<double> rate = orders_.Rate(orders.ids, steady);
    set(kOrders, rate);
    set(kStarved, count(starved_.By(orders.starved)));
    set(kFailures, count(failures_.By(orders.store_failures)));
    set(kLosses, count(losses_.By(orders.losses)));
    point.values[kAutonomy] = MillisecondsOf(orders.autonomy);
    point.values[kLead] = MillisecondsOf(orders.lead);
    point.values[kClockOffset] = MillisecondsOf(orders.clock_offset);
    stats["orders"] = OrdersOf(orders, rate.value_or(0));
  }
  if (parts != nullptr && parts->snowflake) {
    const LeasedSnowflakeStats snowflake = parts->snowflake->Stats();
    const std::optional<double> rate = snowflakes_.Rate(snowflake.ids.ids, steady);
    set(kSnowflakes, rate);
    point.values[kOwnershipLeft] = MillisecondsOf(snowflake.lease.left);
    stats["snowflake"] = SnowflakeOf(*parts->snowflake, snowflake, rate.value_or(0));
  }
  json::array sequences;
  size_t more = 0;
  std::optional<double> numbers;
  if (parts != nullptr && parts->sequences) {
    parts->sequences->ForEach([&](const std::string& name, const SegmentSequence& sequence) {
      const SegmentSequenceStats of = sequence.Stats();
      const std::optional<double> rate = sequences_[name].Rate(of.numbers, steady);
      if (rate) numbers = numbers.value_or(0) + *rate;
      if (sequences.size() < kMostSequences) {
        sequences.push_back(SequenceOf(name, of, rate.value_or(0)));
      } else {
        ++more;
      }
    });
  }
  set(kNumbers, numbers);
  stats["sequences"] = std::move(sequences);
  stats["more_sequences"] = more;
  stats["process"] = {{"started_at_ms", absl::ToUnixMillis(started_)},
                      {"streams", streams.streams},
                      {"most_streams", most_streams},
                      {"slow_streams", streams.slow}};
  points_.push_back(point);
  if (points_.size() > kPoints) points_.pop_front();
  return json::serialize(stats);
}

std::string StatsHistory::HistoryJson() const {
  static constexpr std::pair<const char*, Series> kNames[] = {
      {"orders_per_second", kOrders},    {"snowflakes_per_second", kSnowflakes},
      {"numbers_per_second", kNumbers},  {"starved", kStarved},
      {"store_failures", kFailures},     {"losses", kLosses},
      {"autonomy_ms", kAutonomy},        {"lead_ms", kLead},
      {"clock_offset_ms", kClockOffset}, {"ownership_left_ms", kOwnershipLeft}};
  static_assert(std::size(kNames) == kSeriesCount);
  std::string out = absl::StrCat("{\"step_ms\":", absl::ToInt64Milliseconds(kStep), ",\"at_ms\":[");
  for (const Point& point : points_) {
    absl::StrAppend(&out, &point == &points_.front() ? "" : ",", point.at_ms);
  }
  out += "]";
  for (const auto& [name, series] : kNames) {
    absl::StrAppend(&out, ",\"", name, "\":[");
    for (const Point& point : points_) {
      const float value = point.values[series];
      if (&point != &points_.front()) out += ',';
      if (std::isnan(value)) {
        out += "null";
      } else {
        absl::StrAppend(&out, value);
      }
    }
    out += "]";
  }
  return out + "}";
}

void LoadWindow::Add(const std::vector<uint64_t>& by_section, absl::Duration steady) {
  if (by_section.empty()) return counts_.clear();
  Count count{steady, std::vector<uint64_t>(std::min(by_section.size(), kMostParts))};
  const size_t each = by_section.size() / count.parts.size();  // both are powers of two
  for (size_t i = 0; i < by_section.size(); ++i) count.parts[i / each] += by_section[i];
  // A reload may have put another generator in its place.
  if (!counts_.empty() && counts_.back().parts.size() != count.parts.size()) counts_.clear();
  counts_.push_back(std::move(count));
  if (counts_.size() > kSteps + 1) counts_.pop_front();
}

absl::Duration LoadWindow::window() const {
  if (counts_.size() < 2) return absl::ZeroDuration();
  return counts_.back().at - counts_.front().at;
}

std::vector<double> LoadWindow::PerVnode() const {
  const double seconds = absl::ToDoubleSeconds(window());
  if (seconds <= 0) return {};
  const std::vector<uint64_t>& before = counts_.front().parts;
  const std::vector<uint64_t>& after = counts_.back().parts;
  std::vector<double> load(ShardGene::kCount);
  const size_t each = load.size() / after.size();
  for (size_t vnode = 0; vnode < load.size(); ++vnode) {
    const size_t part = vnode / each;
    const uint64_t ids = after[part] - std::min(before[part], after[part]);
    load[vnode] = static_cast<double>(ids) / static_cast<double>(each) / seconds;
  }
  return load;
}

}  // namespace locus::locusd
