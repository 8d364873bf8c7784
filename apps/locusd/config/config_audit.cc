// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/config/config_sections.h"
#include "apps/locusd/config/config_values.h"
#include "src/cluster/probe/health_url.h"

namespace locus::locusd {

using apps::TomlSection;

namespace {

absl::StatusOr<std::string> ReadBlock(const std::string& text) {
  if (holder_probe::AddressBlock::Parse(text).ok()) return text;
  return absl::InvalidArgumentError("a block of IP addresses such as \"10.1.0.0/16\"");
}

}  // namespace

void ReadHealth(TomlSection section, Config& config) {
  HealthSettings& health = config.health.emplace();
  holder_probe::HolderProbeOptions& probe = health.probe;
  section.Texts("allowed", &probe.allowed, ReadBlock, TomlSection::kRequired);
  section.Text("authority", &health.authority, ReadMaybe);
  section.Duration("interval", &probe.interval,
                   Within(probe.interval, absl::Milliseconds(100), absl::Hours(1)));
  section.Duration("timeout", &probe.timeout,
                   Within(probe.timeout, absl::Milliseconds(10), absl::Hours(1)));
  uint64_t failures = static_cast<uint64_t>(probe.failures);
  section.Whole("failures", &failures, Within(failures, 1, 1000));
  probe.failures = static_cast<int>(failures);
  section.Whole("at_once", &probe.at_once, Within(probe.at_once, 2, 1024));
  uint64_t per_second = static_cast<uint64_t>(probe.per_second);
  section.Whole("per_second", &per_second, Within(per_second, 1, 10'000));
  probe.per_second = static_cast<double>(per_second);
  if (section.End()) section.RefuseIfNot(probe.Check());
}

void ReadAudit(TomlSection section, Config& config) {
  AuditSettings& audit = config.audit.emplace();
  ClickHouseOptions& server = audit.clickhouse;
  section.Text("clickhouse", &server.endpoint, ReadAddress, TomlSection::kRequired);
  section.Text("database", &server.database, ReadPath);
  section.Text("table", &server.table, ReadPath);
  section.Text("user", &server.user, ReadMaybe);
  section.Text("password_file", &audit.password_file, ReadMaybe);
  section.Flag("tls", &server.tls.enabled);
  section.Text("authority", &server.tls.ca_file, ReadMaybe);
  section.Duration("timeout", &server.timeout,
                   Within(server.timeout, absl::Milliseconds(1), absl::Hours(1)));
  section.Whole("renewals", &audit.renewals, Within(audit.renewals, 0, UINT32_MAX));
  section.Whole("queue", &audit.sink.queue, Within(audit.sink.queue, 1000, 10'000'000));
  section.Whole("spill_bytes", &audit.sink.spill_bytes,
                Within(audit.sink.spill_bytes, 1 << 20, uint64_t{1} << 40));
  if (!section.End()) return;
  ClickHouseOptions checked = server;
  // Its file is read when the node starts.
  if (!audit.password_file.empty()) checked.password = "x";
  section.RefuseIfNot(checked.Check());
}

}  // namespace locus::locusd
