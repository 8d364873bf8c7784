// SPDX-License-Identifier: Apache-2.0
#include "routing/printable_text.h"

#include <cstddef>
#include <cstdint>

namespace locus {
namespace {

constexpr uint32_t kInvalid = UINT32_MAX;

// How many bytes a sequence has that begins with `lead`; 0: none begins so.
size_t SequenceLength(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

// Takes the first code point off `text`.
uint32_t TakeCodePoint(std::string_view& text) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // shorter forms exist below
  auto lead = static_cast<unsigned char>(text[0]);
  size_t length = SequenceLength(lead);
  if (length == 0 || length > text.size()) return kInvalid;
  uint32_t point = length == 1 ? lead : lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return kInvalid;
    point = point << 6 | (byte & 0x3Fu);
  }
  text.remove_prefix(length);
  bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  return point < kLeast[length] || surrogate || point > 0x10FFFF ? kInvalid : point;
}

bool IsPrintable(uint32_t point) {
  if (point < 0x20 || (point >= 0x7F && point <= 0x9F)) return false;
  if (point == 0x2028 || point == 0x2029) return false;
  return point != 0xFFFE && point != 0xFFFF && point != kInvalid;
}

}  // namespace

bool IsPrintableUtf8(std::string_view text) {
  while (!text.empty()) {
    if (!IsPrintable(TakeCodePoint(text))) return false;
  }
  return true;
}

}  // namespace locus
