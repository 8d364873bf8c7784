// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/audit.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "locus/engine/clickhouse.h"
#include "locus/routing/metrics.h"
#include "src/base/os/check.h"
#include "src/base/os/private_file.h"

namespace locus::locusd {
namespace {

constexpr size_t kMostPasswordBytes = 1024;
constexpr absl::Duration kTellEvery = absl::Minutes(1);

}  // namespace

absl::StatusOr<std::unique_ptr<AuditWriter>> Audit::OpenWriter(const Config& config) {
  ClickHouseOptions options = config.audit->clickhouse;
  if (!config.audit->password_file.empty()) {
    LOCUS_ASSIGN_OR_RETURN(
        internal::PrivateText text,
        internal::ReadPrivateFile(config.audit->password_file, kMostPasswordBytes));
    options.password = text.view().substr(0, text.view().find('\n'));
  }
  return ClickHouseAudit::Open(options);
}

absl::StatusOr<std::unique_ptr<Audit>> Audit::Open(const Config& config) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<AuditWriter> writer, OpenWriter(config));
  AuditSinkOptions sink = config.audit->sink;
  sink.spill_directory = config.data + "/audit";
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<AuditSink> opened,
                         AuditSink::Open(std::move(writer), sink));
  cluster_audit::ClusterAuditOptions of_leases;
  of_leases.cluster = config.cluster;
  of_leases.renewals = config.audit->renewals;
  return std::unique_ptr<Audit>(new Audit(std::move(opened), std::move(of_leases)));
}

void Audit::Record(const ConsolePublication& by, const std::string& place) {
  AuditRecord record;
  record.kind = AuditRecord::Kind::kTablePublished;
  record.place = place;
  record.token = by.epoch;
  record.holder = by.client;
  record.detail = absl::StrCat("from ", by.peer, ", request ", by.request_id, ": ", by.reason,
                               by.reason.empty() ? "" : ": ", by.change);
  sink_->Record(std::move(record));
}

std::string Audit::Metrics() const {
  PrometheusText text;
  text.Add(sink_->Stats());
  return text.ToString();
}

void Audit::Tell(Log& log) {
  const AuditSinkStats stats = sink_->Stats();
  const absl::Time now = absl::Now();
  if (stats.failures > told_.failures) {
    if (!fails_ || now - failure_told_ >= kTellEvery) {
      log.Warn("audit is not written",
               {{"why", std::string(stats.last_failure.message())}, {"spilled", stats.spilled}});
      failure_told_ = now;
    }
    fails_ = true;
  } else if (fails_ && stats.written > told_.written) {
    log.Info("audit is written again");
    fails_ = false;
  }
  const uint64_t lost = told_.dropped;
  told_ = stats;
  if (stats.dropped == lost) return;
  if (now - loss_told_ < kTellEvery) {
    told_.dropped = lost;  // later
    return;
  }
  log.Error("audit records were lost", {{"since_start", stats.dropped}});
  loss_told_ = now;
}

}  // namespace locus::locusd
