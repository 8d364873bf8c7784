// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_OS_WIPE_ON_FORK_H_
#define LOCUS_SRC_BASE_OS_WIPE_ON_FORK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace locus::internal {

// An array of atomic words that a forked child finds all zero (MADV_WIPEONFORK, Linux 4.14), also
// after a bare clone(). So a child cannot take a parent's segment, and the parent pays nothing.
class WipeOnForkWords {
 public:
  explicit WipeOnForkWords(size_t size);
  ~WipeOnForkWords();
  WipeOnForkWords(const WipeOnForkWords&) = delete;
  WipeOnForkWords& operator=(const WipeOnForkWords&) = delete;

  std::atomic<uint64_t>& operator[](size_t i) { return words_[i]; }
  const std::atomic<uint64_t>& operator[](size_t i) const { return words_[i]; }
  size_t size() const { return size_; }

  // Whether this process was forked off after construction.
  bool wiped() const { return words_[size_].load(std::memory_order_relaxed) == 0; }

 private:
  size_t size_;
  size_t bytes_;
  std::atomic<uint64_t>* words_;  // size_ of them, then the mark that wiped() reads
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_OS_WIPE_ON_FORK_H_
