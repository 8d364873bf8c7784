// SPDX-License-Identifier: Apache-2.0
#include "src/base/text/utf8.h"

#include "gtest/gtest.h"
#include "src/base/text/text.h"

namespace locus {
namespace {

using namespace internal;  // NOLINT: the header is the subject

std::string Encoded(uint32_t c) {
  size_t size = BytesOf(c);
  if (size == 1) return std::string(1, static_cast<char>(c));
  std::string bytes(size, 0);
  for (size_t i = size; i-- > 1; c >>= 6) bytes[i] = static_cast<char>(0x80 | (c & 0x3F));
  bytes[0] = static_cast<char>((0xF00u >> size) | c);
  return bytes;
}

TEST(Utf8Test, EveryCodePoint_IsReadButSurrogates) {
  for (uint32_t c = 0; c <= 0x1FFFFF; ++c) {
    uint32_t read = 0;
    bool is_character = c <= kMaxCodePoint && (c < 0xD800 || c > 0xDFFF);
    std::string bytes = Encoded(c);
    ASSERT_EQ(FirstCharacter(bytes, read), is_character ? bytes.size() : 0) << c;
    if (is_character) {
      ASSERT_EQ(read, c);
    }
    ASSERT_EQ(FirstCharacter(bytes.substr(0, bytes.size() - 1) + "x", read), c < 0x80 ? 1 : 0);
  }
}

TEST(Utf8Test, OverlongForms_AreNoCharacters) {
  for (std::string_view bytes : {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\x80",
                                 "\xBF", "\xF5\x80\x80\x80", "\xFF"}) {
    uint32_t c = 0;
    EXPECT_EQ(FirstCharacter(bytes, c), 0u);
  }
}

TEST(Utf8Test, PrefixesAndSuffixes_AreOfCharacters) {
  std::string text = "a京😀é";
  EXPECT_EQ(CharactersIn(text), 4u);
  size_t prefixes[] = {0, 1, 4, 8, 10, text.npos};
  size_t suffixes[] = {0, 2, 6, 9, 10, text.npos};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(PrefixBytes(text, i), prefixes[i]);
    EXPECT_EQ(SuffixBytes(text, i), suffixes[i]);
  }
}

TEST(Utf8Test, Ranges_FindTheirFirstInvisible) {
  EXPECT_EQ(FirstInvisible(' ', '~'), std::nullopt);
  EXPECT_EQ(FirstInvisible(' ', 0x7F), 0x7Fu);
  EXPECT_EQ(FirstInvisible(0x200C, 0x2100), 0x200Cu);
  EXPECT_EQ(FirstInvisible(0x2010, 0x2027), std::nullopt);
  EXPECT_EQ(FirstInvisible(0x2010, 0x2028), 0x2028u);
  EXPECT_EQ(FirstInvisible(0x10FFFD, 0x10FFFF), 0x10FFFEu);
  EXPECT_EQ(FirstInvisible(0x10FFFD, 0x10FFFD), std::nullopt);
  EXPECT_EQ(FirstOtherSpace(0x2800, 0x2800), 0x2800u);
  EXPECT_EQ(FirstOtherSpace(' ', ' '), std::nullopt);
  EXPECT_EQ(CodePointName(0xE9), "U+00E9");
  EXPECT_EQ(CodePointName(0x1F600), "U+1F600");
}

TEST(Utf8Test, QuotedUtf8_ShowsLettersAndCutsNone) {
  EXPECT_EQ(QuotedUtf8("京\"\\\xFF\xE2\x80\x8B"), "\"京\\\"\\\\\\xff\\xe2\\x80\\x8b\"");
  for (size_t ascii = 0; ascii < 4; ++ascii) {
    std::string text = std::string(ascii, 'a'), all;
    size_t whole = (64 - ascii) / 3;
    for (size_t i = 0; i < 30; ++i) all += "京";
    EXPECT_EQ(QuotedUtf8(text + all), "\"" + text + all.substr(0, 3 * whole) + "...\"");
  }
  EXPECT_EQ(QuotedUtf8(std::string(64, 'a')), "\"" + std::string(64, 'a') + "\"");
}

TEST(Utf8Test, CharactersThatNormalFormCWritesOtherwise_AreFound) {
  for (std::string_view composed :
       {"", "orders", "K\u00F6ln", "\u1EC7", "\u1EB9\u0301", "\u0995\u09BE", "\uAC01", "\u304C",
        "q\u0323\u0301", "\u0301"}) {
    EXPECT_EQ(FirstNotComposed(composed), std::nullopt) << composed;
  }
  EXPECT_EQ(FirstNotComposed("Ko\u0308ln"), 0x308);
  EXPECT_EQ(FirstNotComposed("e\u0323\u0302"), 0x323);
  EXPECT_EQ(FirstNotComposed("o\u031D\u0301"), 0x301) << "across a mark below";
  EXPECT_EQ(FirstNotComposed("\u1100\u1161"), 0x1161) << "Hangul";
  EXPECT_EQ(FirstNotComposed("\uAC00\u11A8"), 0x11A8);
  EXPECT_EQ(FirstNotComposed("\u304B\u3099"), 0x3099);
  EXPECT_EQ(FirstNotComposed("\u212B"), 0x212B) << "the sign Angstrom is the letter";
  EXPECT_EQ(FirstNotComposed("\uF900"), 0xF900);
  // As texts of old Vietnamese code pages become: the mark belongs between letter and circumflex.
  EXPECT_EQ(FirstNotComposed("Vi\u00EA\u0323t"), 0x323);
  EXPECT_EQ(FirstNotComposed("\u1EC7\u0327"), 0x327);
  EXPECT_EQ(FirstNotComposed("q\u0301\u0323"), 0x323) << "marks in another order";
  EXPECT_EQ(FirstNotComposed("\u00EA\u0331"), std::nullopt) << "joins no e";
}

TEST(Utf8Test, CheckComposed_NamesTheTextAndTheCharacter) {
  for (std::string_view fine : {"", "orders", "K\u00F6ln", "\u4EAC", "\xFFo\u0308"}) {
    EXPECT_TRUE(CheckComposed("key", fine).ok()) << fine;
  }
  const absl::Status refused = CheckComposed("key", "Ko\u0308ln");
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_EQ(refused.message(),
            "key \"Ko\u0308ln\" has U+0308, which Unicode's normal form C (NFC) writes otherwise; "
            "another name could look the same: write the name in that form");
}

}  // namespace
}  // namespace locus
