// SPDX-License-Identifier: Apache-2.0
#include "routing/table/printable_text.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "src/base/text/utf8.h"

namespace locus::internal {
namespace {

constexpr uint32_t kInvalid = UINT32_MAX;

// Takes the first code point off `text`.
uint32_t TakeCodePoint(std::string_view& text) {
  uint32_t point = 0;
  const size_t size = FirstCharacter(text, point);
  text.remove_prefix(std::max<size_t>(size, 1));
  return size == 0 ? kInvalid : point;
}

bool IsPrintable(uint32_t point) {
  if (point < 0x20 || (point >= 0x7F && point <= 0x9F)) return false;
  if (point == 0x2028 || point == 0x2029) return false;
  return point != 0xFFFE && point != 0xFFFF && point != kInvalid;
}

// The blocks of Unicode's East Asian Width W and F, coarsely.
bool IsWide(uint32_t point) {
  return (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF) ||
         (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
         (point >= 0xFE30 && point <= 0xFE6F) || (point >= 0xFF00 && point <= 0xFF60) ||
         (point >= 0x1F300 && point <= 0x1FAFF) || (point >= 0x20000 && point <= 0x3FFFD);
}

}  // namespace

bool IsPrintableUtf8(std::string_view text) {
  while (!text.empty()) {
    if (!IsPrintable(TakeCodePoint(text))) return false;
  }
  return true;
}

std::string WhyUnreadable(std::string_view text) {
  if (!IsPrintableUtf8(text)) return "it has control characters, or is not UTF-8";
  while (!text.empty()) {
    const uint32_t point = TakeCodePoint(text);
    if (!IsInvisible(point)) continue;
    return absl::StrCat("it has ", CodePointName(point),
                        ", which is invisible or changes the direction");
  }
  return "";
}

size_t ColumnsOf(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) columns += IsWide(TakeCodePoint(text)) ? 2 : 1;
  return columns;
}

std::string CutToColumns(std::string_view text, size_t columns) {
  if (ColumnsOf(text) <= columns) return std::string(text);
  std::string_view rest = text;
  size_t taken_bytes = 0;
  for (size_t taken = 0;; taken_bytes = text.size() - rest.size()) {
    taken += IsWide(TakeCodePoint(rest)) ? 2 : 1;
    if (taken + 1 > columns) break;  // one is for the dots
  }
  return std::string(text.substr(0, taken_bytes)) + "\xE2\x80\xA6";
}

std::string CutMiddle(std::string_view text, size_t columns, bool utf8) {
  if (ColumnsOf(text) <= columns) return std::string(text);
  std::string dots = utf8 ? "\xE2\x80\xA6" : "..";
  size_t left = columns - std::min(columns, ColumnsOf(dots));
  size_t head_columns = (left + 1) / 2;
  size_t head = 0;  // bytes
  std::string_view rest = text;
  for (size_t taken = 0; !rest.empty(); head = text.size() - rest.size()) {
    taken += IsWide(TakeCodePoint(rest)) ? 2 : 1;
    if (taken > head_columns) break;
  }
  rest = text.substr(head);
  while (ColumnsOf(rest) > left - head_columns) TakeCodePoint(rest);
  return std::string(text.substr(0, head)) + dots + std::string(rest);
}

std::string ToAscii(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    uint32_t point = TakeCodePoint(text);
    if (point < 0x80) {
      out += static_cast<char>(point);
    } else if (point < 0x10000) {
      absl::StrAppend(&out, "\\u", absl::Hex(point, absl::kZeroPad4));
    } else {
      point -= 0x10000;
      absl::StrAppend(&out, "\\u", absl::Hex(0xD800 + (point >> 10), absl::kZeroPad4), "\\u",
                      absl::Hex(0xDC00 + (point & 0x3FF), absl::kZeroPad4));
    }
  }
  return out;
}

}  // namespace locus::internal
