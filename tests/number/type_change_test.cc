// SPDX-License-Identifier: Apache-2.0
#include "src/number/type_change.h"

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

TEST(TypeChangeTest, ChangeOutsideTheTextOrOfItsWidth_IsAccepted) {
  SequenceType before = Of("{seq:5}"), after = before;
  after.step = 5;
  after.start = 900;
  after.lifetime = absl::Seconds(5);
  EXPECT_TRUE(CheckRepeatsNothing(before, after).ok());
  EXPECT_TRUE(Change("{seq:5}", "{seq:6}").ok()) << "other lengths";
  EXPECT_TRUE(Change("{date:yyyyMMdd}{seq:8}", "{date:yyyyMMdd}{seq:9}", Period::kDay).ok());
  EXPECT_TRUE(Change("{date:yyyyMMdd}{seq:8}", "{seq:8}").ok()) << "the counter continues";
  EXPECT_TRUE(Change("A{seq:5}", "B{seq:5}").ok());
  EXPECT_TRUE(Change("{name:A-Z}-{seq:5}", "{name:A-Z}/{seq:5}").ok()) << "seen from the back";
  EXPECT_TRUE(Change("", "{seq:8}").ok()) << "the number alone is the same number";
  EXPECT_TRUE(Change("", "No-{seq:8}").ok());
  EXPECT_TRUE(Change("{seq:8}", "").ok());
}

TEST(TypeChangeTest, PatternThatMayWriteAnotherNumbersText_IsRefused) {
  ExpectRefused(Change("{seq:5}", "{seq:4}1"),
                "with pattern \"{seq:4}1\" instead of \"{seq:5}\" numbers may be written twice");
  ExpectRefused(Change("{date:yyyyMMdd}{seq:8}", "{seq:8}{date:yyyyMMdd}", Period::kDay), "text");
  // 20112026 is a day of both.
  ExpectRefused(Change("{date:yyyyMMdd}{seq:8}", "{date:ddMMyyyy}{seq:8}", Period::kDay), "text");
  ExpectRefused(Change("", "1{seq:8}"), "text");
  ExpectRefused(Change("1{seq:8}", ""), "text");
  ExpectRefused(Change("{seq:5}{check}", "{seq:6}"), "text");
}

TEST(TypeChangeTest, FieldOfCallersThatIsLost_IsRefused) {
  ExpectRefused(Change("{shop:2}-{seq:5}", "{seq:9}"), "lacks the field shop");
  ExpectRefused(Change("{shop:2}-{seq:5}", "{shop:1}--{seq:5}"), "lacks the field shop");
  EXPECT_TRUE(Change("{shop:2}-{seq:5}", "{shop:2}/{seq:5}").ok());
  EXPECT_TRUE(Change("{seq:5}", "{shop:2}{seq:5}").ok());
  ExpectRefused(Change("{shop:A-Z}{seq:5}", "{shop:A-Z}{seq:5}{check}"), "text");
}

TEST(TypeChangeTest, CounterThatWraps_KeepsItsTime) {
  SequenceType before = Of("{date:yyyyMM}{seq:5}"), after = Of("{date:yyyy}{seq:5}");
  before.at_max = after.at_max = SequencerOptions::AtMax::kWrap;
  ExpectRefused(CheckRepeatsNothing(before, after), "the counter wraps");
  after = Of("{date:yyyyMM}{seq:5}9");
  after.at_max = SequencerOptions::AtMax::kWrap;
  EXPECT_TRUE(CheckRepeatsNothing(before, after).ok());
}

TEST(TypeChangeTest, FieldOfCallersWhereALiteralStood_IsRefused) {
  ExpectRefused(Change("00{seq:4}", "{shop:2}{seq:4}"), "text");
  ExpectRefused(Change("{date:yyyyMMdd}00{seq:4}", "{date:yyyyMMdd}{shop:2}{seq:4}", Period::kDay),
                "text");
  EXPECT_TRUE(Change("A{seq:4}", "{shop:1}{seq:4}").ok()) << "no digit is A";
  ExpectRefused(Change("A{seq:4}", "{shop:A-Z;1}{seq:4}"), "text");
}

