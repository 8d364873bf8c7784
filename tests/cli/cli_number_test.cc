// SPDX-License-Identifier: Apache-2.0
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunLocus;

constexpr char kOrder[] = "{date:yyyyMMdd}{seq:8}";
constexpr char kPayment[] = "{time:yyyyMMddHHmmss}{channel:2}{buyer:4}{seq:4}";
constexpr char kParking[] = "{date:yyMMdd}{origin:4}{plate}{seq:6}";

// "number format PATTERN" with the words that follow.
Outcome Format(std::vector<std::string> words) {
  words.insert(words.begin(), {"number", "format"});
  return RunLocus(words);
}

void ExpectNumber(const std::vector<std::string>& words, const std::string& number) {
  Outcome outcome = Format(words);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out, number + "\n");
}

TEST(CliNumberFormatTest, PatternsOfTheManual_AreFormatted) {
  ExpectNumber({kOrder, "--field", "date=2026-11-20", "--field", "seq=42"}, "2026112000000042");
  ExpectNumber({"--field=time=2026-11-20T14:44:48Z", "--field=channel=03", "--field=buyer=17850",
                "--field=seq=9999", kPayment},
               "202611201444480378509999");
  ExpectNumber({kParking, "--field", "date=2026-11-20", "--field", "origin=755", "--field",
                "plate=B12345", "--field", "seq=7"},
               "2611200755B12345000007");
  ExpectNumber({"{seq:3}{check}", "--field", "seq=572"}, "5724");
  ExpectNumber({"{a:1}{b:1}{c:1}", "--field", "a=1", "b=2", "c=3"}, "123");
  ExpectNumber({"{buyer:4}", "--field", "buyer=u-17850"}, "7850");
  ExpectNumber({"{note:=A-Z;3}", "--field", "note=A=B"}, "A=B");
}

TEST(CliNumberFormatTest, Times_AreOfTheZoneOrTheirOwnOffset) {
  auto expect = [](const std::string& time, const std::string& number) {
    ExpectNumber(
        {"{time:yyyyMMddHHmmssSSS}", "--time-zone", "Asia/Shanghai", "--field", "time=" + time},
        number);
  };
  expect("2026-11-20T14:44:48", "20261120144448000");
  expect("2026-11-20T14:44:48Z", "20261120224448000");
  expect("2026-11-20T14:44:48.9876Z", "20261120224448987");
  expect("2026-11-20T14:44:48.5", "20261120144448500");
  expect("2026-11-20T14:44:48-05:30", "20261121041448000");
  expect("2026-11-20", "20261120000000000");
  expect("2026-11", "20261101000000000");
  expect("2026", "20260101000000000");
  ExpectNumber({"{date:yyyyMMdd}T{time:HHmm}", "--field", "date=2026-11-20T14:44:48Z"},
               "20261120T1444");
}

TEST(CliNumberFormatTest, WithoutATime_IsNow) {
  absl::TimeZone zone;
  ASSERT_TRUE(absl::LoadTimeZone("Asia/Shanghai", &zone));
  absl::Time before = absl::Now();
  Outcome outcome = Format({"{time:yyyyMMddHHmmssSSS}", "--time-zone=Asia/Shanghai"});
  absl::Time after = absl::Now();
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  auto told = [&](absl::Time time) {
    std::string text = absl::FormatTime("%E4Y%m%d%H%M%E3S", time, zone);
    text.erase(text.find('.'), 1);
    return text + "\n";
  };
  EXPECT_LE(told(before), outcome.out);
  EXPECT_LE(outcome.out, told(after));
}

