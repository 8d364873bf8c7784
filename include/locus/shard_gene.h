// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SHARD_GENE_H_
#define LOCUS_SHARD_GENE_H_

#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>

#include "locus/buyer_key.h"
#include "locus/internal/gene_hash.h"
#include "locus/str.h"

namespace locus {

// 16 bits computed from the buyer key; every order of one buyer carries the same gene. It is the
// index of a vnode on the ring.
//
//   gene = (XXH64(key, seed 0) XOR low64(MurmurHash3_x64_128(key, seed 0))) & 0xFFFF
//
// A uint64 key is hashed as its 8 bytes little-endian, a text key as its exact bytes. low64 is the
// first 8 bytes of the digest read little-endian. Sources: XXH64 (Y. Collet, xxHash 0.8),
// MurmurHash3_x64_128 (A. Appleby, smhasher; verification value 0x6384BA69).
class ShardGene {
 public:
  static constexpr int kBits = 16;
  static constexpr int kCount = 1 << kBits;

  // Gene 0.
  constexpr ShardGene() = default;

  // A uint64 key is hashed inline.
  static ShardGene Of(BuyerKey buyer) {
    return buyer.is_uint64() ? FromUint16(internal::GeneOfOne(buyer.uint64())) : OfText(buyer);
  }
  // genes[i] = Of(buyers[i]); the spans have the same size. Cheaper per buyer key than single
  // calls.
  static void OfEach(std::span<const BuyerKey> buyers, std::span<ShardGene> genes);

  // Takes a uint16_t only, no type that converts to it: a wider number would lose bits silently.
  static constexpr ShardGene FromUint16(std::same_as<uint16_t> auto value) {
    ShardGene gene;
    gene.value_ = value;
    return gene;
  }

  constexpr uint16_t value() const { return value_; }

  friend constexpr auto operator<=>(ShardGene, ShardGene) = default;
  friend std::ostream& operator<<(std::ostream& out, ShardGene gene);
  template <typename Sink>
  friend void AbslStringify(Sink& sink, ShardGene gene) {
    sink.Append(std::to_string(gene.value()));
  }

 private:
  static ShardGene OfText(BuyerKey buyer);

  uint16_t value_ = 0;
};

}  // namespace locus

template <>
struct std::hash<locus::ShardGene> {
  size_t operator()(locus::ShardGene gene) const noexcept { return gene.value(); }
};

#endif  // LOCUS_SHARD_GENE_H_
