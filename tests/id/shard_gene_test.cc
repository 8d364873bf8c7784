// SPDX-License-Identifier: Apache-2.0
#include "locus/shard_gene.h"

#include <murmurhash.h>

#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "locus/internal/gene_hash.h"
#include "tests/support/golden.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus {

using internal::GeneLanes;
using internal::GeneOf8;
using internal::GeneOfOne;
using internal::GenesOf8;
using internal::Murmur3Low64Of8;
using internal::UseGeneLanes;
using internal::Xxh64Of8;

namespace {

static_assert(!std::is_constructible_v<ShardGene, int>);
static_assert(!std::is_constructible_v<BuyerKey, int>);
static_assert(!std::is_convertible_v<uint64_t, BuyerKey>);

uint64_t LibraryMurmurLow64(std::string_view bytes, uint32_t seed = 0) {
  uint64_t out[2];
  lmmh_x64_128(bytes.data(), static_cast<unsigned>(bytes.size()), seed, out);
  return out[0];
}

TEST(ShardGeneTest, GoldenVectors_HaveTheFrozenGenes) {
  nlohmann::json vectors = golden::Load("gene.json");
  ASSERT_EQ(vectors.size(), 99u);
  for (const auto& line : vectors) {
    std::string key = line["key"];
    uint64_t xxh, murmur;
    ShardGene gene;
    if (line["type"] == "uint64") {
      uint64_t number = std::stoull(key);
      gene = ShardGene::Of(BuyerKey::Uint64(number));
      xxh = Xxh64Of8(number);
      murmur = Murmur3Low64Of8(number);
    } else {
      gene = ShardGene::Of(BuyerKey::Text(key));
      xxh = XXH64(key.data(), key.size(), 0);
      murmur = LibraryMurmurLow64(key);
    }
    EXPECT_EQ(gene.value(), line["gene"].get<int>()) << key;
    EXPECT_EQ(xxh, std::stoull(line["xxh64"].get<std::string>(), nullptr, 16)) << key;
    EXPECT_EQ(murmur, std::stoull(line["murmur3_low64"].get<std::string>(), nullptr, 16)) << key;
  }
}

// smhasher's VerificationTest: hash keys {0}, {0,1}, ... of length n with seed 256 - n, then hash
// the digests; the first four bytes are the verification value.
TEST(ShardGeneTest, MurmurLibrary_HasSmhashersVerificationValue) {
  std::vector<uint8_t> key(256), digests;
  for (unsigned n = 0; n < 256; ++n) {
    key[n] = static_cast<uint8_t>(n);
    uint64_t out[2];
    lmmh_x64_128(key.data(), n, 256 - n, out);
    digests.insert(digests.end(), reinterpret_cast<uint8_t*>(out),
                   reinterpret_cast<uint8_t*>(out) + 16);
  }
  uint64_t out[2];
  lmmh_x64_128(digests.data(), static_cast<unsigned>(digests.size()), 0, out);
  EXPECT_EQ(static_cast<uint32_t>(out[0]), 0x6384BA69u);
}

// Published in xxHash's own sanity checks (PRIME32-generated buffer, seed 0 and PRIME32).
TEST(ShardGeneTest, XxhLibrary_HasItsPublishedAnswers) {
  constexpr uint64_t kPrime32 = 2654435761u, kPrime64 = 11400714785074694797u;
  std::vector<uint8_t> buffer(222);
  uint64_t state = kPrime32;
  for (uint8_t& byte : buffer) {
    byte = static_cast<uint8_t>(state >> 56);
    state *= kPrime64;
  }
  EXPECT_EQ(XXH64(buffer.data(), 0, 0), 0xEF46DB3751D8E999u);
  EXPECT_EQ(XXH64(buffer.data(), 0, kPrime32), 0xAC75FDA2929B17EFu);
  EXPECT_EQ(XXH64(buffer.data(), 1, 0), 0xE934A84ADB052768u);
  EXPECT_EQ(XXH64(buffer.data(), 1, kPrime32), 0x5014607643A9B4C3u);
  EXPECT_EQ(XXH64(buffer.data(), 14, 0), 0x8282DCC4994E35C8u);
  EXPECT_EQ(XXH64(buffer.data(), 222, 0), 0xB641AE8CB691C174u);
}

TEST(ShardGeneTest, InlinedHashes_AgreeWithTheLibraries) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    uint64_t key = i < 64 ? uint64_t{1} << i : random();
    char bytes[8];
    std::memcpy(bytes, &key, 8);
    ASSERT_EQ(Xxh64Of8(key), XXH64(bytes, 8, 0)) << key;
    ASSERT_EQ(Murmur3Low64Of8(key), LibraryMurmurLow64({bytes, 8})) << key;
    ASSERT_EQ(GeneOfOne(key), GeneOf8(key)) << key;
  }
}

TEST(ShardGeneTest, Batch_AgreesWithSingleCallsForAnyLength) {
  std::mt19937_64 random(2);
  std::vector<BuyerKey> buyers;
  for (int n = 0; n < 100; ++n) {
    std::vector<ShardGene> genes(buyers.size());
    ShardGene::OfEach(buyers, genes);
    for (size_t i = 0; i < buyers.size(); ++i) EXPECT_EQ(genes[i], ShardGene::Of(buyers[i]));
    buyers.push_back(n % 7 == 3 ? BuyerKey::Text("buyer") : BuyerKey::Uint64(random()));
  }
}

// Every number of keys that this processor can hash at once, at every length around a block's end.
TEST(ShardGeneTest, KeysHashedAtOnce_AgreeWithSingleOnes) {
  std::mt19937_64 random(3);
  std::vector<uint64_t> keys(300);
  for (uint64_t& key : keys) key = random();
  for (GeneLanes most : {GeneLanes::kOne, GeneLanes::kFour, GeneLanes::kEight}) {
    if (UseGeneLanes(most) != most) continue;  // falls back to one that the loop has tried
    for (size_t size = 0; size <= keys.size(); ++size) {
      std::vector<uint16_t> genes(size + 1, 0xABCD);
      GenesOf8(keys.data(), genes.data(), size);
      for (size_t i = 0; i < size; ++i) ASSERT_EQ(genes[i], GeneOf8(keys[i])) << size << " " << i;
      ASSERT_EQ(genes[size], 0xABCD) << size;
    }
  }
  UseGeneLanes(GeneLanes::kEight);
}

TEST(ShardGeneTest, TextAndNumberOfTheSameDigits_AreDifferentKeys) {
  EXPECT_NE(ShardGene::Of(BuyerKey::Text("17850")), ShardGene::Of(BuyerKey::Uint64(17850)));
}

TEST(BuyerKeyTest, DefaultStringView_IsTheEmptyText) {
  BuyerKey key = BuyerKey::Text(std::string_view());
  EXPECT_FALSE(key.is_uint64());
  EXPECT_EQ(ShardGene::Of(key).value(), 59801);
}

}  // namespace
}  // namespace locus
