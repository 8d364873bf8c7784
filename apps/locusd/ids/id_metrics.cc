// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/id_metrics.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "src/metrics/metrics.h"

namespace locus::locusd {
namespace {

constexpr int kOrderIdBits = 47;

absl::Duration AutonomyOf(const IdParts& parts) {
  absl::Duration autonomy = absl::InfiniteDuration();
  if (parts.orders) autonomy = std::min(autonomy, parts.orders->Stats().autonomy);
  if (parts.sequences) {
    parts.sequences->ForEach([&autonomy](const std::string&, const SegmentSequence& sequence) {
      autonomy = std::min(autonomy, sequence.Stats().autonomy);
    });
    if (const TypedNumbers* const typed = parts.sequences->typed()) {
      typed->ForEach(
          [&autonomy](const std::string&, const std::string&, const NumberGenerator& generator) {
            autonomy = std::min(autonomy, generator.Stats().sequence.autonomy);
          });
    }
  }
  if (parts.snowflake) autonomy = std::min(autonomy, parts.snowflake->Stats().lease.left);
  return autonomy;
}

}  // namespace

std::string IdMetrics(const IdParts& parts, const std::optional<SpaceOptions>& space,
                      uint64_t lead_used_up) {
  metrics::MetricsText text;
  text.Add(metrics::locus_id_autonomy_seconds, AutonomyOf(parts));
  int missing = 0;
  missing += !parts.orders.why_not().ok();
  missing += !parts.sequences.why_not().ok();
  missing += !parts.snowflake.why_not().ok();
  missing += !parts.router.why_not().ok();
  text.Add(metrics::locus_id_parts_missing, missing);
  if (!space || !parts.orders) return text.ToString();
  const double rate = static_cast<double>(space->floor_rate);
  const absl::Duration lead = parts.orders->Stats().lead;
  text.Add(metrics::locus_order_ids_most_lead_seconds, static_cast<double>(space->max_lead) / rate);
  text.Add(metrics::locus_order_ids_lead_used_up_total, lead_used_up);
  const double span = static_cast<double>(uint64_t{1} << kOrderIdBits) / rate;
  text.Add(metrics::locus_order_ids_time_left_seconds,
           span - absl::ToDoubleSeconds(absl::Now() - space->floor_epoch + lead));
  return text.ToString();
}

}  // namespace locus::locusd
