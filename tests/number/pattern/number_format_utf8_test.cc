// SPDX-License-Identifier: Apache-2.0
// NumberFormat with letters of any script.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/number_format.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixMillis(1795185888987);  // 2026-11-20T14:44:48.987Z

NumberFormat Compile(std::string_view pattern) { return NumberFormat::Compile(pattern).value(); }

FieldValue N(uint64_t number) { return FieldValue::Uint64(number); }
FieldValue T(std::string_view text) { return FieldValue::Text(text); }

std::vector<std::string> TextsOf(const ParsedNumber& number) {
  std::vector<std::string> texts;
  for (const ParsedNumber::Value& value : number.values) texts.push_back(value.text);
  return texts;
}

constexpr char kPlate[] =
    "{province:京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼;1}{letter:A-Z;1}"
    "{rest:A-Z0-9;5}";

TEST(NumberFormatUtf8Test, Plate_CountsCharactersAndIsParsedBack) {
  NumberFormat plate = Compile(kPlate);
  EXPECT_EQ(plate.Format(kNow, {T("京"), T("B"), T("12345")}).value(), "京B12345");
  EXPECT_THAT(TextsOf(plate.Parse("京B12345").value()), ElementsAre("京", "B", "12345"));
  EXPECT_EQ(plate.fields()[0].max_width, 1u);
  EXPECT_EQ(plate.min_length(), 9u);
  EXPECT_EQ(plate.max_length(), 9u);
  EXPECT_EQ(plate.Format(kNow, {T("香"), T("B"), T("12345")}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(plate.Parse("京京12345").status(),
            absl::InvalidArgumentError("\"京京12345\" is not a number of "
                                       "\"{province:京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂...\": "
                                       "field letter \"京\" at character 2 has \"京\", which is "
                                       "not of A-Z"));
}

TEST(NumberFormatUtf8Test, WidthsAndPositions_AreOfCharacters) {
  NumberFormat format = Compile("№{name:一-龥a-z😀;2..4}·{seq:3}年{check}");
  EXPECT_EQ(format.min_length(), 3u + 2 + 2 + 3 + 3 + 1);
  EXPECT_EQ(format.max_length(), format.min_length() - 2 + 4 * 4);
  EXPECT_EQ(format.Format(kNow, {T("王x😀"), N(572)}).value(), "№王x😀·572年4");
  EXPECT_THAT(TextsOf(format.Parse("№王x😀·572年4").value()), ElementsAre("王x😀", "572"));
  for (auto [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"№王x😀·57年2", "the literal \"😀\" at character 4 is not \"·\""},
           {"№王x😀·57x年4", "field seq \"57x\" at character 6 is not all digits"},
           {"№王X😀·572年4",
            "field name \"王X😀\" at character 2 has \"X\", which is not of 一-龥a-z"},
           {"№王x😀.572年4", "the literal \".\" at character 5 is not \"·\""},
           {"№王x😀·572年年", "the check digit \"年\" at character 10 is not \"4\""},
           {"王王", "it has 2 characters, not 9 to 11"},
           {"№王x😀·572年\xE5\xB9", "character 10, \"\\xe5\", is not UTF-8"},
           {"№王x\xE2\x80\x8B·572年4", "character 4, U+200B, is invisible or a format character"},
           {std::string(257, 'x'), "it has 257 bytes, more than 256"}}) {
    EXPECT_THAT(std::string(format.Parse(text).status().message()), HasSubstr(reason)) << text;
  }
  EXPECT_EQ(
      format.Format(kNow, {T("王王王王王"), N(1)}).status(),
      absl::InvalidArgumentError("field \"name\": \"王王王王王\" has 5 characters, not 2 to 4"));
  EXPECT_EQ(
      format.Format(kNow, {T("王A"), N(1)}).status(),
      absl::InvalidArgumentError("field \"name\": character 2 of \"王A\" is not of 一-龥a-z😀"));
}

TEST(NumberFormatUtf8Test, UnitsOfTime_RefuseOtherDigits) {
  EXPECT_FALSE(Compile("{date:yy}").Parse("２６").ok());
  EXPECT_THAT(std::string(NumberFormat::Compile("{date:yyyy年MM}").status().message()),
              HasSubstr("\"年\" is none"));
}

// As literals, in alphabets, in values and in numbers.
TEST(NumberFormatUtf8Test, InvisibleCharacter_IsRefusedEverywhere) {
  struct Case {
    std::string bytes;
    std::string reason;
  };
  NumberFormat any = Compile("{text:一-龥;1..4}");
  for (const Case& bad :
       std::vector<Case>{{"\x7F", "U+007F, is a control character"},
                         {"\xC2\x85", "U+0085, is a control character"},
                         {"\xC2\xAD", "U+00AD, is invisible"},           // soft hyphen
                         {"\xE2\x80\x8D", "U+200D, is invisible"},       // joiner
                         {"\xE2\x80\xAE", "U+202E, is invisible"},       // right-to-left override
                         {"\xE2\x81\xA6", "U+2066, is invisible"},       // isolate
                         {"\xEF\xBB\xBF", "U+FEFF, is invisible"},       // byte order mark
                         {"\xEF\xB8\x8F", "U+FE0F, is invisible"},       // variation selector
                         {"\xE3\x85\xA4", "U+3164, is invisible"},       // filler
                         {"\xF3\xA0\x81\x81", "U+E0041, is invisible"},  // tag
                         {"\xE3\x80\x80", "U+3000, is a space other than"},
                         {"\xC2\xA0", "U+00A0, is a space other than"},
                         {"\xEF\xBF\xBF", "U+FFFF, is not a character"},
                         {"\xC0\xAF", "\"\\xc0\", is not UTF-8"},  // overlong
                         {"\xE0\x80\xAF", "\"\\xe0\", is not UTF-8"},
                         {"\xED\xA0\x80", "\"\\xed\", is not UTF-8"},      // surrogate
                         {"\xF4\x90\x80\x80", "\"\\xf4\", is not UTF-8"},  // above U+10FFFF
                         {"\x80", "\"\\x80\", is not UTF-8"}}) {
    for (const absl::Status& status :
         {NumberFormat::Compile("京" + bad.bytes + "{seq:1}").status(),
          any.Format(kNow, {T("京" + bad.bytes)}).status(), any.Parse("京" + bad.bytes).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(status.message()), HasSubstr("character 2")) << bad.reason;
      EXPECT_THAT(std::string(status.message()), HasSubstr(", " + bad.reason));
    }
    EXPECT_FALSE(NumberFormat::Compile("{p:A" + bad.bytes + "}").ok()) << bad.reason;
  }
}

TEST(NumberFormatUtf8Test, WrongAlphabets_AreRefused) {
  for (auto [pattern, reason] : std::vector<std::pair<std::string, std::string>>{
           {"{p:京津京}", "its alphabet has U+4EAC twice"},
           {"{p:一-龥京}", "its alphabet has U+4EAC twice"},
           {"{p:京一-龥}", "its alphabet has U+4EAC twice"},
           {"{p:龥-一}", "the range \"龥-一\" falls"},
           {"年{p:A-é}", "field \"{p:A-é}\" at character 2: its alphabet has \"{\""},
           {"{p:~-é}", "the range \"~-é\" holds U+007F, which is a control character"},
           {"{p:é-一}", "the range \"é-一\" holds U+034F, which is invisible"},
           {"{p:一-😀}", "holds U+D800, which is not a character"},
           {"{p:京;22}{q:京;64}", "up to 258 bytes, more than 256"},
           {"{名:4}", "the name \"名\""},
           {"{a:京}{b}京", "could not be parsed"},
           {"{a:京}京{b}", "could not be parsed"}}) {
    EXPECT_THAT(std::string(NumberFormat::Compile(pattern).status().message()), HasSubstr(reason))
        << pattern;
  }
  EXPECT_TRUE(NumberFormat::Compile("{a:京}津{b}").ok());
  EXPECT_TRUE(NumberFormat::Compile("{p:京;21}{q:京;64}").ok());
}

TEST(NumberFormatUtf8Test, Texts_AreNotNormalised) {
  NumberFormat format = Compile("{p:é;1}");
  EXPECT_TRUE(format.Parse("\xC3\xA9").ok());
  EXPECT_FALSE(format.Parse("e\xCC\x81").ok());
  NumberFormat marks = Compile("{p:e\xCC\x81;2}");
  EXPECT_TRUE(marks.Parse("e\xCC\x81").ok());
  EXPECT_FALSE(marks.Parse("\xC3\xA9").ok());
}

}  // namespace
}  // namespace locus
