// SPDX-License-Identifier: Apache-2.0
#include "src/number/pattern/local_time.h"

#include "absl/time/civil_time.h"

namespace locus::internal {
namespace {

constexpr int64_t kYear1 = -62'135'596'800;      // 0001-01-01 00:00:00
constexpr int64_t kYear10000 = 253'402'300'800;  // seconds since 1970

// Rounds down; `divisor` is positive.
constexpr int64_t FloorDivide(int64_t value, int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

// Year, month and day of a day since 1970-01-01. The year begins in March, so that its leap day is
// its last (Howard Hinnant, "chrono-compatible low-level date algorithms").
void SetDate(int64_t day, LocalTime& local) {
  auto days = static_cast<uint64_t>(day + 719468);  // since 0000-03-01
  uint64_t era = days / 146097;
  auto day_of_era = static_cast<uint32_t>(days % 146097);
  uint32_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  uint32_t month = (5 * day_of_year + 2) / 153;  // 0: March
  local[2] = day_of_year - (153 * month + 2) / 5 + 1;
  local[1] = month < 10 ? month + 3 : month - 9;
  local[0] = static_cast<uint32_t>(era * 400) + year_of_era + (local[1] <= 2 ? 1 : 0);
}

absl::CivilSecond CivilOf(const LocalTime& local) {
  return absl::CivilSecond(local[0], local[1], local[2], local[3], local[4], local[5]);
}

absl::CivilSecond NextUnit(absl::CivilSecond begin, TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kYear:
      return absl::CivilSecond(absl::CivilYear(begin) + 1);
    case TimeUnit::kMonth:
      return absl::CivilSecond(absl::CivilMonth(begin) + 1);
    case TimeUnit::kDay:
      return absl::CivilSecond(absl::CivilDay(begin) + 1);
    case TimeUnit::kHour:
      return begin + 3600;
    case TimeUnit::kMinute:
      return begin + 60;
    case TimeUnit::kSecond:
    case TimeUnit::kMillisecond:
      break;
  }
  return begin + 1;
}

}  // namespace

bool LocalTimeOf(absl::Time time, const ZoneOffset& offset, LocalTime& local) {
  int64_t ms = absl::ToUnixMillis(time);
  int64_t seconds = FloorDivide(ms, 1000);
  if (seconds < ZoneOffset::kFirst || seconds > ZoneOffset::kLast) [[unlikely]]
    return false;
  int64_t local_seconds = seconds + offset.At(seconds);
  if (local_seconds < kYear1 || local_seconds >= kYear10000) [[unlikely]]
    return false;
  int64_t day = FloorDivide(local_seconds, 86400);
  auto of_day = static_cast<uint32_t>(local_seconds - day * 86400);
  SetDate(day, local);
  local[3] = of_day / 3600;
  local[4] = of_day / 60 % 60;
  local[5] = of_day % 60;
  local[6] = static_cast<uint32_t>(ms - seconds * 1000);
  return true;
}

int DaysInMonth(uint32_t year, uint32_t month) {
  return static_cast<int>(absl::CivilDay(absl::CivilMonth(year, month) + 1) -
                          absl::CivilDay(year, month));
}

std::optional<absl::Time> FirstInstantOf(const LocalTime& local, TimeUnit smallest,
                                         absl::TimeZone zone) {
  absl::CivilSecond begin = CivilOf(local);
  absl::TimeZone::TimeInfo found = zone.At(begin);
  absl::Time first = found.pre;  // the earlier one, if the local time occurs twice
  if (found.kind == absl::TimeZone::TimeInfo::SKIPPED) {
    // The clocks continue after the gap, which may still be within the unit.
    if (zone.At(found.trans).cs >= NextUnit(begin, smallest)) return std::nullopt;
    first = found.trans;
  }
  return first + absl::Milliseconds(local[6]);
}

}  // namespace locus::internal
