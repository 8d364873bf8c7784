// SPDX-License-Identifier: Apache-2.0
// Numbers, and what all functions have in common.
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "locus/key_ring.h"
#include "locus/order_no_codec.h"
#include "locus/shard_gene.h"
#include "tests/c_api/c_api_fixture.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

using CApiNumbersTest = CApiTest;

TEST_F(CApiNumbersTest, Codes_HaveTheNamesOfAbseil) {
  for (int code = 0; code <= 16; ++code) {
    EXPECT_EQ(locus_code_name(code), absl::StatusCodeToString(static_cast<absl::StatusCode>(code)));
  }
  EXPECT_STREQ(locus_code_name(17), "UNKNOWN");
  EXPECT_STREQ(locus_code_name(-1), "UNKNOWN");
}

TEST_F(CApiNumbersTest, Genes_AreThoseOfTheLibrary) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t number = random();
    EXPECT_EQ(locus_gene_of_uint64(number), ShardGene::Of(BuyerKey::Uint64(number)).value());
    std::string text(number % 40, static_cast<char>(i));
    EXPECT_EQ(locus_gene_of_text(text.data(), text.size()),
              ShardGene::Of(BuyerKey::Text(text)).value());
  }
  EXPECT_EQ(locus_gene_of_text(nullptr, 0), ShardGene::Of(BuyerKey::Text("")).value());
}

TEST_F(CApiNumbersTest, OrderIds_GoThroughTextBytesAndParts) {
  for (const uint64_t sequence : {uint64_t{0}, uint64_t{1}, OrderId::kMaxNarrowSequence,
                                  OrderId::kMaxNarrowSequence + 1, OrderId::kMaxSequence}) {
    const uint16_t gene = 54321;
    const OrderId expected = OrderId::FromParts(ShardGene::FromUint16(gene), sequence).value();
    locus_order_id id = {};
    ASSERT_EQ(locus_order_id_make(gene, sequence, &id, &error_), LOCUS_OK) << error_.message;
    EXPECT_EQ(Id(id), expected);
    EXPECT_EQ(TextOf(id), expected.ToString());
    locus_order_id again = {};
    const std::string text = expected.ToString();
    ASSERT_EQ(locus_order_id_parse(text.data(), text.size(), &again, nullptr), LOCUS_OK);
    EXPECT_EQ(Id(again), expected);
    uint8_t bytes[LOCUS_ORDER_ID_BYTES];
    size_t length = 0;
    ASSERT_EQ(locus_order_id_bytes(&id, bytes, &length, nullptr), LOCUS_OK);
    EXPECT_EQ(std::string(reinterpret_cast<char*>(bytes), length), expected.ToBytes());
    again = {};
    ASSERT_EQ(locus_order_id_from_bytes(bytes, length, &again, nullptr), LOCUS_OK);
    EXPECT_EQ(Id(again), expected);
    locus_order_id_parts parts = {};
    ASSERT_EQ(locus_order_id_split(&id, &parts, nullptr), LOCUS_OK);
    EXPECT_EQ(parts.gene, gene);
    EXPECT_EQ(parts.sequence, sequence);
    EXPECT_EQ(parts.cohort, expected.cohort());
    EXPECT_EQ(parts.width, static_cast<uint32_t>(expected.width()));
  }
}

