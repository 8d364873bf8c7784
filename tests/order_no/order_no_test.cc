// SPDX-License-Identifier: Apache-2.0
#include "locus/order_no.h"

#include <sstream>

#include "gtest/gtest.h"
#include "src/base/text/text.h"
#include "tests/support/golden.h"

namespace locus {

using internal::HexOf;

namespace {

static_assert(!std::is_constructible_v<OrderNo, int>);
static_assert(!std::is_constructible_v<OrderNo64, int64_t>);
static_assert(!std::is_constructible_v<KeyVersion, int>);

TEST(OrderNoTest, GoldenText_HoldsBothWays) {
  nlohmann::json vectors = golden::Load("order_no.json")["valid"];
  ASSERT_EQ(vectors.size(), 85u);
  for (const auto& line : vectors) {
    SCOPED_TRACE(line.dump());
    std::string hex = line["siv"]["hex"], text = line["siv"]["text"];
    OrderNo number = OrderNo::FromBytes(golden::BytesOfHex(hex)).value();
    EXPECT_EQ(number.ToString(), text);
    EXPECT_EQ(number.ToHex(), hex);
    EXPECT_EQ(HexOf(number.ToBytes()), hex);
    EXPECT_EQ(OrderNo::Parse(text).value(), number);
    EXPECT_EQ(OrderNo::Parse(hex).value(), number);
    EXPECT_EQ(number.key_version().value(), line["key_version"].get<int>());
    EXPECT_EQ(number.is_wide(), line["order_id"].get<std::string>().size() == 32);
    std::ostringstream out;
    out << number;
    EXPECT_EQ(out.str(), text);
  }
}

TEST(OrderNoTest, GoldenInvalidText_IsRefused) {
  nlohmann::json vectors = golden::Load("order_no.json")["invalid_text"];
  ASSERT_EQ(vectors.size(), 14u);
  for (const auto& line : vectors) {
    EXPECT_EQ(OrderNo::Parse(line["text"].get<std::string>()).status().code(),
              absl::StatusCode::kInvalidArgument)
        << line;
  }
}

TEST(OrderNoTest, GoldenSameNumber_IsOneNumber) {
  nlohmann::json texts = golden::Load("order_no.json")["same_number"];
  ASSERT_EQ(texts.size(), 6u);
  OrderNo first = OrderNo::Parse(texts[0].get<std::string>()).value();
  for (const auto& text : texts) {
    OrderNo number = OrderNo::Parse(text.get<std::string>()).value();
    EXPECT_EQ(number, first) << text;
    EXPECT_EQ(std::hash<OrderNo>()(number), std::hash<OrderNo>()(first));
  }
}

TEST(OrderNoTest, OtherLengthsOfBytes_AreRefused) {
  for (size_t size : {0u, 8u, 15u, 17u}) {
    EXPECT_EQ(OrderNo::FromBytes(std::string(size, '\x10')).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(OrderNo64Test, DecimalText_HoldsBothWays) {
  OrderNo64 number = OrderNo64::Parse("5764811777033357117").value();
  EXPECT_EQ(number.ToInt64(), 5764811777033357117);
  EXPECT_EQ(number.ToString(), "5764811777033357117");
  EXPECT_EQ(number.gene().value(), 40961);
  for (const char* text : {"", "-1", "01", "9223372036854775808", "1 "}) {
    EXPECT_EQ(OrderNo64::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(OrderNo64::FromInt64(-5).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(KeyVersionTest, OutsideSevenBits_IsRefused) {
  EXPECT_EQ(KeyVersion::FromInt(127).value().value(), 127);
  EXPECT_EQ(KeyVersion::FromInt(128).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(KeyVersion::FromInt(-1).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace locus
