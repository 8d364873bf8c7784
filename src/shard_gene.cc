// SPDX-License-Identifier: Apache-2.0
#include "locus/shard_gene.h"

#include <murmurhash.h>

#include <ostream>

#include "src/check.h"
#include "src/gene_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus {
namespace {

uint16_t GeneOfText(std::string_view key) {
  LOCUS_CHECK(key.size() <= UINT32_MAX);  // the library's length is an unsigned int
  uint64_t murmur[2];
  lmmh_x64_128(key.data(), static_cast<unsigned>(key.size()), 0, murmur);
  return static_cast<uint16_t>(XXH64(key.data(), key.size(), 0) ^ murmur[0]);
}

}  // namespace

ShardGene ShardGene::Of(BuyerKey buyer) {
  return FromUint16(buyer.is_uint64() ? GeneOf8(buyer.uint64()) : GeneOfText(buyer.text()));
}

void ShardGene::OfEach(std::span<const BuyerKey> buyers, std::span<ShardGene> genes) {
  LOCUS_CHECK(buyers.size() == genes.size());
  for (size_t i = 0; i < buyers.size(); ++i) genes[i] = Of(buyers[i]);
}

std::ostream& operator<<(std::ostream& out, ShardGene gene) { return out << gene.value(); }

}  // namespace locus
