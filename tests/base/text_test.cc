// SPDX-License-Identifier: Apache-2.0
#include "src/base/text.h"

#include "gtest/gtest.h"
#include "locus/space.h"

namespace locus {
namespace {

TEST(TextTest, ParseDecimal_KeepsToItsLimit) {
  EXPECT_EQ(ParseDecimal("18446744073709551615", UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(ParseDecimal("18446744073709551616", UINT64_MAX), std::nullopt);
  EXPECT_EQ(ParseDecimal("99999999999999999999", UINT64_MAX), std::nullopt);
  EXPECT_EQ(ParseDecimal("7", 7), 7u);
  EXPECT_EQ(ParseDecimal("8", 7), std::nullopt);
  EXPECT_EQ(ParseDecimal("0", 0), 0u);
  for (const char* text : {"", "-1", "+1", "01", "1.0", " 1", "1 ", "0x1", "\xEF\xBC\x91"}) {
    EXPECT_EQ(ParseDecimal(text, UINT64_MAX), std::nullopt) << text;
  }
}

TEST(TextTest, Quoted_EscapesAndCuts) {
  EXPECT_EQ(Quoted("a\"b\\c\n\xff"), R"("a\"b\\c\x0a\xff")");
  EXPECT_EQ(Quoted(std::string(65, 'x')), "\"" + std::string(64, 'x') + "...\"");
}

TEST(SpaceNameTest, OtherThanItsAlphabet_IsRefused) {
  EXPECT_EQ(SpaceName().str(), "orders");
  EXPECT_EQ(SpaceName::Parse("a-z_09").value().str(), "a-z_09");
  EXPECT_TRUE(SpaceName::Parse(std::string(64, 'a')).ok());
  for (std::string name : {"", "A", "a b", "a\n", "\xC3\xA9"}) {
    EXPECT_EQ(SpaceName::Parse(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_FALSE(SpaceName::Parse(std::string(65, 'a')).ok());
}

}  // namespace
}  // namespace locus
