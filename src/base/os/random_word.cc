// SPDX-License-Identifier: Apache-2.0
#include "src/base/os/random_word.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <array>

#include "src/base/os/secret_bytes.h"
#include "src/base/os/wipe_on_fork.h"

namespace locus::internal {
namespace {

bool FillFromOpenSsl(uint64_t* words, size_t count) {
  return RAND_bytes(reinterpret_cast<unsigned char*>(words),
                    static_cast<int>(count * sizeof(uint64_t))) == 1;
}

// A page of words. A word that is 0 was used, or wiped by a fork; `left_` does not matter then.
class RandomBuffer {
 public:
  RandomBuffer() { ExcludeFromCoreDumps(&words_[0], kWords * sizeof words_[0]); }

  std::optional<uint64_t> Next() {
    for (;;) {
      if (left_ == 0 && !Fill()) return std::nullopt;
      std::atomic<uint64_t>& word = words_[--left_];
      uint64_t value = word.load(std::memory_order_relaxed);
      if (value != 0) [[likely]] {
        // Erased at once, so that no later reader of this memory finds a word that was used.
        word.store(0, std::memory_order_relaxed);
        return value;
      }
      left_ = 0;
    }
  }

 private:
  static constexpr size_t kWords = 511;  // and the mark of WipeOnForkWords: 4 KiB

  bool Fill() {
    std::array<uint64_t, kWords> fresh;
    if (!FillFromOpenSsl(fresh.data(), kWords)) return false;
    for (size_t i = 0; i < kWords; ++i) words_[i].store(fresh[i], std::memory_order_relaxed);
    OPENSSL_cleanse(fresh.data(), sizeof fresh);
    left_ = kWords;
    return true;
  }

  WipeOnForkWords words_{kWords};
  size_t left_ = 0;
};

// Plain pointers, so that using them costs no check whether this thread has made them yet.
constinit thread_local RandomBuffer* buffer = nullptr;
constinit thread_local bool buffer_is_gone = false;

struct BufferOfThread {
  BufferOfThread() { buffer = &storage; }
  ~BufferOfThread() {
    buffer = nullptr;
    buffer_is_gone = true;
  }
  RandomBuffer storage;
};

// The first of a thread, or one of a destructor that runs as the thread ends.
[[gnu::noinline]] std::optional<uint64_t> WithoutBuffer() {
  if (!buffer_is_gone) {
    thread_local BufferOfThread made;
    return made.storage.Next();
  }
  for (uint64_t word;;) {
    if (!FillFromOpenSsl(&word, 1)) return std::nullopt;
    if (word != 0) return word;
  }
}

}  // namespace

std::optional<uint64_t> RandomWord() {
  if (buffer == nullptr) [[unlikely]]
    return WithoutBuffer();
  return buffer->Next();
}

}  // namespace locus::internal
