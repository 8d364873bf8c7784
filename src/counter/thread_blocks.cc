// SPDX-License-Identifier: Apache-2.0
#include "src/counter/thread_blocks.h"

#include <unordered_map>
#include <utility>

namespace locus::internal {
namespace {

std::atomic<uint64_t> last_identity{0};

// Trivial, so that it can be read while the thread's other objects are being destroyed.
constinit thread_local bool keeper_gone = false;

}  // namespace

// One thread's state for all owners: their identities, the highest number it got of each, and the
// blocks that have no slot.
class ThreadKeeper {
 public:
  using Slot = ThreadBlocks::Slot;

  static ThreadKeeper& OfThisThread() {
    static thread_local ThreadKeeper keeper;
    return keeper;
  }

  ~ThreadKeeper() {
    keeper_gone = true;
    for (Slot& slot : ThreadBlocks::slots_) Park(slot);
    for (auto& [identity, held] : owners_) {
      if (held.parked.left == 0 || !held.shared->open()) continue;
      MutexLock lock(held.shared->mutex);
      held.shared->left_over.push_back(held.parked);
    }
  }

  struct Held {
    std::shared_ptr<ThreadBlocks::Shared> shared;
    ThreadBlock parked;
    uint64_t reached = 0;  // the highest number that this thread was given
  };
  // The thread's state of the owner, with the block moved into its slot.
  std::pair<Slot&, Held&> Of(const ThreadBlocks& owner) {
    if (!owners_.contains(owner.identity_)) ForgetClosed();
    Held& held = owners_[owner.identity_];
    held.shared = owner.shared_;
    Slot& slot = ThreadBlocks::slots_[owner.identity_ % ThreadBlocks::kSlots];
    if (slot.identity != owner.identity_) {
      Park(slot);
      slot = {owner.identity_, std::exchange(held.parked, ThreadBlock())};
    }
    return {slot, held};
  }

 private:
  void Park(Slot& slot) {
    if (slot.identity == 0) return;
    auto it = owners_.find(slot.identity);
    if (it != owners_.end()) it->second.parked = slot.block;
    slot = Slot();
  }
  void ForgetClosed() {
    std::erase_if(owners_, [](const auto& owner) { return !owner.second.shared->open(); });
  }

  std::unordered_map<uint64_t, Held> owners_;
};

ThreadBlocks::ThreadBlocks(int64_t step)
    : identity_(last_identity.fetch_add(1, std::memory_order_relaxed) + 1),
      step_(static_cast<uint64_t>(step)),
      shared_(std::make_shared<Shared>()),
      open_(shared_->words[0]) {
  shared_->words[0].store(1, std::memory_order_relaxed);
}

ThreadBlocks::~ThreadBlocks() { Close(); }

void ThreadBlocks::Close() { shared_->words[0].store(0, std::memory_order_relaxed); }

bool ThreadBlocks::CanHold() { return !keeper_gone; }

bool ThreadBlocks::TakeLeftOver() {
  auto [slot, held] = ThreadKeeper::OfThisThread().Of(*this);
  if (slot.block.left > 0) return open();  // it had one, without a slot
  if (!open()) return false;
  MutexLock lock(shared_->mutex);
  auto& blocks = shared_->left_over;
  auto block = blocks.begin();
  // The numbers of a thread must rise: a block that it has passed is left to other threads.
  while (block != blocks.end() && block->next <= held.reached) ++block;
  if (block == blocks.end()) return false;
  slot.block = *block;
  held.reached = block->next + (block->left - 1) * step_;
  blocks.erase(block);
  return true;
}

void ThreadBlocks::Give(ThreadBlock block) {
  auto [slot, held] = ThreadKeeper::OfThisThread().Of(*this);
  slot.block = block;
  held.reached = block.next + (block.left - 1) * step_;
}

}  // namespace locus::internal
