// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/instant.h"

#include "absl/time/civil_time.h"
#include "absl/time/time.h"

namespace locus::stream {
namespace {

constexpr int64_t kMicros = 1'000'000;

}  // namespace

DateTime InUtc(Timestamp stamp) {
  DateTime out;
  if (stamp.microseconds == 0) return out;
  const auto civil =
      absl::ToCivilSecond(absl::FromUnixMicros(stamp.microseconds), absl::UTCTimeZone());
  out.date = {static_cast<uint16_t>(civil.year()), static_cast<uint8_t>(civil.month()),
              static_cast<uint8_t>(civil.day())};
  out.hours = static_cast<uint8_t>(civil.hour());
  out.minutes = static_cast<uint8_t>(civil.minute());
  out.seconds = static_cast<uint8_t>(civil.second());
  const int64_t part = stamp.microseconds % kMicros;
  out.microseconds = static_cast<uint32_t>(part < 0 ? part + kMicros : part);
  return out;
}

Timestamp InstantOf(const DateTime& utc) {
  if (utc == DateTime()) return {};
  const absl::CivilSecond civil(utc.date.year, utc.date.month, utc.date.day, utc.hours, utc.minutes,
                                utc.seconds);
  return {absl::ToUnixMicros(absl::FromCivil(civil, absl::UTCTimeZone())) + utc.microseconds};
}

}  // namespace locus::stream
