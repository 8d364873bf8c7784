// SPDX-License-Identifier: Apache-2.0
#include "src/order/ff1.h"

#include <utility>

// Names in comments are those of SP 800-38G, algorithm 7 (FF1.Encrypt).

namespace locus::internal {
namespace {

constexpr unsigned kRounds = 10;
constexpr int kLeftBits = 23;   // u = floor(n / 2)
constexpr int kRightBits = 24;  // v = n - u; b = 3 bytes, d = 4 * ceil(b / 4) + 4 = 8
static_assert(kLeftBits + kRightBits == Ff1::kBits);

constexpr uint64_t Mask(int bits) { return (uint64_t{1} << bits) - 1; }
constexpr int BitsOfRound(unsigned round) { return round % 2 == 0 ? kLeftBits : kRightBits; }

// P = 1 | 2 | 1 | radix (3 bytes) | 10 | u mod 256 | n (4 bytes) | t (4 bytes)
AesBlock P() {
  constexpr uint64_t kRadix = 2, kTweakBytes = 3;
  return {uint64_t{0x010201} << 40 | kRadix << 16 | uint64_t{kRounds} << 8 | kLeftBits,
          uint64_t{Ff1::kBits} << 32 | kTweakBytes};
}

// The tweak at its place in Q, the first three bytes.
uint64_t TweakOf(ShardGene gene, KeyVersion version) {
  return uint64_t{gene.value()} << 48 | uint64_t{version.value()} << 40;
}

}  // namespace

Ff1::Ff1(Aes256 aes) : aes_(std::move(aes)), mac_of_p_(aes_.Encrypt(P())) {}

// y = the first 8 bytes of PRF(P | Q), Q = tweak | 9 zero bytes | i | half (3 bytes). Modulo a
// power of two up to 2^24, so that the rest of the PRF's block does not matter.
uint64_t Ff1::Y(uint64_t tweak, unsigned round, uint64_t half) const {
  uint64_t low = uint64_t{round} << 24 | half;
  return aes_.Encrypt({mac_of_p_.high() ^ tweak, mac_of_p_.low() ^ low}).high();
}

uint64_t Ff1::Encrypt(ShardGene gene, KeyVersion version, uint64_t plain) const {
  const uint64_t tweak = TweakOf(gene, version);
  uint64_t a = plain >> kRightBits, b = plain & Mask(kRightBits);
  for (unsigned i = 0; i < kRounds; ++i) {
    uint64_t c = (a + Y(tweak, i, b)) & Mask(BitsOfRound(i));
    a = std::exchange(b, c);
  }
  return a << kRightBits | b;
}

uint64_t Ff1::Decrypt(ShardGene gene, KeyVersion version, uint64_t cipher) const {
  const uint64_t tweak = TweakOf(gene, version);
  uint64_t a = cipher >> kRightBits, b = cipher & Mask(kRightBits);
  for (unsigned i = kRounds; i-- > 0;) {
    uint64_t c = (b - Y(tweak, i, a)) & Mask(BitsOfRound(i));
    b = std::exchange(a, c);
  }
  return a << kRightBits | b;
}

}  // namespace locus::internal
