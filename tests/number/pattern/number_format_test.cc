// SPDX-License-Identifier: Apache-2.0
#include "locus/number_format.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/number/pattern/damm.h"

namespace locus {

using internal::DammDigit;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::TimeZone Zone(const char* name) {
  absl::TimeZone zone;
  EXPECT_TRUE(absl::LoadTimeZone(name, &zone)) << name << ": tzdata is needed";
  return zone;
}

absl::Time Utc(const char* text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, &error)) << error;
  return time;
}

const absl::Time kNow = absl::FromUnixMillis(1795185888987);  // 2026-11-20T14:44:48.987Z

NumberFormat Compile(std::string_view pattern, absl::TimeZone zone = absl::UTCTimeZone()) {
  return NumberFormat::Compile(pattern, zone).value();
}

FieldValue N(uint64_t number) { return FieldValue::Uint64(number); }
FieldValue T(std::string_view text) { return FieldValue::Text(text); }

std::vector<std::string> TextsOf(const ParsedNumber& number) {
  std::vector<std::string> texts;
  for (const ParsedNumber::Value& value : number.values) texts.push_back(value.text);
  return texts;
}

TEST(NumberFormatTest, PatternsOfTheDocumentation_FormatAndParse) {
  NumberFormat order = Compile("{date:yyyyMMdd}{seq:8}");
  EXPECT_EQ(order.Format(kNow, {N(42)}).value(), "2026112000000042");
  ParsedNumber parsed = order.Parse("2026112000000042").value();
  EXPECT_EQ(parsed.time, Utc("2026-11-20T00:00:00Z"));
  EXPECT_EQ(parsed.values[0].number, 42u);
  EXPECT_EQ(parsed.values[0].text, "00000042");

  NumberFormat payment = Compile("{time:yyyyMMddHHmmss}{channel:2}{buyer:4}{seq:4}");
  EXPECT_EQ(payment.Format(kNow, {N(3), N(17850), N(9999)}).value(), "202611201444480378509999");
  parsed = payment.Parse("202611201444480378509999").value();
  EXPECT_EQ(parsed.time, Utc("2026-11-20T14:44:48Z"));
  EXPECT_THAT(TextsOf(parsed), ElementsAre("03", "7850", "9999"));

  NumberFormat parking = Compile("{date:yyMMdd}{origin:4}{plate}{seq:6}");
  EXPECT_EQ(parking.Format(kNow, {N(755), T("B12345"), N(7)}).value(), "2611200755B12345000007");
  parsed = parking.Parse("2611200755B12345000007").value();
  EXPECT_EQ(parsed.time, Utc("2026-11-20T00:00:00Z"));
  EXPECT_THAT(TextsOf(parsed), ElementsAre("0755", "B12345", "000007"));
}

TEST(NumberFormatTest, Fields_AreListedInTheirOrder) {
  NumberFormat format = Compile("A{{{date:yyMMdd}-{plate:A-Z;2..8}/{buyer:4}{check}");
  EXPECT_EQ(format.pattern(), "A{{{date:yyMMdd}-{plate:A-Z;2..8}/{buyer:4}{check}");
  ASSERT_EQ(format.fields().size(), 4u);
  const NumberField& date = format.fields()[0];
  EXPECT_EQ(date.name, "date");
  EXPECT_EQ(date.layout, "yyMMdd");
  EXPECT_FALSE(date.has_value());
  const NumberField& plate = format.fields()[1];
  EXPECT_EQ(plate.kind, NumberField::Kind::kText);
  EXPECT_EQ(plate.min_width, 2u);
  EXPECT_EQ(plate.max_width, 8u);
  EXPECT_TRUE(plate.has_value());
  EXPECT_EQ(format.fields()[2].kind, NumberField::Kind::kBuyer);
  EXPECT_EQ(format.fields()[3].kind, NumberField::Kind::kCheck);
  EXPECT_EQ(format.min_length(), 2u + 6 + 1 + 2 + 1 + 4 + 1);
  EXPECT_EQ(format.max_length(), format.min_length() + 6);
}

