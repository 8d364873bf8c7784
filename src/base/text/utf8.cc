// SPDX-License-Identifier: Apache-2.0
#include "src/base/text/utf8.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

constexpr Range kInvisible[] = {
    {0x0, 0x1F},         {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},
    {0x600, 0x605},      {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},
    {0x890, 0x891},      {0x8E2, 0x8E2},     {0x115F, 0x1160},   {0x17B4, 0x17B5},
    {0x180B, 0x180F},    {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
    {0x3164, 0x3164},    {0xD800, 0xDFFF},   {0xFDD0, 0xFDEF},   {0xFE00, 0xFE0F},
    {0xFEFF, 0xFEFF},    {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},
    {0x110BD, 0x110BD},  {0x110CD, 0x110CD}, {0x13430, 0x13438}, {0x1BCA0, 0x1BCA3},
    {0x1D173, 0x1D17A},  {0x1FFFE, 0x1FFFF}, {0x2FFFE, 0x2FFFF}, {0x3FFFE, 0x3FFFF},
    {0x4FFFE, 0x4FFFF},  {0x5FFFE, 0x5FFFF}, {0x6FFFE, 0x6FFFF}, {0x7FFFE, 0x7FFFF},
    {0x8FFFE, 0x8FFFF},  {0x9FFFE, 0x9FFFF}, {0xAFFFE, 0xAFFFF}, {0xBFFFE, 0xBFFFF},
    {0xCFFFE, 0xCFFFF},  {0xDFFFE, 0xE0FFF}, {0xEFFFE, 0xEFFFF}, {0xFFFFE, 0xFFFFF},
    {0x10FFFE, 0x10FFFF}};

constexpr Range kOtherSpaces[] = {{0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                                  {0x202F, 0x202F}, {0x205F, 0x205F}, {0x2800, 0x2800},
                                  {0x3000, 0x3000}};

// Characters that normal form C replaces (NFC_Quick_Check=No of Unicode 14).
constexpr Range kReplaced[] = {
    {0x340, 0x341},     {0x343, 0x344},     {0x374, 0x374},    {0x37E, 0x37E},   {0x387, 0x387},
    {0x958, 0x95F},     {0x9DC, 0x9DD},     {0x9DF, 0x9DF},    {0xA33, 0xA33},   {0xA36, 0xA36},
    {0xA59, 0xA5B},     {0xA5E, 0xA5E},     {0xB5C, 0xB5D},    {0xF43, 0xF43},   {0xF4D, 0xF4D},
    {0xF52, 0xF52},     {0xF57, 0xF57},     {0xF5C, 0xF5C},    {0xF69, 0xF69},   {0xF73, 0xF73},
    {0xF75, 0xF76},     {0xF78, 0xF78},     {0xF81, 0xF81},    {0xF93, 0xF93},   {0xF9D, 0xF9D},
    {0xFA2, 0xFA2},     {0xFA7, 0xFA7},     {0xFAC, 0xFAC},    {0xFB9, 0xFB9},   {0x1F71, 0x1F71},
    {0x1F73, 0x1F73},   {0x1F75, 0x1F75},   {0x1F77, 0x1F77},  {0x1F79, 0x1F79}, {0x1F7B, 0x1F7B},
    {0x1F7D, 0x1F7D},   {0x1FBB, 0x1FBB},   {0x1FBE, 0x1FBE},  {0x1FC9, 0x1FC9}, {0x1FCB, 0x1FCB},
    {0x1FD3, 0x1FD3},   {0x1FDB, 0x1FDB},   {0x1FE3, 0x1FE3},  {0x1FEB, 0x1FEB}, {0x1FEE, 0x1FEF},
    {0x1FF9, 0x1FF9},   {0x1FFB, 0x1FFB},   {0x1FFD, 0x1FFD},  {0x2000, 0x2001}, {0x2126, 0x2126},
    {0x212A, 0x212B},   {0x2329, 0x232A},   {0x2ADC, 0x2ADC},  {0xF900, 0xFA0D}, {0xFA10, 0xFA10},
    {0xFA12, 0xFA12},   {0xFA15, 0xFA1E},   {0xFA20, 0xFA20},  {0xFA22, 0xFA22}, {0xFA25, 0xFA26},
    {0xFA2A, 0xFA6D},   {0xFA70, 0xFAD9},   {0xFB1D, 0xFB1D},  {0xFB1F, 0xFB1F}, {0xFB2A, 0xFB36},
    {0xFB38, 0xFB3C},   {0xFB3E, 0xFB3E},   {0xFB40, 0xFB41},  {0xFB43, 0xFB44}, {0xFB46, 0xFB4E},
    {0x1D15E, 0x1D164}, {0x1D1BB, 0x1D1C0}, {0x2F800, 0x2FA1D}};

struct Joins {
  uint32_t mark;
  std::u32string_view before, whole;
};
constexpr Joins kJoins[] = {
#include "src/base/text/composed_pairs.inc"
};

struct Class {
  uint32_t first, last, number;
};
constexpr Class kClasses[] = {
#include "src/base/text/combining_classes.inc"
};

// Whether normal form C makes one character of the two.
bool Compose(uint32_t before, uint32_t c) {
  constexpr uint32_t kSyllables = 0xAC00;
  if (c >= 0x1161 && c <= 0x1175) return before >= 0x1100 && before <= 0x1112;
  if (c >= 0x11A8 && c <= 0x11C2) {
    return before >= kSyllables && before <= 0xD7A3 && (before - kSyllables) % 28 == 0;
  }
  const auto* joins = std::ranges::lower_bound(kJoins, c, {}, &Joins::mark);
  return joins != std::end(kJoins) && joins->mark == c &&
         joins->before.find(static_cast<char32_t>(before)) != std::u32string_view::npos;
}

struct Parts {
  uint32_t before, mark;
};
std::optional<Parts> PartsOf(uint32_t composed) {
  for (const Joins& joins : kJoins) {
    const size_t at = joins.whole.find(static_cast<char32_t>(composed));
    if (at != std::u32string_view::npos) return Parts{joins.before[at], joins.mark};
  }
  return std::nullopt;
}

// The canonical combining class: marks on one letter are ordered by class, and a mark hides the
// letter from further marks of its class. 0: a letter.
uint32_t ClassOf(uint32_t c) {
  const auto* range = std::ranges::lower_bound(kClasses, c, {}, &Class::last);
  return range != std::end(kClasses) && range->first <= c ? range->number : 0;
}

// Lowest of first..last that is in one of `ranges`, which rise.
std::optional<uint32_t> FirstIn(std::span<const Range> ranges, uint32_t first, uint32_t last) {
  auto range = std::lower_bound(ranges.begin(), ranges.end(), first,
                                [](const Range& each, uint32_t c) { return each.last < c; });
  if (range == ranges.end() || range->first > last) return std::nullopt;
  return std::max(first, range->first);
}

bool BeginsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

size_t FirstCharacter(std::string_view text, uint32_t& code_point) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  uint32_t first = byte(0);
  if (first < 0x80) {
    code_point = first;
    return 1;
  }
  size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  code_point = first & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if (BeginsCharacter(text[i])) return 0;
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
  }
  bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  bool overlong = size != BytesOf(code_point);
  return overlong || code_point > kMaxCodePoint || surrogate ? 0 : size;
}

