// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_INTERNAL_GENE_HASH_H_
#define LOCUS_INTERNAL_GENE_HASH_H_

#include <cstddef>
#include <cstdint>

#include "locus/internal/cxx20.h"

namespace locus::internal {

// always_inline: called from code for wider processors, they would keep it from being vectorised.
[[gnu::always_inline]] constexpr uint64_t RotateLeft(uint64_t x, int r) {
  return x << r | x >> (64 - r);
}

[[gnu::always_inline]] constexpr uint64_t Murmur3Mix(uint64_t k) {
  k = (k ^ k >> 33) * 0xFF51AFD7ED558CCDu;
  k = (k ^ k >> 33) * 0xC4CEB9FE1A85EC53u;
  return k ^ k >> 33;
}

// The low word of MurmurHash3_x64_128(the 8 bytes of key, little-endian; seed 0): the library's
// code for one 8-byte tail, without its call. Tests hold it to the library.
[[gnu::always_inline]] constexpr uint64_t Murmur3Low64Of8(uint64_t key) {
  uint64_t h1 = RotateLeft(key * 0x87C37B91114253D5u, 31) * 0x4CF5AD432745937Fu;
  uint64_t h2 = 8;
  h1 ^= 8;
  h1 += h2;
  h2 += h1;
  return Murmur3Mix(h1) + Murmur3Mix(h2);
}

// XXH64(the 8 bytes of key, little-endian; seed 0). Tests hold it to the library.
[[gnu::always_inline]] constexpr uint64_t Xxh64Of8(uint64_t key) {
  constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u;
  constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Fu;
  constexpr uint64_t kPrime3 = 0x165667B19E3779F9u;
  constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63u;
  constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5u;
  uint64_t hash = kPrime5 + 8;
  hash ^= RotateLeft(key * kPrime2, 31) * kPrime1;
  hash = RotateLeft(hash, 27) * kPrime1 + kPrime4;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

[[gnu::always_inline]] constexpr uint16_t GeneOf8(uint64_t key) {
  return static_cast<uint16_t>(Xxh64Of8(key) ^ Murmur3Low64Of8(key));
}

// The multipliers of both hashes. From memory: as an immediate each would be an instruction of ten
// bytes, and a call of TryNext has eleven multiplications.
extern const uint64_t kGeneMultipliers[8];

// GeneOf8 for a single key at run time: the steps of the two hashes alternate, so that they overlap
// in the processor from the first one on. Tests hold it to GeneOf8.
[[gnu::always_inline]] inline uint16_t GeneOfOne(uint64_t key) {
  const uint64_t* m = kGeneMultipliers;
  uint64_t x = key * m[1];
  uint64_t h = key * m[4];
  x = RotateLeft(x, 31) * m[0];
  h = RotateLeft(h, 31) * m[5];
  x ^= 0x27D4EB2F165667C5u + 8;
  h ^= 8;
  x = RotateLeft(x, 27) * m[0] + m[3];
  uint64_t h1 = h + 8;
  uint64_t h2 = h + 16;
  x = (x ^ x >> 33) * m[1];
  h1 = (h1 ^ h1 >> 33) * m[6];
  h2 = (h2 ^ h2 >> 33) * m[6];
  x = (x ^ x >> 29) * m[2];
  h1 = (h1 ^ h1 >> 33) * m[7];
  h2 = (h2 ^ h2 >> 33) * m[7];
  return static_cast<uint16_t>((x ^ x >> 32) ^ ((h1 ^ h1 >> 33) + (h2 ^ h2 >> 33)));
}

// genes[i] = GeneOf8(keys[i]). Hashes as many keys at once as the processor can.
void GenesOf8(const uint64_t* keys, uint16_t* genes, size_t size);

// How many keys GenesOf8 hashes at once: four need AVX2, eight need AVX-512.
enum class GeneLanes { kOne, kFour, kEight };

// For tests and benchmarks: from now on GenesOf8 hashes at most so many keys at once, in the whole
// process. Returns the number in use, which is smaller if the processor cannot do as many.
GeneLanes UseGeneLanes(GeneLanes most);

}  // namespace locus::internal

#endif  // LOCUS_INTERNAL_GENE_HASH_H_
