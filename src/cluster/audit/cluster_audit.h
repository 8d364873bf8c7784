// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_AUDIT_CLUSTER_AUDIT_H_
#define LOCUS_SRC_CLUSTER_AUDIT_CLUSTER_AUDIT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "locus/audit.h"
#include "src/cluster/machine/command.h"
#include "src/raft/core/types.h"

namespace locus::cluster_audit {

struct ClusterAuditOptions {
  // The cluster's name. It is the place of each record, and begins its id.
  std::string cluster;
  // One of so many renewals is recorded; all nodes choose the same ones. 0: none, 1: all. Fewer: a
  // smaller table, which shows with less precision until when a holder was alive.
  uint64_t renewals = 0;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// The record of a fact, or of a change of members: the same one on each node, and each time.
AuditRecord RecordOf(const ClusterAuditOptions& options, raft::Index index, size_t place,
                     const cluster_machine::Fact& fact);
AuditRecord RecordOf(const ClusterAuditOptions& options, raft::Index index, absl::Time time,
                     const raft::Members& members);

// Records what happens to the leases and sequence types of a cluster: the hooks of a
// ClusterNode lead here, on every node.
//
//   node_options.on_fact = [&audit](auto index, auto place, const auto& fact, bool) {
//     audit.OnFact(index, place, fact);
//   };
//   node_options.on_members = [&audit](auto index, auto time, const auto& members) {
//     audit.OnMembers(index, time, members);
//   };
//
// All nodes record all facts, and a node that restarts records those of its log again. The id of a
// record is "CLUSTER/INDEX/PLACE", and its time the machine's, so all of these are one row. A
// record is lost only where each node that applied the entry loses it:
//   - it died with the record in memory, and its log does not have the entry any more when it
//     starts again (a snapshot took its place, or the disk is lost); or
//   - its sink dropped the record (AuditSinkStats::dropped).
// A gap's record is of one node: others may have written what that node lost. Renewals that
// ClusterAuditOptions::renewals leaves out leave no record.
//
// A cluster that was begun anew under an old name has the old one's ids again; the times tell the
// rows apart.
//
// Thread safety: all methods may be called from any thread. Cost: that of AuditSink::Record.
class ClusterAudit {
 public:
  // `options` are checked; the sink must outlive this.
  ClusterAudit(AuditSink& sink, ClusterAuditOptions options)
      : sink_(sink), options_(std::move(options)) {}

  void OnFact(raft::Index index, size_t place, const cluster_machine::Fact& fact);
  void OnMembers(raft::Index index, absl::Time time, const raft::Members& members);

  // Renewals that were left out.
  uint64_t left_out() const { return left_out_.load(std::memory_order_relaxed); }

 private:
  AuditSink& sink_;
  const ClusterAuditOptions options_;
  std::atomic<uint64_t> left_out_ = 0;  // publishes nothing else
};

}  // namespace locus::cluster_audit

#endif  // LOCUS_SRC_CLUSTER_AUDIT_CLUSTER_AUDIT_H_
