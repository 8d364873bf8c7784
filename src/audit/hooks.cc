// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/audit_hooks.h"
#include "src/audit/type_record.h"
#include "src/base/run/mutex.h"
#include "src/base/text/text.h"

namespace locus {
namespace {

AuditRecord RecordIn(const AuditContext& context, AuditRecord::Kind kind) {
  AuditRecord record;
  record.kind = kind;
  record.space = context.space.str();
  record.place = context.place;
  if (context.trace_id) record.trace_id = context.trace_id();
  return record;
}

// nullopt: it is not recorded.
std::optional<AuditRecord::Kind> KindOf(const StrictEvent& event) {
  switch (event.kind) {
    case StrictEvent::Kind::kTaken:
      return AuditRecord::Kind::kSectionTaken;
    case StrictEvent::Kind::kReleased:
      return AuditRecord::Kind::kSectionReleased;
    case StrictEvent::Kind::kLost:
      return AuditRecord::Kind::kSectionLost;
    case StrictEvent::Kind::kLossNoticed:
      return AuditRecord::Kind::kLossNoticed;
    case StrictEvent::Kind::kExtendFailed:
    case StrictEvent::Kind::kUsedUp:
      return std::nullopt;
  }
  return std::nullopt;
}

// The leases of which one hook has had events. Thread safety: by its mutex.
class LeaseHistory {
 public:
  explicit LeaseHistory(uint64_t renewals) : renewals_(renewals) {}

  // How the event is recorded; nullopt: not at all.
  std::optional<AuditRecord::Kind> KindOf(const WorkerLeaseEvent& event) {
    using Kind = AuditRecord::Kind;
    internal::MutexLock lock(mutex_);
    switch (event.kind) {
      case WorkerLeaseEvent::Kind::kAcquired:
        unhealthy_ = false;
        return Kind::kGranted;
      case WorkerLeaseEvent::Kind::kRenewed:
        if (std::exchange(unhealthy_, false)) return Kind::kHealthy;
        if (renewals_ > 0 && seen_++ % renewals_ == 0) return Kind::kRenewed;
        return std::nullopt;
      case WorkerLeaseEvent::Kind::kRenewalFailed:
        // The store has refused nothing: the renewal had no answer, and is repeated.
        if (absl::IsUnavailable(event.status) || absl::IsDeadlineExceeded(event.status)) {
          return std::nullopt;
        }
        return Kind::kRefused;
      case WorkerLeaseEvent::Kind::kUnhealthy:
        if (std::exchange(unhealthy_, true)) return std::nullopt;
        return Kind::kUnhealthy;
      case WorkerLeaseEvent::Kind::kLost:
        return Kind::kLost;
      case WorkerLeaseEvent::Kind::kReleased:
        return Kind::kReleased;
    }
    return std::nullopt;
  }

 private:
  const uint64_t renewals_;
  internal::Mutex mutex_;
  uint64_t seen_ ABSL_GUARDED_BY(mutex_) = 0;
  bool unhealthy_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::function<void(const GeneratorEvent&)> AuditSegments(
    AuditSink& sink, AuditContext context, std::function<void(const GeneratorEvent&)> next) {
  return
      [&sink, context = std::move(context), next = std::move(next)](const GeneratorEvent& event) {
        auto record_one = [&](AuditRecord record) {
          if (!event.store.empty()) {
            absl::StrAppend(&record.place, record.place.empty() ? "" : " ", event.store);
          }
          sink.Record(std::move(record));
        };
        for (const GeneratorEvent::Range& range : event.ranges) {
          AuditRecord record = RecordIn(context, AuditRecord::Kind::kSegment);
          record.section = range.section;
          record.first = range.segment.first;
          record.end = range.segment.end();
          record_one(std::move(record));
        }
        if (event.kind == GeneratorEvent::Kind::kLossNoticed) {
          record_one(RecordIn(context, AuditRecord::Kind::kLossNoticed));
        }
        if (next) next(event);
      };
}

std::function<void(const SegmentSequenceEvent&)> AuditSequence(
    AuditSink& sink, AuditContext context, std::function<void(const SegmentSequenceEvent&)> next) {
  return [&sink, context = std::move(context),
          next = std::move(next)](const SegmentSequenceEvent& event) {
    using Kind = SegmentSequenceEvent::Kind;
    if (event.kind != Kind::kStoreFailed) {
      AuditRecord record =
          RecordIn(context, event.kind == Kind::kTaken ? AuditRecord::Kind::kSegment
                                                       : AuditRecord::Kind::kReleased);
      record.first = static_cast<uint64_t>(event.numbers.first);
      record.end = static_cast<uint64_t>(event.numbers.last()) + 1;
      record.detail =
          absl::StrCat("counter ", internal::Printable(event.key), ", step ", event.numbers.step);
      sink.Record(std::move(record));
    }
    if (next) next(event);
  };
}

std::function<void(const WorkerLeaseEvent&)> AuditWorkerLease(
    AuditSink& sink, AuditContext context, uint64_t renewals,
    std::function<void(const WorkerLeaseEvent&)> next) {
  auto history = std::make_shared<LeaseHistory>(renewals);
  return [&sink, context = std::move(context), next = std::move(next),
          history = std::move(history)](const WorkerLeaseEvent& event) {
    if (const auto kind = history->KindOf(event)) {
      AuditRecord record = RecordIn(context, *kind);
      record.space = event.space.str();
      record.worker = event.worker;
      record.token = event.token;
      record.floor = event.floor;
      record.ceiling = event.ceiling;
      record.nonce = event.nonce;
      record.holder = event.holder;
      if (!event.status.ok()) record.detail = event.status.ToString();
      sink.Record(std::move(record));
    }
    if (next) next(event);
  };
}

std::function<void(const SequenceTypeEvent&)> AuditSequenceTypes(
    AuditSink& sink, AuditContext context, std::function<void(const SequenceTypeEvent&)> next) {
  return [&sink, context = std::move(context),
          next = std::move(next)](const SequenceTypeEvent& event) {
    AuditRecord record = RecordIn(context, AuditRecord::Kind::kTypeAltered);
    internal::DescribeType(event, record);
    sink.Record(std::move(record));
    if (next) next(event);
  };
}

std::function<void(const StrictEvent&)> AuditStrict(AuditSink& sink, AuditContext context,
                                                    std::string owner,
                                                    std::function<void(const StrictEvent&)> next) {
  return [&sink, context = std::move(context), owner = std::move(owner),
          next = std::move(next)](const StrictEvent& event) {
    if (const auto kind = KindOf(event)) {
      AuditRecord record = RecordIn(context, *kind);
      record.section = event.section;
      record.token = event.token;
      record.holder = owner;
      if (!event.status.ok()) record.detail = event.status.ToString();
      sink.Record(std::move(record));
    }
    if (next) next(event);
  };
}

}  // namespace locus
