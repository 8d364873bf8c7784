// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_BUYER_KEY_H_
#define LOCUS_BUYER_KEY_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "locus/internal/cxx20.h"

namespace locus {

// What orders are grouped by (a user id): a uint64, or bytes. Two pointers wide; passed by value.
//
// Text "123" and uint64 123 are different keys and live in different vnodes. A signed BIGINT is
// passed as its two's complement: BuyerKey::Uint64(static_cast<uint64_t>(uid)). Text is taken as
// its exact bytes, UTF-8 by convention: nothing is trimmed, folded or normalised. Let the system
// assign buyer keys: a user who may choose text keys can aim at one vnode.
//
// A text key does not own its bytes; they must outlive the call it is passed to.
class BuyerKey {
 public:
  static constexpr BuyerKey Uint64(uint64_t key) { return BuyerKey(nullptr, key); }
  static constexpr BuyerKey Text(std::string_view key) {
    return BuyerKey(key.data() == nullptr ? "" : key.data(), key.size());
  }

  constexpr bool is_uint64() const { return text_ == nullptr; }
  // Requires is_uint64().
  constexpr uint64_t uint64() const { return number_or_size_; }
  // Requires !is_uint64().
  constexpr std::string_view text() const { return {text_, size_t{number_or_size_}}; }

 private:
  friend class ShardGene;
  constexpr BuyerKey(const char* text, uint64_t number_or_size)
      : text_(text), number_or_size_(number_or_size) {}

  const char* text_;
  uint64_t number_or_size_;
};

}  // namespace locus

#endif  // LOCUS_BUYER_KEY_H_
