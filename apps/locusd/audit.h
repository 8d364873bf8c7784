// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_AUDIT_H_
#define LOCUS_APPS_LOCUSD_AUDIT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/locusd/config/config.h"
#include "apps/locusd/console/console_api.h"
#include "apps/locusd/log.h"
#include "locus/audit.h"
#include "src/cluster/audit/cluster_audit.h"

namespace locus::locusd {

// Where the facts of the cluster, of sections of strict sequences, and of published routing tables
// go: ClickHouse, and DATA/audit while that is away.
class Audit {
 public:
  // Connects nothing. INVALID_ARGUMENT, FAILED_PRECONDITION: those of ClickHouseAudit::Open and
  // AuditSink::Open, and of the password's file.
  static absl::StatusOr<std::unique_ptr<Audit>> Open(const Config& config);

  // What Open finds wrong without the spill directory.
  static absl::Status Check(const Config& config) { return OpenWriter(config).status(); }

  cluster_audit::ClusterAudit& leases() { return leases_; }
  AuditSink& sink() { return *sink_; }
  // Of a publication that was answered; `place` keeps the table.
  void Record(const ConsolePublication& by, const std::string& place);
  // For GET /metrics.
  std::string Metrics() const;
  // Logs that writing fails, goes on again, or has lost records: what changed since the last call,
  // failures and losses once a minute. By one thread.
  void Tell(Log& log);

 private:
  static absl::StatusOr<std::unique_ptr<AuditWriter>> OpenWriter(const Config& config);
  Audit(std::unique_ptr<AuditSink> sink, cluster_audit::ClusterAuditOptions options)
      : sink_(std::move(sink)), leases_(*sink_, std::move(options)) {}

  std::unique_ptr<AuditSink> sink_;
  cluster_audit::ClusterAudit leases_;
  // As it was told last.
  AuditSinkStats told_;
  bool fails_ = false;
  absl::Time failure_told_ = absl::InfinitePast();
  absl::Time loss_told_ = absl::InfinitePast();
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_AUDIT_H_