TEST(CliNumberFormatTest, WrongUsage_NamesValueLimitAndPlace) {
  struct Case {
    std::vector<std::string> words;
    std::string named;
  };
  for (const Case& wrong : std::vector<Case>{
           {{}, "missing: PATTERN"},
           {{"{seq:0}"},
            "PATTERN: pattern \"{seq:0}\": field \"{seq:0}\" at character 1: the width "
            "\"0\" is not 1 to 19"},
           {{"{a}{b}"}, "could not be parsed"},
           {{"{seq:8}"}, "--field seq=VALUE is required"},
           {{"{seq:8}", "seq=1"}, "\"seq=1\""},
           {{"{seq:8}", "--field", "seq"}, "--field \"seq\": is not NAME=VALUE"},
           {{"{seq:8}", "--field", "sec=1"}, "the pattern has no field \"sec\""},
           {{"{seq:8}{check}", "--field", "seq=1", "--field", "check=1"}, "is computed, not given"},
           {{"{seq:8}", "--field", "seq=1", "--field", "seq=1"}, "is given more than once"},
           {{"{seq:8}", "--field", "seq=100000000"},
            "field \"seq\": 100000000 is above 99999999, the highest of its 8 digits"},
           {{"{seq:8}", "--field", "seq=-1"}, "\"-1\" is not a number of up to 8 digits"},
           {{"{seq:8}", "--field", "seq="}, "\"\" is not a number of up to 8 digits"},
           {{"{seq:8}", "--field", "seq=1", "extra"}, "\"extra\""},
           {{"{buyer:4}", "--field", "buyer=alice"}, "\"alice\" does not end with a digit"},
           {{"{plate:A-Z;2}", "--field", "plate=ABC"}, "\"ABC\" has 3 characters, not 2"},
           {{kOrder, "--field", "seq=1", "--field", "date=2026-02-29"},
            "field \"date\": \"2026-02-29\" is not a time: day \"29\" at character 9 is not 01 to "
            "28"},
           {{kOrder, "--field", "seq=1", "--field", "date=20261120"}, "\"20261120\" is not a time"},
           {{kOrder, "--field", "seq=1", "--field", "date=2\": "},
            "is not a time: year \"2\\\": \" at character 1 is not 0001 to 9999"},
           {{kOrder, "--field", "seq=1", "--field", "date=2026-11-20T14:44:48+8"}, "is not a time"},
           {{kOrder, "--field", "seq=1", "--field", "date=2026-11-20T14:44:48."}, "is not a time"},
           {{kOrder, "--field", "seq=1", "--field", "date=2026-11-20T24:00:00Z"}, "hour \"24\""},
           {{"{date:yyMMdd}", "--field", "date=1999-12-31"}, "2000 to 2099"},
           {{"{date:yyyyMMdd}{time:HH}", "--field", "date=2026-11-20", "--field",
             "time=2026-11-21"},
            "are parts of one time, but name two"},
           {{"{time:yyyyMMddHH}", "--time-zone", "America/New_York", "--field",
             "time=2026-03-08T02:30:00"},
            "the local time 2026-03-08T02:30:00 does not exist in America/New_York"},
           {{"{seq:8}", "--time-zone", "Mars/Olympus", "--field", "seq=1"},
            "--time-zone: \"Mars/Olympus\" is not a time zone"},
           {{"{seq:8}", "--time-zone", "", "--field", "seq=1"}, "--time-zone: \"\""}}) {
    Outcome outcome = Format(wrong.words);
    EXPECT_EQ(outcome.exit, 2) << wrong.named << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(wrong.named));
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1);
  }
}

