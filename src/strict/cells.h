// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_STRICT_CELLS_H_
#define LOCUS_SRC_STRICT_CELLS_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "src/base/check.h"
#include "src/strict/section.h"

namespace locus::strict {

// The cells of one section: address space as long as this lives, memory only in pages that were
// written since they were last dropped.
// Thread safety: Make and Drop from one thread at a time, cells() from any, also while Drop runs.
class Cells {
 public:
  Cells() = default;
  ~Cells() {
    if (Cell* cells = cells_.load(std::memory_order_relaxed)) munmap(cells, bytes_);
  }
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;

  // All zero. False: the system has no address space, or promises no memory.
  bool Make(size_t count) {
    if (cells() != nullptr) return true;
    bytes_ = count * sizeof(Cell);
    void* made = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return false;
    // Zero bytes are an atomic of value 0.
    static_assert(sizeof(Cell) == 8 && Cell::is_always_lock_free);
    cells_.store(static_cast<Cell*>(made), std::memory_order_release);
    return true;
  }
  // Gives the memory back: all are zero again. Whoever writes one meanwhile writes the old cell or
  // the new one.
  void Drop() {
    Cell* cells = this->cells();
    if (cells != nullptr) LOCUS_CHECK(madvise(cells, bytes_, MADV_DONTNEED) == 0);
  }

  // nullptr before Make.
  Cell* cells() const { return cells_.load(std::memory_order_acquire); }

 private:
  std::atomic<Cell*> cells_{nullptr};
  size_t bytes_ = 0;
};

}  // namespace locus::strict

#endif  // LOCUS_SRC_STRICT_CELLS_H_
