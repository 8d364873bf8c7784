// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTING_FAULTY_SEGMENT_STORE_H_
#define LOCUS_TESTING_FAULTY_SEGMENT_STORE_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "locus/engine/memory.h"
#include "locus/segment_store.h"

namespace locus::testing {

// A memory store whose leases fail, stall, are granted without an answer, or are rewound, when a
// test says so. What is not a lease passes through.
// Thread safety: all methods may be called from any thread.
class FaultySegmentStore : public SegmentStore {
 public:
  explicit FaultySegmentStore(Clock& clock = Clock::System()) : store_(clock) {}

  // Leases answer `status` and change nothing, until Heal.
  void FailWith(absl::Status status) { Set(Mode::kFail, std::move(status)); }
  // Leases are granted, but their callers hear `status`, until Heal: a lost answer.
  void LoseAnswersWith(absl::Status status) { Set(Mode::kLoseAnswer, std::move(status)); }
  // Leases block before they reach the store, until Heal.
  void Stall() { Set(Mode::kStall, absl::OkStatus()); }
  // Leases are granted, and the answer held back until Heal: it comes late.
  void HoldAnswers() { Set(Mode::kHoldAnswer, absl::OkStatus()); }
  void Heal() { Set(Mode::kHealthy, absl::OkStatus()); }

  // Puts the store back to what it was at the last call of Remember.
  void Remember() { backup_ = store_.TakeBackup(); }
  void PutBack(MemorySegmentStore::Rewind rewind) { store_.PutBack(*backup_, rewind); }

  // How many leases were asked for, and how many of them block right now.
  int calls() const {
    return With([this] { return calls_; });
  }
  int blocked() const {
    return With([this] { return blocked_; });
  }
  MemorySegmentStore& memory() { return store_; }

  absl::Status Create(const SpaceName& space, const SpaceOptions& options,
                      absl::Time caller_now) override {
    return store_.Create(space, options, caller_now);
  }
  absl::StatusOr<SpaceOptions> Open(const SpaceName& space) override { return store_.Open(space); }
  absl::StatusOr<LeaseReply> Lease(const SpaceName& space, std::span<const LeaseRequest> requests,
                                   absl::Time caller_now) override {
    if (std::optional<absl::Status> status = Before()) return *status;
    absl::StatusOr<LeaseReply> reply = store_.Lease(space, requests, caller_now);
    if (std::optional<absl::Status> status = After()) return *status;
    return reply;
  }
  absl::StatusOr<SpaceView> Show(const SpaceName& space, absl::Time caller_now) override {
    return store_.Show(space, caller_now);
  }
  absl::Status DeclareRestored(const SpaceName& space, absl::Time caller_now) override {
    return store_.DeclareRestored(space, caller_now);
  }
  absl::Status Raise(const SpaceName& space, uint64_t to, absl::Time caller_now) override {
    return store_.Raise(space, to, caller_now);
  }

 private:
  enum class Mode { kHealthy, kFail, kLoseAnswer, kStall, kHoldAnswer };

  void Set(Mode mode, absl::Status status) {
    std::lock_guard lock(mutex_);
    mode_ = mode;
    status_ = std::move(status);
    changed_.notify_all();
  }
  template <typename Read>
  int With(Read read) const {
    std::lock_guard lock(mutex_);
    return read();
  }
  void BlockWhile(Mode mode, std::unique_lock<std::mutex>& lock) {
    ++blocked_;
    changed_.wait(lock, [&] { return mode_ != mode; });
    --blocked_;
  }
  std::optional<absl::Status> Before() {
    std::unique_lock lock(mutex_);
    ++calls_;
    if (mode_ == Mode::kStall) BlockWhile(Mode::kStall, lock);
    if (mode_ == Mode::kFail) return status_;
    return std::nullopt;
  }
  std::optional<absl::Status> After() {
    std::unique_lock lock(mutex_);
    if (mode_ == Mode::kHoldAnswer) BlockWhile(Mode::kHoldAnswer, lock);
    if (mode_ == Mode::kLoseAnswer) return status_;
    return std::nullopt;
  }

  MemorySegmentStore store_;
  std::shared_ptr<const MemorySegmentStore::Backup> backup_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Mode mode_ = Mode::kHealthy;
  absl::Status status_;
  int calls_ = 0;
  int blocked_ = 0;
};

}  // namespace locus::testing

#endif  // LOCUS_TESTING_FAULTY_SEGMENT_STORE_H_
