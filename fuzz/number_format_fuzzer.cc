// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "locus/number_format.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace {

using locus::FieldValue, locus::NumberFormat, locus::NumberField, locus::ParsedNumber;

absl::TimeZone Zone() {
  absl::TimeZone zone;
  LOCUS_CHECK(absl::LoadTimeZone("America/New_York", &zone));
  return zone;
}

// The values of a number that was read, as Format takes them.
std::vector<FieldValue> ValuesOf(const NumberFormat& format, const ParsedNumber& number) {
  std::vector<FieldValue> values;
  for (const NumberField& field : format.fields()) {
    if (!field.has_value()) continue;
    const ParsedNumber::Value& value = number.values[values.size()];
    values.push_back(field.kind == NumberField::Kind::kText ? FieldValue::Text(value.text)
                                                            : FieldValue::Uint64(value.number));
  }
  return values;
}

void CheckRead(const NumberFormat& format, std::string_view text) {
  auto number = format.Parse(text);
  if (!number.ok()) {
    LOCUS_CHECK(number.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  absl::Time time = number->time.value_or(absl::UnixEpoch());
  LOCUS_CHECK(format.Format(time, ValuesOf(format, *number)).value() == text);
}

}  // namespace

// A pattern, a line feed, and what may be a number of it. What is read is written the same again;
// what is written of the rest's bytes is read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  static const absl::TimeZone zone = Zone();
  std::string_view all(reinterpret_cast<const char*>(input), size);
  size_t line = all.find('\n');
  std::string_view rest = line == all.npos ? "" : all.substr(line + 1);
  auto format = NumberFormat::Compile(all.substr(0, line), zone);
  if (!format.ok()) {
    LOCUS_CHECK(format.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  CheckRead(*format, rest);

  // Values of the rest: 8 bytes are a number and part of the time, and the first of them tells how
  // many of the following bytes are text.
  std::vector<FieldValue> values;
  int64_t ms = 1'795'185'888'987;
  for (const NumberField& field : format->fields()) {
    uint64_t word = rest.size() < 8 ? 7 : locus::internal::LoadBigEndian64(rest.data());
    rest.remove_prefix(std::min<size_t>(rest.size(), 8));
    if (field.kind == NumberField::Kind::kTime)
      ms ^= static_cast<int64_t>(word % (uint64_t{1} << 48));
    if (!field.has_value()) continue;
    std::string_view text = rest.substr(0, word >> 56);
    values.push_back(field.kind == NumberField::Kind::kText ? FieldValue::Text(text)
                                                            : FieldValue::Uint64(word));
    if (field.kind == NumberField::Kind::kText) rest.remove_prefix(text.size());
  }
  auto text = format->Format(absl::FromUnixMillis(ms), values);
  if (!text.ok()) return 0;
  LOCUS_CHECK(format->Parse(*text).ok());
  CheckRead(*format, *text);
  return 0;
}
