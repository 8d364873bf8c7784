// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/audit/cluster_audit.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/audit/type_record.h"
#include "src/base/text/nonce_mark.h"
#include "src/base/text/text.h"
#include "src/number/type_text.h"

namespace locus::cluster_audit {

using cluster_machine::Fact;
using Kind = AuditRecord::Kind;

namespace {

Kind KindOf(Fact::Kind kind) {
  switch (kind) {
    case Fact::Kind::kSpaceCreated:
      return Kind::kCreated;
    case Fact::Kind::kGranted:
      return Kind::kGranted;
    case Fact::Kind::kRenewed:
      return Kind::kRenewed;
    case Fact::Kind::kReleased:
      return Kind::kReleased;
    case Fact::Kind::kExpired:
      return Kind::kExpired;
    case Fact::Kind::kRefused:
      return Kind::kRefused;
    case Fact::Kind::kUnhealthy:
      return Kind::kUnhealthy;
    case Fact::Kind::kHealthy:
      return Kind::kHealthy;
    case Fact::Kind::kLossNoticed:
      return Kind::kLossNoticed;
    case Fact::Kind::kSpaceDeleted:
      return Kind::kDeleted;
    case Fact::Kind::kTypeChanged:
      return Kind::kTypeAltered;
  }
  return Kind::kRefused;
}

// The sequence type that a SequenceTypeStore wrote as this text; nullopt: it is none.
std::optional<internal::StoredType> TypeIn(const std::optional<type_machine::Type>& type,
                                           const std::string& name) {
  if (!type) return std::nullopt;
  absl::StatusOr<internal::StoredType> stored = internal::ParseStoredText(type->text);
  if (!stored.ok()) return std::nullopt;
  stored->type.name = name;
  stored->type.version = type->version;
  return *std::move(stored);
}

void DescribeType(const Fact::TypeChange& type, AuditRecord& record) {
  const std::optional<internal::StoredType> before = TypeIn(type.before, type.name);
  const std::optional<internal::StoredType> after = TypeIn(type.after, type.name);
  if (type.after && !after) {
    record.token = type.after->version;
    record.detail = absl::StrCat("type ", type.name, ": what was written cannot be read");
    return;
  }
  SequenceTypeEvent event;
  if (before && !before->is_dropped) event.before = before->type;
  const bool is_dropped = !after || after->is_dropped;
  event.kind = is_dropped                                       ? SequenceTypeEvent::Kind::kDropped
               : type.before && !(before && before->is_dropped) ? SequenceTypeEvent::Kind::kAltered
                                                                : SequenceTypeEvent::Kind::kCreated;
  if (after) {
    event.after = after->type;
  } else if (before) {  // written by a build that kept no names
    event.after = before->type;
  }
  event.after.name = type.name;
  internal::DescribeType(event, record);
}

std::string IdOf(const ClusterAuditOptions& options, raft::Index index, size_t place) {
  return absl::StrCat(options.cluster, "/", index, "/", place);
}

// Neighbours in the log are chosen independently of each other: what a client does every third time
// would otherwise be recorded always or never.
uint64_t Mixed(uint64_t value) {
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccd;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53;
  return value ^ (value >> 33);
}

bool IsLeftOut(const ClusterAuditOptions& options, raft::Index index, size_t place,
               Fact::Kind kind) {
  if (kind != Fact::Kind::kRenewed || options.renewals == 1) return false;
  return options.renewals == 0 || Mixed(Mixed(index) + place) % options.renewals != 0;
}

}  // namespace

absl::Status ClusterAuditOptions::Check() const {
  if (cluster.empty() || cluster.size() > raft::kMostClusterBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the cluster's name ", internal::Quoted(cluster), " has ", cluster.size(),
                     " bytes; it may have 1 to ", raft::kMostClusterBytes));
  }
  return absl::OkStatus();
}

AuditRecord RecordOf(const ClusterAuditOptions& options, raft::Index index, size_t place,
                     const Fact& fact) {
  AuditRecord record;
  record.kind = KindOf(fact.kind);
  record.time = fact.time;
  record.space = fact.space.str();
  record.place = options.cluster;
  record.trace_id = ToString(fact.trace);
  record.worker = fact.worker;
  record.token = fact.token;
  record.floor = fact.floor;
  record.ceiling = fact.ceiling;
  record.nonce = internal::NonceMark(fact.nonce);
  record.holder = fact.holder;
  if (!fact.status.ok()) record.detail = fact.status.ToString();
  if (fact.kind == Fact::Kind::kTypeChanged) DescribeType(fact.type, record);
  record.id = IdOf(options, index, place);
  return record;
}

AuditRecord RecordOf(const ClusterAuditOptions& options, raft::Index index, absl::Time time,
                     const raft::Members& members) {
  AuditRecord record;
  record.kind = Kind::kMembers;
  record.time = time;
  record.place = options.cluster;
  for (const raft::Member& member : members) {
    absl::StrAppend(&record.detail, record.detail.empty() ? "" : "; ", member.id,
                    member.voter ? " voter " : " learner ", member.address);
  }
  record.id = IdOf(options, index, 0);
  return record;
}

void ClusterAudit::OnFact(raft::Index index, size_t place, const Fact& fact) {
  if (IsLeftOut(options_, index, place, fact.kind)) {
    left_out_.fetch_add(1, std::memory_order_relaxed);
  } else {
    sink_.Record(RecordOf(options_, index, place, fact));
  }
}

void ClusterAudit::OnMembers(raft::Index index, absl::Time time, const raft::Members& members) {
  sink_.Record(RecordOf(options_, index, time, members));
}

}  // namespace locus::cluster_audit