size_t CharactersIn(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), BeginsCharacter));
}

size_t PrefixBytes(std::string_view text, size_t characters) {
  size_t bytes = 0;
  for (; characters > 0; --characters) {
    if (bytes == text.size()) return std::string_view::npos;
    do ++bytes;
    while (bytes < text.size() && !BeginsCharacter(text[bytes]));
  }
  return bytes;
}

size_t SuffixBytes(std::string_view text, size_t characters) {
  size_t begin = text.size();
  for (; characters > 0; --characters) {
    if (begin == 0) return std::string_view::npos;
    do --begin;
    while (begin > 0 && !BeginsCharacter(text[begin]));
  }
  return text.size() - begin;
}

std::optional<uint32_t> FirstInvisible(uint32_t first, uint32_t last) {
  return FirstIn(kInvisible, first, last);
}

std::optional<uint32_t> FirstOtherSpace(uint32_t first, uint32_t last) {
  return FirstIn(kOtherSpaces, first, last);
}

std::optional<uint32_t> FirstNotComposed(std::string_view text) {
  uint32_t letter = 0, last_class = 0;  // the last letter, and of the last mark behind it
  while (!text.empty()) {
    uint32_t c = 0;
    const size_t size = FirstCharacter(text, c);
    if (size == 0) return std::nullopt;
    text.remove_prefix(size);
    const uint32_t its_class = ClassOf(c);
    if (FirstIn(kReplaced, c, c)) return c;
    if (its_class != 0 && last_class > its_class) return c;  // the marks are in another order
    if (last_class == 0 || last_class < its_class) {
      if (Compose(letter, c)) return c;
      // The letter's own marks of higher classes follow this one.
      uint32_t base = letter;
      while (its_class != 0) {
        const std::optional<Parts> parts = PartsOf(base);
        if (!parts || ClassOf(parts->mark) <= its_class) break;
        base = parts->before;
      }
      if (base != letter && Compose(base, c)) return c;
    }
    if (its_class == 0) letter = c;
    last_class = its_class;
  }
  return std::nullopt;
}

absl::Status CheckComposed(std::string_view what, std::string_view text) {
  // U+0300, the first of these characters, is CC 80 in UTF-8.
  if (std::ranges::none_of(text, [](char c) { return static_cast<uint8_t>(c) >= 0xCC; })) {
    return absl::OkStatus();
  }
  const std::optional<uint32_t> loose = FirstNotComposed(text);
  if (!loose) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      ToAbsl(what), " ", QuotedUtf8(text), " has ", CodePointName(*loose),
      ", which Unicode's normal form C (NFC) writes otherwise; another name could look "
      "the same: write the name in that form"));
}

absl::Status CheckCounterName(std::string_view what, std::string_view text) {
  const absl::Status status = CheckComposed(what, text);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(
      status.message(),
      ". A counter that has given numbers under this text does not continue "
      "under the other: read its value with `locus seq get`, give it to the other with "
      "`locus seq set`, then use that"));
}

std::string CodePointName(uint32_t code_point) {
  return absl::StrCat("U+",
                      absl::AsciiStrToUpper(absl::StrCat(absl::Hex(code_point, absl::kZeroPad4))));
}

}  // namespace locus::internal
