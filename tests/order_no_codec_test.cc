// SPDX-License-Identifier: Apache-2.0
#include "locus/order_no_codec.h"

#include <openssl/evp.h>

#include <bit>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "src/aes.h"
#include "src/key_derivation.h"
#include "src/order_id_assembler.h"
#include "tests/golden.h"

namespace locus {
namespace {

const nlohmann::json& Golden() {
  static const nlohmann::json golden = golden::Load("order_no.json");
  return golden;
}

KeyVersion Version(int value) { return KeyVersion::FromInt(value).value(); }

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
  return locus::HexOf({reinterpret_cast<const char*>(&block), sizeof block});
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
  OrderNoCodec orders = GoldenCodec();
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

}  // namespace
}  // namespace locus
