// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "locus/routing/metrics.h"
#include "src/base/text/text.h"

namespace locus {

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

std::string LabelText(const PrometheusText::Labels& labels) {
  if (labels.empty()) return "";
  std::string text = "{";
  for (const auto& [name, value] : labels) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "", LabelName(name), "=\"", EscapedValue(value),
                    "\"");
  }
  return text + "}";
}

void AppendSample(std::string& samples, std::string_view name, const PrometheusText::Labels& labels,
                  const std::string& value) {
  absl::StrAppend(&samples, ToAbsl(name), LabelText(labels), " ", value, "\n");
}

PrometheusText::Labels With(PrometheusText::Labels labels, std::string name, std::string value) {
  labels.emplace_back(std::move(name), std::move(value));
  return labels;
}

}  // namespace

PrometheusText::Family& PrometheusText::FamilyOf(std::string_view name, std::string_view type,
                                                 std::string_view help) {
  auto found = families_.find(name);
  if (found == families_.end()) {
    found = families_.emplace(name, Family{std::string(help), type, ""}).first;
  }
  return found->second;
}

void PrometheusText::Counter(std::string_view name, std::string_view help, uint64_t value,
                             const Labels& labels) {
  AppendSample(FamilyOf(name, "counter", help).samples, name, labels, absl::StrCat(value));
}

void PrometheusText::Gauge(std::string_view name, std::string_view help, double value,
                           const Labels& labels) {
  AppendSample(FamilyOf(name, "gauge", help).samples, name, labels, NumberText(value));
}

void PrometheusText::Seconds(std::string_view name, std::string_view help, absl::Duration value,
                             const Labels& labels) {
  Gauge(name, help, absl::ToDoubleSeconds(value), labels);
}

void PrometheusText::Histogram(std::string_view name, std::string_view help,
                               const LatencyHistogram& histogram, const Labels& labels) {
  std::string& samples = FamilyOf(name, "histogram", help).samples;
  std::string bucket = absl::StrCat(ToAbsl(name), "_bucket");
  uint64_t count = 0;
  for (size_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
    count += histogram.count(i);
    double bound = i < LatencyHistogram::kUpperBounds.size()
                       ? absl::ToDoubleSeconds(LatencyHistogram::kUpperBounds[i])
                       : HUGE_VAL;
    AppendSample(samples, bucket, With(labels, "le", NumberText(bound)), absl::StrCat(count));
  }
  AppendSample(samples, absl::StrCat(ToAbsl(name), "_sum"), labels,
               NumberText(absl::ToDoubleSeconds(histogram.sum())));
  AppendSample(samples, absl::StrCat(ToAbsl(name), "_count"), labels, absl::StrCat(count));
}

void PrometheusText::Add(const GeneratorStats& stats, const Labels& labels) {
  Counter("locus_order_ids_total", "Order IDs handed out.", stats.ids, labels);
  Counter("locus_generator_waits_total", "Calls with a deadline that had to wait.", stats.waits,
          labels);
  Counter("locus_generator_segments_dropped_total",
          "Segments given up because they were too old or overtaken.", stats.dropped, labels);
  for (const StoreStats& store : stats.stores) {
    AddStore(store, store.name.empty() ? labels : With(labels, "store", store.name));
  }
}

void PrometheusText::AddStore(const StoreStats& stats, const Labels& labels) {
  Counter("locus_segments_allocated_total", "Segments allocated from the store.", stats.allocations,
          labels);
  Counter("locus_store_calls_total", "Calls that allocated segments, failed ones included.",
          stats.store_calls, labels);
  Counter("locus_store_call_failures_total", "Calls to allocate segments that failed.",
          stats.store_failures, labels);
  Counter("locus_store_losses_total", "Losses of allocations that the store noticed.", stats.losses,
          labels);
  Counter("locus_store_first_uses_total", "Sections that a caller found without a first segment.",
          stats.first_uses, labels);
  Counter("locus_store_starved_total", "Times that a section in use ran out of sequences.",
          stats.starved, labels);
  Gauge("locus_store_up", "Whether the last call to the store succeeded.", stats.last_error.ok(),
        labels);
  Seconds("locus_store_autonomy_seconds",
          "How long the section that runs out first goes on without the store.", stats.autonomy,
          labels);
  Seconds("locus_store_lead_seconds", "How far leases are ahead of the floor, at most.", stats.lead,
          labels);
  Gauge("locus_store_headroom_ratio",
        "What part of max_lead the section that has used most of it has left.", stats.headroom,
        labels);
  Seconds("locus_store_clock_offset_seconds",
          "How far the store's clock was ahead of this process's at the last lease.",
          stats.clock_offset, labels);
  Seconds("locus_store_call_stalled_seconds",
          "How long the present call has been waiting for the store.", stats.stalled, labels);
  Histogram("locus_store_allocation_duration_seconds", "How long calls that lease segments took.",
            stats.store_latency, labels);
}

