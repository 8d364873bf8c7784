// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_BUYER_KEY_H_
#define LOCUS_BUYER_KEY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/attributes.h"
#include "locus/internal/argument.h"

namespace locus {

// The key that groups orders (a user id): a uint64, or bytes. Two pointers wide; passed by value.
//
// Text "123" and uint64 123 are different keys and live in different vnodes. A signed BIGINT is
// passed as its two's complement: BuyerKey::Uint64(static_cast<uint64_t>(uid)). Text is taken as
// its exact bytes, UTF-8 by convention: nothing is trimmed, folded or normalised. Let the system
// assign buyer keys: a user who may choose text keys can aim at one vnode.
//
// A text key does not own its bytes: they must live as long as the key is used. A temporary string
// does not compile; OwnedBuyerKey takes one.
class BuyerKey {
 public:
  // A constant, or a value of an unsigned type: -3, 3.7 and variables of signed types do not
  // compile.
  static constexpr BuyerKey Uint64(internal::Natural key) { return BuyerKey(nullptr, key.value()); }
  static constexpr BuyerKey Text(std::string_view key ABSL_ATTRIBUTE_LIFETIME_BOUND) {
    return BuyerKey(key.data() == nullptr ? "" : key.data(), key.size());
  }
  template <internal::DyingString T>
  static BuyerKey Text(T&& key) = delete;  // its bytes end with the statement: OwnedBuyerKey

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

// A buyer key that has its bytes, for keys that are computed or kept. Pass it wherever a BuyerKey
// is taken:
//
//   const auto buyer = OwnedBuyerKey::Text(request.NameOfUser());
//   generator->TryNext(buyer);
class OwnedBuyerKey {
 public:
  static OwnedBuyerKey Uint64(internal::Natural key) {
    return OwnedBuyerKey("", key.value(), true);
  }
  static OwnedBuyerKey Text(std::string key) { return OwnedBuyerKey(std::move(key), 0, false); }
  // A copy of what the key refers to.
  explicit OwnedBuyerKey(BuyerKey key)
      : OwnedBuyerKey(key.is_uint64() ? std::string() : std::string(key.text()),
                      key.is_uint64() ? key.uint64() : 0, key.is_uint64()) {}

  operator BuyerKey() const& ABSL_ATTRIBUTE_LIFETIME_BOUND {  // NOLINT: implicit
    return is_uint64_ ? BuyerKey::Uint64(number_) : BuyerKey::Text(text_);
  }
  operator BuyerKey() const&& = delete;  // of a temporary: give it a name first

 private:
  OwnedBuyerKey(std::string text, uint64_t number, bool is_uint64)
      : text_(std::move(text)), number_(number), is_uint64_(is_uint64) {}

  std::string text_;
  uint64_t number_;
  bool is_uint64_;
};

}  // namespace locus

#endif  // LOCUS_BUYER_KEY_H_
