// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_MEMORY_H_
#define LOCUS_ENGINE_MEMORY_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "locus/clock.h"
#include "locus/segment_store.h"
#include "locus/sequencer.h"

namespace locus {

// A segment store in this process's memory, for tests and benchmarks: nothing survives the
// process, so its order IDs repeat after a restart.
// Never blocks.
class MemorySegmentStore : public SegmentStore {
 public:
  // `clock` is the store's clock and outlives it.
  explicit MemorySegmentStore(Clock& clock = Clock::System());
  ~MemorySegmentStore() override;

  absl::Status Create(const SpaceName& space, const SpaceOptions& options,
                      absl::Time caller_now) override;
  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& space) override;
  absl::StatusOr<LeaseReply> Lease(const SpaceName& space, const SpaceOptions& options,
                                   std::span<const LeaseRequest> requests,
                                   absl::Time caller_now) override;
  absl::StatusOr<SpaceView> Show(const SpaceName& space, absl::Time caller_now) override;
  absl::Status DeclareRestored(const SpaceName& space, absl::Time caller_now) override;
  absl::StatusOr<BaseRaise> Raise(const SpaceName& space, uint64_t to, RaiseReach reach,
                                  absl::Time caller_now) override;

  // A copy of all that the store holds, as a backup would.
  class Backup;
  std::shared_ptr<const Backup> TakeBackup() const;
  // Puts the copy back. kNewIdentity: as a server that another one replaced, which the next lease
  // notices. kSilent: the store cannot tell, as after a disk that lied.
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
  sink.Append(ToString(rewind));
}

// Numbers per key in this process's memory, for tests, benchmarks, and counters that need not
// outlive their process.
// Never blocks.
class MemorySequencer : public Sequencer {
 public:
  // INVALID_ARGUMENT: SequencerOptions::Check. `clock` is that of ttl (time since boot) and
  // outlives all handles.
  static absl::StatusOr<std::unique_ptr<MemorySequencer>> Create(const SequencerOptions& options,
                                                                 Clock& clock = Clock::System());
  ~MemorySequencer() override;

  // Another handle on the same keys, as another process has it on another engine.
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

}  // namespace locus

#endif  // LOCUS_ENGINE_MEMORY_H_
