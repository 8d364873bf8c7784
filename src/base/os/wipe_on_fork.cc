// SPDX-License-Identifier: Apache-2.0
#include "src/base/os/wipe_on_fork.h"

#include <sys/mman.h>

#include <new>

#include "src/base/os/check.h"

namespace locus::internal {

WipeOnForkWords::WipeOnForkWords(size_t size)
    : size_(size), bytes_((size + 1) * sizeof(std::atomic<uint64_t>)) {
  void* pages = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  LOCUS_CHECK(pages != MAP_FAILED);
  LOCUS_CHECK(madvise(pages, bytes_, MADV_WIPEONFORK) == 0);
  words_ = static_cast<std::atomic<uint64_t>*>(pages);
  for (size_t i = 0; i < size_; ++i) new (&words_[i]) std::atomic<uint64_t>(0);
  new (&words_[size_]) std::atomic<uint64_t>(1);
}

WipeOnForkWords::~WipeOnForkWords() { munmap(words_, bytes_); }

}  // namespace locus::internal
