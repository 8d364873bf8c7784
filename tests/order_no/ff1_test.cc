// SPDX-License-Identifier: Apache-2.0
#include "src/order/ff1.h"

#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/order_no/ff1_reference.h"
#include "tests/support/golden.h"

namespace locus {

using internal::Aes256;
using internal::Ff1;

namespace {

using ff1_reference::Numerals;

constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";

Numerals NumeralsOf(const std::string& text) {
  Numerals numerals;
  for (char c : text) numerals.push_back(static_cast<uint32_t>(kDigits.find(c)));
  return numerals;
}

struct Sample {
  int number;
  size_t key_bytes;
  uint32_t radix;
  const char* tweak;
  const char* plain;
  const char* cipher;
};

// NIST's examples for SP 800-38G, FF1.
constexpr Sample kNistSamples[] = {
    {1, 16, 10, "", "0123456789", "2433477484"},
    {2, 16, 10, "39383736353433323130", "0123456789", "6124200773"},
    {3, 16, 36, "3737373770717273373737", "0123456789abcdefghi", "a9tv40mll9kdu509eum"},
    {4, 24, 10, "", "0123456789", "2830668132"},
    {5, 24, 10, "39383736353433323130", "0123456789", "2496655549"},
    {6, 24, 36, "3737373770717273373737", "0123456789abcdefghi", "xbj3kv35jrawxv32ysr"},
    {7, 32, 10, "", "0123456789", "6657667009"},
    {8, 32, 10, "39383736353433323130", "0123456789", "1001623463"},
    {9, 32, 36, "3737373770717273373737", "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"},
};

TEST(Ff1ReferenceTest, NistSamples_Hold) {
  const std::string key =
      golden::BytesOfHex("2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94");
  for (const Sample& sample : kNistSamples) {
    std::string its_key = key.substr(0, sample.key_bytes);
    std::string tweak = golden::BytesOfHex(sample.tweak);
    Numerals plain = NumeralsOf(sample.plain), cipher = NumeralsOf(sample.cipher);
    EXPECT_EQ(ff1_reference::Encrypt(its_key, sample.radix, tweak, plain), cipher)
        << "sample " << sample.number;
    EXPECT_EQ(ff1_reference::Decrypt(its_key, sample.radix, tweak, cipher), plain)
        << "sample " << sample.number;
  }
}

Numerals BitsOf(uint64_t value) {
  Numerals bits;
  for (int i = Ff1::kBits; i-- > 0;) bits.push_back(static_cast<uint32_t>(value >> i & 1));
  return bits;
}

TEST(Ff1Test, RandomNumbers_AgreeWithTheReferenceBothWays) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    std::string key(32, '\0');
    for (char& c : key) c = static_cast<char>(random());
    Ff1 ff1(Aes256::Create(reinterpret_cast<const unsigned char*>(key.data())).value());
    ShardGene gene = ShardGene::FromUint16(static_cast<uint16_t>(random()));
    KeyVersion version = KeyVersion::FromLowBits(static_cast<uint8_t>(random()));
    std::string tweak = {static_cast<char>(gene.value() >> 8), static_cast<char>(gene.value()),
                         static_cast<char>(version.value())};
    uint64_t plain = random() >> (64 - Ff1::kBits);
    uint64_t cipher = ff1.Encrypt(gene, version, plain);
    ASSERT_EQ(BitsOf(cipher), ff1_reference::Encrypt(key, 2, tweak, BitsOf(plain)));
    ASSERT_EQ(ff1.Decrypt(gene, version, cipher), plain);
    ASSERT_EQ(BitsOf(ff1.Decrypt(gene, version, plain)),
              ff1_reference::Decrypt(key, 2, tweak, BitsOf(plain)));
  }
}

TEST(Ff1Test, LowestAndHighestNumber_StayIn47Bits) {
  std::string key(32, 'k');
  Ff1 ff1(Aes256::Create(reinterpret_cast<const unsigned char*>(key.data())).value());
  constexpr uint64_t kMax = (uint64_t{1} << Ff1::kBits) - 1;
  for (uint64_t plain : {uint64_t{0}, uint64_t{1}, kMax}) {
    uint64_t cipher = ff1.Encrypt(ShardGene(), KeyVersion(), plain);
    EXPECT_LE(cipher, kMax);
    EXPECT_EQ(ff1.Decrypt(ShardGene(), KeyVersion(), cipher), plain);
  }
}

}  // namespace
}  // namespace locus
