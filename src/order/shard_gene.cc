// SPDX-License-Identifier: Apache-2.0
#include "locus/shard_gene.h"

#include <murmurhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ostream>

#include "locus/internal/gene_hash.h"
#include "src/base/os/check.h"
#include "src/order/gene_lanes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus {

using internal::GeneOf8;

namespace {

uint16_t GeneOfText(std::string_view key) {
  LOCUS_CHECK(key.size() <= UINT32_MAX);  // the library's length is an unsigned int
  uint64_t murmur[2];
  lmmh_x64_128(key.data(), static_cast<unsigned>(key.size()), 0, murmur);
  return static_cast<uint16_t>(XXH64(key.data(), key.size(), 0) ^ murmur[0]);
}

using internal::GeneLanes;

void GenesOneByOne(const uint64_t* keys, uint16_t* genes, size_t size) {
  for (size_t i = 0; i < size; ++i) genes[i] = internal::GeneOfOne(keys[i]);
}

#if defined(__x86_64__)
// AVX2 has no multiplication of 64-bit words; three of 32-bit words and two additions do it.
// Whether that is faster than four plain ones depends on the processor.
__attribute__((target("avx2"))) void GenesFourAtOnce(const uint64_t* keys, uint16_t* genes,
                                                     size_t size) {
  for (size_t i = 0; i < size; ++i) genes[i] = GeneOf8(keys[i]);
}
__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))) void GenesEightAtOnce(
    const uint64_t* keys, uint16_t* genes, size_t size) {
  for (size_t i = 0; i < size; ++i) genes[i] = GeneOf8(keys[i]);
}
GeneLanes WidestLanes() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
    return GeneLanes::kEight;
  }
  return __builtin_cpu_supports("avx2") ? GeneLanes::kFour : GeneLanes::kOne;
}
#else
constexpr auto GenesFourAtOnce = GenesOneByOne;
constexpr auto GenesEightAtOnce = GenesOneByOne;
GeneLanes WidestLanes() { return GeneLanes::kOne; }
#endif

void GenesBy(GeneLanes lanes, const uint64_t* keys, uint16_t* genes, size_t size) {
  switch (lanes) {
    case GeneLanes::kEight:
      return GenesEightAtOnce(keys, genes, size);
    case GeneLanes::kFour:
      return GenesFourAtOnce(keys, genes, size);
    case GeneLanes::kOne:
      return GenesOneByOne(keys, genes, size);
  }
}

// The fastest choice here, measured once in some microseconds, because the features of a processor
// do not predict it. Several keys at once must be faster by 5 %, because their blocks also cost
// something.
GeneLanes FastestLanes() {
  constexpr int kRounds = 8;
  std::array<uint64_t, 128> keys;
  std::array<uint16_t, 128> genes;
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * internal::kGeneMultipliers[0];
  GeneLanes fastest = GeneLanes::kOne;
  double shortest = 0;
  for (GeneLanes lanes : {GeneLanes::kOne, GeneLanes::kFour, GeneLanes::kEight}) {
    if (lanes > WidestLanes()) break;
    double took = HUGE_VAL;
    for (int round = 0; round < kRounds; ++round) {
      const auto start = std::chrono::steady_clock::now();
      GenesBy(lanes, keys.data(), genes.data(), keys.size());
      const std::chrono::duration<double> round_took = std::chrono::steady_clock::now() - start;
      took = std::min(took, round_took.count());
      for (size_t i = 0; i < keys.size(); ++i) keys[i] += genes[i];  // keeps every round alive
    }
    if (lanes == GeneLanes::kOne) shortest = took * 0.95;
    if (lanes == GeneLanes::kOne || took >= shortest) continue;
    fastest = lanes;
    shortest = took;
  }
  return fastest;
}

std::atomic<GeneLanes>& LanesInUse() {
  static std::atomic<GeneLanes> lanes = FastestLanes();
  return lanes;
}

}  // namespace

const uint64_t internal::kGeneMultipliers[8] = {
    0x9E3779B185EBCA87u, 0xC2B2AE3D27D4EB4Fu, 0x165667B19E3779F9u, 0x85EBCA77C2B2AE63u,  // XXH64
    0x87C37B91114253D5u, 0x4CF5AD432745937Fu, 0xFF51AFD7ED558CCDu, 0xC4CEB9FE1A85EC53u,  // Murmur3
};

void internal::GenesOf8(const uint64_t* keys, uint16_t* genes, size_t size) {
  GenesBy(LanesInUse().load(std::memory_order_relaxed), keys, genes, size);
}

internal::GeneLanes internal::GeneLanesInUse() {
  return LanesInUse().load(std::memory_order_relaxed);
}

internal::GeneLanes internal::UseGeneLanes(GeneLanes most) {
  GeneLanes lanes = std::min(most, WidestLanes());
  LanesInUse().store(lanes, std::memory_order_relaxed);
  return lanes;
}

ShardGene ShardGene::OfText(BuyerKey buyer) { return FromUint16(GeneOfText(buyer.text())); }

void ShardGene::OfEach(std::span<const BuyerKey> buyers, std::span<ShardGene> genes) {
  LOCUS_CHECK(buyers.size() == genes.size());
  constexpr size_t kBlock = 128;
  for (size_t done = 0; done < buyers.size(); done += kBlock) {
    size_t size = std::min(kBlock, buyers.size() - done);
    std::array<uint64_t, kBlock> keys;
    std::array<uint16_t, kBlock> values;
    uintptr_t any_text = 0;
    for (size_t i = 0; i < size; ++i) {
      keys[i] = buyers[done + i].number_or_size_;
      any_text |= reinterpret_cast<uintptr_t>(buyers[done + i].text_);
    }
    internal::GenesOf8(keys.data(), values.data(), size);
    for (size_t i = 0; i < size; ++i) genes[done + i].value_ = values[i];
    // Text keys got the hash of their size above: they are hashed again.
    for (size_t i = 0; any_text != 0 && i < size; ++i) {
      if (!buyers[done + i].is_uint64()) genes[done + i] = Of(buyers[done + i]);
    }
  }
}

std::ostream& operator<<(std::ostream& out, ShardGene gene) { return out << gene.value(); }

}  // namespace locus
