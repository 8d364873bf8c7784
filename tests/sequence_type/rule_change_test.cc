// SPDX-License-Identifier: Apache-2.0
#include "src/sequence_type/rule_change.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/number_format.h"

namespace locus::internal {
namespace {

using ::testing::HasSubstr;
using Period = SequenceType::Period;

SequenceType Of(std::string pattern, Period period = Period::kNone) {
  SequenceType type;
  type.name = "t";
  type.pattern = std::move(pattern);
  type.period = period;
  EXPECT_TRUE(type.Check().ok()) << type.Check();
  return type;
}

absl::Status Change(const std::string& before, const std::string& after,
                    Period period = Period::kNone) {
  return CheckRepeatsNothing(Of(before, period), Of(after, period));
}

void ExpectRefused(const absl::Status& status, const std::string& why) {
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(why));
}

TEST(RuleChangeTest, WhatDoesNotTouchTheTextOrIsWiderOrNarrower_IsTaken) {
  SequenceType before = Of("{seq:5}"), after = before;
  after.step = 5;
  after.start = 900;
  after.lifetime = absl::Seconds(5);
  EXPECT_TRUE(CheckRepeatsNothing(before, after).ok());
  EXPECT_TRUE(Change("{seq:5}", "{seq:6}").ok()) << "other lengths";
  EXPECT_TRUE(Change("{date:yyyyMMdd}{seq:8}", "{date:yyyyMMdd}{seq:9}", Period::kDay).ok());
  EXPECT_TRUE(Change("{date:yyyyMMdd}{seq:8}", "{seq:8}").ok()) << "the counter goes on";
  EXPECT_TRUE(Change("A{seq:5}", "B{seq:5}").ok());
  EXPECT_TRUE(Change("{name:A-Z}-{seq:5}", "{name:A-Z}/{seq:5}").ok()) << "seen from the back";
  EXPECT_TRUE(Change("", "{seq:8}").ok()) << "the number alone is the same number";
  EXPECT_TRUE(Change("", "No-{seq:8}").ok());
  EXPECT_TRUE(Change("{seq:8}", "").ok());
}

TEST(RuleChangeTest, PatternThatMayWriteAnotherNumbersText_IsRefused) {
  ExpectRefused(Change("{seq:5}", "{seq:4}1"),
                "with pattern \"{seq:4}1\" instead of \"{seq:5}\" numbers may be written twice");
  ExpectRefused(Change("{date:yyyyMMdd}{seq:8}", "{seq:8}{date:yyyyMMdd}", Period::kDay), "text");
  // 20112026 is a day of both.
  ExpectRefused(Change("{date:yyyyMMdd}{seq:8}", "{date:ddMMyyyy}{seq:8}", Period::kDay), "text");
  ExpectRefused(Change("", "1{seq:8}"), "text");
  ExpectRefused(Change("1{seq:8}", ""), "text");
  ExpectRefused(Change("{seq:5}{check}", "{seq:6}"), "text");
}

TEST(RuleChangeTest, FieldOfCallersThatIsLost_IsRefused) {
  ExpectRefused(Change("{shop:2}-{seq:5}", "{seq:9}"), "lacks the field shop");
  ExpectRefused(Change("{shop:2}-{seq:5}", "{shop:1}--{seq:5}"), "lacks the field shop");
  EXPECT_TRUE(Change("{shop:2}-{seq:5}", "{shop:2}/{seq:5}").ok());
  EXPECT_TRUE(Change("{seq:5}", "{shop:2}{seq:5}").ok());
  ExpectRefused(Change("{shop:A-Z}{seq:5}", "{shop:A-Z}{seq:5}{check}"), "text");
}

TEST(RuleChangeTest, CounterThatWraps_KeepsItsTime) {
  SequenceType before = Of("{date:yyyyMM}{seq:5}"), after = Of("{date:yyyy}{seq:5}");
  before.at_max = after.at_max = SequencerOptions::AtMax::kWrap;
  ExpectRefused(CheckRepeatsNothing(before, after), "the counter wraps");
  after = Of("{date:yyyyMM}{seq:5}9");
  after.at_max = SequencerOptions::AtMax::kWrap;
  EXPECT_TRUE(CheckRepeatsNothing(before, after).ok());
}

TEST(RuleChangeTest, OtherExpiry_IsRefusedWithoutAPeriodOnly) {
  SequenceType before = Of("{seq:5}"), after = before;
  after.expiry = absl::Hours(1);
  ExpectRefused(CheckRepeatsNothing(before, after), "with expiry 1h instead of 0");
  ExpectRefused(CheckRepeatsNothing(after, before), "with expiry 0 instead of 1h");
  before = after = Of("{date:yyyyMMdd}{seq:8}", Period::kDay);
  after.expiry = absl::Hours(72);
  EXPECT_TRUE(CheckRepeatsNothing(before, after).ok());
}

TEST(RuleChangeTest, PatternThatCannotBeRead_IsRefused) {
  SequenceType before;
  before.name = "t";
  before.pattern = "{seq";
  ExpectRefused(CheckRepeatsNothing(before, Of("{seq:5}")), "cannot be read");
}

// All numbers of small patterns: what is taken never writes a text twice.
TEST(RuleChangeTest, AllPairsOfSmallPatterns_AreTakenOnlyWhereTheyShareNoText) {
  const std::vector<std::string> patterns = {
      "",          "{seq:1}",   "{seq:2}",   "{seq:3}",        "{seq:2}1",        "1{seq:2}",
      "{seq:1}11", "{seq:1}-1", "1-{seq:1}", "{seq:2}{check}", "9{check}{seq:1}", "{seq:1}{check}",
      "a{seq:2}",  "b{seq:2}",  "{seq:2}a",  "0{seq:2}",       "{seq:1}0{check}"};
  int taken = 0, refused = 0;
  for (const std::string& before : patterns) {
    for (const std::string& after : patterns) {
      auto all_of = [](const std::string& pattern) {
        std::map<std::string, uint64_t> all;
        for (uint64_t number = 1; number <= 99; ++number) {
          if (pattern.empty()) {
            all[std::to_string(number)] = number;
            continue;
          }
          auto text = NumberFormat::Compile(pattern)->Format(absl::UnixEpoch(),
                                                             {FieldValue::Uint64(number)});
          if (text.ok()) all[*text] = number;
        }
        return all;
      };
      const auto one = all_of(before), other = all_of(after);
      bool repeats = false;
      for (const auto& [text, number] : other) {
        const auto at = one.find(text);
        repeats = repeats || (at != one.end() && at->second != number);
      }
      const bool ok = Change(before, after).ok();
      (ok ? taken : refused) += 1;
      EXPECT_FALSE(ok && repeats) << before << " -> " << after;
    }
  }
  EXPECT_GT(taken, 150) << refused << " were refused";
}

}  // namespace
}  // namespace locus::internal
