// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ORDER_FF1_H_
#define LOCUS_SRC_ORDER_FF1_H_

#include <cstdint>

#include "locus/order_no.h"
#include "locus/shard_gene.h"
#include "src/order/aes.h"

namespace locus::internal {

// FF1 of NIST SP 800-38G: AES-256, radix 2, n = 47, 10 rounds, most significant bit first, tweak =
// gene (2 bytes, big-endian) then key version (1 byte). Ten AES blocks a number.
// Thread safety: that of Aes256.
class Ff1 {
 public:
  static constexpr int kBits = 47;

  explicit Ff1(Aes256 aes);

  // Needs plain < 2^47; so is the result.
  uint64_t Encrypt(ShardGene gene, KeyVersion version, uint64_t plain) const;
  uint64_t Decrypt(ShardGene gene, KeyVersion version, uint64_t cipher) const;

 private:
  uint64_t Y(uint64_t tweak, unsigned round, uint64_t half) const;

  Aes256 aes_;
  // AES of the block P, which is the same for every number: the state from which the CBC-MAC of
  // each round continues.
  AesBlock mac_of_p_;
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_ORDER_FF1_H_
