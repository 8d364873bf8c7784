// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_MEMORY_H_
#define LOCUS_ENGINE_MEMORY_H_

#include <memory>

#include "locus/clock.h"
#include "locus/segment_store.h"

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
  absl::StatusOr<SpaceOptions> Open(const SpaceName& space) override;
  absl::StatusOr<LeaseReply> Lease(const SpaceName& space, std::span<const LeaseRequest> requests,
                                   absl::Time caller_now) override;
  absl::StatusOr<SpaceView> Show(const SpaceName& space, absl::Time caller_now) override;
  absl::Status DeclareRestored(const SpaceName& space, absl::Time caller_now) override;
  absl::Status Raise(const SpaceName& space, uint64_t to, absl::Time caller_now) override;

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

}  // namespace locus

#endif  // LOCUS_ENGINE_MEMORY_H_
