// SPDX-License-Identifier: Apache-2.0
#include <time.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "locus/number_format.h"

namespace locus {
namespace {

constexpr int64_t kBegin = 1'795'132'800;  // 2026-11-20 00:00 UTC
constexpr uint64_t kSequences = 100'000'000;

enum Zone { kUtc, kShanghai, kNewYork };

absl::TimeZone ZoneOf(int64_t zone) {
  absl::TimeZone loaded = absl::UTCTimeZone();
  if (zone == kShanghai) absl::LoadTimeZone("Asia/Shanghai", &loaded);
  if (zone == kNewYork) absl::LoadTimeZone("America/New_York", &loaded);
  return loaded;
}

// Orders of a day, one each 21 s, over and over.
constexpr size_t kTimes = 4096;
const std::vector<absl::Time>& Times() {
  static const std::vector<absl::Time>* times = [] {
    auto* made = new std::vector<absl::Time>;
    for (size_t i = 0; i < kTimes; ++i) made->push_back(absl::FromUnixSeconds(kBegin + 21 * i));
    return made;
  }();
  return *times;
}

// {date:yyyyMMdd}{seq:8}, the result a std::string.
void NumberFormatDateAndSequence(benchmark::State& state) {
  NumberFormat format =
      NumberFormat::Compile("{date:yyyyMMdd}{seq:8}", ZoneOf(state.range(0))).value();
  uint64_t sequence = 0;
  const std::vector<absl::Time>& times = Times();
  for (auto _ : state) {
    absl::StatusOr<std::string> number =
        format.Format(times[sequence % kTimes], {FieldValue::Uint64(sequence % kSequences)});
    if (!number.ok()) [[unlikely]]
      return state.SkipWithError("not formatted");
    benchmark::DoNotOptimize(number->data());
    ++sequence;
  }
}
BENCHMARK(NumberFormatDateAndSequence)
    ->Name("NumberFormat")
    ->ArgName("zone")
    ->Arg(kUtc)
    ->Arg(kShanghai)
    ->Arg(kNewYork);

// The same into a buffer, by threads that share the format.
void NumberFormatTo(benchmark::State& state) {
  static const NumberFormat* format =
      new NumberFormat(NumberFormat::Compile("{date:yyyyMMdd}{seq:8}", ZoneOf(kShanghai)).value());
  std::array<char, NumberFormat::kMaxLength> out;
  uint64_t sequence = 0;
  const std::vector<absl::Time>& times = Times();
  for (auto _ : state) {
    FieldValue value = FieldValue::Uint64(sequence % kSequences);
    absl::StatusOr<size_t> size = format->FormatTo(times[sequence % kTimes], {&value, 1}, out);
    if (!size.ok()) [[unlikely]]
      return state.SkipWithError("not formatted");
    benchmark::DoNotOptimize(out);
    ++sequence;
  }
}
BENCHMARK(NumberFormatTo)->Threads(1)->Threads(2);

void NumberFormatWithCheckDigit(benchmark::State& state) {
  NumberFormat format =
      NumberFormat::Compile("{time:yyyyMMddHHmmss}{channel:2}{buyer:4}{seq:4}{check}",
                            ZoneOf(kShanghai))
          .value();
  uint64_t sequence = 0;
  const std::vector<absl::Time>& times = Times();
  for (auto _ : state) {
    absl::StatusOr<std::string> number = format.Format(
        times[sequence % kTimes],
        {FieldValue::Uint64(1), FieldValue::Uint64(17850), FieldValue::Uint64(sequence % 10'000)});
    if (!number.ok()) [[unlikely]]
      return state.SkipWithError("not formatted");
    benchmark::DoNotOptimize(number->data());
    ++sequence;
  }
}
BENCHMARK(NumberFormatWithCheckDigit);

void NumberParse(benchmark::State& state) {
  NumberFormat format = NumberFormat::Compile("{date:yyyyMMdd}{seq:8}", ZoneOf(kShanghai)).value();
  std::string text = "2026112000000042";
  for (auto _ : state) {
    absl::StatusOr<ParsedNumber> number = format.Parse(text);
    if (!number.ok()) return state.SkipWithError("not parsed");
    benchmark::DoNotOptimize(number->values.data());
  }
}
BENCHMARK(NumberParse);

// The usual way: gmtime_r (localtime_r for a zone) and snprintf.
void PeerGmtimeSnprintf(benchmark::State& state) {
  uint64_t sequence = 0;
  const std::vector<absl::Time>& times = Times();
  for (auto _ : state) {
    time_t seconds = absl::ToTimeT(times[sequence % kTimes]);
    tm local;
    gmtime_r(&seconds, &local);
    std::array<char, 64> out;
    int size = std::snprintf(out.data(), out.size(), "%04d%02d%02d%08llu", local.tm_year + 1900,
                             local.tm_mon + 1, local.tm_mday,
                             static_cast<unsigned long long>(sequence % kSequences));
    std::string number(out.data(), static_cast<size_t>(size));
    benchmark::DoNotOptimize(number.data());
    ++sequence;
  }
}
BENCHMARK(PeerGmtimeSnprintf);

}  // namespace
}  // namespace locus
