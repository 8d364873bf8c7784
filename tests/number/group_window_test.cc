// SPDX-License-Identifier: Apache-2.0
#include "src/number/group_window.h"

#include "gtest/gtest.h"

namespace locus::internal {
namespace {

using Period = SequenceType::Period;

SequenceType Of(Period period, const char* zone) {
  SequenceType type;
  type.name = "t";
  type.period = period;
  type.zone = zone;
  return type;
}

// Of the counter's name.
std::string GroupOf(const SequenceType& type, absl::Time time) {
  return type.CounterName("", time).value().substr(3);
}

absl::Time At(const char* text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, &error)) << error;
  return time;
}

void ExpectWindow(const SequenceType& type, const char* time, const char* begin, const char* end) {
  GroupWindow window = GroupWindow::Of(type, At(time)).value();
  EXPECT_EQ(window.begin, At(begin)) << type.zone << " " << time;
  EXPECT_EQ(window.end, At(end)) << type.zone << " " << time;
}

TEST(GroupWindowTest, Groups_BeginAndEndInTheirZone) {
  const SequenceType utc = Of(Period::kDay, "UTC");
  ExpectWindow(utc, "2026-11-25T00:00:00Z", "2026-11-25T00:00:00Z", "2026-11-26T00:00:00Z");
  ExpectWindow(utc, "2026-11-25T23:59:59.999999999Z", "2026-11-25T00:00:00Z",
               "2026-11-26T00:00:00Z");
  ExpectWindow(utc, "2028-02-29T12:00:00Z", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z");
  ExpectWindow(Of(Period::kDay, "Asia/Shanghai"), "2026-11-25T16:00:00Z", "2026-11-25T16:00:00Z",
               "2026-11-26T16:00:00Z");
  ExpectWindow(Of(Period::kDay, "Pacific/Kiritimati"), "2026-11-25T12:00:00Z",
               "2026-11-25T10:00:00Z", "2026-11-26T10:00:00Z");
  ExpectWindow(Of(Period::kDay, "Pacific/Pago_Pago"), "2026-11-25T12:00:00Z",
               "2026-11-25T11:00:00Z", "2026-11-26T11:00:00Z");
  ExpectWindow(Of(Period::kMonth, "Asia/Kolkata"), "2026-12-31T18:29:59Z", "2026-11-30T18:30:00Z",
               "2026-12-31T18:30:00Z");
  ExpectWindow(Of(Period::kYear, "America/New_York"), "2026-06-01T00:00:00Z",
               "2026-01-01T05:00:00Z", "2027-01-01T05:00:00Z");
  GroupWindow none = GroupWindow::Of(Of(Period::kNone, "UTC"), At("2026-11-25T00:00:00Z")).value();
  EXPECT_EQ(none.begin, absl::InfinitePast());
  EXPECT_EQ(none.end, absl::InfiniteFuture());
}

TEST(GroupWindowTest, DaysOfOtherLengths_EndWhereTheNextBegins) {
  const SequenceType berlin = Of(Period::kDay, "Europe/Berlin");
  ExpectWindow(berlin, "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z");
  ExpectWindow(berlin, "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z");
  // Clocks went from 24:00 to 01:00: the day begins at 01:00.
  const SequenceType sao_paulo = Of(Period::kDay, "America/Sao_Paulo");
  ExpectWindow(sao_paulo, "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z");
  ExpectWindow(sao_paulo, "2018-11-03T12:00:00Z", "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z");
  // Samoa had no 30 December 2011.
  const SequenceType apia = Of(Period::kDay, "Pacific/Apia");
  ExpectWindow(apia, "2011-12-30T09:59:59Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z");
  ExpectWindow(apia, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z");
}

// On 7 November 2010 the clocks of Newfoundland went from 00:01 back to 23:01 of the 6th.
TEST(GroupWindowTest, ClocksThatShowTheDayBefore_LeaveTheGroupAsItIs) {
  const SequenceType type = Of(Period::kDay, "America/St_Johns");
  const absl::Time begin = At("2010-11-07T02:30:00Z"), back = At("2010-11-07T02:31:00Z");
  for (absl::Time time : {begin, back, back + absl::Minutes(30), back + absl::Hours(2)}) {
    GroupWindow window = GroupWindow::Of(type, time).value();
    EXPECT_EQ(window.begin, begin) << time;
    EXPECT_EQ(window.end, At("2010-11-08T03:30:00Z")) << time;
    EXPECT_EQ(GroupOf(type, window.Shown(time)), "20101107") << time;
  }
  GroupWindow window = GroupWindow::Of(type, begin).value();
  EXPECT_EQ(window.Shown(back - absl::Seconds(1)), back - absl::Seconds(1));
  EXPECT_EQ(window.Shown(back), back - absl::Nanoseconds(1));
  EXPECT_EQ(window.Shown(back + absl::Minutes(59)), back + absl::Minutes(59));
  EXPECT_EQ(window.Shown(begin - absl::Hours(30)), begin) << "a clock that was set back";
}

// Hour by hour over the years with the oddest changes: windows meet, contain their time, and show
// their own group.
TEST(GroupWindowTest, Windows_MeetWithoutGapOrOverlap) {
  for (const char* zone : {"UTC", "Europe/Berlin", "America/St_Johns", "America/Sao_Paulo",
                           "Pacific/Apia", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Tehran"}) {
    for (Period period : {Period::kDay, Period::kMonth}) {
      const SequenceType type = Of(period, zone);
      absl::Time time = At("2010-01-01T00:00:00Z");
      GroupWindow window = GroupWindow::Of(type, time).value();
      for (int step = 0; step < 2 * 365 * 8; ++step) {
        time += absl::Hours(3) + absl::Seconds(step % 2);
        GroupWindow next = GroupWindow::Of(type, time).value();
        ASSERT_LE(next.begin, time) << zone;
        ASSERT_GT(next.end, time) << zone;
        ASSERT_TRUE(next.begin == window.begin || next.begin == window.end) << zone << " " << time;
        ASSERT_EQ(GroupOf(type, next.Shown(time)), GroupOf(type, next.begin))
            << zone << " " << time;
        window = next;
      }
    }
  }
}

TEST(GroupWindowTest, UnknownZoneOrYear_IsAnError) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      GroupWindow::Of(Of(Period::kDay, "Asia/Atlantis"), absl::UnixEpoch()).status()));
  EXPECT_TRUE(absl::IsOutOfRange(
      GroupWindow::Of(Of(Period::kDay, "UTC"), At("9999-12-31T23:59:59Z") + absl::Hours(1))
          .status()));
  EXPECT_TRUE(GroupWindow::Of(Of(Period::kDay, "UTC"), At("9999-12-31T23:59:59Z")).ok());
}

}  // namespace
}  // namespace locus::internal
