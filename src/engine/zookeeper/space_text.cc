// SPDX-License-Identifier: Apache-2.0
#include "src/engine/zookeeper/space_text.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"
#include "src/segment/rules.h"

namespace locus::zookeeper {
namespace {

constexpr uint32_t kMostGroups = 64;
constexpr size_t kHeadBytes = 8, kTimeBytes = 6, kRowBytes = kHeadBytes + kTimeBytes;

void Append(std::string& text, uint64_t value, size_t bytes) {
  for (size_t i = bytes; i > 0; --i) text += static_cast<char>(value >> (8 * (i - 1)) & 0xFF);
}
uint64_t NumberOf(std::string_view bytes) {
  uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

}  // namespace

std::string TextOf(const segment::Space& space) {
  return absl::StrCat(space.options.section_size, " ", absl::ToUnixNanos(space.options.floor_epoch),
                      " ", space.options.floor_rate, " ", space.options.max_lead, " ", space.base,
                      " ", space.losses);
}

std::optional<segment::Space> SpaceOf(std::string_view text) {
  std::array<uint64_t, 6> fields;
  for (size_t i = 0; i < fields.size(); ++i) {
    const size_t end = i + 1 < fields.size() ? text.find(' ') : text.size();
    if (end == std::string_view::npos) return std::nullopt;
    const std::optional<uint64_t> field = internal::ParseDecimal(text.substr(0, end), INT64_MAX);
    if (!field) return std::nullopt;
    fields[i] = *field;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  segment::Space space;
  space.options.section_size = static_cast<uint32_t>(std::min<uint64_t>(fields[0], UINT32_MAX));
  space.options.floor_epoch = absl::FromUnixNanos(static_cast<int64_t>(fields[1]));
  space.options.floor_rate = fields[2];
  space.options.max_lead = fields[3];
  space.base = fields[4];
  space.losses = fields[5];
  const bool can_be = segment_rules::CheckOptions(space.options).ok() &&
                      space.base <= segment_rules::kEndOfSequences;
  return can_be ? std::optional(space) : std::nullopt;
}

uint32_t SectionsPerGroup(const SpaceOptions& options) {
  return std::max<uint32_t>(1, segment_rules::SectionsOf(options) / kMostGroups);
}

std::string TextOf(const std::vector<SectionRow>& rows) {
  std::string text;
  text.reserve(rows.size() * kRowBytes);
  for (const SectionRow& row : rows) {
    Append(text, row.head, kHeadBytes);
    Append(text, static_cast<uint64_t>(absl::ToUnixMillis(row.granted_at)), kTimeBytes);
  }
  return text;
}

std::optional<std::vector<SectionRow>> RowsOf(std::string_view text, uint32_t count) {
  std::vector<SectionRow> rows(count);
  if (text.empty()) return rows;
  if (text.size() != count * kRowBytes) return std::nullopt;
  for (SectionRow& row : rows) {
    row.head = NumberOf(text.substr(0, kHeadBytes));
    row.granted_at =
        absl::FromUnixMillis(static_cast<int64_t>(NumberOf(text.substr(kHeadBytes, kTimeBytes))));
    if (row.head > segment_rules::kEndOfSequences || row.head % segment_rules::kUnit != 0) {
      return std::nullopt;
    }
    text.remove_prefix(kRowBytes);
  }
  return rows;
}

}  // namespace locus::zookeeper
