// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/config/config.h"

namespace locus::locusd {

std::vector<std::string> KeysThatNeedARestart(const Config& running, const Config& read) {
  std::vector<std::string> keys;
  auto compare = [&keys](const char* key, const auto& one, const auto& other) {
    if (one != other) keys.emplace_back(key);
  };
  auto compare_tls = [&keys](const char* key, const std::optional<Config::TlsPaths>& one,
                             const std::optional<Config::TlsPaths>& other) {
    const Config::TlsPaths a = one.value_or(Config::TlsPaths());
    const Config::TlsPaths b = other.value_or(Config::TlsPaths());
    if (a.authority != b.authority || a.certificate != b.certificate || a.key != b.key) {
      keys.emplace_back(key);
    }
  };
  if (running.cluster_node != read.cluster_node || running.id_service != read.id_service ||
      running.sequence_node != read.sequence_node) {
    keys.emplace_back("roles");
  }
  compare("cluster", running.cluster, read.cluster);
  compare("data", running.data, read.data);
  compare("raft.listen", running.raft.listen, read.raft.listen);
  compare("raft.advertise", running.raft.advertise, read.raft.advertise);
  compare_tls("raft.certificate", running.raft.tls, read.raft.tls);
  compare("raft.election", running.raft.shell.election, read.raft.shell.election);
  compare("raft.compact_entries", running.raft.shell.compact_entries,
          read.raft.shell.compact_entries);
  compare("raft.compact_bytes", running.raft.shell.compact_bytes, read.raft.shell.compact_bytes);
  const http::ServerOptions& one = running.api.server;
  const http::ServerOptions& other = read.api.server;
  compare("api.listen", one.listen, other.listen);
  compare("api.advertise", running.api.advertise, read.api.advertise);
  // Other files of TLS are taken over; plain text stays plain text.
  compare("api.certificate", running.api.tls.has_value(), read.api.tls.has_value());
  compare("api.threads", one.threads, other.threads);
  compare("api.connections", one.most_connections, other.most_connections);
  compare("api.connections_per_address", one.most_connections_per_address,
          other.most_connections_per_address);
  compare("api.header_bytes", one.most_header_bytes, other.most_header_bytes);
  compare("api.body_bytes", one.most_body_bytes, other.most_body_bytes);
  compare("api.request_timeout", one.request_timeout, other.request_timeout);
  compare("api.idle_timeout", one.idle_timeout, other.idle_timeout);
  compare("api.rate", running.api.rate, read.api.rate);
  compare("api.burst", running.api.burst, read.api.burst);
  compare("api.under_way", running.api.under_way, read.api.under_way);
  compare("api.drain_delay", running.api.drain_delay, read.api.drain_delay);
  compare("api.store", running.api.store, read.api.store);
  compare("api.forward", running.api.forward, read.api.forward);
  compare("api.forward_authority", running.api.forward_authority, read.api.forward_authority);
  const IdSettings ids = running.ids.value_or(IdSettings());
  const IdSettings new_ids = read.ids.value_or(IdSettings());
  compare("ids.buyers", ids.text_buyers, new_ids.text_buyers);
  compare("ids.space", ids.space, new_ids.space);
  compare("ids.wait", ids.wait, new_ids.wait);
  compare("ids.waiters", ids.waiters, new_ids.waiters);
  compare("ids.waiting", ids.waiting, new_ids.waiting);
  compare("ids.remember", ids.remember, new_ids.remember);
  compare("ids.remember_bytes", ids.remember_bytes, new_ids.remember_bytes);
  compare("ids.orders", ids.orders, new_ids.orders);
  compare("ids.sequences", ids.sequences, new_ids.sequences);
  compare("ids.snowflake", ids.snowflake, new_ids.snowflake);
  compare("strict", running.strict, read.strict);
  compare("console.streams", running.console.streams, read.console.streams);
  const HealthSettings health = running.health.value_or(HealthSettings());
  const HealthSettings new_health = read.health.value_or(HealthSettings());
  if (running.health.has_value() != read.health.has_value() ||
      health.authority != new_health.authority ||
      health.probe.allowed != new_health.probe.allowed ||
      health.probe.interval != new_health.probe.interval ||
      health.probe.timeout != new_health.probe.timeout ||
      health.probe.failures != new_health.probe.failures ||
      health.probe.at_once != new_health.probe.at_once ||
      health.probe.per_second != new_health.probe.per_second) {
    keys.emplace_back("health");
  }
  const AuditSettings audit = running.audit.value_or(AuditSettings());
  const AuditSettings new_audit = read.audit.value_or(AuditSettings());
  if (running.audit.has_value() != read.audit.has_value() ||
      audit.clickhouse.endpoint != new_audit.clickhouse.endpoint ||
      audit.clickhouse.database != new_audit.clickhouse.database ||
      audit.clickhouse.table != new_audit.clickhouse.table ||
      audit.clickhouse.user != new_audit.clickhouse.user ||
      audit.clickhouse.tls.enabled != new_audit.clickhouse.tls.enabled ||
      audit.clickhouse.tls.ca_file != new_audit.clickhouse.tls.ca_file ||
      audit.clickhouse.timeout != new_audit.clickhouse.timeout ||
      audit.password_file != new_audit.password_file || audit.renewals != new_audit.renewals ||
      audit.sink.queue != new_audit.sink.queue ||
      audit.sink.spill_bytes != new_audit.sink.spill_bytes) {
    keys.emplace_back("audit");
  }
  return keys;
}

std::vector<std::string> FilesToWatch(const Config& config) {
  std::vector<std::string> files;
  for (const TokenSettings& token : config.tokens) files.push_back(token.file);
  const Config::Api& api = config.api;
  files.insert(files.end(), api.token_files.begin(), api.token_files.end());
  files.insert(files.end(), api.operator_token_files.begin(), api.operator_token_files.end());
  if (api.tls) files.insert(files.end(), {api.tls->certificate, api.tls->key});
  if (config.ids && !config.ids->keys.empty()) files.push_back(config.ids->keys);
  return files;
}

}  // namespace locus::locusd
