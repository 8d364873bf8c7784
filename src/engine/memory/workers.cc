// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "locus/engine/memory.h"
#include "src/base/os/check.h"
#include "src/base/run/mutex.h"
#include "src/worker/worker_rules.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;

namespace {

struct WorkerSpace {
  worker::Space space;
  std::map<uint64_t, WorkerRecord> records;

  const WorkerRecord* Find(uint64_t id) const {
    auto found = records.find(id);
    return found == records.end() ? nullptr : &found->second;
  }
  void Store(const worker::Outcome& outcome) {
    if (outcome.record.has_value()) records[outcome.record->worker] = *outcome.record;
    if (outcome.space.has_value()) space = *outcome.space;
  }
};

}  // namespace

class MemoryWorkerLeaseStore::Backup {
 public:
  std::map<SpaceName, WorkerSpace> spaces;

  WorkerSpace* Find(const SpaceName& name) {
    auto found = spaces.find(name);
    return found == spaces.end() ? nullptr : &found->second;
  }
};

struct MemoryWorkerLeaseStore::Rep {
  explicit Rep(Clock& clock_in) : clock(clock_in) {}

  Clock& clock;
  Mutex mutex;
  Backup state ABSL_GUARDED_BY(mutex);
};

MemoryWorkerLeaseStore::MemoryWorkerLeaseStore(Clock& clock) : rep_(std::make_unique<Rep>(clock)) {}
MemoryWorkerLeaseStore::~MemoryWorkerLeaseStore() = default;

absl::Status MemoryWorkerLeaseStore::Create(const SpaceName& space, const WorkerSpacePast& past,
                                            absl::Time) {
  LOCUS_RETURN_IF_ERROR(worker::Check(past));
  MutexLock lock(rep_->mutex);
  auto [entry, created] = rep_->state.spaces.try_emplace(space);
  worker::PlanCreate(entry->second.space, created, past, rep_->clock.Now());
  return absl::OkStatus();
}

absl::StatusOr<WorkerGrant> MemoryWorkerLeaseStore::Acquire(const SpaceName& space,
                                                            const WorkerAcquire& request) {
  LOCUS_RETURN_IF_ERROR(worker::Check(request));
  MutexLock lock(rep_->mutex);
  const absl::Time now = rep_->clock.Now();
  WorkerSpace* found = rep_->state.Find(space);
  if (found == nullptr) return worker::NoSuchSpace(space);
  LOCUS_RETURN_IF_ERROR(worker::CheckClock(request.term, request.caller_now, now));
  auto scan = [found](uint64_t first, uint64_t last, const worker::Visit& visit) {
    for (auto it = found->records.lower_bound(first);
         it != found->records.end() && it->first <= last; ++it) {
      if (!visit(it->second)) break;
    }
    return absl::OkStatus();
  };
  LOCUS_ASSIGN_OR_RETURN(worker::FreeWorker free, worker::FindFree(space, request, now, scan));
  worker::Outcome outcome = worker::PlanAcquire(found->space, free.record ? &*free.record : nullptr,
                                                free.worker, request, now);
  found->Store(outcome);
  LOCUS_RETURN_IF_ERROR(outcome.status);
  return outcome.grant;
}

absl::StatusOr<WorkerGrant> MemoryWorkerLeaseStore::Renew(const SpaceName& space,
                                                          const WorkerRenew& request) {
  LOCUS_RETURN_IF_ERROR(worker::Check(request));
  MutexLock lock(rep_->mutex);
  const absl::Time now = rep_->clock.Now();
  LOCUS_RETURN_IF_ERROR(worker::CheckClock(request.term, request.caller_now, now));
  WorkerSpace* found = rep_->state.Find(space);
  worker::Outcome outcome =
      worker::PlanRenew(found == nullptr ? nullptr : &found->space,
                        found == nullptr ? nullptr : found->Find(request.worker), request, now);
  if (found == nullptr && outcome.record.has_value()) found = &rep_->state.spaces[space];
  if (found != nullptr) found->Store(outcome);
  LOCUS_RETURN_IF_ERROR(outcome.status);
  return outcome.grant;
}

absl::Status MemoryWorkerLeaseStore::Release(const SpaceName& space, const WorkerRelease& request) {
  LOCUS_RETURN_IF_ERROR(worker::Check(request));
  MutexLock lock(rep_->mutex);
  WorkerSpace* found = rep_->state.Find(space);
  if (found == nullptr) return worker::NoSuchSpace(space);
  worker::Outcome outcome = worker::PlanRelease(found->Find(request.worker), request);
  found->Store(outcome);
  return outcome.status;
}

absl::StatusOr<WorkerSpaceView> MemoryWorkerLeaseStore::Show(const SpaceName& space) {
  MutexLock lock(rep_->mutex);
  const WorkerSpace* found = rep_->state.Find(space);
  if (found == nullptr) return worker::NoSuchSpace(space);
  WorkerSpaceView view = worker::ViewOf(found->space, rep_->clock.Now());
  for (const auto& [id, record] : found->records) view.workers.push_back(record);
  return view;
}

WorkerStoreFacts MemoryWorkerLeaseStore::facts() const {
  return {.engine = "memory", .durable = false, .notices_loss = false};
}

std::shared_ptr<const MemoryWorkerLeaseStore::Backup> MemoryWorkerLeaseStore::TakeBackup() const {
  MutexLock lock(rep_->mutex);
  return std::make_shared<Backup>(rep_->state);
}

void MemoryWorkerLeaseStore::PutBack(const Backup& backup) {
  MutexLock lock(rep_->mutex);
  rep_->state = backup;
}

}  // namespace locus