TEST(TypeChangeTest, OtherAtMax_IsRefused) {
  SequenceType wraps = Of("{seq:5}"), ends = Of("{seq:5}");
  wraps.at_max = SequencerOptions::AtMax::kWrap;
  ExpectRefused(CheckRepeatsNothing(wraps, ends), "with at_max error instead of wrap");
  ends.max_value = 500;
  ExpectRefused(CheckRepeatsNothing(ends, wraps), "with at_max wrap instead of error");
  SequenceType lower = wraps;
  lower.max_value = 500;
  EXPECT_TRUE(CheckRepeatsNothing(wraps, lower).ok()) << "it repeats them anyway";
}

TEST(TypeChangeTest, CounterThatIsForgotten_KeepsItsTime) {
  auto of = [](const std::string& pattern) {
    SequenceType type = Of(pattern);
    type.expiry = absl::Hours(48);
    return type;
  };
  ExpectRefused(CheckRepeatsNothing(of("{date:yyyyMMdd}{seq:5}"), of("{date:yyyyMM}-{seq:5}")),
                "lacks a unit of time, and a counter that is forgotten begins again");
  ExpectRefused(CheckRepeatsNothing(of("{date:yyyyMMdd}{seq:5}"), of("{date:yyyyddMM}{seq:5}")),
                "text");
  EXPECT_TRUE(
      CheckRepeatsNothing(of("{date:yyyyMMdd}{seq:5}"), of("{date:yyyyMMdd}-{seq:5}")).ok());
  EXPECT_TRUE(Change("{date:yyyyMMdd}{seq:5}", "{date:yyyyMM}-{seq:5}").ok()) << "is never";
  // Like a counter that wraps.
  SequenceType before = of("{date:yyyyMMdd}{seq:5}"), after = of("{date:yyyyddMM}{seq:5}");
  before.at_max = after.at_max = SequencerOptions::AtMax::kWrap;
  ExpectRefused(CheckRepeatsNothing(before, after), "text");
}

TEST(TypeChangeTest, OtherZone_IsRefusedWhereOnlyTheTimeTellsNumbersApart) {
  SequenceType before = Of("{date:yyyyMMddHH}{seq:5}"), after = before;
  after.zone = "America/New_York";
  EXPECT_TRUE(CheckRepeatsNothing(before, after).ok());
  before.expiry = after.expiry = absl::Hours(1);
  ExpectRefused(CheckRepeatsNothing(before, after),
                "with zone \"America/New_York\" instead of \"UTC\"");
  before.pattern = after.pattern = "{seq:5}";
  EXPECT_TRUE(CheckRepeatsNothing(before, after).ok()) << "it repeats them anyway";
  before = after = Of("{date:yyyyMMddHH}{seq:5}", Period::kDay);
  after.zone = "America/New_York";
  before.expiry = after.expiry = absl::Hours(72);
  EXPECT_TRUE(CheckRepeatsNothing(before, after).ok()) << "is kept for longer than its day";
  before.at_max = after.at_max = SequencerOptions::AtMax::kWrap;
  ExpectRefused(CheckRepeatsNothing(before, after), "with zone");
}

TEST(TypeChangeTest, OtherExpiry_IsRefusedWithoutAPeriodOnly) {
  SequenceType before = Of("{seq:5}"), after = before;
  after.expiry = absl::Hours(1);
  ExpectRefused(CheckRepeatsNothing(before, after), "with expiry 1h instead of 0");
  ExpectRefused(CheckRepeatsNothing(after, before), "with expiry 0 instead of 1h");
  before = after = Of("{date:yyyyMMdd}{seq:8}", Period::kDay);
  after.expiry = absl::Hours(72);
  EXPECT_TRUE(CheckRepeatsNothing(before, after).ok());
}

TEST(TypeChangeTest, PatternThatCannotBeRead_IsRefused) {
  SequenceType before;
  before.name = "t";
  before.pattern = "{seq";
  ExpectRefused(CheckRepeatsNothing(before, Of("{seq:5}")), "cannot be read");
}

// All numbers of small patterns: an accepted change never writes a text twice.
TEST(TypeChangeTest, AllPairsOfSmallPatterns_AreTakenOnlyWhereTheyShareNoText) {
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