TEST_F(CApiNumbersTest, BadOrderIds_AreRefusedAndNothingIsWritten) {
  locus_order_id id = {7, 8};
  EXPECT_EQ(locus_order_id_make(0, OrderId::kMaxSequence + 1, &id, &error_), LOCUS_OUT_OF_RANGE);
  EXPECT_EQ(error_.code, LOCUS_OUT_OF_RANGE);
  EXPECT_EQ(locus_order_id_parse("-1", 2, &id, &error_), LOCUS_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, HasSubstr("-1"));
  EXPECT_EQ(locus_order_id_from_bytes("123", 3, &id, &error_), LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(id.first, 7u);
  EXPECT_EQ(id.rest, 8u);
  // A NUL inside is a character as any other: nothing is read up to it only.
  EXPECT_EQ(locus_order_id_parse("1\0", 2, &id, &error_), LOCUS_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, HasSubstr("1\\x00"));
  locus_order_no number = {7, 8};
  const char kNumber[] = "2G02812R8Z8PM04ZF8ZPH5M6\0Z";
  EXPECT_EQ(locus_order_no_parse(kNumber, 26, &number, &error_), LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(number.high, 7u);
  EXPECT_NE(locus_gene_of_text("a\0b", 3), locus_gene_of_text("a", 1));
  char text[LOCUS_ORDER_ID_TEXT_BYTES] = "kept";
  for (const locus_order_id bad : {locus_order_id{uint64_t{1} << 63, 0}, locus_order_id{7, 8}}) {
    EXPECT_EQ(locus_order_id_text(&bad, text, &error_), LOCUS_INVALID_ARGUMENT);
    EXPECT_STREQ(text, "kept");
  }
}

TEST_F(CApiNumbersTest, OrderNos_AreThoseOfTheLibrary) {
  const std::string keys = directory_ / "keys";
  ASSERT_TRUE(KeyRing::Generate()->Save(keys).ok());
  const OrderNoCodec oracle =
      OrderNoCodec::Create(KeyRing::Load(keys).value(), SpaceName::Parse("shop").value()).value();
  locus_codec* codec = nullptr;
  ASSERT_EQ(locus_codec_open(keys.c_str(), "shop", &codec, &error_), LOCUS_OK) << error_.message;
  std::vector<locus_order_id> ids;
  for (uint64_t i = 0; i < 300; ++i) {
    locus_order_id id = {};
    const uint64_t sequence = i % 3 == 0 ? OrderId::kMaxNarrowSequence + i : i * i;
    ASSERT_EQ(locus_order_id_make(static_cast<uint16_t>(i * 217), sequence, &id, nullptr),
              LOCUS_OK);
    ids.push_back(id);
  }
  std::vector<locus_order_no> numbers(ids.size());
  ASSERT_EQ(locus_codec_encode(codec, ids.data(), ids.size(), numbers.data(), &error_), LOCUS_OK)
      << error_.message;
  for (size_t i = 0; i < ids.size(); ++i) {
    const OrderNo expected = oracle.Encode(Id(ids[i])).value();
    char text[LOCUS_ORDER_NO_TEXT_BYTES];
    ASSERT_EQ(locus_order_no_text(&numbers[i], text, nullptr), LOCUS_OK);
    EXPECT_EQ(text, expected.ToString());
    uint8_t bytes[LOCUS_ORDER_NO_BYTES];
    ASSERT_EQ(locus_order_no_bytes(&numbers[i], bytes, nullptr), LOCUS_OK);
    locus_order_no from_text = {}, from_bytes = {};
    ASSERT_EQ(locus_order_no_parse(text, strlen(text), &from_text, nullptr), LOCUS_OK);
    ASSERT_EQ(locus_order_no_from_bytes(bytes, sizeof bytes, &from_bytes, nullptr), LOCUS_OK);
    EXPECT_EQ(memcmp(&from_text, &from_bytes, sizeof from_text), 0);
    uint16_t gene = 0;
    ASSERT_EQ(locus_order_no_gene(&from_text, &gene, nullptr), LOCUS_OK);
    EXPECT_EQ(gene, expected.gene().value());
    locus_order_id decoded = {};
    ASSERT_EQ(locus_codec_decode(codec, &from_text, &decoded, &error_), LOCUS_OK);
    EXPECT_EQ(Id(decoded), Id(ids[i]));
    from_text.low ^= 1;
    EXPECT_EQ(locus_codec_decode(codec, &from_text, &decoded, &error_), LOCUS_INVALID_ARGUMENT);
  }
  const locus_order_id bad = {uint64_t{1} << 63, 0};
  locus_order_no kept = {1, 2};
  EXPECT_EQ(locus_codec_encode(codec, &bad, 1, &kept, &error_), LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(kept.high, 1u);
  locus_codec_close(codec);
  codec = nullptr;
  ASSERT_EQ(chmod(keys.c_str(), 0644), 0);
  EXPECT_EQ(locus_codec_open(keys.c_str(), nullptr, &codec, &error_), LOCUS_FAILED_PRECONDITION);
  EXPECT_EQ(locus_codec_open("/nowhere/keys", nullptr, &codec, &error_), LOCUS_NOT_FOUND);
  EXPECT_EQ(codec, nullptr);
}

TEST_F(CApiNumbersTest, OrderNosOf64Bits_AreThoseOfTheLibrary) {
  const std::string keys = directory_ / "keys";
  KeyRing ring = KeyRing::Generate().value();
  const KeyVersion first = ring.active();
  const KeyVersion second = ring.Add().value();
  ASSERT_TRUE(ring.Activate(second).ok());
  ASSERT_TRUE(ring.Save(keys).ok());
  const OrderNoCodec oracle = OrderNoCodec::Create(KeyRing::Load(keys).value()).value();
  locus_codec* codec = nullptr;
  ASSERT_EQ(locus_codec_open(keys.c_str(), nullptr, &codec, &error_), LOCUS_OK) << error_.message;
  uint8_t version = 0;
  ASSERT_EQ(locus_codec_active_version(codec, &version, &error_), LOCUS_OK);
  EXPECT_EQ(version, second.value());
  std::vector<locus_order_id> ids(300);
  for (uint64_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(locus_order_id_make(static_cast<uint16_t>(i * 217), i * i * i, &ids[i], nullptr),
              LOCUS_OK);
  }
  std::vector<int64_t> numbers(ids.size());
  for (const KeyVersion of : {first, second}) {
    ASSERT_EQ(
        locus_codec_encode_ff1(codec, ids.data(), ids.size(), of.value(), numbers.data(), &error_),
        LOCUS_OK)
        << error_.message;
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(numbers[i], oracle.EncodeFf1(Id(ids[i]), of).value().ToInt64());
      locus_order_id decoded = {};
      ASSERT_EQ(locus_codec_decode_ff1(codec, numbers[i], of.value(), &decoded, &error_), LOCUS_OK);
      EXPECT_EQ(Id(decoded), Id(ids[i]));
    }
  }
  // All or none: the last one is wide.
  ASSERT_EQ(locus_order_id_make(1, OrderId::kMaxNarrowSequence + 1, &ids.back(), nullptr),
            LOCUS_OK);
  const std::vector<int64_t> kept = numbers;
  locus_order_id decoded = {7, 8};
  EXPECT_EQ(
      locus_codec_encode_ff1(codec, ids.data(), ids.size(), first.value(), numbers.data(), &error_),
      LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(locus_codec_encode_ff1(codec, ids.data(), 1, 9, numbers.data(), &error_),
            LOCUS_NOT_FOUND);
  EXPECT_EQ(locus_codec_encode_ff1(codec, ids.data(), 1, 128, numbers.data(), &error_),
            LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(numbers, kept);
  EXPECT_EQ(locus_codec_decode_ff1(codec, -1, 0, &decoded, &error_), LOCUS_INVALID_ARGUMENT);
  EXPECT_EQ(locus_codec_decode_ff1(codec, 1, 9, &decoded, &error_), LOCUS_NOT_FOUND);
  EXPECT_EQ(decoded.first, 7u);
  locus_codec_close(codec);
}

TEST_F(CApiNumbersTest, Uuids_AreOfVersion7AndRise) {
  uint8_t last[LOCUS_UUID_BYTES] = {};
  for (int i = 0; i < 1000; ++i) {
    uint8_t next[LOCUS_UUID_BYTES];
    ASSERT_EQ(locus_uuid_v7(next, &error_), LOCUS_OK);
    EXPECT_EQ(next[6] >> 4, 7);
    EXPECT_GT(memcmp(next, last, sizeof next), 0);
    memcpy(last, next, sizeof next);
  }
}

TEST_F(CApiNumbersTest, Null_IsRefusedOrNothing) {
  locus_order_id id = {};
  locus_order_no number = {};
  size_t size = 0;
  const locus_code refused[] = {
      locus_order_id_make(0, 0, nullptr, &error_),
      locus_order_id_parse(nullptr, 0, &id, &error_),
      locus_order_id_parse("1", 1, nullptr, &error_),
      locus_order_id_from_bytes(nullptr, 8, &id, &error_),
      locus_order_id_text(nullptr, nullptr, &error_),
      locus_order_id_text(&id, nullptr, &error_),
      locus_order_id_bytes(&id, nullptr, &size, &error_),
      locus_order_id_split(&id, nullptr, &error_),
      locus_generator_open(nullptr, nullptr, nullptr, &error_),
      locus_generator_open("sqlite:x", nullptr, nullptr, &error_),
      locus_generator_next(nullptr, 0, 0, &id, &error_),
      locus_generator_next_batch(nullptr, nullptr, 1, 0, &id, &size, &error_),
      locus_generator_next_batch(nullptr, nullptr, 1, 0, &id, nullptr, &error_),
      locus_generator_warm(nullptr, 0, &error_),
      locus_order_no_parse(nullptr, 0, &number, &error_),
      locus_order_no_from_bytes(nullptr, 16, &number, &error_),
      locus_order_no_text(&number, nullptr, &error_),
      locus_order_no_bytes(nullptr, nullptr, &error_),
      locus_order_no_gene(nullptr, nullptr, &error_),
      locus_codec_open(nullptr, nullptr, nullptr, &error_),
      locus_codec_encode(nullptr, &id, 1, &number, &error_),
      locus_codec_decode(nullptr, &number, &id, &error_),
      locus_codec_active_version(nullptr, nullptr, &error_),
      locus_codec_encode_ff1(nullptr, &id, 1, 0, nullptr, &error_),
      locus_codec_decode_ff1(nullptr, 0, 0, &id, &error_),
      locus_router_open(nullptr, nullptr, nullptr, &error_),
      locus_router_route(nullptr, &id, nullptr, &error_),
      locus_router_routes_of(nullptr, 0, nullptr, &size, &error_),
      locus_router_refresh(nullptr, 0, 0, &error_),
      locus_sequence_open(nullptr, nullptr, nullptr, nullptr, &error_),
      locus_sequence_next(nullptr, 0, nullptr, &error_),
      locus_sequence_next_block(nullptr, 0, nullptr, nullptr, &error_),
      locus_snowflake_open(nullptr, nullptr, nullptr, &error_),
      locus_snowflake_next(nullptr, nullptr, &error_),
      locus_snowflake_next_batch(nullptr, nullptr, 0, &size, &error_),
      locus_snowflake_worker(nullptr, nullptr, &error_),
      locus_uuid_v7(nullptr, &error_),
  };
  for (const locus_code code : refused) EXPECT_EQ(code, LOCUS_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "bytes is NULL");
  EXPECT_EQ(locus_router_epoch(nullptr), 0u);
  locus_generator_close(nullptr);
  locus_codec_close(nullptr);
  locus_router_close(nullptr);
  locus_sequence_close(nullptr);
  locus_snowflake_close(nullptr);
}

// Nothing else of the library is visible: neither its C++ nor what is linked into it.
TEST_F(CApiNumbersTest, Symbols_AreThoseOfTheHeader) {
  std::set<std::string> declared;
  std::ifstream file(golden::ProjectDirectory() + "/include/locus/locus_c.h");
  const std::string header(std::istreambuf_iterator<char>(file), {});
  const std::regex function("LOCUS_C_API [^;(]*?\\b(locus_\\w+)\\(");
  for (std::sregex_iterator it(header.begin(), header.end(), function), end; it != end; ++it) {
    declared.insert((*it)[1]);
  }
  EXPECT_GE(declared.size(), 40u);
  std::set<std::string> exported;
  const std::string list = directory_ / "symbols";
  ASSERT_EQ(
      std::system(absl::StrCat("nm -D --defined-only ", LOCUS_C_LIBRARY, " > ", list).c_str()), 0);
  std::ifstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string address, kind, name;
    words >> address >> kind >> name;
    if (kind == "A") continue;  // the name of the version itself
    EXPECT_EQ(kind, "T") << line;
    EXPECT_THAT(name, ::testing::EndsWith("@@LOCUS_0"));
    exported.insert(name.substr(0, name.find('@')));
  }
  EXPECT_EQ(exported, declared);
}

}  // namespace
}  // namespace locus
