// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_metrics.h"

#include <optional>

#include "src/metrics/metrics.h"

namespace locus::locusd {

std::string StrictMetrics(const StrictNode& node, const StrictCounts& counts) {
  metrics::MetricsText text;
  text.Add(metrics::locus_strict_requests_total, counts.requests.load());
  text.Add(metrics::locus_strict_numbers_total, counts.numbers.load());
  text.Add(metrics::locus_strict_requests_refused_total, counts.refused.load());
  text.Add(metrics::locus_strict_requests_elsewhere_total, counts.elsewhere.load());
  text.Add(metrics::locus_strict_requests_unavailable_total, counts.unavailable.load());
  text.Add(metrics::locus_strict_requests_failed_total, counts.failed.load());
  const StrictNodeStats of_node = node.stats();
  text.Add(metrics::locus_strict_sections_taken_total, of_node.taken);
  text.Add(metrics::locus_strict_sections_handed_over_total, of_node.handed_over);
  text.Add(metrics::locus_strict_looks_total, of_node.looks);
  text.Add(metrics::locus_strict_looks_failed_total, of_node.failed_looks);
  text.Add(metrics::locus_strict_nodes_alive, node.Live().size());
  text.Add(metrics::locus_strict_takes, node.takes());
  text.Add(metrics::locus_strict_table_version, node.table_version());
  text.Add(metrics::locus_strict_rests_seconds, node.Rest());
  // Kept in the store: a node that does not know it yet must not show less.
  if (const std::optional<uint64_t> losses = node.Losses()) {
    text.Add(metrics::locus_strict_losses_total, *losses);
  }
  const StrictSequencer* const sequencer = node.sequencer();
  text.Add(metrics::locus_strict_open, sequencer != nullptr);
  const StrictSequencerStats stats =
      sequencer == nullptr ? StrictSequencerStats() : sequencer->Stats();
  text.Add(metrics::locus_strict_sections, node.settings().options.sections());
  text.Add(metrics::locus_strict_sections_owned, stats.owned);
  text.Add(metrics::locus_strict_sections_lost_total, stats.lost);
  text.Add(metrics::locus_strict_losses_noticed_total, stats.losses);
  text.Add(metrics::locus_strict_extends_total, stats.extends);
  text.Add(metrics::locus_strict_extends_failed_total, stats.failures);
  text.Add(metrics::locus_strict_raises_total, stats.raises);
  text.Add(metrics::locus_strict_memory_bytes, stats.memory_bytes);
  text.Add(metrics::locus_strict_memory_limit_bytes, node.settings().memory_bytes);
  text.Add(metrics::locus_strict_memory_let_go_total, stats.let_go);
  text.Add(metrics::locus_strict_ttl_seconds, node.settings().options.ttl);
  const bool has_end = stats.owned > 0 && stats.left < absl::InfiniteDuration();
  text.Add(metrics::locus_strict_ownership_left_seconds,
           has_end ? stats.left : node.settings().options.ttl);
  return text.ToString();
}

}  // namespace locus::locusd
