// SPDX-License-Identifier: Apache-2.0
#include "src/number/pattern/number_pattern.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/utf8.h"
#include "src/number/pattern/number_text.h"

namespace locus::internal {
namespace {

using Kind = NumberElement::Kind;

constexpr size_t kMaxPattern = 256;
constexpr size_t kMaxName = 32;
constexpr size_t kWidestField = 19;
constexpr size_t kMaxText = 64;
constexpr size_t kDefaultMaxText = 32;
constexpr std::string_view kDefaultAlphabet = "A-Z0-9";

struct LayoutUnit {
  std::string_view letters;
  TimeUnit unit;
};
constexpr std::array<LayoutUnit, 8> kLayoutUnits = {{{"yyyy", TimeUnit::kYear},
                                                     {"yy", TimeUnit::kYear},
                                                     {"MM", TimeUnit::kMonth},
                                                     {"dd", TimeUnit::kDay},
                                                     {"HH", TimeUnit::kHour},
                                                     {"mm", TimeUnit::kMinute},
                                                     {"ss", TimeUnit::kSecond},
                                                     {"SSS", TimeUnit::kMillisecond}}};
constexpr std::array<std::string_view, kTimeUnits> kUnitNames = {"yyyy", "MM", "dd", "HH",
                                                                 "mm",   "ss", "SSS"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

uint64_t PowerOfTen(size_t exponent) {
  uint64_t power = 1;
  for (size_t i = 0; i < exponent; ++i) power *= 10;
  return power;
}

bool MayHoldDigits(const NumberElement& element) {
  switch (element.kind) {
    case Kind::kLiteral:
      return std::any_of(element.text.begin(), element.text.end(), IsDigit);
    case Kind::kText: {
      constexpr std::string_view kDigits = "0123456789";
      return std::any_of(kDigits.begin(), kDigits.end(),
                         [&](char c) { return element.alphabet.HasByte(c); });
    }
    default:
      return true;
  }
}

// The character, quoted.
std::string Shown(uint32_t code_point) {
  return code_point < 0x80 ? QuotedUtf8(std::string(1, static_cast<char>(code_point)))
                           : CodePointName(code_point);
}

class Compiler {
 public:
  explicit Compiler(std::string_view text) { pattern_.text = text; }

  absl::StatusOr<NumberPattern> Compile() && {
    LOCUS_RETURN_IF_ERROR(ReadAll());
    LOCUS_RETURN_IF_ERROR(CheckUnits());
    LOCUS_RETURN_IF_ERROR(CheckVariableFields());
    for (const NumberElement& element : pattern_.elements) {
      pattern_.min_length += element.min_bytes();
      pattern_.max_length += element.max_bytes();
      pattern_.min_characters += element.min_width;
      pattern_.max_characters += element.max_width;
    }
    if (pattern_.max_length > NumberFormat::kMaxLength) {
      return Refuse(absl::StrCat("its numbers have up to ", pattern_.max_length,
                                 " bytes, more than ", NumberFormat::kMaxLength));
    }
    return std::move(pattern_);
  }

 private:
  absl::Status Refuse(std::string_view reason) const {
    return absl::InvalidArgumentError(
        absl::StrCat("pattern ", QuotedUtf8(pattern_.text), ": ", ToAbsl(reason)));
  }
  // An error about the field that is being read, or about the literal at position `at`.
  absl::Status RefuseField(std::string_view reason) const {
    return Refuse(absl::StrCat("field ", QuotedUtf8(field_), " at character ",
                               PositionOf(field_at_), ": ", ToAbsl(reason)));
  }
  absl::Status RefuseAt(size_t at, std::string_view reason) const {
    return Refuse(absl::StrCat("character ", PositionOf(at), ", ",
                               QuotedUtf8(pattern_.text.substr(at, 1)), ", ", ToAbsl(reason)));
  }

  // The position of the byte at `at`: in characters, from 1.
  size_t PositionOf(size_t at) const { return CharactersIn(pattern_.text.substr(0, at)) + 1; }

  absl::Status ReadAll();
  absl::Status ReadField();
  absl::Status CheckName(std::string_view name) const;
  absl::Status ReadLayout(std::string_view name, std::string_view layout);
  absl::StatusOr<size_t> ReadWidth(std::string_view text, size_t max) const;
  absl::Status ReadDigits(std::string_view name, std::string_view width);
  absl::Status ReadText(std::string_view name, std::string_view declared);
  absl::StatusOr<Alphabet> ReadAlphabet(std::string_view text) const;
  absl::Status CheckRange(std::string_view range, uint32_t first, uint32_t last) const;
  absl::Status ReadCheck();
  absl::Status CheckUnits() const;
  absl::Status CheckVariableFields();

  void AddLiteral(char c);
  void AddField(NumberElement element, NumberField::Kind kind);

  NumberPattern pattern_;
  std::string_view field_;  // with its braces
  size_t field_at_ = 0;
  std::array<bool, kTimeUnits> has_unit_ = {};
};

void Compiler::AddLiteral(char c) {
  if (pattern_.elements.empty() || pattern_.elements.back().kind != Kind::kLiteral) {
    pattern_.elements.push_back({.kind = Kind::kLiteral});
  }
  NumberElement& literal = pattern_.elements.back();
  literal.text += c;
  literal.min_width = literal.max_width = CharactersIn(literal.text);
}

void Compiler::AddField(NumberElement element, NumberField::Kind kind) {
  pattern_.fields.push_back({.name = element.text,
                             .kind = kind,
                             .min_width = element.min_width,
                             .max_width = element.max_width,
                             .layout = ""});
  if (pattern_.fields.back().has_value()) ++pattern_.values;
  pattern_.elements.push_back(std::move(element));
}

absl::Status Compiler::ReadAll() {
  const std::string& text = pattern_.text;
  if (text.empty()) return Refuse("it is empty");
  if (text.size() > kMaxPattern) {
    return Refuse(absl::StrCat("it has ", text.size(), " bytes, more than ", kMaxPattern));
  }
  if (std::optional<RefusedCharacter> refused = FirstRefused(text)) {
    return Refuse(absl::StrCat("character ", refused->position, ", ", refused->character, ", ",
                               refused->reason));
  }
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool doubled = i + 1 < text.size() && text[i + 1] == c;
    if (c == '}' && !doubled) return RefuseAt(i, "closes no field; as a literal it is }}");
    if (c == '{' && !doubled) {
      size_t end = text.find_first_of("{}", i + 1);
      if (end == std::string::npos || text[end] != '}') {
        return RefuseAt(i, "opens a field that is not closed; as a literal it is {{");
      }
      field_ = std::string_view(text).substr(i, end + 1 - i);
      field_at_ = i;
      LOCUS_RETURN_IF_ERROR(ReadField());
      i = end;
      continue;
    }
    AddLiteral(c);
    if (c == '{' || c == '}') ++i;
  }
  if (pattern_.fields.empty()) return Refuse("it has no field");
  return absl::OkStatus();
}

absl::Status Compiler::ReadField() {
  std::string_view inside = field_.substr(1, field_.size() - 2);
  size_t colon = inside.find(':');
  std::string_view name = inside.substr(0, colon);
  LOCUS_RETURN_IF_ERROR(CheckName(name));
  bool bare = colon == inside.npos;
  std::string_view declared = bare ? "" : inside.substr(colon + 1);
  if (!bare && declared.empty()) return RefuseField("nothing follows its colon");
  if (name == "check") {
    return bare ? ReadCheck() : RefuseField("a check digit is written {check}");
  }
  if (name == "date" || name == "time") {
    return bare ? RefuseField("it needs a layout such as yyyyMMdd") : ReadLayout(name, declared);
  }
  bool all_digits = !bare && std::all_of(declared.begin(), declared.end(), IsDigit);
  if (name == "buyer" && !all_digits) return RefuseField("it needs a width such as buyer:4");
  return all_digits ? ReadDigits(name, declared) : ReadText(name, declared);
}

absl::Status Compiler::CheckName(std::string_view name) const {
  auto allowed = [](char c) { return absl::ascii_islower(c) || IsDigit(c) || c == '_'; };
  if (name.empty() || name.size() > kMaxName || !absl::ascii_islower(name[0]) ||
      !std::all_of(name.begin(), name.end(), allowed)) {
    return RefuseField(absl::StrCat("the name ", QuotedUtf8(name),
                                    " is not 1 to 32 of a-z, 0-9 and '_', a letter first"));
  }
  for (const NumberField& field : pattern_.fields) {
    if (field.name == name) return RefuseField("its name occurs twice");
  }
  return absl::OkStatus();
}

absl::Status Compiler::ReadLayout(std::string_view name, std::string_view layout) {
  size_t width = 0;
  bool tells_time = false;
  for (size_t i = 0; i < layout.size();) {
    if (std::string_view("-./:_").find(layout[i]) != std::string_view::npos) {
      AddLiteral(layout[i]);
      ++i;
      ++width;
      continue;
    }
    std::string_view rest = layout.substr(i);
    size_t size = std::min(rest.find_first_not_of(rest[0]), rest.size());
    // If the character is not ASCII, all of its bytes.
    std::string_view run = rest.substr(0, std::max(size, PrefixBytes(rest, 1)));
    auto known = std::find_if(kLayoutUnits.begin(), kLayoutUnits.end(),
                              [&](const LayoutUnit& unit) { return unit.letters == run; });
    if (known == kLayoutUnits.end()) {
      return RefuseField(absl::StrCat(
          QuotedUtf8(run), " is none of yyyy yy MM dd HH mm ss SSS and - . / : _ between them"));
    }
    bool& has_unit = has_unit_[static_cast<size_t>(known->unit)];
    if (has_unit) return RefuseField(absl::StrCat("the unit ", QuotedUtf8(run), " stands twice"));
    has_unit = tells_time = true;
    pattern_.smallest = std::max(pattern_.smallest, known->unit);
    pattern_.short_year |= run == "yy";
    pattern_.elements.push_back({.kind = Kind::kTime,
                                 .unit = known->unit,
                                 .min_width = run.size(),
                                 .max_width = run.size(),
                                 .text = std::string(name)});
    i += run.size();
    width += run.size();
  }
  if (!tells_time) return RefuseField("its layout has no unit of time");
  pattern_.fields.push_back({.name = std::string(name),
                             .kind = NumberField::Kind::kTime,
                             .min_width = width,
                             .max_width = width,
                             .layout = std::string(layout)});
  pattern_.has_time = true;
  return absl::OkStatus();
}

absl::StatusOr<size_t> Compiler::ReadWidth(std::string_view text, size_t max) const {
  std::optional<uint64_t> width = ParseDecimal(text, max);
  if (width && *width > 0) return size_t{*width};
  return RefuseField(absl::StrCat("the width ", QuotedUtf8(text), " is not 1 to ", max));
}

absl::Status Compiler::ReadDigits(std::string_view name, std::string_view width_text) {
  LOCUS_ASSIGN_OR_RETURN(size_t width, ReadWidth(width_text, kWidestField));
  bool buyer = name == "buyer";
  AddField({.kind = buyer ? Kind::kBuyer : Kind::kDigits,
            .min_width = width,
            .max_width = width,
            .limit = PowerOfTen(width) - 1,
            .text = std::string(name)},
           buyer ? NumberField::Kind::kBuyer : NumberField::Kind::kDigits);
  return absl::OkStatus();
}

absl::Status Compiler::ReadText(std::string_view name, std::string_view declared) {
  size_t semicolon = declared.find(';');
  std::string_view letters = declared.empty() ? kDefaultAlphabet : declared.substr(0, semicolon);
  LOCUS_ASSIGN_OR_RETURN(Alphabet alphabet, ReadAlphabet(letters));
  size_t min = 1, max = kDefaultMaxText;
  if (semicolon != declared.npos) {
    std::string_view widths = declared.substr(semicolon + 1);
    size_t dots = widths.find("..");
    LOCUS_ASSIGN_OR_RETURN(min, ReadWidth(widths.substr(0, dots), kMaxText));
    max = min;
    if (dots != widths.npos) {
      LOCUS_ASSIGN_OR_RETURN(max, ReadWidth(widths.substr(dots + 2), kMaxText));
    }
    if (max < min) {
      return RefuseField(absl::StrCat("the widths ", QuotedUtf8(widths), " fall"));
    }
  }
  AddField({.kind = Kind::kText,
            .min_width = min,
            .max_width = max,
            .text = std::string(name),
            .alphabet = alphabet,
            .alphabet_text = std::string(letters)},
           NumberField::Kind::kText);
  return absl::OkStatus();
}

absl::StatusOr<Alphabet> Compiler::ReadAlphabet(std::string_view text) const {
  if (text.empty()) return RefuseField("its alphabet is empty");
  Alphabet alphabet;
  for (size_t i = 0; i < text.size();) {
    std::string_view rest = text.substr(i);
    uint32_t first = 0;
    size_t size = FirstCharacter(rest, first);
    bool at_an_end = i == 0 || size == rest.size();
    if (first == '-' && !at_an_end) {
      return RefuseField("a '-' outside a range must come first or last in an alphabet");
    }
    uint32_t last = first;
    if (size + 1 < rest.size() && rest[size] == '-') {
      size += 1 + FirstCharacter(rest.substr(size + 1), last);
    }
    LOCUS_RETURN_IF_ERROR(CheckRange(rest.substr(0, size), first, last));
    if (std::optional<uint32_t> twice = alphabet.Add(first, last)) {
      return RefuseField(absl::StrCat("its alphabet has ", Shown(*twice), " twice"));
    }
    i += size;
  }
  return alphabet;
}

// Of an alphabet: `range` is one character or "A-Z".
absl::Status Compiler::CheckRange(std::string_view range, uint32_t first, uint32_t last) const {
  if (first == ' ' || last == ' ') return RefuseField("its alphabet has a space");
  if (last < first) return RefuseField(absl::StrCat("the range ", QuotedUtf8(range), " falls"));
  for (uint32_t c : {';', '{', '}'}) {
    if (first <= c && c <= last) {
      return RefuseField(absl::StrCat("its alphabet has ", Shown(c)));
    }
  }
  std::optional<RefusedCharacter> refused = FirstRefused(first, last);
  if (!refused) return absl::OkStatus();
  return RefuseField(absl::StrCat("the range ", QuotedUtf8(range), " holds ", refused->character,
                                  ", which ", refused->reason));
}

absl::Status Compiler::ReadCheck() {
  if (std::none_of(pattern_.elements.begin(), pattern_.elements.end(), MayHoldDigits)) {
    return RefuseField("no digit can precede it");
  }
  AddField({.kind = Kind::kCheck, .min_width = 1, .max_width = 1, .text = "check"},
           NumberField::Kind::kCheck);
  return absl::OkStatus();
}

absl::Status Compiler::CheckUnits() const {
  if (!pattern_.has_time) return absl::OkStatus();
  for (size_t i = 0; i < static_cast<size_t>(pattern_.smallest); ++i) {
    if (has_unit_[i]) continue;
    return Refuse(absl::StrCat("it tells ",
                               ToAbsl(kUnitNames[static_cast<size_t>(pattern_.smallest)]),
                               " without ", ToAbsl(kUnitNames[i])));
  }
  return absl::OkStatus();
}

absl::Status Compiler::CheckVariableFields() {
  const std::vector<NumberElement>& elements = pattern_.elements;
  size_t& last = pattern_.last_variable;
  last = elements.size();
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].is_variable()) last = i;
  }
  for (size_t i = 0; i < last; ++i) {
    if (last == elements.size() || !elements[i].is_variable()) continue;
    const NumberElement& next = elements[i + 1];
    uint32_t first = 0;
    if (next.kind == Kind::kLiteral && FirstCharacter(next.text, first) != 0 &&
        !elements[i].alphabet.Has(first)) {
      continue;
    }
    return Refuse(absl::StrCat("its numbers could not be parsed: the end of field \"",
                               elements[i].text, "\" is ambiguous, since \"", elements[last].text,
                               "\" varies in width too; put a literal after \"", elements[i].text,
                               "\" that begins with a character outside its alphabet ",
                               elements[i].alphabet_text));
  }
  for (size_t i = last + 1; i < elements.size(); ++i) {
    pattern_.after_variable += elements[i].max_width;
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<uint32_t> Alphabet::Add(uint32_t first, uint32_t last) {
  for (uint32_t c = first; c <= last && c < kAscii; ++c) {
    if (ascii_[c]) return c;
  }
  uint32_t wide_first = std::max(first, kAscii);
  if (last >= kAscii) {
    auto after = wide_.upper_bound(wide_first);
    if (after != wide_.begin() && std::prev(after)->second >= wide_first) return wide_first;
    if (after != wide_.end() && after->first <= last) return after->first;
    wide_.emplace_hint(after, wide_first, last);
  }
  for (uint32_t c = first; c <= last && c < kAscii; ++c) ascii_.set(c);
  return std::nullopt;
}

bool Alphabet::HasWide(uint32_t c) const {
  auto after = wide_.upper_bound(c);
  return after != wide_.begin() && std::prev(after)->second >= c;
}

size_t Alphabet::min_bytes() const { return ascii_.any() ? 1 : BytesOf(wide_.begin()->first); }
size_t Alphabet::max_bytes() const { return is_ascii() ? 1 : BytesOf(wide_.rbegin()->second); }

size_t NumberElement::min_bytes() const {
  if (kind == Kind::kLiteral) return text.size();
  return kind == Kind::kText ? min_width * alphabet.min_bytes() : min_width;
}

size_t NumberElement::max_bytes() const {
  if (kind == Kind::kLiteral) return text.size();
  return kind == Kind::kText ? max_width * alphabet.max_bytes() : max_width;
}

std::string_view AfterAlphabet(const NumberElement& element, std::string_view text) {
  while (true) {
    while (!text.empty() && element.alphabet.HasByte(text[0])) text.remove_prefix(1);
    uint32_t c = 0;
    if (text.empty() || element.alphabet.is_ascii()) return text;
    size_t size = FirstCharacter(text, c);
    if (!element.alphabet.Has(c)) return text;
    text.remove_prefix(size);
  }
}

absl::StatusOr<NumberPattern> NumberPattern::Compile(std::string_view text) {
  return Compiler(text).Compile();
}

}  // namespace locus::internal
