// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/routing/metrics.h"
#include "src/metrics/metrics.h"

namespace locus {

namespace {

PrometheusText::Labels With(PrometheusText::Labels labels, std::string name, std::string value) {
  labels.emplace_back(std::move(name), std::move(value));
  return labels;
}

}  // namespace

void PrometheusText::Add(const GeneratorStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_order_ids_total, stats.ids, labels);
  text_.Add(metrics::locus_generator_waits_total, stats.waits, labels);
  text_.Add(metrics::locus_generator_segments_dropped_total, stats.dropped, labels);
  for (const StoreStats& store : stats.stores) {
    AddStore(store, store.name.empty() ? labels : With(labels, "store", store.name));
  }
}

void PrometheusText::AddStore(const StoreStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_segments_allocated_total, stats.allocations, labels);
  text_.Add(metrics::locus_store_calls_total, stats.store_calls, labels);
  text_.Add(metrics::locus_store_call_failures_total, stats.store_failures, labels);
  text_.Add(metrics::locus_store_losses_total, stats.losses, labels);
  text_.Add(metrics::locus_store_first_uses_total, stats.first_uses, labels);
  text_.Add(metrics::locus_store_starved_total, stats.starved, labels);
  text_.Add(metrics::locus_store_up, stats.last_error.ok(), labels);
  text_.Add(metrics::locus_store_autonomy_seconds, stats.autonomy, labels);
  text_.Add(metrics::locus_store_lead_seconds, stats.lead, labels);
  text_.Add(metrics::locus_store_headroom_ratio, stats.headroom, labels);
  text_.Add(metrics::locus_store_clock_offset_seconds, stats.clock_offset, labels);
  text_.Add(metrics::locus_store_call_stalled_seconds, stats.stalled, labels);
  text_.Add(metrics::locus_store_allocation_duration_seconds, stats.store_latency, labels);
}

void PrometheusText::Add(const SnowflakeStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_snowflake_ids_total, stats.ids, labels);
  text_.Add(metrics::locus_snowflake_waits_total, stats.waits, labels);
  text_.Add(metrics::locus_snowflake_clock_rollbacks_total, stats.rollbacks, labels);
  text_.Add(metrics::locus_snowflake_clock_rollback_furthest_seconds, stats.furthest_rollback,
            labels);
  text_.Add(metrics::locus_snowflake_refusals_total, stats.refusals, labels);
  constexpr double kSecondsPerYear = 365.2425 * 86400;
  text_.Add(metrics::locus_snowflake_time_left_seconds, stats.years_left * kSecondsPerYear, labels);
}

void PrometheusText::Add(const SegmentSequenceStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_sequence_numbers_total, stats.numbers, labels);
  text_.Add(metrics::locus_sequence_segments_total, stats.segments, labels);
  text_.Add(metrics::locus_sequence_calls_total, stats.store_calls, labels);
  text_.Add(metrics::locus_sequence_call_failures_total, stats.store_failures, labels);
  text_.Add(metrics::locus_sequence_waits_total, stats.waits, labels);
  text_.Add(metrics::locus_sequence_starved_total, stats.starved, labels);
  text_.Add(metrics::locus_sequence_skipped_total, stats.skipped, labels);
  text_.Add(metrics::locus_sequence_up, stats.last_store_error.ok(), labels);
  text_.Add(metrics::locus_sequence_autonomy_seconds, stats.autonomy, labels);
  text_.Add(metrics::locus_sequence_take_duration_seconds, stats.store_latency, labels);
}

void PrometheusText::Add(const NumberGeneratorStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_number_drawn_total, stats.numbers, labels);
  text_.Add(metrics::locus_number_groups_total, stats.rolled, labels);
  text_.Add(metrics::locus_number_clock_behind_total, stats.clock_behind, labels);
  text_.Add(metrics::locus_number_leftovers_returned_total, stats.leftovers_returned, labels);
  text_.Add(metrics::locus_number_leftovers_dropped_total, stats.leftovers_dropped, labels);
  text_.Add(metrics::locus_sequence_type_version, stats.type_version, labels);
  text_.Add(metrics::locus_sequence_type_reads_total, stats.type_reads, labels);
  text_.Add(metrics::locus_sequence_type_failures_total, stats.type_failures, labels);
  Add(stats.sequence, labels);
}

