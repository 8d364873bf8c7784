// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTING_FAULTY_SEGMENT_STORE_H_
#define LOCUS_TESTING_FAULTY_SEGMENT_STORE_H_

#include <memory>
#include <optional>

#include "locus/engine/memory.h"
#include "locus/segment_store.h"
#include "locus/testing/faults.h"

namespace locus::fakes {

// A memory store whose allocations a test can make fail, stall, lose their answers or be rewound.
// Other calls are passed on. Thread safety: all methods may be called from any thread.
class FaultySegmentStore : public SegmentStore, public Faults {
 public:
  explicit FaultySegmentStore(Clock& clock = Clock::System()) : store_(clock) {}

  // Puts the store back to its state at the last call of Remember.
  void Remember() { backup_ = store_.TakeBackup(); }
  void PutBack(MemorySegmentStore::Rewind rewind) { store_.PutBack(*backup_, rewind); }
  MemorySegmentStore& memory() { return store_; }

  absl::Status Create(const SpaceName& space, const SpaceOptions& options,
                      absl::Time caller_now) override {
    return store_.Create(space, options, caller_now);
  }
  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& space) override {
    return store_.ReadOptions(space);
  }
  absl::StatusOr<SegmentReply> Allocate(const SpaceName& space, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time caller_now) override {
    if (std::optional<absl::Status> status = Before()) return *status;
    absl::StatusOr<SegmentReply> reply = store_.Allocate(space, options, requests, caller_now);
    if (std::optional<absl::Status> status = After()) return *status;
    return reply;
  }
  absl::StatusOr<SpaceView> Show(const SpaceName& space, absl::Time caller_now) override {
    return store_.Show(space, caller_now);
  }
  absl::Status DeclareRestored(const SpaceName& space, absl::Time caller_now) override {
    return store_.DeclareRestored(space, caller_now);
  }
  absl::StatusOr<BaseRaise> Raise(const SpaceName& space, uint64_t to, RaiseReach reach,
                                  absl::Time caller_now) override {
    return store_.Raise(space, to, reach, caller_now);
  }

 private:
  MemorySegmentStore store_;
  std::shared_ptr<const MemorySegmentStore::Backup> backup_;
};

}  // namespace locus::fakes

#endif  // LOCUS_TESTING_FAULTY_SEGMENT_STORE_H_
