// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ORDER_NO_FF1_REFERENCE_H_
#define LOCUS_TESTS_ORDER_NO_FF1_REFERENCE_H_

#include <openssl/bn.h>
#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// FF1 as SP 800-38G writes it down, algorithms 7 and 8, step by step: any radix up to 2^16, any
// length, tweak, and size of AES key. Slow; an oracle.
namespace locus::ff1_reference {

using Numerals = std::vector<uint32_t>;  // most significant first
using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;

inline Number Of(uint64_t value) {
  Number number(BN_new(), &BN_free);
  if (BN_set_word(number.get(), value) != 1) throw std::runtime_error("BN_set_word");
  return number;
}

inline Number Num(const Numerals& numerals, uint32_t radix) {
  Number value = Of(0);
  for (uint32_t numeral : numerals) {
    BN_mul_word(value.get(), radix);
    BN_add_word(value.get(), numeral);
  }
  return value;
}

inline Numerals Str(const BIGNUM* value, uint32_t radix, size_t length) {
  Number rest(BN_dup(value), &BN_free);
  Numerals numerals(length);
  for (size_t i = length; i-- > 0;) {
    numerals[i] = static_cast<uint32_t>(BN_div_word(rest.get(), radix));
  }
  return numerals;
}

inline std::string BigEndian(uint64_t value, size_t bytes) {
  std::string out;
  for (size_t i = bytes; i-- > 0;) out += static_cast<char>(value >> 8 * i);
  return out;
}

inline std::string BigEndian(const BIGNUM* value, size_t bytes) {
  std::string out(bytes, '\0');
  BN_bn2binpad(value, reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(bytes));
  return out;
}

inline std::string Aes(const std::string& key, const std::string& block) {
  const EVP_CIPHER* cipher = key.size() == 16   ? EVP_aes_128_ecb()
                             : key.size() == 24 ? EVP_aes_192_ecb()
                                                : EVP_aes_256_ecb();
  std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                          &EVP_CIPHER_CTX_free);
  EVP_EncryptInit_ex(context.get(), cipher, nullptr,
                     reinterpret_cast<const unsigned char*>(key.data()), nullptr);
  EVP_CIPHER_CTX_set_padding(context.get(), 0);
  std::string out(16, '\0');
  int size = 0;
  if (EVP_EncryptUpdate(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                        reinterpret_cast<const unsigned char*>(block.data()), 16) != 1) {
    throw std::runtime_error("EVP_EncryptUpdate");
  }
  return out;
}

inline std::string Xor(std::string a, const std::string& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<char>(a[i] ^ b[i]);
  return a;
}

// PRF: the last block of CBC-MAC.
inline std::string Prf(const std::string& key, const std::string& text) {
  std::string y(16, '\0');
  for (size_t i = 0; i < text.size(); i += 16) y = Aes(key, Xor(y, text.substr(i, 16)));
  return y;
}

// Steps 1 to 5 of a pass over the numerals, and step 6 for one round.
struct Ff1Rounds {
  Ff1Rounds(const std::string& its_key, uint32_t its_radix, const std::string& its_tweak, size_t n)
      : key(its_key), tweak(its_tweak), radix(its_radix), u(n / 2), v(n - u) {
    Number largest = Of(1);
    for (size_t i = 0; i < v; ++i) BN_mul_word(largest.get(), radix);
    BN_sub_word(largest.get(), 1);  // radix^v - 1 has as many bits as ceil(v * log2(radix))
    b = (static_cast<size_t>(BN_num_bits(largest.get())) + 7) / 8;
    d = 4 * ((b + 3) / 4) + 4;
    p = BigEndian(0x010201, 3) + BigEndian(radix, 3) + BigEndian(10, 1) + BigEndian(u % 256, 1) +
        BigEndian(n, 4) + BigEndian(tweak.size(), 4);
  }

  // y of round i.
  Number Y(unsigned i, const Numerals& half) const {
    size_t zeros = (16 - (tweak.size() + b + 1) % 16) % 16;
    std::string q =
        tweak + std::string(zeros, '\0') + BigEndian(i, 1) + BigEndian(Num(half, radix).get(), b);
    std::string r = Prf(key, p + q), s = r;
    for (uint64_t j = 1; s.size() < d; ++j) {
      s += Aes(key, Xor(r, std::string(8, '\0') + BigEndian(j, 8)));
    }
    return Number(
        BN_bin2bn(reinterpret_cast<const unsigned char*>(s.data()), static_cast<int>(d), nullptr),
        &BN_free);
  }

  // STR of (NUM(half) + or - y) mod radix^m.
  Numerals Combine(const Numerals& half, const Number& y, unsigned i, bool add) const {
    size_t m = i % 2 == 0 ? u : v;
    Number modulus = Of(1), c = Num(half, radix);
    for (size_t j = 0; j < m; ++j) BN_mul_word(modulus.get(), radix);
    std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)> context(BN_CTX_new(), &BN_CTX_free);
    auto* combine = add ? &BN_mod_add : &BN_mod_sub;
    combine(c.get(), c.get(), y.get(), modulus.get(), context.get());
    return Str(c.get(), radix, m);
  }

  std::string key, tweak, p;
  uint32_t radix;
  size_t u, v, b, d;
};

inline Numerals Join(Numerals a, const Numerals& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline Numerals Encrypt(const std::string& key, uint32_t radix, const std::string& tweak,
                        const Numerals& plain) {
  Ff1Rounds rounds(key, radix, tweak, plain.size());
  auto middle = plain.begin() + static_cast<ptrdiff_t>(rounds.u);
  Numerals a(plain.begin(), middle), b(middle, plain.end());
  for (unsigned i = 0; i < 10; ++i) {
    Numerals c = rounds.Combine(a, rounds.Y(i, b), i, true);
    a = b;
    b = c;
  }
  return Join(a, b);
}

inline Numerals Decrypt(const std::string& key, uint32_t radix, const std::string& tweak,
                        const Numerals& cipher) {
  Ff1Rounds rounds(key, radix, tweak, cipher.size());
  auto middle = cipher.begin() + static_cast<ptrdiff_t>(rounds.u);
  Numerals a(cipher.begin(), middle), b(middle, cipher.end());
  for (unsigned i = 10; i-- > 0;) {
    Numerals c = rounds.Combine(b, rounds.Y(i, a), i, false);
    b = a;
    a = c;
  }
  return Join(a, b);
}

}  // namespace locus::ff1_reference

#endif  // LOCUS_TESTS_ORDER_NO_FF1_REFERENCE_H_
