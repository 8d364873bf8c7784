// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/config/config_sections.h"
#include "apps/locusd/config/config_values.h"
#include "src/cluster/probe/health_url.h"

namespace locus::locusd {

namespace {

absl::StatusOr<std::string> ReadBlock(const std::string& text) {
  if (holder_probe::AddressBlock::Parse(text).ok()) return text;
  return absl::InvalidArgumentError("a block of IP addresses such as \"10.1.0.0/16\"");
}

}  // namespace

void HealthKeys(KeySection& section, HealthSettings& health) {
  holder_probe::HolderProbeOptions& probe = health.probe;
  section.Texts("allowed", &probe.allowed, ReadBlock,
                {.help = "blocks of addresses that may be probed: the holders' network",
                 .sample = R"(["10.1.0.0/16"])",
                 .required = true});
  section.Text("authority", &health.authority, ReadMaybe,
               {.help = "PEM, for https URLs; empty: the system's"});
  section.Duration("interval", &probe.interval,
                   Within(probe.interval, absl::Milliseconds(100), absl::Hours(1)),
                   {.help = "between two probes of a holder"});
  section.Duration("timeout", &probe.timeout,
                   Within(probe.timeout, absl::Milliseconds(10), absl::Hours(1)),
                   {.help = "for an answer"});
  uint64_t failures = static_cast<uint64_t>(probe.failures);
  section.Whole("failures", &failures, Within(failures, 1, 1000),
                {.help = "in a row, until the holder is not renewed"});
  probe.failures = static_cast<int>(failures);
  section.Whole("at_once", &probe.at_once, Within(probe.at_once, 2, 1024),
                {.help = "probes that wait for an answer"});
  uint64_t per_second = static_cast<uint64_t>(probe.per_second);
  section.Whole("per_second", &per_second, Within(per_second, 1, 10'000),
                {.help = "probes begun in a second"});
  probe.per_second = static_cast<double>(per_second);
  if (section.reads() && section.toml().End()) section.toml().RefuseIfNot(probe.Check());
}

void AuditKeys(KeySection& section, AuditSettings& audit) {
  ClickHouseOptions& server = audit.clickhouse;
  section.Text("clickhouse", &server.endpoint, ReadAddress,
               {.help = "HOST:PORT of its HTTP interface",
                .sample = R"("127.0.0.1:8123")",
                .required = true});
  section.Text("database", &server.database, ReadPath, {});
  section.Text("table", &server.table, ReadPath, {.help = "`locus audit create` makes it"});
  section.Text("user", &server.user, ReadMaybe, {.help = "empty: ClickHouse's default user"});
  section.Text("password_file", &audit.password_file, ReadMaybe, {.help = "mode 0600"});
  section.Flag("tls", &server.tls.enabled, {.help = "use HTTPS"});
  section.Text("authority", &server.tls.ca_file, ReadMaybe, {.help = "PEM; empty: the system's"});
  section.Duration("timeout", &server.timeout,
                   Within(server.timeout, absl::Milliseconds(1), absl::Hours(1)),
                   {.help = "of one request to ClickHouse"});
  section.Whole("renewals", &audit.renewals, Within(audit.renewals, 0, UINT32_MAX),
                {.help = "one renewal of so many is recorded; 0: none"});
  section.Whole("queue", &audit.sink.queue, Within(audit.sink.queue, 1000, 10'000'000),
                {.help = "records in memory"});
  section.Whole("spill_bytes", &audit.sink.spill_bytes,
                Within(audit.sink.spill_bytes, 1 << 20, uint64_t{1} << 40),
                {.help = "of DATA/audit, where records wait while ClickHouse is away"});
  if (!section.reads() || !section.toml().End()) return;
  ClickHouseOptions checked = server;
  // Its file is read when the node starts.
  if (!audit.password_file.empty()) checked.password = "x";
  section.toml().RefuseIfNot(checked.Check());
}

}  // namespace locus::locusd
