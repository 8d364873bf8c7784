// SPDX-License-Identifier: Apache-2.0
// Stats of engines, of fenced transactions and of strict sequences.
#include "locus/engine/etcd.h"
#include "locus/engine/locusd.h"
#include "locus/engine/mysql.h"
#include "locus/engine/strict_client.h"
#include "locus/engine/zookeeper.h"
#include "locus/routing/engine/http.h"
#include "locus/routing/metrics.h"

namespace locus {

void PrometheusText::Add(const LeasedSnowflakeStats& stats, const Labels& labels) {
  Counter("locus_worker_leases_taken_total", "Worker leases taken.", stats.leases, labels);
  Counter("locus_worker_leases_lost_total", "Worker leases lost.", stats.losses, labels);
  Add(stats.ids, labels);
  Add(stats.lease, labels);
}

void PrometheusText::Add(const StrictSequencerStats& stats, const Labels& labels) {
  Gauge("locus_strict_sections_owned", "Sections that are open.", stats.owned, labels);
  Counter("locus_strict_extends_total", "Renewals sent to the store.", stats.extends, labels);
  Counter("locus_strict_extends_failed_total", "Renewals without an answer.", stats.failures,
          labels);
  Counter("locus_strict_raises_total", "Sections raised ahead of use.", stats.raises, labels);
  Counter("locus_strict_sections_lost_total", "Sections lost to the store's word.", stats.lost,
          labels);
  Counter("locus_strict_memory_let_go_total", "Times that a section freed the memory of its keys.",
          stats.let_go, labels);
  Gauge("locus_strict_memory_bytes", "Memory of keys.", static_cast<double>(stats.memory_bytes),
        labels);
  Gauge("locus_strict_table_version", "Of the table of owners.",
        static_cast<double>(stats.table_version), labels);
  Seconds("locus_strict_ownership_left_seconds", "Until the first deadline of an open section.",
          stats.left, labels);
}

void PrometheusText::Add(const StrictClientStats& stats, const Labels& labels) {
  Counter("locus_strict_client_requests_total", "Requests sent.", stats.requests, labels);
  Counter("locus_strict_client_elsewhere_total", "Answers that named another owner.",
          stats.elsewhere, labels);
  Counter("locus_strict_client_failures_total", "Requests without an answer, or UNAVAILABLE.",
          stats.failures, labels);
  Counter("locus_strict_client_tables_total", "Tables of owners that were read whole.",
          stats.tables, labels);
  Gauge("locus_strict_client_table_version", "The newest that an answer named.",
        static_cast<double>(stats.table_version), labels);
}

void PrometheusText::Add(const FencedStats& stats, const Labels& labels) {
  Counter("locus_fenced_calls_total", "Calls of Run.", stats.calls, labels);
  Counter("locus_fenced_attempts_total", "Transactions begun; one a call without an obstacle.",
          stats.attempts, labels);
  Counter("locus_fenced_refusals_total", "Attempts that a fence refused.", stats.refusals, labels);
  Counter("locus_fenced_conflicts_total", "Attempts that lost against another transaction.",
          stats.conflicts, labels);
  Counter("locus_fenced_band_waits_total", "Callers that waited for another caller's probe.",
          stats.band_waits, labels);
  Counter("locus_fenced_probes_total", "Questions to the two shards of a move.", stats.probes,
          labels);
  Counter("locus_fenced_rereads_total", "NOT_FOUND that was checked behind the fence.",
          stats.rereads, labels);
  Counter("locus_fenced_unknown_commits_total", "Commits whose answer was lost.",
          stats.unknown_commits, labels);
}

void PrometheusText::Add(const HttpTableStats& stats, const Labels& labels) {
  Counter("locus_http_table_requests_total", "Requests sent.", stats.requests, labels);
  Counter("locus_http_table_connects_total", "Connections made.", stats.connects, labels);
  Counter("locus_http_table_unchanged_total", "Answers 304.", stats.unchanged, labels);
  Counter("locus_http_table_documents_total", "Bodies read to their end.", stats.documents, labels);
}

void PrometheusText::Add(const MysqlStats& stats, const Labels& labels) {
  Counter("locus_mysql_connects_total", "Connections made.", stats.connects, labels);
  Counter("locus_mysql_failures_total", "Calls that failed.", stats.failures, labels);
  Counter("locus_mysql_conflicts_total", "Transactions that were retried.", stats.conflicts,
          labels);
}

void PrometheusText::Add(const RedisStats& stats, const Labels& labels) {
  Counter("locus_redis_calls_total", "Requests sent.", stats.calls, labels);
  Counter("locus_redis_connects_total", "Connections made.", stats.connects, labels);
  Counter("locus_redis_failures_total", "Calls without an answer.", stats.failures, labels);
  Counter("locus_redis_redirects_total", "MOVED and ASK followed.", stats.redirects, labels);
  Counter("locus_redis_reloads_total", "Scripts that the server did not know.", stats.reloads,
          labels);
}

void PrometheusText::Add(const CeilingSequencer::CeilingStats& stats, const Labels& labels) {
  Counter("locus_ceiling_raises_total", "Blocks drawn from the durable sequencer.", stats.raises,
          labels);
  Counter("locus_ceiling_losses_total", "Blocks begun because Redis had no valid one.",
          stats.losses, labels);
  Counter("locus_ceiling_waits_total", "Calls that had to wait for a raise.", stats.waits, labels);
  Counter("locus_ceiling_raise_errors_total", "Raises that failed.", stats.raise_errors, labels);
  Gauge("locus_ceiling_up", "Whether the last raise succeeded.", stats.last_raise_error.ok(),
        labels);
  Add(stats.redis, labels);
}

void PrometheusText::Add(const EtcdStats& stats, const Labels& labels) {
  Counter("locus_etcd_requests_total", "Requests sent.", stats.requests, labels);
  Counter("locus_etcd_failures_total", "Requests without an answer, or refused.", stats.failures,
          labels);
  Counter("locus_etcd_conflicts_total", "Requests that were repeated.", stats.conflicts, labels);
  Counter("locus_etcd_connects_total", "Connections made.", stats.connects, labels);
  Counter("locus_etcd_logins_total", "Tokens asked for with user and password.", stats.logins,
          labels);
}

void PrometheusText::Add(const ZookeeperStats& stats, const Labels& labels) {
  Counter("locus_zookeeper_requests_total", "Requests sent.", stats.requests, labels);
  Counter("locus_zookeeper_failures_total", "Requests without an answer.", stats.failures, labels);
  Counter("locus_zookeeper_conflicts_total", "Changes that were repeated.", stats.conflicts,
          labels);
  Counter("locus_zookeeper_sessions_total", "Sessions begun.", stats.sessions, labels);
}

void PrometheusText::Add(const LocusdStats& stats, const Labels& labels) {
  Counter("locus_cluster_client_calls_total", "Calls.", stats.calls, labels);
  Counter("locus_cluster_client_requests_total", "Requests sent, repetitions included.",
          stats.requests, labels);
  Counter("locus_cluster_client_redirects_total", "Answers that named another leader.",
          stats.redirects, labels);
  Counter("locus_cluster_client_failures_total", "Requests without an answer, or UNAVAILABLE.",
          stats.failures, labels);
  Counter("locus_cluster_client_limited_total", "Answers that asked to send less.", stats.limited,
          labels);
}

}  // namespace locus
