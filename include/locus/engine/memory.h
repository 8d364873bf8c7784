// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_MEMORY_H_
#define LOCUS_ENGINE_MEMORY_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "locus/clock.h"
#include "locus/segment_store.h"
#include "locus/sequence_type_store.h"
#include "locus/sequencer.h"
#include "locus/str.h"
#include "locus/strict_store.h"
#include "locus/worker_lease_store.h"

namespace locus {

// A segment store in the memory of this process, for tests and benchmarks. Nothing survives the
// process, so order IDs repeat after a restart.
// Never blocks.
class MemorySegmentStore : public SegmentStore {
 public:
  // `clock` is the store's clock and must outlive it.
  explicit MemorySegmentStore(Clock& clock = Clock::System());
  ~MemorySegmentStore() override;

  absl::Status Create(const SpaceName& space, const SpaceOptions& options,
                      absl::Time caller_now) override;
  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& space) override;
  absl::StatusOr<SegmentReply> Allocate(const SpaceName& space, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time caller_now) override;
  absl::StatusOr<SpaceView> Show(const SpaceName& space, absl::Time caller_now) override;
  absl::Status DeclareRestored(const SpaceName& space, absl::Time caller_now) override;
  absl::StatusOr<BaseRaise> Raise(const SpaceName& space, uint64_t to, RaiseReach reach,
                                  absl::Time caller_now) override;

  // A copy of everything that the store holds, like a backup.
  class Backup;
  std::shared_ptr<const Backup> TakeBackup() const;
  // Restores the copy. kNewIdentity: like a server that was replaced by another one; the next
  // allocation notices the loss. kSilent: like a disk that lost writes; the store does not notice
  // it.
  enum class Rewind { kNewIdentity, kSilent };
  void PutBack(const Backup& backup, Rewind rewind);

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// "new_identity", "silent".
std::string_view ToString(MemorySegmentStore::Rewind rewind);
template <typename Sink>
void AbslStringify(Sink& sink, MemorySegmentStore::Rewind rewind) {
  sink.Append(std::string(ToString(rewind)));
}

// Counters in the memory of this process, for tests, benchmarks, and counters that need not outlive
// their process.
// Never blocks.
class MemorySequencer : public Sequencer {
 public:
  // `clock` measures ttl (by the time since boot) and must outlive all handles. INVALID_ARGUMENT:
  // SequencerOptions::Check.
  static absl::StatusOr<std::unique_ptr<MemorySequencer>> Create(const SequencerOptions& options,
                                                                 Clock& clock = Clock::System());
  ~MemorySequencer() override;

  // Another handle on the same counters, as another process would have on another engine.
  absl::StatusOr<std::unique_ptr<MemorySequencer>> Share(const SequencerOptions& options) const;

 private:
  absl::StatusOr<Taken> Take(const std::string& name, int64_t span) override;
  absl::Status Store(const std::string& name, int64_t value) override;
  absl::StatusOr<bool> StoreNew(const std::string& name, int64_t value) override;
  absl::StatusOr<std::optional<int64_t>> Load(const std::string& name) override;
  absl::StatusOr<bool> PutBack(const std::string& name, const Taken& taken, int64_t value) override;

  class Keys;
  MemorySequencer(const SequencerOptions& options, std::shared_ptr<Keys> keys);
  const std::shared_ptr<Keys> keys_;
};

// Sequence types in the memory of this process, for tests, beside a MemorySequencer. Never blocks.
class MemorySequenceTypeStore : public SequenceTypeStore {
 public:
  MemorySequenceTypeStore();
  ~MemorySequenceTypeStore() override;

 private:
  absl::StatusOr<std::optional<Stored>> Load(const std::string& name) override;
  absl::StatusOr<std::map<std::string, Stored>> LoadAll() override;
  absl::StatusOr<bool> Swap(const std::string& name, uint64_t expected,
                            const std::optional<Stored>& next) override;

  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// Worker leases in the memory of this process, for tests and benchmarks. Another process does not
// see them, so worker IDs repeat.
// Never blocks.
class MemoryWorkerLeaseStore : public WorkerLeaseStore {
 public:
  // `clock` is the store's clock and must outlive it.
  explicit MemoryWorkerLeaseStore(Clock& clock = Clock::System());
  ~MemoryWorkerLeaseStore() override;

  absl::Status Create(const SpaceName& space, const WorkerSpacePast& past,
                      absl::Time caller_now) override;
  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& space,
                                      const WorkerAcquire& request) override;
  absl::StatusOr<WorkerGrant> Renew(const SpaceName& space, const WorkerRenew& request) override;
  absl::Status Release(const SpaceName& space, const WorkerRelease& request) override;
  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& space) override;
  WorkerStoreFacts facts() const override;

  // A copy of everything that the store holds, like a backup; and a silent return to it.
  class Backup;
  std::shared_ptr<const Backup> TakeBackup() const;
  void PutBack(const Backup& backup);

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// The sections of strict sequences in the memory of this process, for tests and benchmarks.
// Never blocks.
class MemoryStrictStore : public StrictStore {
 public:
  // `clock` is the store's clock and must outlive it.
  explicit MemoryStrictStore(Clock& clock = Clock::System());
  ~MemoryStrictStore() override;

  absl::Status Create(const SpaceName& set, const StrictSetOptions& options,
                      const StrictSetPast& past) override;
  absl::Status DeclareRestored(const SpaceName& set) override;
  absl::StatusOr<StrictReply<StrictGrant>> Take(const SpaceName& set,
                                                const StrictSetOptions& options,
                                                const StrictTake& request) override;
  absl::StatusOr<StrictReply<StrictExtended>> Extend(const SpaceName& set,
                                                     const StrictSetOptions& options,
                                                     const StrictExtend& request) override;
  absl::StatusOr<StrictReply<StrictExtended>> Release(const SpaceName& set,
                                                      const StrictSetOptions& options,
                                                      const StrictRelease& request) override;
  absl::StatusOr<StrictSetView> Show(const SpaceName& set) override;

  // A copy of everything that the store holds, like a backup; and a silent return to it.
  class Backup;
  std::shared_ptr<const Backup> TakeBackup() const;
  void PutBack(const Backup& backup);

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_ENGINE_MEMORY_H_
