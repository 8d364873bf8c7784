// SPDX-License-Identifier: Apache-2.0
#include "src/number/number_pattern.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus::internal {
namespace {

using Kind = NumberElement::Kind;

constexpr size_t kMaxPattern = 256;
constexpr size_t kMaxName = 32;
constexpr size_t kMaxDigits = 19;
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
bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }

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
                         [&](char c) { return element.alphabet.Has(c); });
    }
    default:
      return true;
  }
}

class Compiler {
 public:
  explicit Compiler(std::string_view text) { pattern_.text = text; }

  absl::StatusOr<NumberPattern> Compile() && {
    LOCUS_RETURN_IF_ERROR(ReadAll());
    LOCUS_RETURN_IF_ERROR(CheckUnits());
    LOCUS_RETURN_IF_ERROR(CheckVariableFields());
    for (const NumberElement& element : pattern_.elements) {
      pattern_.min_length += element.min_width;
      pattern_.max_length += element.max_width;
    }
    if (pattern_.max_length > NumberFormat::kMaxLength) {
      return Refuse(absl::StrCat("its numbers have up to ", pattern_.max_length,
                                 " characters, more than ", NumberFormat::kMaxLength));
    }
    return std::move(pattern_);
  }

 private:
  absl::Status Refuse(std::string_view reason) const {
    return absl::InvalidArgumentError(
        absl::StrCat("pattern ", Quoted(pattern_.text), ": ", ToAbsl(reason)));
  }
  // An error about the field that is being read, or about the literal at position `at`.
  absl::Status RefuseField(std::string_view reason) const {
    return Refuse(absl::StrCat("field ", Quoted(field_), " at character ", field_at_ + 1, ": ",
                               ToAbsl(reason)));
  }
  absl::Status RefuseAt(size_t at, std::string_view reason) const {
    return Refuse(absl::StrCat("character ", at + 1, ", ", Quoted(pattern_.text.substr(at, 1)),
                               ", ", ToAbsl(reason)));
  }

  absl::Status ReadAll();
  absl::Status ReadField();
  absl::Status CheckName(std::string_view name) const;
  absl::Status ReadLayout(std::string_view name, std::string_view layout);
  absl::StatusOr<size_t> ReadWidth(std::string_view text, size_t max) const;
  absl::Status ReadDigits(std::string_view name, std::string_view width);
  absl::Status ReadText(std::string_view name, std::string_view declared);
  absl::StatusOr<Alphabet> ReadAlphabet(std::string_view text) const;
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
  literal.min_width = literal.max_width = literal.text.size();
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
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool doubled = i + 1 < text.size() && text[i + 1] == c;
    if (!IsPrintable(c)) return RefuseAt(i, "is not printable ASCII");
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
    return RefuseField(absl::StrCat("the name ", Quoted(name),
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
    std::string_view run = layout.substr(i, layout.find_first_not_of(layout[i], i) - i);
    auto known = std::find_if(kLayoutUnits.begin(), kLayoutUnits.end(),
                              [&](const LayoutUnit& unit) { return unit.letters == run; });
    if (known == kLayoutUnits.end()) {
      return RefuseField(absl::StrCat(
          Quoted(run), " is none of yyyy yy MM dd HH mm ss SSS and - . / : _ between them"));
    }
    bool& has_unit = has_unit_[static_cast<size_t>(known->unit)];
    if (has_unit) return RefuseField(absl::StrCat("the unit ", Quoted(run), " stands twice"));
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
  return RefuseField(absl::StrCat("the width ", Quoted(text), " is not 1 to ", max));
}

absl::Status Compiler::ReadDigits(std::string_view name, std::string_view width_text) {
  LOCUS_ASSIGN_OR_RETURN(size_t width, ReadWidth(width_text, kMaxDigits));
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
      return RefuseField(absl::StrCat("the widths ", Quoted(widths), " fall"));
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
  for (size_t i = 0; i < text.size(); ++i) {
    char first = text[i], last = first;
    bool at_an_end = i == 0 || i + 1 == text.size();
    if (first == '-' && !at_an_end) {
      return RefuseField("a '-' outside a range must come first or last in an alphabet");
    }
    if (i + 2 < text.size() && text[i + 1] == '-') {
      last = text[i + 2];
      i += 2;
    }
    if (first == ' ' || last == ' ') return RefuseField("its alphabet has a space");
    if (last < first) {
      return RefuseField(absl::StrCat("the range ", Quoted(text.substr(i - 2, 3)), " falls"));
    }
    for (char c = first; c <= last; ++c) {
      if (c == ';' || c == '{' || c == '}') {
        return RefuseField(absl::StrCat("its alphabet has ", Quoted({&c, 1})));
      }
      if (!alphabet.Add(c)) {
        return RefuseField(absl::StrCat("its alphabet has ", Quoted({&c, 1}), " twice"));
      }
    }
  }
  return alphabet;
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
    if (next.kind == Kind::kLiteral && !elements[i].alphabet.Has(next.text[0])) continue;
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

absl::StatusOr<NumberPattern> NumberPattern::Compile(std::string_view text) {
  return Compiler(text).Compile();
}

}  // namespace locus::internal