void PrometheusText::Add(const SequencerStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_sequencer_numbers_total, stats.numbers, labels);
  text_.Add(metrics::locus_sequencer_calls_total, stats.calls, labels);
  text_.Add(metrics::locus_sequencer_call_failures_total, stats.failures, labels);
  text_.Add(metrics::locus_sequencer_call_duration_seconds, stats.latency, labels);
}

void PrometheusText::Add(const WorkerLeaseStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_worker_lease_held, stats.held, labels);
  text_.Add(metrics::locus_worker_lease_left_seconds, stats.left, labels);
  text_.Add(metrics::locus_worker_lease_ttl_seconds, stats.ttl, labels);
  text_.Add(metrics::locus_worker_lease_renewals_total, stats.renewals, labels);
  text_.Add(metrics::locus_worker_lease_renewal_failures_total, stats.failures, labels);
  text_.Add(metrics::locus_worker_lease_unhealthy_total, stats.unhealthy, labels);
}

void PrometheusText::Add(const AuditSinkStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_audit_recorded_total, stats.recorded, labels);
  text_.Add(metrics::locus_audit_written_total, stats.written, labels);
  text_.Add(metrics::locus_audit_dropped_total, stats.dropped, labels);
  text_.Add(metrics::locus_audit_write_failures_total, stats.failures, labels);
  text_.Add(metrics::locus_audit_waiting_records, stats.waiting, labels);
  text_.Add(metrics::locus_audit_spilled_bytes, stats.spilled, labels);
}

void PrometheusText::Add(const RouterStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_router_epoch, stats.epoch, labels);
  text_.Add(metrics::locus_router_installed_timestamp_seconds, stats.installed_at, labels);
  text_.Add(metrics::locus_router_table_age_seconds, stats.age, labels);
  text_.Add(metrics::locus_router_from_last_good_file, stats.from_last_good_file, labels);
  if (stats.source != RouterStats::Source::kNone) {
    text_.Add(metrics::locus_router_source_up, stats.source == RouterStats::Source::kFollowing,
              labels);
  }
  text_.Add(metrics::locus_router_installs_total, stats.installs, labels);
  text_.Add(metrics::locus_router_refusals_total, stats.refusals, labels);
  text_.Add(metrics::locus_router_source_reads_total, stats.reads, labels);
  text_.Add(metrics::locus_router_source_read_failures_total, stats.read_failures, labels);
  text_.Add(metrics::locus_router_refreshes_total, stats.refreshes, labels);
  text_.Add(metrics::locus_router_refresh_timeouts_total, stats.refresh_timeouts, labels);
  text_.Add(metrics::locus_router_refreshing_callers, stats.refreshing, labels);
  text_.Add(metrics::locus_router_descriptions, stats.descriptions, labels);
  text_.Add(metrics::locus_router_descriptions_limit, stats.max_descriptions, labels);
  text_.Add(metrics::locus_router_last_good_writes_total, stats.last_good_writes, labels);
  text_.Add(metrics::locus_router_last_good_failures_total, stats.last_good_failures, labels);
}

void PrometheusText::Add(std::span<const ShardPoolStats> stats, const Labels& labels) {
  for (const ShardPoolStats& pool : stats) {
    Labels of_shard =
        With(With(labels, "shard", absl::StrCat(pool.shard)), "shard_name", pool.name);
    text_.Add(metrics::locus_pool_open_connections, pool.open, of_shard);
    text_.Add(metrics::locus_pool_idle_connections, pool.idle, of_shard);
    text_.Add(metrics::locus_pool_waiting_callers, pool.waiting, of_shard);
    text_.Add(metrics::locus_pool_limit_connections, pool.limit, of_shard);
    text_.Add(metrics::locus_pool_refusing, pool.refusing, of_shard);
    text_.Add(metrics::locus_pool_taken_total, pool.taken, of_shard);
    text_.Add(metrics::locus_pool_waits_total, pool.waits, of_shard);
    text_.Add(metrics::locus_pool_timeouts_total, pool.timeouts, of_shard);
    text_.Add(metrics::locus_pool_refusals_total, pool.refusals, of_shard);
    text_.Add(metrics::locus_pool_connects_total, pool.connects, of_shard);
    text_.Add(metrics::locus_pool_reconnects_total, pool.reconnects, of_shard);
    text_.Add(metrics::locus_pool_failures_total, pool.failures, of_shard);
    text_.Add(metrics::locus_pool_retargets_total, pool.retargets, of_shard);
  }
}

}  // namespace locus
