// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_STRICT_PAGE_BUDGET_H_
#define LOCUS_SRC_STRICT_PAGE_BUDGET_H_

#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace locus::strict {

// How many pages of memory the keys of a set use, and how many they may use.
// Thread safety: all methods may be called from any thread.
class PageBudget {
 public:
  explicit PageBudget(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  static uint64_t PageBytes() {
    static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return bytes;
  }

  // Takes one more page. False: the limit is reached; Exhausted is then true until Freed.
  bool Enter() {
    // Relaxed: counts that publish nothing else.
    if (used_.fetch_add(1, std::memory_order_relaxed) < most()) return true;
    Leave(1);
    exhausted_.store(true, std::memory_order_relaxed);
    return false;
  }
  void Leave(uint64_t pages) { used_.fetch_sub(pages, std::memory_order_relaxed); }

  bool Exhausted() const { return exhausted_.load(std::memory_order_relaxed); }
  void Freed() { exhausted_.store(false, std::memory_order_relaxed); }

  uint64_t most() const { return most_bytes_ / PageBytes(); }
  uint64_t most_bytes() const { return most_bytes_; }
  uint64_t used_bytes() const { return used_.load(std::memory_order_relaxed) * PageBytes(); }

 private:
  const uint64_t most_bytes_;
  std::atomic<uint64_t> used_{0};
  std::atomic<bool> exhausted_{false};
};

}  // namespace locus::strict

#endif  // LOCUS_SRC_STRICT_PAGE_BUDGET_H_
