// SPDX-License-Identifier: Apache-2.0
#include "src/base/text/text.h"

#include "gtest/gtest.h"
#include "locus/space.h"

namespace locus {

using internal::kMostForeignBytes;
using internal::ParseDecimal;
using internal::Printable;
using internal::Quoted;

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

TEST(TextTest, PrintableOfOrdinaryText_IsTheText) {
  EXPECT_EQ(Printable("Table 'a.b' doesn't exist"), "Table 'a.b' doesn't exist");
  EXPECT_EQ(Printable("Données: \xE8\xA1\xA8 \xF0\x9F\x98\x80"),
            "Données: \xE8\xA1\xA8 \xF0\x9F\x98\x80");
  EXPECT_EQ(Printable(""), "");
}

TEST(TextTest, PrintableOfTerminalControls_IsEscaped) {
  EXPECT_EQ(Printable("\x1B[2J\x07\r\n\t\x7F"), R"(\x1b[2J\x07\x0d\x0a\x09\x7f)");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), R"(a\x00b)");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m"),
            R"(\xc2\x9b31m)");                              // CSI as one C1 character
  EXPECT_EQ(Printable("\xE2\x80\xAE"), R"(\xe2\x80\xae)");  // right-to-left override
  EXPECT_EQ(Printable("\xE2\x80\x8B"), R"(\xe2\x80\x8b)");  // zero width space
}

TEST(TextTest, PrintableOfInvalidUtf8_IsEscapedByteByByte) {
  EXPECT_EQ(Printable("a\xFF\xC0\xAFz"), R"(a\xff\xc0\xafz)");
  EXPECT_EQ(Printable("\xED\xA0\x80"), R"(\xed\xa0\x80)");          // a surrogate
  EXPECT_EQ(Printable("\xF4\x90\x80\x80"), R"(\xf4\x90\x80\x80)");  // above U+10FFFF
  EXPECT_EQ(Printable("\xE0\x80\xAF"), R"(\xe0\x80\xaf)");          // overlong
  EXPECT_EQ(Printable("\xE8\xA1"), R"(\xe8\xa1)");                  // cut off
}

TEST(TextTest, PrintableOfLongText_IsCutBetweenCharacters) {
  EXPECT_EQ(Printable("abcdef", 3), "abc...");
  EXPECT_EQ(Printable("ab\xE8\xA1\xA8z", 4), "ab...");
  EXPECT_EQ(Printable(std::string(1 << 20, 'x')).size(), kMostForeignBytes + 3);
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
