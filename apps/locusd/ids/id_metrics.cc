// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/id_metrics.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace locus::locusd {
namespace {

constexpr int kOrderIdBits = 47;

void AppendGauge(std::string& text, const char* name, const char* help, double value) {
  absl::StrAppend(&text, "# HELP ", name, " ", help, "\n# TYPE ", name, " gauge\n", name, " ",
                  std::isinf(value) ? "+Inf" : absl::StrCat(value), "\n");
}

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
  std::string text;
  AppendGauge(
      text, "locus_id_autonomy_seconds",
      "How long the service goes on without its stores: until the first of its parts runs out.",
      absl::ToDoubleSeconds(AutonomyOf(parts)));
  int missing = 0;
  missing += !parts.orders.why_not().ok();
  missing += !parts.sequences.why_not().ok();
  missing += !parts.snowflake.why_not().ok();
  missing += !parts.router.why_not().ok();
  AppendGauge(text, "locus_id_parts_missing",
              "Parts that are configured, and could not be opened yet.", missing);
  if (!space || !parts.orders) return text;
  const double rate = static_cast<double>(space->floor_rate);
  const absl::Duration lead = parts.orders->Stats().lead;
  AppendGauge(text, "locus_order_ids_most_lead_seconds",
              "How far ahead of the floor leases may be: the most of locus_store_lead_seconds, but "
              "for what a loss added.",
              static_cast<double>(space->max_lead) / rate);
  absl::StrAppend(&text,
                  "# HELP locus_order_ids_lead_used_up_total Times that a section got no segment, "
                  "because its leases were as far ahead of the floor as they may be.\n"
                  "# TYPE locus_order_ids_lead_used_up_total counter\n"
                  "locus_order_ids_lead_used_up_total ",
                  lead_used_up, "\n");
  const double span = static_cast<double>(uint64_t{1} << kOrderIdBits) / rate;
  AppendGauge(text, "locus_order_ids_time_left_seconds",
              "How long the 47 bits of sequence of an order ID last.",
              span - absl::ToDoubleSeconds(absl::Now() - space->floor_epoch + lead));
  return text;
}

}  // namespace locus::locusd
