// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_COUNTER_THREAD_BLOCKS_H_
#define LOCUS_SRC_COUNTER_THREAD_BLOCKS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/os/wipe_on_fork.h"
#include "src/base/run/mutex.h"

namespace locus::internal {

// Numbers that one thread has for itself.
struct ThreadBlock {
  uint64_t next = 0;
  uint64_t left = 0;
};

// Numbers that threads hold for themselves, of any number of owners at once. A thread that ends
// leaves its unused numbers to threads that have not passed them yet.
//
// An owner has an identity that never comes again, so a block of a destroyed owner is never
// mistaken for a block of another owner. A thread drops such blocks when it next draws one. Thread
// safety: all methods may be called from any thread, also after Close.
class ThreadBlocks {
 public:
  // Numbers are `step` apart.
  explicit ThreadBlocks(int64_t step);
  ~ThreadBlocks();
  ThreadBlocks(const ThreadBlocks&) = delete;
  ThreadBlocks& operator=(const ThreadBlocks&) = delete;

  // The calling thread's next number; nullopt: it has no numbers. No lock, no shared write.
  std::optional<int64_t> Take() {
    Slot& slot = slots_[identity_ % kSlots];
    if (slot.identity != identity_ || slot.block.left == 0 || !open()) [[unlikely]] {
      return std::nullopt;
    }
    --slot.block.left;
    // Unsigned: the last number may be the highest there is.
    uint64_t number = slot.block.next;
    slot.block.next += step_;
    return static_cast<int64_t>(number);
  }

  // False: the calling thread is about to end, and keeps nothing any more.
  static bool CanHold();
  // Gives the calling thread a block that another one left. False: there is none that this thread
  // has not passed.
  bool TakeLeftOver();
  // Gives the calling thread `block`, which lies above all of its earlier ones.
  void Give(ThreadBlock block);

  // Take returns nullopt from now on.
  void Close();

 private:
  friend class ThreadKeeper;
  static constexpr uint64_t kSlots = 8;  // owners that a thread switches between at no cost

  struct Slot {
    uint64_t identity;  // of the owner; 0: none
    ThreadBlock block;
  };
  // The part of the owner that lives as long as a thread refers to it.
  struct Shared {
    // Whether this process may use it. False in a forked child, whose locks are copies.
    bool open() const { return words[0].load(std::memory_order_relaxed) != 0; }

    WipeOnForkWords words{1};  // 1 until Close
    Mutex mutex;
    std::vector<ThreadBlock> left_over ABSL_GUARDED_BY(mutex);
  };

  bool open() const { return open_.load(std::memory_order_relaxed) != 0; }

  static inline constinit thread_local std::array<Slot, kSlots> slots_{};

  const uint64_t identity_;
  const uint64_t step_;
  const std::shared_ptr<Shared> shared_;
  const std::atomic<uint64_t>& open_;  // shared_->words[0]
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_COUNTER_THREAD_BLOCKS_H_
