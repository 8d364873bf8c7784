// SPDX-License-Identifier: Apache-2.0
// Stats of engines, of fenced transactions and of strict sequences.
#include "locus/engine/etcd.h"
#include "locus/engine/locusd.h"
#include "locus/engine/mysql.h"
#include "locus/engine/strict_client.h"
#include "locus/engine/zookeeper.h"
#include "locus/routing/engine/http.h"
#include "locus/routing/metrics.h"
#include "src/metrics/metrics.h"

namespace locus {

void PrometheusText::Add(const LeasedSnowflakeStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_worker_leases_taken_total, stats.leases, labels);
  text_.Add(metrics::locus_worker_leases_lost_total, stats.losses, labels);
  Add(stats.ids, labels);
  Add(stats.lease, labels);
}

void PrometheusText::Add(const StrictSequencerStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_strict_sections_owned, stats.owned, labels);
  text_.Add(metrics::locus_strict_extends_total, stats.extends, labels);
  text_.Add(metrics::locus_strict_extends_failed_total, stats.failures, labels);
  text_.Add(metrics::locus_strict_raises_total, stats.raises, labels);
  text_.Add(metrics::locus_strict_sections_lost_total, stats.lost, labels);
  text_.Add(metrics::locus_strict_memory_let_go_total, stats.let_go, labels);
  text_.Add(metrics::locus_strict_memory_bytes, stats.memory_bytes, labels);
  text_.Add(metrics::locus_strict_table_version, stats.table_version, labels);
  text_.Add(metrics::locus_strict_ownership_left_seconds, stats.left, labels);
}

void PrometheusText::Add(const StrictClientStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_strict_client_requests_total, stats.requests, labels);
  text_.Add(metrics::locus_strict_client_elsewhere_total, stats.elsewhere, labels);
  text_.Add(metrics::locus_strict_client_failures_total, stats.failures, labels);
  text_.Add(metrics::locus_strict_client_tables_total, stats.tables, labels);
  text_.Add(metrics::locus_strict_client_table_version, stats.table_version, labels);
}

void PrometheusText::Add(const FencedStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_fenced_calls_total, stats.calls, labels);
  text_.Add(metrics::locus_fenced_attempts_total, stats.attempts, labels);
  text_.Add(metrics::locus_fenced_refusals_total, stats.refusals, labels);
  text_.Add(metrics::locus_fenced_conflicts_total, stats.conflicts, labels);
  text_.Add(metrics::locus_fenced_band_waits_total, stats.band_waits, labels);
  text_.Add(metrics::locus_fenced_probes_total, stats.probes, labels);
  text_.Add(metrics::locus_fenced_rereads_total, stats.rereads, labels);
  text_.Add(metrics::locus_fenced_unknown_commits_total, stats.unknown_commits, labels);
}

void PrometheusText::Add(const HttpTableStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_http_table_requests_total, stats.requests, labels);
  text_.Add(metrics::locus_http_table_connects_total, stats.connects, labels);
  text_.Add(metrics::locus_http_table_unchanged_total, stats.unchanged, labels);
  text_.Add(metrics::locus_http_table_documents_total, stats.documents, labels);
}

void PrometheusText::Add(const MysqlStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_mysql_connects_total, stats.connects, labels);
  text_.Add(metrics::locus_mysql_failures_total, stats.failures, labels);
  text_.Add(metrics::locus_mysql_conflicts_total, stats.conflicts, labels);
}

void PrometheusText::Add(const RedisStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_redis_calls_total, stats.calls, labels);
  text_.Add(metrics::locus_redis_connects_total, stats.connects, labels);
  text_.Add(metrics::locus_redis_failures_total, stats.failures, labels);
  text_.Add(metrics::locus_redis_redirects_total, stats.redirects, labels);
  text_.Add(metrics::locus_redis_reloads_total, stats.reloads, labels);
}

void PrometheusText::Add(const CeilingSequencer::CeilingStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_ceiling_raises_total, stats.raises, labels);
  text_.Add(metrics::locus_ceiling_losses_total, stats.losses, labels);
  text_.Add(metrics::locus_ceiling_waits_total, stats.waits, labels);
  text_.Add(metrics::locus_ceiling_raise_errors_total, stats.raise_errors, labels);
  text_.Add(metrics::locus_ceiling_up, stats.last_raise_error.ok(), labels);
  Add(stats.redis, labels);
}

void PrometheusText::Add(const EtcdStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_etcd_requests_total, stats.requests, labels);
  text_.Add(metrics::locus_etcd_failures_total, stats.failures, labels);
  text_.Add(metrics::locus_etcd_conflicts_total, stats.conflicts, labels);
  text_.Add(metrics::locus_etcd_connects_total, stats.connects, labels);
  text_.Add(metrics::locus_etcd_logins_total, stats.logins, labels);
}

void PrometheusText::Add(const ZookeeperStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_zookeeper_requests_total, stats.requests, labels);
  text_.Add(metrics::locus_zookeeper_failures_total, stats.failures, labels);
  text_.Add(metrics::locus_zookeeper_conflicts_total, stats.conflicts, labels);
  text_.Add(metrics::locus_zookeeper_sessions_total, stats.sessions, labels);
}

void PrometheusText::Add(const LocusdStats& stats, const Labels& labels) {
  text_.Add(metrics::locus_cluster_client_calls_total, stats.calls, labels);
  text_.Add(metrics::locus_cluster_client_requests_total, stats.requests, labels);
  text_.Add(metrics::locus_cluster_client_redirects_total, stats.redirects, labels);
  text_.Add(metrics::locus_cluster_client_failures_total, stats.failures, labels);
  text_.Add(metrics::locus_cluster_client_limited_total, stats.limited, labels);
}

}  // namespace locus
