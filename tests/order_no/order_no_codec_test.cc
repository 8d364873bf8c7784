// SPDX-License-Identifier: Apache-2.0
#include "locus/order_no_codec.h"

#include <openssl/evp.h>

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/internal/order_id_assembler.h"
#include "src/base/text/text.h"
#include "src/order/aes.h"
#include "src/order/key_derivation.h"
#include "tests/support/golden.h"

namespace locus {

using internal::Aes256;
using internal::AesBlock;
using internal::DeriveKey;
using internal::HexOf;
using internal::kDerivedKeyBytes;
using internal::LoadBigEndian64;
using internal::OrderIdAssembler;
using internal::StoreBigEndian64;

namespace {

const nlohmann::json& Golden() {
  static const nlohmann::json golden = golden::Load("order_no.json");
  return golden;
}

KeyVersion Version(int value) { return KeyVersion::FromInt(value).value(); }
ShardGene Gene(uint16_t value) { return ShardGene::FromUint16(value); }

// The golden file's keys; the version is active.
KeyRing GoldenRing(int active) {
  std::optional<KeyRing> ring;
  for (const auto& [text, key] : Golden()["keys"].items()) {
    std::string bytes = golden::BytesOfHex(key);
    if (!ring) {
      ring = KeyRing::FromKey(Version(std::stoi(text)), bytes).value();
    } else {
      EXPECT_TRUE(ring->AddKey(Version(std::stoi(text)), bytes).ok());
    }
  }
  EXPECT_TRUE(ring->Activate(Version(active)).ok());
  return *std::move(ring);
}

OrderNoCodec GoldenCodec(int active = 1, const std::string& space = "orders") {
  return OrderNoCodec::Create(GoldenRing(active), SpaceName::Parse(space).value()).value();
}

OrderId RandomId(std::mt19937_64& random) {
  uint64_t bits = random() % (OrderId::kWideSequenceBits + 1);
  uint64_t sequence = bits == 0 ? 0 : random() >> (64 - bits);
  return OrderIdAssembler::Of(Gene(static_cast<uint16_t>(random())), sequence);
}

std::string DerivedHex(const std::string& purpose) {
  const nlohmann::json& worked = Golden()["worked"];
  std::string key(kDerivedKeyBytes, '\0');
  EXPECT_TRUE(DeriveKey(golden::BytesOfHex(Golden()["keys"]["1"]),
                        worked["space"].get<std::string>(), "locus order_no " + purpose,
                        reinterpret_cast<unsigned char*>(key.data()))
                  .ok());
  return HexOf(key);
}

std::string HexOf(const AesBlock& block) {
  return locus::internal::HexOf({reinterpret_cast<const char*>(&block), sizeof block});
}

AesBlock BlockOfHex(const std::string& hex) {
  std::string bytes = golden::BytesOfHex(hex);
  return {LoadBigEndian64(bytes.data()), LoadBigEndian64(bytes.data() + 8)};
}

AesBlock EncryptWith(const std::string& key_hex, AesBlock block) {
  std::string key = golden::BytesOfHex(key_hex);
  return Aes256::Create(reinterpret_cast<const unsigned char*>(key.data())).value().Encrypt(block);
}

TEST(OrderNoCodecTest, WorkedExample_HoldsAtEveryStep) {
  const nlohmann::json& worked = Golden()["worked"];
  for (const char* purpose : {"tag", "ctr", "ff1", "ctr64"}) {
    EXPECT_EQ(DerivedHex(purpose), worked[std::string("k_") + purpose]) << purpose;
  }
  uint64_t gene = worked["gene"];
  uint64_t sequence = std::stoull(worked["sequence"].get<std::string>());
  uint64_t header = gene << 47 | uint64_t{2} << 43 | uint64_t{1} << 36;
  EXPECT_EQ(HexOf(EncryptWith(worked["k_tag"], {header, sequence})), worked["T"]);
  EXPECT_EQ(HexOf(EncryptWith(worked["k_ctr"], BlockOfHex(worked["iv"]))), worked["ks"]);
}

TEST(OrderNoCodecTest, GoldenNumbers_HoldBothWaysInEveryScheme) {
  size_t lines = 0, narrow = 0;
  for (const auto& line : Golden()["valid"]) {
    SCOPED_TRACE(line.dump());
    OrderNoCodec codec = GoldenCodec(1, line["space"]);
    KeyVersion version = Version(line["key_version"]);
    OrderId id = OrderId::FromBytes(golden::BytesOfHex(line["order_id"])).value();
    OrderNo number = codec.Encode(id, version).value();
    EXPECT_EQ(number.ToHex(), line["siv"]["hex"]);
    EXPECT_EQ(number.ToString(), line["siv"]["text"]);
    EXPECT_EQ(codec.Decode(number).value(), id);
    ++lines;
    if (id.is_wide()) continue;
    OrderNo64 ff1 = codec.EncodeFf1(id, version).value();
    EXPECT_EQ(ff1.ToString(), line["ff1"]);
    EXPECT_EQ(codec.DecodeFf1(ff1, version).value(), id);
    OrderNo64 ctr64 = codec.EncodeCtr64ReusingKeystream(id, version).value();
    EXPECT_EQ(ctr64.ToString(), line["ctr64"]);
    EXPECT_EQ(codec.DecodeCtr64(ctr64, version).value(), id);
    ++narrow;
  }
  EXPECT_EQ(lines, 85u);
  EXPECT_EQ(narrow, 70u);
}

TEST(OrderNoCodecTest, GoldenInvalidNumbers_AreRefusedAlike) {
  OrderNoCodec codec = GoldenCodec();
  size_t lines = 0;
  for (const auto& line : Golden()["invalid"]) {
    ++lines;
    absl::StatusOr<OrderNo> number = OrderNo::FromBytes(golden::BytesOfHex(line["hex"]));
    if (!number.ok()) continue;  // by its fixed bits, without a key
    absl::Status refused = codec.Decode(*number).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_EQ(refused.message(), number->ToString() + " is not an order_no of this space") << line;
  }
  EXPECT_EQ(lines, 34u);
}

TEST(OrderNoCodecTest, EncodeWithoutVersion_UsesTheActiveOne) {
  OrderNoCodec codec = GoldenCodec(127);
  OrderId id = OrderIdAssembler::Of(Gene(7), 99);
  EXPECT_EQ(codec.active(), Version(127));
  EXPECT_EQ(codec.Encode(id).value().key_version(), Version(127));
  EXPECT_EQ(codec.Encode(id).value(), codec.Encode(id, Version(127)).value());
}

TEST(OrderNoCodecTest, AnySingleBitFlip_IsRefused) {
  OrderNoCodec codec = GoldenCodec();
  std::mt19937_64 random(20240901);
  for (int i = 0; i < 200; ++i) {
    std::string bytes = codec.Encode(RandomId(random)).value().ToBytes();
    for (size_t bit = 0; bit < 128; ++bit) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      absl::StatusOr<OrderNo> number = OrderNo::FromBytes(flipped);
      if (!number.ok()) continue;
      ASSERT_FALSE(codec.Decode(*number).ok()) << number->ToHex();
    }
  }
}

TEST(OrderNoCodecTest, OtherSpaceOrOtherKey_IsRefused) {
  OrderNo number = GoldenCodec().Encode(OrderIdAssembler::Of(Gene(7), 99)).value();
  EXPECT_FALSE(GoldenCodec(1, "refunds").Decode(number).ok());
  KeyRing other = KeyRing::FromKey(Version(1), std::string(32, 'x')).value();
  EXPECT_FALSE(OrderNoCodec::Create(other, SpaceName()).value().Decode(number).ok());
}

TEST(OrderNoCodecTest, KeyRetired_NumbersOfItAreRefusedAndNotMade) {
  KeyRing ring = GoldenRing(2);
  OrderId id = OrderIdAssembler::Of(Gene(7), 99);
  OrderNo number = GoldenCodec(1).Encode(id).value();
  OrderNo64 number64 = GoldenCodec(1).EncodeFf1(id, Version(1)).value();
  ASSERT_TRUE(ring.Retire(Version(1)).ok());
  OrderNoCodec codec = OrderNoCodec::Create(ring, SpaceName()).value();
  EXPECT_EQ(codec.Decode(number).status().code(), absl::StatusCode::kInvalidArgument);
  for (KeyVersion version : {Version(1), Version(3)}) {
    EXPECT_TRUE(absl::IsNotFound(codec.Encode(id, version).status()));
    EXPECT_TRUE(absl::IsNotFound(codec.EncodeFf1(id, version).status()));
    EXPECT_TRUE(absl::IsNotFound(codec.DecodeFf1(number64, version).status()));
    EXPECT_TRUE(absl::IsNotFound(codec.EncodeCtr64ReusingKeystream(id, version).status()));
    EXPECT_TRUE(absl::IsNotFound(codec.DecodeCtr64(number64, version).status()));
  }
}

TEST(OrderNoCodecTest, RingDiesOrChanges_CodecStays) {
  std::optional<KeyRing> ring = GoldenRing(1);
  OrderNoCodec codec = OrderNoCodec::Create(*ring, SpaceName()).value();
  OrderId id = OrderIdAssembler::Of(Gene(7), 99);
  OrderNo number = codec.Encode(id).value();
  ring.reset();
  OrderNoCodec moved = std::move(codec);
  EXPECT_EQ(moved.Decode(number).value(), id);
  EXPECT_EQ(moved.Encode(id).value(), number);
}

TEST(OrderNoCodecTest, WideIdIn64Bits_IsRefused) {
  OrderNoCodec codec = GoldenCodec();
  OrderId wide = OrderIdAssembler::Of(Gene(7), OrderId::kMaxNarrowSequence + 1);
  EXPECT_TRUE(absl::IsInvalidArgument(codec.EncodeFf1(wide, Version(1)).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(codec.EncodeCtr64ReusingKeystream(wide, Version(1)).status()));
}

// Of a chunk's size, of part of one, of several.
constexpr size_t kBatchSizes[] = {0, 1, 2, 255, 256, 257, 1000};

TEST(OrderNoCodecTest, EncodeBatch_AgreesWithSingleCalls) {
  OrderNoCodec codec = GoldenCodec();
  std::mt19937_64 random(1);
  for (size_t size : kBatchSizes) {
    std::vector<OrderId> ids(size);
    for (OrderId& id : ids) id = RandomId(random);
    OrderNo filler = codec.Encode(OrderId()).value();
    std::vector<OrderNo> numbers(size, filler);
    ASSERT_TRUE(codec.EncodeBatch(ids, numbers).ok());
    for (size_t i = 0; i < size; ++i) ASSERT_EQ(numbers[i], codec.Encode(ids[i]).value()) << i;
  }
}

TEST(OrderNoCodecTest, EncodeBatchIntoTooLittleRoom_IsRefused) {
  OrderNoCodec codec = GoldenCodec();
  std::vector<OrderId> ids(2);
  std::vector<OrderNo> numbers(1, codec.Encode(OrderId()).value());
  EXPECT_TRUE(absl::IsInvalidArgument(codec.EncodeBatch(ids, numbers)));
}

TEST(OrderNoCodecTest, DecodeBatchOfMixedVersionsAndForgeries_AgreesWithSingleCalls) {
  OrderNoCodec codec = GoldenCodec();
  KeyRing wrong = KeyRing::FromKey(Version(2), std::string(32, 'x')).value();
  ASSERT_TRUE(wrong.AddKey(Version(77), std::string(32, 'y')).ok());
  OrderNoCodec forger = OrderNoCodec::Create(wrong, SpaceName()).value();
  std::mt19937_64 random(2);
  for (size_t size : kBatchSizes) {
    std::vector<OrderNo> numbers;
    for (size_t i = 0; i < size; ++i) {
      OrderId id = RandomId(random);
      switch (random() % 6) {
        case 0:
          numbers.push_back(forger.Encode(id, Version(2)).value());
          break;
        case 1:
          numbers.push_back(forger.Encode(id, Version(77)).value());
          break;
        default:
          constexpr int kVersions[] = {0, 1, 2, 127};
          numbers.push_back(codec.Encode(id, Version(kVersions[random() % 4])).value());
      }
    }
    std::vector<std::optional<OrderId>> ids(size, OrderId());
    size_t refused = codec.DecodeBatch(numbers, ids), expected_refused = 0;
    for (size_t i = 0; i < size; ++i) {
      absl::StatusOr<OrderId> id = codec.Decode(numbers[i]);
      ASSERT_EQ(ids[i].has_value(), id.ok()) << i;
      if (id.ok()) {
        ASSERT_EQ(*ids[i], *id) << i;
      } else {
        ++expected_refused;
      }
    }
    EXPECT_EQ(refused, expected_refused);
    EXPECT_GE(refused, size / 6);
  }
}

// The result of OpenSSL's own AES-256-CTR for 16 zero bytes.
std::string CtrKeystream(const std::string& key, const std::string& iv) {
  std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                          &EVP_CIPHER_CTX_free);
  auto bytes = [](const std::string& text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  };
  EXPECT_EQ(EVP_EncryptInit_ex(context.get(), EVP_aes_256_ctr(), nullptr, bytes(key), bytes(iv)),
            1);
  std::string out(16, '\0');
  int size = 0;
  EXPECT_EQ(EVP_EncryptUpdate(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                              bytes(std::string(16, '\0')), 16),
            1);
  return out;
}

TEST(OrderNoCodecTest, Ciphertext_IsThatOfOpenSslsCtrMode) {
  OrderNoCodec codec = GoldenCodec();
  std::string key = golden::BytesOfHex(Golden()["worked"]["k_ctr"]);
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    OrderId id = RandomId(random);
    int bits = id.is_wide() ? 56 : 47;
    uint64_t mask = (uint64_t{1} << bits) - 1;
    OrderNo number = codec.Encode(id).value();
    std::string iv(16, '\0');
    StoreBigEndian64(number.high(), iv.data());
    StoreBigEndian64(number.low() & ~mask, iv.data() + 8);
    uint64_t keystream = LoadBigEndian64(CtrKeystream(key, iv).data()) >> (64 - bits);
    ASSERT_EQ((number.low() & mask) ^ keystream, id.sequence()) << id;
  }
}

TEST(OrderNoCodecTest, ManyThreads_GetTheNumbersOfOne) {
  OrderNoCodec codec = GoldenCodec();
  std::mt19937_64 random(4);
  std::vector<OrderId> ids(600);
  for (OrderId& id : ids) id = RandomId(random);
  std::vector<OrderNo> expected(ids.size(), codec.Encode(ids[0]).value());
  ASSERT_TRUE(codec.EncodeBatch(ids, expected).ok());
  std::vector<std::thread> threads;
  std::array<bool, 4> agree{};
  for (bool& mine : agree) {
    threads.emplace_back([&] {
      bool all = true;
      std::vector<OrderNo> numbers(ids.size(), expected[0]);
      std::vector<std::optional<OrderId>> read(ids.size());
      for (int round = 0; round < 20; ++round) {
        for (size_t i = 0; i < ids.size(); ++i) {
          all &= codec.Encode(ids[i]).value() == expected[i];
          all &= codec.Decode(expected[i]).value() == ids[i];
        }
        all &= codec.EncodeBatch(ids, numbers).ok() && numbers == expected;
        all &= codec.DecodeBatch(numbers, read) == 0;
      }
      mine = all;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(agree, testing::Each(true));
}

}  // namespace
}  // namespace locus
