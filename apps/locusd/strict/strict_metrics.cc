// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_metrics.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace locus::locusd {
namespace {

template <typename Value>
void Append(std::string& text, const char* name, const char* type, const char* help, Value value) {
  absl::StrAppend(&text, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n", name, " ",
                  value, "\n");
}

}  // namespace

std::string StrictMetrics(const StrictNode& node, const StrictCounts& counts) {
  std::string text;
  auto counter = [&text](const char* name, const char* help, uint64_t value) {
    Append(text, name, "counter", help, value);
  };
  auto gauge = [&text](const char* name, const char* help, auto value) {
    Append(text, name, "gauge", help, value);
  };
  counter("locus_strict_requests_total", "Requests for strict numbers.", counts.requests.load());
  counter("locus_strict_numbers_total", "Numbers that were answered.", counts.numbers.load());
  counter("locus_strict_requests_refused_total", "Requests that were at fault.",
          counts.refused.load());
  counter("locus_strict_requests_elsewhere_total",
          "Requests that got 421: their sections are another node's.", counts.elsewhere.load());
  counter("locus_strict_requests_unavailable_total",
          "Requests that got 503: numbers were used up, a lease not renewed, the set not open.",
          counts.unavailable.load());
  counter("locus_strict_requests_failed_total",
          "Requests that got 500, or 400 as the numbers of a section are used up.",
          counts.failed.load());
  const StrictNodeStats of_node = node.stats();
  counter("locus_strict_sections_taken_total", "Sections that this node took.", of_node.taken);
  counter("locus_strict_sections_handed_over_total", "Sections that it handed over.",
          of_node.handed_over);
  counter("locus_strict_looks_total", "Reads of the table in the store.", of_node.looks);
  counter("locus_strict_looks_failed_total", "Of these, those without an answer.",
          of_node.failed_looks);
  gauge("locus_strict_nodes_alive", "Other nodes of the set that are heard.", node.Live().size());
  gauge("locus_strict_takes", "1: the node takes sections; 0: it was told not to, or ends.",
        node.takes() ? 1 : 0);
  gauge("locus_strict_table_version", "Of the table that the node knows.", node.table_version());
  gauge("locus_strict_rests_seconds",
        "Until the store grants sections again after a loss; 0: it grants them.",
        absl::ToDoubleSeconds(node.Rest()));
  // Kept in the store: a node that does not know it yet must not show less.
  if (const std::optional<uint64_t> losses = node.Losses()) {
    counter("locus_strict_losses_total",
            "Times that the store noticed that it had lost what it stored, of all nodes.", *losses);
  }
  const StrictSequencer* const sequencer = node.sequencer();
  gauge("locus_strict_open", "1: the set in the store is open.", sequencer == nullptr ? 0 : 1);
  const StrictSequencerStats stats =
      sequencer == nullptr ? StrictSequencerStats() : sequencer->Stats();
  gauge("locus_strict_sections", "Sections of the set.", node.settings().options.sections());
  gauge("locus_strict_sections_owned", "Sections that this node answers for.", stats.owned);
  counter("locus_strict_sections_lost_total", "Sections that the store gave to another owner.",
          stats.lost);
  counter("locus_strict_losses_noticed_total",
          "Times that a call of this node noticed that the store had lost what it stored.",
          stats.losses);
  counter("locus_strict_extends_total", "Calls of the store that renew leases.", stats.extends);
  counter("locus_strict_extends_failed_total", "Of these, those without an answer.",
          stats.failures);
  counter("locus_strict_raises_total", "Stored numbers that were raised ahead of use.",
          stats.raises);
  gauge("locus_strict_memory_bytes", "Memory of the numbers of keys.", stats.memory_bytes);
  gauge("locus_strict_memory_limit_bytes", "The most that they may have: strict.memory_bytes.",
        node.settings().memory_bytes);
  counter("locus_strict_memory_let_go_total",
          "How often a section let the memory of its keys go, as there was no more.", stats.let_go);
  gauge("locus_strict_ttl_seconds", "How long a lease of a section lasts.",
        absl::ToDoubleSeconds(node.settings().options.ttl));
  const bool has_end = stats.owned > 0 && stats.left < absl::InfiniteDuration();
  gauge("locus_strict_ownership_left_seconds",
        "Until the first section stops if the store does not answer; below 0: it has.",
        has_end ? absl::ToDoubleSeconds(stats.left)
                : absl::ToDoubleSeconds(node.settings().options.ttl));
  return text;
}

}  // namespace locus::locusd