void PrometheusText::Add(const SnowflakeStats& stats, const Labels& labels) {
  Counter("locus_snowflake_ids_total", "Snowflake IDs handed out.", stats.ids, labels);
  Counter("locus_snowflake_waits_total", "Calls that waited for the clock.", stats.waits, labels);
  Counter("locus_snowflake_clock_rollbacks_total",
          "Calls that found the clock behind the last time used.", stats.rollbacks, labels);
  Seconds("locus_snowflake_clock_rollback_furthest_seconds",
          "How far the clock was behind the last time used, at the most.", stats.furthest_rollback,
          labels);
  Counter("locus_snowflake_refusals_total", "Calls that returned an error.", stats.refusals,
          labels);
  constexpr double kSecondsPerYear = 365.2425 * 86400;
  Gauge("locus_snowflake_time_left_seconds", "How long the time field lasts.",
        stats.years_left * kSecondsPerYear, labels);
}

void PrometheusText::Add(const SegmentSequenceStats& stats, const Labels& labels) {
  Counter("locus_sequence_numbers_total", "Numbers handed out.", stats.numbers, labels);
  Counter("locus_sequence_segments_total", "Segments taken from the sequencer.", stats.segments,
          labels);
  Counter("locus_sequence_calls_total", "Calls to the sequencer, failed ones included.",
          stats.store_calls, labels);
  Counter("locus_sequence_call_failures_total", "Calls to the sequencer that failed.",
          stats.store_failures, labels);
  Counter("locus_sequence_waits_total", "Calls with a deadline that had to wait.", stats.waits,
          labels);
  Counter("locus_sequence_starved_total", "Times that a caller found no number.", stats.starved,
          labels);
  Counter("locus_sequence_skipped_total", "Numbers that were taken and handed to nobody.",
          stats.skipped, labels);
  Gauge("locus_sequence_up", "Whether the last call to the sequencer succeeded.",
        stats.last_store_error.ok(), labels);
  Seconds("locus_sequence_autonomy_seconds", "How long the numbers at hand last.", stats.autonomy,
          labels);
  Histogram("locus_sequence_take_duration_seconds", "How long calls that take a segment took.",
            stats.store_latency, labels);
}

void PrometheusText::Add(const NumberGeneratorStats& stats, const Labels& labels) {
  Counter("locus_number_drawn_total", "Numbers drawn by a rule, of all groups.", stats.numbers,
          labels);
  Counter("locus_number_groups_total", "Times that a later day, month or year began.", stats.rolled,
          labels);
  Counter("locus_number_clock_behind_total",
          "Numbers drawn while the clock was before the group in use.", stats.clock_behind, labels);
  Counter("locus_number_leftovers_returned_total",
          "Numbers given back when their group or rule ended.", stats.leftovers_returned, labels);
  Counter("locus_number_leftovers_dropped_total",
          "Numbers that became a gap when their group or rule ended.", stats.leftovers_dropped,
          labels);
  Gauge("locus_sequence_type_version", "Of the rule in use; 0: the type was dropped.",
        static_cast<double>(stats.type_version), labels);
  Counter("locus_sequence_type_reads_total", "Readings of the rule, failed ones included.",
          stats.type_reads, labels);
  Counter("locus_sequence_type_failures_total",
          "Readings of the rule after which the one in use stayed.", stats.type_failures, labels);
  Add(stats.sequence, labels);
}

void PrometheusText::Add(const SequencerStats& stats, const Labels& labels) {
  Counter("locus_sequencer_numbers_total", "Numbers taken from the engine.", stats.numbers, labels);
  Counter("locus_sequencer_calls_total", "Calls to the engine, failed ones included.", stats.calls,
          labels);
  Counter("locus_sequencer_call_failures_total", "Calls to the engine that failed.", stats.failures,
          labels);
  Histogram("locus_sequencer_call_duration_seconds", "How long calls to the engine took.",
            stats.latency, labels);
}

void PrometheusText::Add(const WorkerLeaseStats& stats, const Labels& labels) {
  Gauge("locus_worker_lease_held", "Whether the worker ID is held.", stats.held, labels);
  Seconds("locus_worker_lease_left_seconds",
          "How long the lease lasts without a renewal; negative: since when it is lost.",
          stats.left, labels);
  Seconds("locus_worker_lease_ttl_seconds", "How long a grant lasts.", stats.ttl, labels);
  Counter("locus_worker_lease_renewals_total", "Renewals.", stats.renewals, labels);
  Counter("locus_worker_lease_renewal_failures_total", "Renewals that failed.", stats.failures,
          labels);
  Counter("locus_worker_lease_unhealthy_total", "Renewals that the health callback prevented.",
          stats.unhealthy, labels);
}

