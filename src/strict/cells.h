// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_STRICT_CELLS_H_
#define LOCUS_SRC_STRICT_CELLS_H_

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/os/check.h"
#include "src/strict/page_budget.h"
#include "src/strict/section.h"

namespace locus::strict {

// The cells of one section: address space as long as this object lives, memory only for pages that
// were written since they were last dropped. A budget counts these pages; all calls pass the same
// one.
// Thread safety: Make and Drop from one thread at a time; the others from any, also while Drop
// runs.
class Cells {
 public:
  Cells() = default;
  ~Cells() {
    if (Cell* cells = cells_.load(std::memory_order_relaxed)) munmap(cells, pages_->bytes);
  }
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;

  // Makes the cells, all zero. False: the system has no address space, or grants no memory.
  bool Make(size_t count) {
    if (cells() != nullptr) return true;
    const size_t bytes = count * sizeof(Cell);
    void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return false;
    // The count must match the pages in use, so no huge pages. Kernels without huge pages refuse
    // this call.
    madvise(made, bytes, MADV_NOHUGEPAGE);
    pages_ = std::make_unique<Pages>(bytes);
    // Zero bytes are an atomic of value 0.
    static_assert(sizeof(Cell) == 8 && Cell::is_always_lock_free);
    cells_.store(static_cast<Cell*>(made), std::memory_order_release);
    return true;
  }

  // Before a cell that is zero is written: counts its page, once. False: the budget has none left.
  // A page whose cell was found zero before a Drop, and is written after it, may stay uncounted: at
  // most one page for each thread.
  bool Enter(size_t cell, PageBudget& budget) {
    const size_t page = cell * sizeof(Cell) / PageBudget::PageBytes();
    std::atomic<uint64_t>& word = pages_->counted[page / 64];
    const uint64_t bit = uint64_t{1} << (page % 64);
    // Relaxed: the cells publish nothing else.
    if ((word.load(std::memory_order_relaxed) & bit) != 0) return true;
    if (!budget.Enter()) return false;
    const bool was_counted = (word.fetch_or(bit, std::memory_order_relaxed) & bit) != 0;
    if (was_counted) budget.Leave(1);
    return true;
  }
  // The pages that are counted.
  uint64_t Count() const {
    uint64_t count = 0;
    if (cells() == nullptr) return count;
    for (const auto& word : pages_->counted) {
      count += static_cast<uint64_t>(std::popcount(word.load(std::memory_order_relaxed)));
    }
    return count;
  }
  // Gives the memory back: all cells are zero again. A concurrent write goes to the old cell or to
  // the new one.
  void Drop(PageBudget& budget) {
    Cell* cells = this->cells();
    if (cells == nullptr) return;
    uint64_t count = 0;
    for (auto& word : pages_->counted) {
      count += static_cast<uint64_t>(std::popcount(word.exchange(0, std::memory_order_relaxed)));
    }
    LOCUS_CHECK(madvise(cells, pages_->bytes, MADV_DONTNEED) == 0);
    budget.Leave(count);
  }

  // nullptr before Make.
  Cell* cells() const { return cells_.load(std::memory_order_acquire); }

 private:
  struct Pages {
    explicit Pages(size_t size)
        : bytes(size), counted((size / PageBudget::PageBytes() + 1) / 64 + 1) {}
    const size_t bytes;
    std::vector<std::atomic<uint64_t>> counted;  // a bit for each
  };

  std::atomic<Cell*> cells_{nullptr};  // its store publishes pages_
  std::unique_ptr<Pages> pages_;
};

}  // namespace locus::strict

#endif  // LOCUS_SRC_STRICT_CELLS_H_