TEST(CliNumberParseTest, FieldsByName_InTheOrderOfThePattern) {
  Outcome outcome = RunLocus({"number", "parse", kOrder, "2026112000000042"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, R"({"date":"2026-11-20","seq":"42"})"
                         "\n");
  outcome = RunLocus(
      {"number", "parse", "--time-zone", "Asia/Shanghai", kPayment, "202611201444480308509999"});
  EXPECT_EQ(outcome.out, R"({"time":"2026-11-20T14:44:48+08:00","channel":"3","buyer":"0850",)"
                         R"("seq":"9999"})"
                         "\n");
  outcome = RunLocus({"number", "parse", kParking, "2611200755B12345000000"});
  EXPECT_EQ(outcome.out, R"({"date":"2026-11-20","origin":"755","plate":"B12345","seq":"0"})"
                         "\n");
  outcome = RunLocus({"number", "parse", "{date:yyyyMM}{seq:3}{check}", "2026115723"});
  EXPECT_EQ(outcome.out, R"({"date":"2026-11","seq":"572"})"
                         "\n")
      << outcome.err;
}

TEST(CliNumberParseTest, SequencesAreExactAndStrings) {
  Outcome outcome = RunLocus({"number", "parse", "{seq:19}", "9999999999999999999"});
  EXPECT_EQ(outcome.out, R"({"seq":"9999999999999999999"})"
                         "\n");
}

TEST(CliNumberParseTest, WhatParsePrints_FormatTakes) {
  std::string pattern = "{date:yyyyMMdd}-{time:HHmmssSSS}{channel:2}{buyer:4}/{plate}{check}";
  std::vector<std::string> zone = {"--time-zone", "Europe/London"};
  Outcome made = Format({pattern, zone[0], zone[1], "--field", "time=2026-07-01T12:34:56.789Z",
                         "--field", "channel=7", "--field", "buyer=100042", "--field", "plate=K1"});
  ASSERT_EQ(made.exit, 0) << made.err;
  std::string number = made.out.substr(0, made.out.size() - 1);
  Outcome parsed = RunLocus({"number", "parse", zone[0], zone[1], pattern, number});
  ASSERT_EQ(parsed.exit, 0) << parsed.err;
  std::vector<std::string> words = {pattern, zone[0], zone[1]};
  nlohmann::json json = nlohmann::json::parse(parsed.out);
  for (const auto& [name, value] : json.items()) {
    words.push_back("--field");
    words.push_back(name + "=" + value.get<std::string>());
  }
  ExpectNumber(words, number);
}

TEST(CliNumberParseTest, LettersOfAnyScript_AreCountedAsCharacters) {
  std::string pattern = "{province:京津沪;1}{letter:A-Z;1}{rest:A-Z0-9;5}";
  ExpectNumber({pattern, "--field", "province=京", "letter=B", "rest=12345"}, "京B12345");
  Outcome outcome = RunLocus({"number", "parse", pattern, "京B12345", "京B1234", "渝B12345"});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(outcome.out, R"({"province":"京","letter":"B","rest":"12345"})"
                         "\n\n\n");
  EXPECT_THAT(outcome.err, HasSubstr("it has 6 characters, not 7"));
  EXPECT_THAT(outcome.err, HasSubstr("field province \"渝\" at character 1"));
  outcome = Format({"{date:yyyy}", "--field", "date=年x"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("\"年x\" is not a time: it has 2 characters, not 4"));
}

TEST(CliNumberParseTest, RefusedTexts_LeaveEmptyLinesAndAreExplained) {
  Outcome outcome = RunLocus({"number", "parse", kOrder}, "2026112000000001\n2026113100000001\n\n");
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(outcome.out, R"({"date":"2026-11-20","seq":"1"})"
                         "\n\n\n");
  EXPECT_THAT(outcome.err,
              HasSubstr("locus number parse: line 2: \"2026113100000001\" is not a number of "
                        "\"{date:yyyyMMdd}{seq:8}\": day \"31\" at character 7 is not 01 to 30\n"));
  EXPECT_THAT(outcome.err, HasSubstr("line 3: \"\" is not a number"));

  outcome = RunLocus({"number", "parse", kOrder, "x"});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.err, HasSubstr("value 1: \"x\""));
}

TEST(CliNumberParseTest, WrongPattern_IsWrongUsage) {
  for (std::vector<std::string> words : {std::vector<std::string>{"number", "parse"},
                                         {"number", "parse", "{seq", "1"},
                                         {"number", "parse", "{seq:1}", "1", "--time-zone", "x"},
                                         {"number"},
                                         {"number", "print"}}) {
    Outcome outcome = RunLocus(words);
    EXPECT_EQ(outcome.exit, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

}  // namespace
}  // namespace locus