void PrometheusText::Add(const AuditSinkStats& stats, const Labels& labels) {
  Counter("locus_audit_recorded_total", "Audit records taken.", stats.recorded, labels);
  Counter("locus_audit_written_total", "Audit records written.", stats.written, labels);
  Counter("locus_audit_dropped_total", "Audit records lost.", stats.dropped, labels);
  Counter("locus_audit_write_failures_total", "Writes of audit records that failed.",
          stats.failures, labels);
  Gauge("locus_audit_waiting_records", "Audit records in memory.",
        static_cast<double>(stats.waiting), labels);
  Gauge("locus_audit_spilled_bytes", "Audit records in the spill directory.",
        static_cast<double>(stats.spilled), labels);
}

void PrometheusText::Add(const RouterStats& stats, const Labels& labels) {
  Gauge("locus_router_epoch", "Epoch of the routing table in force.",
        static_cast<double>(stats.epoch), labels);
  Gauge("locus_router_installed_timestamp_seconds", "When the table in force was installed.",
        absl::ToDoubleSeconds(stats.installed_at - absl::UnixEpoch()), labels);
  Seconds("locus_router_table_age_seconds",
          "How long ago the source last confirmed the table in force.", stats.age, labels);
  Gauge("locus_router_from_last_good_file",
        "Whether the table in force comes from the last good file.", stats.from_last_good_file,
        labels);
  if (stats.source != RouterStats::Source::kNone) {
    Gauge("locus_router_source_up", "Whether the source's last answer was good.",
          stats.source == RouterStats::Source::kFollowing, labels);
  }
  Counter("locus_router_installs_total", "Routing tables installed.", stats.installs, labels);
  Counter("locus_router_refusals_total", "Routing tables refused.", stats.refusals, labels);
  Counter("locus_router_source_reads_total", "Questions put to the source.", stats.reads, labels);
  Counter("locus_router_source_read_failures_total", "Questions to the source that failed.",
          stats.read_failures, labels);
  Counter("locus_router_refreshes_total", "Calls of Refresh that had to wait.", stats.refreshes,
          labels);
  Counter("locus_router_refresh_timeouts_total", "Calls of Refresh that ended at their deadline.",
          stats.refresh_timeouts, labels);
  Gauge("locus_router_refreshing_callers", "Calls of Refresh that wait.",
        static_cast<double>(stats.refreshing), labels);
  Gauge("locus_router_descriptions", "Distinct shards that the router has ever routed to.",
        static_cast<double>(stats.descriptions), labels);
  Gauge("locus_router_descriptions_limit", "How many distinct shards the router can hold.",
        static_cast<double>(stats.max_descriptions), labels);
  Counter("locus_router_last_good_writes_total", "Tables written to the last-good file.",
          stats.last_good_writes, labels);
  Counter("locus_router_last_good_failures_total", "Failed writes of the last-good file.",
          stats.last_good_failures, labels);
}

void PrometheusText::Add(std::span<const ShardPoolStats> stats, const Labels& labels) {
  for (const ShardPoolStats& pool : stats) {
    Labels of_shard =
        With(With(labels, "shard", absl::StrCat(pool.shard)), "shard_name", pool.name);
    auto counter = [&](std::string_view name, std::string_view help, uint64_t value) {
      Counter(name, help, value, of_shard);
    };
    auto gauge = [&](std::string_view name, std::string_view help, size_t value) {
      Gauge(name, help, static_cast<double>(value), of_shard);
    };
    gauge("locus_pool_open_connections", "Connections, idle ones included.", pool.open);
    gauge("locus_pool_idle_connections", "Connections that nobody uses.", pool.idle);
    gauge("locus_pool_waiting_callers", "Callers that wait for a connection.", pool.waiting);
    gauge("locus_pool_limit_connections", "Connections that the pool allows itself.", pool.limit);
    gauge("locus_pool_refusing", "Whether callers are refused.", pool.refusing);
    counter("locus_pool_taken_total", "Connections handed out.", pool.taken);
    counter("locus_pool_waits_total", "Callers that had to wait.", pool.waits);
    counter("locus_pool_timeouts_total", "Callers that got no connection in time.", pool.timeouts);
    counter("locus_pool_refusals_total", "Callers refused because the shard does not answer.",
            pool.refusals);
    counter("locus_pool_connects_total", "Connections made.", pool.connects);
    counter("locus_pool_reconnects_total", "Connections that replaced a broken one.",
            pool.reconnects);
    counter("locus_pool_failures_total", "Failed attempts to connect, and broken connections.",
            pool.failures);
    counter("locus_pool_retargets_total", "Changes of the endpoint.", pool.retargets);
  }
}

std::string PrometheusText::ToString() const {
  std::string text;
  for (const auto& [name, family] : families_) {
    absl::StrAppend(&text, "# HELP ", name, " ", family.help, "\n# TYPE ", name, " ",
                    ToAbsl(family.type), "\n", family.samples);
  }
  return text;
}

}  // namespace locus
