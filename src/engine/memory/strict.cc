// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "locus/engine/memory.h"
#include "src/base/os/check.h"
#include "src/base/run/mutex.h"
#include "src/strict/strict_rules.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;

namespace {

struct StoredSet {
  strict::Set set;
  std::map<uint32_t, strict::Record> records;
};

}  // namespace

class MemoryStrictStore::Backup {
 public:
  std::map<SpaceName, StoredSet> sets;
};

struct MemoryStrictStore::Rep {
  explicit Rep(Clock& clock_in) : clock(clock_in) {}

  // Runs `plan` on the stored state of `sections`, and stores its changes.
  template <typename Sections, typename Plan>
  auto Run(const SpaceName& name, const StrictSetOptions& options, const Sections& sections,
           const Plan& plan)
      -> absl::StatusOr<decltype(plan(std::declval<strict::Batch&>(), absl::Time()))> {
    MutexLock lock(mutex);
    auto found = state.sets.find(name);
    if (found == state.sets.end()) return strict::NoSuchSet(name);
    StoredSet& stored = found->second;
    LOCUS_RETURN_IF_ERROR(strict::CheckSame(name, stored.set.options, options));
    strict::Batch batch;
    batch.set = stored.set;
    for (const auto& item : sections) {
      auto record = stored.records.find(item.section);
      if (record != stored.records.end()) batch.records.insert(*record);
    }
    auto reply = plan(batch, clock.Now());
    stored.set = batch.set;
    for (uint32_t section : batch.changed) stored.records[section] = batch.records[section];
    return reply;
  }

  Clock& clock;
  Mutex mutex;
  Backup state ABSL_GUARDED_BY(mutex);
};

MemoryStrictStore::MemoryStrictStore(Clock& clock) : rep_(std::make_unique<Rep>(clock)) {}
MemoryStrictStore::~MemoryStrictStore() = default;

absl::Status MemoryStrictStore::Create(const SpaceName& set, const StrictSetOptions& options,
                                       const StrictSetPast& past) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  MutexLock lock(rep_->mutex);
  auto [entry, created] = rep_->state.sets.try_emplace(set);
  if (!created) return strict::CheckSame(set, entry->second.set.options, options);
  strict::Batch batch;
  strict::Rules::Create(batch, options, past, rep_->clock.Now());
  entry->second.set = batch.set;
  return absl::OkStatus();
}

absl::Status MemoryStrictStore::DeclareRestored(const SpaceName& set) {
  MutexLock lock(rep_->mutex);
  auto found = rep_->state.sets.find(set);
  if (found == rep_->state.sets.end()) return strict::NoSuchSet(set);
  strict::Batch batch;
  batch.set = found->second.set;
  strict::Rules::NoteLoss(batch, rep_->clock.Now());
  found->second.set = batch.set;
  return absl::OkStatus();
}

absl::StatusOr<StrictReply<StrictGrant>> MemoryStrictStore::Take(const SpaceName& set,
                                                                 const StrictSetOptions& options,
                                                                 const StrictTake& request) {
  LOCUS_RETURN_IF_ERROR(strict::Check(options, request));
  return rep_->Run(set, options, request.wishes, [&](strict::Batch& batch, absl::Time now) {
    return strict::Rules::Take(batch, request, now);
  });
}

absl::StatusOr<StrictReply<StrictExtended>> MemoryStrictStore::Extend(
    const SpaceName& set, const StrictSetOptions& options, const StrictExtend& request) {
  LOCUS_RETURN_IF_ERROR(strict::Check(options, request));
  return rep_->Run(set, options, request.sections, [&](strict::Batch& batch, absl::Time now) {
    return strict::Rules::Extend(batch, request, now);
  });
}

absl::StatusOr<StrictReply<StrictExtended>> MemoryStrictStore::Release(
    const SpaceName& set, const StrictSetOptions& options, const StrictRelease& request) {
  LOCUS_RETURN_IF_ERROR(strict::Check(options, request));
  return rep_->Run(set, options, request.sections, [&](strict::Batch& batch, absl::Time now) {
    return strict::Rules::Release(batch, request, now);
  });
}

absl::StatusOr<StrictSetView> MemoryStrictStore::Show(const SpaceName& set) {
  MutexLock lock(rep_->mutex);
  auto found = rep_->state.sets.find(set);
  if (found == rep_->state.sets.end()) return strict::NoSuchSet(set);
  return strict::ViewOf(found->second.set, found->second.records, rep_->clock.Now());
}

std::shared_ptr<const MemoryStrictStore::Backup> MemoryStrictStore::TakeBackup() const {
  MutexLock lock(rep_->mutex);
  return std::make_shared<Backup>(rep_->state);
}

void MemoryStrictStore::PutBack(const Backup& backup) {
  MutexLock lock(rep_->mutex);
  rep_->state = backup;
}

}  // namespace locus
