// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ORDER_AES_H_
#define LOCUS_SRC_ORDER_AES_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"

namespace locus::internal {

// 16 bytes, as two numbers that are big-endian in memory.
class AesBlock {
 public:
  AesBlock() = default;
  AesBlock(uint64_t high, uint64_t low) : words_{__builtin_bswap64(high), __builtin_bswap64(low)} {}

  uint64_t high() const { return __builtin_bswap64(words_[0]); }
  uint64_t low() const { return __builtin_bswap64(words_[1]); }
  friend bool operator==(const AesBlock&, const AesBlock&) = default;

 private:
  uint64_t words_[2] = {};
};
static_assert(sizeof(AesBlock) == 16);

struct AesFunctions;  // of OpenSSL

// AES-256 under one key, block by block, by a prepared context of OpenSSL. The key schedule lies on
// pages that core dumps leave out, and is wiped on destruction. Moved, not copied.
// Thread safety: one thread at a time.
class Aes256 {
 public:
  static constexpr size_t kKeyBytes = 32;

  // Prepares the cipher for key[0..31]. UNAVAILABLE: OpenSSL could not set it up.
  static absl::StatusOr<Aes256> Create(const unsigned char* key);
  Aes256(Aes256&& other) noexcept
      : functions_(other.functions_), context_(std::exchange(other.context_, nullptr)) {}
  Aes256& operator=(Aes256&& other) noexcept {
    std::swap(functions_, other.functions_);
    std::swap(context_, other.context_);
    return *this;
  }
  ~Aes256();

  // out[i] = AES-256(key, in[i]) in one call of OpenSSL; `in` and `out` may be the same.
  void Encrypt(const AesBlock* in, AesBlock* out, size_t count) const;
  AesBlock Encrypt(AesBlock block) const {
    Encrypt(&block, &block, 1);
    return block;
  }

 private:
  Aes256(const AesFunctions* functions, void* context) : functions_(functions), context_(context) {}

  const AesFunctions* functions_;
  void* context_;
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_ORDER_AES_H_
