// SPDX-License-Identifier: Apache-2.0
#include "locus/order_id.h"

#include <algorithm>
#include <random>
#include <sstream>
#include <unordered_set>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/text/text.h"
#include "tests/support/golden.h"

namespace locus {

using internal::HexOf;

namespace {

static_assert(!std::is_constructible_v<OrderId, int>, "OrderId id(5) does not compile");
static_assert(!std::is_constructible_v<OrderId, uint64_t>);
static_assert(!std::is_convertible_v<OrderId, uint64_t>);

OrderId FromHex(const std::string& hex) {
  return OrderId::FromBytes(golden::BytesOfHex(hex)).value();
}

TEST(OrderIdTest, GoldenValid_HoldsBothWays) {
  nlohmann::json vectors = golden::Load("order_id.json")["valid"];
  ASSERT_EQ(vectors.size(), 77u);
  for (const auto& line : vectors) {
    SCOPED_TRACE(line.dump());
    auto gene = ShardGene::FromUint16(line["gene"].get<uint16_t>());
    uint64_t sequence = std::stoull(line["sequence"].get<std::string>());
    OrderId id = OrderId::FromParts(gene, sequence).value();
    EXPECT_EQ(id.width(), line["width"].get<int>());
    EXPECT_EQ(HexOf(id.ToBytes()), line["hex"].get<std::string>());
    EXPECT_EQ(id.cohort(), line["cohort"].get<uint32_t>());

    OrderId read = FromHex(line["hex"]);
    EXPECT_EQ(read, id);
    EXPECT_EQ(read.gene(), gene);
    EXPECT_EQ(read.sequence(), sequence);
    EXPECT_EQ(std::hash<OrderId>()(read), std::hash<OrderId>()(id));

    std::string text = line.contains("decimal") ? line["decimal"] : line["hex"];
    EXPECT_EQ(id.ToString(), text);
    EXPECT_EQ(OrderId::Parse(text).value(), id);
    std::ostringstream out;
    out << id;
    EXPECT_EQ(out.str(), text);
    if (id.is_wide()) {
      EXPECT_EQ(id.ToInt64().status().code(), absl::StatusCode::kFailedPrecondition);
    } else {
      EXPECT_EQ(OrderId::FromInt64(id.ToInt64().value()).value(), id);
    }
  }
}

TEST(OrderIdTest, GoldenInvalid_IsRefusedWithTheValueNamed) {
  nlohmann::json vectors = golden::Load("order_id.json")["invalid"];
  ASSERT_EQ(vectors.size(), 15u);
  for (const auto& line : vectors) {
    std::string hex = line["hex"];
    absl::Status status = OrderId::FromBytes(golden::BytesOfHex(hex)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
    if (hex.size() == 32) {
      EXPECT_EQ(OrderId::Parse(hex).status().code(), absl::StatusCode::kInvalidArgument) << line;
      EXPECT_NE(status.message().find(hex), absl::string_view::npos) << status;
    }
  }
}

TEST(OrderIdTest, GoldenInvalidDecimal_IsRefused) {
  nlohmann::json vectors = golden::Load("order_id.json")["invalid_decimal"];
  ASSERT_EQ(vectors.size(), 12u);
  for (const auto& line : vectors) {
    EXPECT_EQ(OrderId::Parse(line["text"].get<std::string>()).status().code(),
              absl::StatusCode::kInvalidArgument)
        << line;
  }
}

TEST(OrderIdTest, GoldenByteOrder_IsTheOrderOfValuesAndOfBytes) {
  nlohmann::json hexes = golden::Load("order_id.json")["in_byte_order"];
  ASSERT_EQ(hexes.size(), 20u);
  std::vector<OrderId> expected;
  for (const auto& hex : hexes) expected.push_back(FromHex(hex));
  std::vector<OrderId> shuffled = expected;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(3));
  std::vector<OrderId> by_bytes = shuffled;
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, expected);
  std::sort(by_bytes.begin(), by_bytes.end(),
            [](const OrderId& a, const OrderId& b) { return a.ToBytes() < b.ToBytes(); });
  EXPECT_EQ(by_bytes, expected);
}

TEST(OrderIdTest, SequenceAbove56Bits_IsOutOfRange) {
  EXPECT_TRUE(OrderId::FromParts(ShardGene(), OrderId::kMaxSequence).ok());
  EXPECT_EQ(OrderId::FromParts(ShardGene(), OrderId::kMaxSequence + 1).status().code(),
            absl::StatusCode::kOutOfRange);
}

TEST(OrderIdTest, NegativeBigint_IsRefused) {
  EXPECT_EQ(OrderId::FromInt64(-1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(OrderIdTest, UpperCaseHex_IsRead) {
  EXPECT_EQ(OrderId::Parse("0002FFFFFFFFFFFF0000800000000000").value().gene().value(), 5);
}

TEST(OrderIdTest, RandomParts_KeepOrderAndSurviveBytesAndText) {
  std::mt19937_64 random(4);
  OrderId last;
  for (int i = 0; i < 20000; ++i) {
    auto gene = ShardGene::FromUint16(static_cast<uint16_t>(random()));
    uint64_t sequence = (random() & OrderId::kMaxSequence) >> (random() % 57);
    OrderId id = OrderId::FromParts(gene, sequence).value();
    EXPECT_EQ(OrderId::FromBytes(id.ToBytes()).value(), id);
    EXPECT_EQ(OrderId::Parse(id.ToString()).value(), id);
    EXPECT_EQ(id < last,
              std::make_pair(gene, sequence) < std::make_pair(last.gene(), last.sequence()));
    EXPECT_EQ(id < last, id.ToBytes() < last.ToBytes());
    last = id;
  }
}

TEST(OrderIdTest, HashOfNeighbours_Differs) {
  std::unordered_set<OrderId> ids;
  for (uint64_t n = 0; n < 1000; ++n) ids.insert(OrderId::FromParts(ShardGene(), n).value());
  EXPECT_EQ(ids.size(), 1000u);
}

}  // namespace
}  // namespace locus