TEST(NumberFormatTest, BracesAndOrderOfUnits_AreFree) {
  NumberFormat format = Compile("{{{time:HH:mm}}}{date:dd.MM.yyyy}{seq:1}");
  EXPECT_EQ(format.Format(kNow, {N(5)}).value(), "{14:44}20.11.20265");
  EXPECT_EQ(format.Parse("{14:44}20.11.20265").value().time, Utc("2026-11-20T14:44:00Z"));
}

TEST(NumberFormatTest, Milliseconds_AreCutOffNotRounded) {
  NumberFormat format = Compile("{time:yyyyMMddHHmmssSSS}");
  EXPECT_EQ(format.Format(kNow + absl::Microseconds(999), {}).value(), "20261120144448987");
  EXPECT_EQ(format.Format(Utc("1969-12-31T23:59:59.9999Z"), {}).value(), "19691231235959999");
  EXPECT_EQ(format.Parse("20261120144448987").value().time, kNow);
}

TEST(NumberFormatTest, TooHigh_IsAnErrorAndNeverCut) {
  NumberFormat format = Compile("{date:yyyyMMdd}{seq:8}");
  EXPECT_EQ(format.Format(kNow, {N(99'999'999)}).value(), "2026112099999999");
  EXPECT_EQ(format.Format(kNow, {N(100'000'000)}).status(),
            absl::OutOfRangeError("field \"seq\": 100000000 is above 99999999, the highest of its "
                                  "8 digits"));
  EXPECT_EQ(Compile("{n:19}").Format(kNow, {N(UINT64_MAX)}).status().code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Compile("{n:19}").Format(kNow, {N(9'999'999'999'999'999'999u)}).value(),
            "9999999999999999999");
  EXPECT_EQ(Compile("{n:19}").Parse("9999999999999999999")->values[0].number,
            9'999'999'999'999'999'999u);
}

TEST(NumberFormatTest, Buyer_IsTheLastDigitsOfTheKey) {
  NumberFormat format = Compile("{buyer:4}");
  for (auto [key, text] :
       {std::pair{N(17850), "7850"}, std::pair{N(7), "0007"}, std::pair{N(10'003), "0003"},
        std::pair{N(UINT64_MAX), "1615"}, std::pair{T("u-17850"), "7850"},
        std::pair{T("0"), "0000"}, std::pair{T("shop7/u12"), "0012"},
        std::pair{T("123456789012345678901234567890"), "7890"}}) {
    EXPECT_EQ(format.Format(kNow, {key}).value(), text);
  }
  EXPECT_EQ(format.Format(kNow, {T("alice")}).status(),
            absl::InvalidArgumentError("field \"buyer\": \"alice\" does not end with a digit"));
  EXPECT_FALSE(format.Format(kNow, {T("")}).ok());
  EXPECT_EQ(Compile("{buyer:19}").Format(kNow, {N(UINT64_MAX)}).value(), "8446744073709551615");
}

TEST(NumberFormatTest, Text_KeepsToItsAlphabetAndWidth) {
  NumberFormat format = Compile("{plate:A-Z0-9;2..4}");
  EXPECT_EQ(format.Format(kNow, {T("B7")}).value(), "B7");
  EXPECT_EQ(format.Format(kNow, {T("B")}).status(),
            absl::InvalidArgumentError("field \"plate\": \"B\" has 1 characters, not 2 to 4"));
  EXPECT_FALSE(format.Format(kNow, {T("B1234")}).ok());
  EXPECT_EQ(format.Format(kNow, {T("Bx7")}).status(),
            absl::InvalidArgumentError("field \"plate\": character 2 of \"Bx7\" is not of A-Z0-9"));
  EXPECT_EQ(format.Format(kNow, {N(77)}).status(),
            absl::InvalidArgumentError("field \"plate\": the number 77 is given, not text"));
  EXPECT_EQ(Compile("{n:4}").Format(kNow, {T("77")}).status(),
            absl::InvalidArgumentError("field \"n\": \"77\" is given, not a number"));
  EXPECT_EQ(Compile("{plate}").Format(kNow, {T(std::string(32, 'Z'))}).value().size(), 32u);
  EXPECT_FALSE(Compile("{plate}").Format(kNow, {T(std::string(33, 'Z'))}).ok());
  EXPECT_FALSE(Compile("{plate}").Format(kNow, {T("")}).ok());
}

TEST(NumberFormatTest, OtherCountsOfValues_AreRefused) {
  NumberFormat format = Compile("{a:1}{b:1}{check}");
  for (std::vector<FieldValue> values : {std::vector<FieldValue>{}, {N(1)}, {N(1), N(2), N(3)}}) {
    absl::Status status = format.Format(kNow, values).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("for the 2 fields"));
  }
}

TEST(NumberFormatTest, FormatTo_NeedsRoomForTheLongest) {
  NumberFormat format = Compile("{p:A-Z;1..4}-{n:2}");
  std::array<char, 7> room;
  room.fill('?');
  std::array values = {T("AB"), N(7)};
  EXPECT_EQ(format.FormatTo(kNow, values, room).value(), 5u);
  EXPECT_EQ(std::string_view(room.data(), 5), "AB-07");
  EXPECT_EQ(format.FormatTo(kNow, values, std::span(room).first(6)).status(),
            absl::InvalidArgumentError("a buffer of 6 bytes is given for numbers of up to 7"));
}

TEST(NumberFormatTest, Copies_ShareTheCompiledPattern) {
  NumberFormat first = Compile("{n:2}");
  NumberFormat copy = first;
  NumberFormat moved = std::move(first);
  EXPECT_EQ(copy.fields().data(), moved.fields().data());
  EXPECT_EQ(copy.Format(kNow, {N(7)}).value(), "07");
}

TEST(NumberFormatTimeTest, Zone_DecidesTheDay) {
  NumberFormat format = Compile("{date:yyyyMMdd}{seq:2}", Zone("Asia/Shanghai"));
  EXPECT_EQ(format.Format(Utc("2026-11-20T15:59:59.999Z"), {N(1)}).value(), "2026112001");
  EXPECT_EQ(format.Format(Utc("2026-11-20T16:00:00Z"), {N(1)}).value(), "2026112101");
  EXPECT_EQ(format.Parse("2026112101").value().time, Utc("2026-11-20T16:00:00Z"));
  EXPECT_EQ(format.GroupKey(Utc("2026-11-20T15:59:59.999Z")).value(), "20261120");
  EXPECT_EQ(format.GroupKey(Utc("2026-11-20T16:00:00Z")).value(), "20261121");
}

TEST(NumberFormatTimeTest, GroupKey_IsOfTheDayOrOfTheUnitsInThePattern) {
  EXPECT_EQ(Compile("{time:yyyyMMddHHmmss}{seq:2}").GroupKey(kNow).value(), "20261120");
  EXPECT_EQ(Compile("{date:yyMMdd}{seq:2}").GroupKey(kNow).value(), "20261120");
  EXPECT_EQ(Compile("{date:yyyyMM}{seq:2}").GroupKey(kNow).value(), "202611");
  EXPECT_EQ(Compile("{date:yy}{seq:2}").GroupKey(kNow).value(), "2026");
  EXPECT_EQ(Compile("{seq:2}").GroupKey(kNow).value(), "all");
  EXPECT_EQ(Compile("{date:yy}").GroupKey(absl::InfiniteFuture()).status().code(),
            absl::StatusCode::kOutOfRange);
}

TEST(NumberFormatTimeTest, Years_AreNeverCut) {
  NumberFormat yy = Compile("{date:yyMMdd}");
  EXPECT_EQ(yy.Format(Utc("2000-01-01T00:00:00Z"), {}).value(), "000101");
  EXPECT_EQ(yy.Format(Utc("2099-12-31T23:59:59Z"), {}).value(), "991231");
  for (const char* time : {"1999-12-31T23:59:59Z", "2100-01-01T00:00:00Z"}) {
    absl::Status status = yy.Format(Utc(time), {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_EQ(yy.GroupKey(Utc(time)).status(), status) << "no sequence is counted for it";
    EXPECT_THAT(std::string(status.message()), HasSubstr("2000 to 2099"));
  }
  EXPECT_EQ(yy.Parse("691231").value().time, Utc("2069-12-31T00:00:00Z"));

  NumberFormat yyyy = Compile("{date:yyyyMMdd}");
  EXPECT_EQ(yyyy.Format(Utc("0001-01-01T00:00:00Z"), {}).value(), "00010101");
  EXPECT_EQ(yyyy.Format(Utc("9999-12-31T23:59:59.999Z"), {}).value(), "99991231");
  for (absl::Time time : {Utc("0001-01-01T00:00:00Z") - absl::Nanoseconds(1),
                          Utc("9999-12-31T23:59:59Z") + absl::Seconds(1), absl::InfinitePast(),
                          absl::InfiniteFuture()}) {
    EXPECT_EQ(yyyy.Format(time, {}).status().code(), absl::StatusCode::kOutOfRange) << time;
  }
  EXPECT_FALSE(yyyy.Parse("00000101").ok());
}

TEST(NumberFormatTimeTest, SkippedLocalTime_IsRefused) {
  // The clocks of New York went from 02:00 to 03:00.
  NumberFormat format = Compile("{time:yyyyMMddHHmm}", Zone("America/New_York"));
  EXPECT_EQ(format.Format(Utc("2026-03-08T06:59:00Z"), {}).value(), "202603080159");
  EXPECT_EQ(format.Format(Utc("2026-03-08T07:00:00Z"), {}).value(), "202603080300");
  EXPECT_EQ(format.Parse("202603080230").status(),
            absl::InvalidArgumentError("\"202603080230\" is not a number of "
                                       "\"{time:yyyyMMddHHmm}\": the local time "
                                       "2026-03-08T02:30:00 does not exist in America/New_York"));
  // Those of Apia skipped a day.
  NumberFormat day = Compile("{date:yyyyMMdd}", Zone("Pacific/Apia"));
  EXPECT_FALSE(day.Parse("20111230").ok());
  EXPECT_TRUE(day.Parse("20111231").ok());
}

TEST(NumberFormatTimeTest, DayWithoutMidnight_BeginsAtItsFirstInstant) {
  // Sao Paulo's clocks went from 00:00 to 01:00.
  NumberFormat format = Compile("{date:yyyyMMdd}", Zone("America/Sao_Paulo"));
  EXPECT_EQ(format.Parse("20181104").value().time, Utc("2018-11-04T03:00:00Z"));
  EXPECT_EQ(format.Format(Utc("2018-11-04T03:00:00Z"), {}).value(), "20181104");
  EXPECT_EQ(format.Format(Utc("2018-11-04T02:59:59Z"), {}).value(), "20181103");
}

TEST(NumberFormatTimeTest, LocalTimeThatComesTwice_IsTheFirst) {
  NumberFormat format = Compile("{time:yyyyMMddHHmm}", Zone("America/New_York"));
  EXPECT_EQ(format.Format(Utc("2026-11-01T05:30:00Z"), {}).value(), "202611010130");
  EXPECT_EQ(format.Format(Utc("2026-11-01T06:30:00Z"), {}).value(), "202611010130");
  EXPECT_EQ(format.Parse("202611010130").value().time, Utc("2026-11-01T05:30:00Z"));
}

TEST(NumberFormatParseTest, Refusals_NameTextPlaceAndLimit) {
  struct Case {
    const char* pattern;
    const char* text;
    const char* reason;
  };
  for (const Case& wrong : std::vector<Case>{
           {"{date:yyyyMMdd}{seq:2}", "202613200", "it has 9 characters, not 10"},
           {"{date:yyyyMMdd}{seq:2}", "2026132001", "month \"13\" at character 5 is not 01 to 12"},
           {"{date:yyyyMMdd}{seq:2}", "2026110001", "day \"00\" at character 7 is not 01 to 31"},
           {"{date:yyyyMMdd}{seq:2}", "2026113101", "day \"31\" at character 7 is not 01 to 30"},
           {"{date:yyyyMMdd}{seq:2}", "2026022901", "day \"29\" at character 7 is not 01 to 28"},
           {"{date:yyyyMMdd}{seq:2}", "2100022901", "day \"29\" at character 7 is not 01 to 28"},
           {"{date:yyyyMMdd}{seq:2}", "0000022901",
            "year \"0000\" at character 1 is not 0001 to 9999"},
           {"{date:yyMMdd}{seq:2}", "x0022901", "year \"x0\" at character 1 is not 00 to 99"},
           {"{time:yyyyMMddHHmmssSSS}", "20261120240000000",
            "hour \"24\" at character 9 is not 00 to 23"},
           {"{time:yyyyMMddHHmmssSSS}", "20261120236000000",
            "minute \"60\" at character 11 is not 00 to 59"},
           {"{time:yyyyMMddHHmmssSSS}", "20261120235960000",
            "second \"60\" at character 13 is not 00 to 59"},
           {"{time:yyyyMMddHHmmssSSS}", "202611202359599 9",
            "millisecond \"9 9\" at character 15 is not 000 to 999"},
           {"{seq:4}", "12a4", "field seq \"12a4\" at character 1 is not all digits"},
           {"{seq:4}", "-001", "field seq \"-001\" at character 1 is not all digits"},
           {"NO.{seq:1}", "NO:1", "the literal \"NO:\" at character 1 is not \"NO.\""},
           {"{p:A-C;1..3}-{q:A-C;2..9}", "ABCA-AB",
            "for field \"p\" at character 1 there are 4 characters, not 1 to 3"},
           {"{p:A-C;1..3}-{q:A-C;2..5}", "AXA-AB", "the literal \"X\" at character 2 is not \"-\""},
           {"{p:A-C;1..3}{seq:2}", "AXA12",
            "field p \"AXA\" at character 1 has \"X\", which is not of A-C"},
           {"{seq:3}{check}", "5723",
            "the check digit \"3\" at character 4 is not \"4\", that of the digits before"}}) {
    absl::Status status = Compile(wrong.pattern).Parse(wrong.text).status();
    EXPECT_EQ(status, absl::InvalidArgumentError(std::string("\"") + wrong.text +
                                                 "\" is not a number of \"" + wrong.pattern +
                                                 "\": " + wrong.reason));
  }
}

TEST(NumberFormatParseTest, LeapDays_AreKnown) {
  NumberFormat format = Compile("{date:ddMMyyyy}");  // the year comes after the day
  EXPECT_TRUE(format.Parse("29022024").ok());
  EXPECT_TRUE(format.Parse("29022000").ok());
  EXPECT_FALSE(format.Parse("29021900").ok());
}

TEST(NumberFormatParseTest, SeveralVariableFields_AreToldApartByLiterals) {
  NumberFormat format = Compile("{a:A-Z;1..9}-{b:0-9;1..9}/{c}");
  ParsedNumber parsed = format.Parse("AB-123/9Z").value();
  EXPECT_THAT(TextsOf(parsed), ElementsAre("AB", "123", "9Z"));
}

TEST(NumberFormatPatternTest, WrongPatterns_AreRefusedWithFieldAndPlace) {
  struct Case {
    std::string pattern;
    const char* reason;
  };
  for (const Case& wrong : std::vector<Case>{
           {"", "it is empty"},
           {"ABC", "it has no field"},
           {"{seq:8", "character 1, \"{\", opens a field that is not closed"},
           {"{seq{x}}", "character 1, \"{\", opens a field that is not closed"},
           {"A}{seq:8}", "character 2, \"}\", closes no field"},
           {"\t{seq:8}", "character 1, U+0009, is a control character"},
           {"订\xE8\xAE{seq:8}", "character 2, \"\\xe8\", is not UTF-8"},
           {"{}", "field \"{}\" at character 1: the name \"\" is not 1 to 32"},
           {"{Seq:8}", "the name \"Seq\""},
           {"{9seq:8}", "the name \"9seq\""},
           {"{" + std::string(33, 'a') + ":8}", "is not 1 to 32"},
           {"{seq:8}{seq:8}", "field \"{seq:8}\" at character 8: its name occurs twice"},
           {"{seq:}", "nothing follows its colon"},
           {"{seq:0}", "the width \"0\" is not 1 to 19"},
           {"{seq:20}", "the width \"20\" is not 1 to 19"},
           {"{seq:08}", "the width \"08\" is not 1 to 19"},
           {"{buyer}", "it needs a width such as buyer:4"},
           {"{buyer:A-Z}", "it needs a width such as buyer:4"},
           {"{date}", "it needs a layout such as yyyyMMdd"},
           {"{date:yyyyMMDD}", "\"DD\" is none of yyyy yy MM dd"},
           {"{date:yyy}", "\"yyy\" is none of"},
           {"{date:yyyyMMdd }", "\" \" is none of"},
           {"{date:-}{seq:4}", "its layout has no unit of time"},
           {"{date:yyyyyyyy}", "\"yyyyyyyy\" is none of"},
           {"{date:yyyy-yy}", "the unit \"yy\" stands twice"},
           {"{date:yyyyMMdd}{time:dd}", "the unit \"dd\" stands twice"},
           {"{date:MMdd}", "it tells dd without yyyy"},
           {"{date:yyyydd}", "it tells dd without MM"},
           {"{date:yyyyMMdd}{time:mmss}", "it tells ss without HH"},
           {"{p:}", "nothing follows its colon"},
           {"{p:;4}", "its alphabet is empty"},
           {"{p:Z-A}", "the range \"Z-A\" falls"},
           {"{p:A-ZM}", "its alphabet has \"M\" twice"},
           {"{p:1..8}", "its alphabet has \".\" twice"},
           {"{p:A Z}", "its alphabet has a space"},
           {"{p:A-Z-9}", "a '-' outside a range must come first or last"},
           {"{p:!-~}", "its alphabet has \";\""},
           {"{p:A-Z;}", "the width \"\" is not 1 to 64"},
           {"{p:A-Z;0..4}", "the width \"0\" is not 1 to 64"},
           {"{p:A-Z;1..65}", "the width \"65\" is not 1 to 64"},
           {"{p:A-Z;4..2}", "the widths \"4..2\" fall"},
           {"{p:A-Z;1...2}", "the width \".2\" is not 1 to 64"},
           {"{check:1}", "a check digit is written {check}"},
           {"{check}{seq:4}", "field \"{check}\" at character 1: no digit can precede it"},
           {"NO{p:A-Z}{check}", "no digit can precede it"},
           {"{a:A-Z;64}{b:A-Z;64}{c:A-Z;64}{d:A-Z;64}{seq:1}", "up to 257 bytes"},
           {absl::StrCat(std::string(249, 'x'), "{seq:16}"), "it has 257 bytes, more than 256"}}) {
    absl::Status status = NumberFormat::Compile(wrong.pattern).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong.pattern;
    EXPECT_THAT(std::string(status.message()), HasSubstr(wrong.reason)) << wrong.pattern;
  }
}

TEST(NumberFormatPatternTest, PatternThatCouldNotBeParsedBack_IsRefused) {
  for (std::string_view pattern :
       {"{a}{b}", "{a:A-Z}{b:0-9}", "{a}7{b}", "{a}{seq:4}{b}", "{a}X-{b}", "{a}{seq:4}-{b}",
        "{a:A-Z0-9-}-{b}", "{date:yyyy}{a}{check}{b}", "{a}-{b}{c}"}) {
    absl::Status status = NumberFormat::Compile(pattern).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << pattern;
    EXPECT_THAT(std::string(status.message()), HasSubstr("could not be parsed")) << pattern;
  }
  for (std::string_view pattern :
       {"{a}", "{a}{seq:4}", "{seq:4}{a}A9{check}", "{a}-{b}", "{a:A-Z;4}{b}", "{a}-{b}/{c}{seq:4}",
        "{a:A-Z}7{b}", "{a}{b:A-Z;3}"}) {
    EXPECT_TRUE(NumberFormat::Compile(pattern).ok()) << pattern;
  }
}

TEST(DammTest, KnownDigitsAndErrors) {
  EXPECT_EQ(DammDigit("572"), '4');
  EXPECT_EQ(DammDigit("5724"), '0');
  EXPECT_EQ(DammDigit("A5-7x2"), '4');
  EXPECT_EQ(DammDigit(""), '0');
  for (int number = 0; number < 10000; number += 7) {
    std::string digits = std::to_string(10000 + number);
    std::string whole = digits + DammDigit(digits);
    for (size_t i = 0; i < whole.size(); ++i) {
      for (char digit = '0'; digit <= '9'; ++digit) {
        std::string wrong = whole;
        wrong[i] = digit;
        EXPECT_EQ(DammDigit(wrong) == '0', wrong == whole);
      }
      if (i == 0) continue;
      std::string swapped = whole;
      std::swap(swapped[i], swapped[i - 1]);
      EXPECT_EQ(DammDigit(swapped) == '0', swapped == whole);
    }
  }
}

}  // namespace
}  // namespace locus
