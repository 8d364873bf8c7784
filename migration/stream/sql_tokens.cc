// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/sql_tokens.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "src/base/text/text.h"

namespace locus::stream {

using internal::ToAbsl;

namespace {

constexpr size_t kShortVersion = 5, kLongVersion = 6;  // digits behind /*!

// The collations that pad begin at 0, and the same ones without padding here; behind kUca are
// others, of UTF-8 and of sets that no client has.
constexpr uint32_t kNoPad = 1024, kUca = 2048;
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsOfWord(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return absl::ascii_isalnum(byte) || c == '_' || c == '$' || byte >= 0x80;
}

// How many digits of a version the text begins with; fewer than five are none.
size_t VersionSize(std::string_view text) {
  size_t digits = 0;
  while (digits < std::min(text.size(), kLongVersion) && IsDigit(text[digits])) ++digits;
  return digits < kShortVersion ? 0 : digits;
}

}  // namespace

DoubleBytes DoubleBytesOf(uint32_t collation) {
  if (collation >= kUca) return DoubleBytes::kNone;
  switch (collation % kNoPad) {
    case 1:
    case 84:
      return DoubleBytes::kBig5;
    case 13:
    case 88:
    case 95:  // cp932
    case 96:
      return DoubleBytes::kSjis;
    case 28:
    case 87:
      return DoubleBytes::kGbk;
    default:
      return DoubleBytes::kNone;
  }
}

char WideSpaceOf(uint32_t collation) {
  if (collation >= kUca) return '\0';
  switch (collation % kNoPad) {
    case 3:  // dec8
    case 69:
    case 5:  // latin1
    case 8:
    case 15:
    case 31:
    case 47:
    case 48:
    case 49:
    case 94:
    case 2:  // latin2
    case 9:
    case 21:
    case 27:
    case 77:
    case 16:  // hebrew
    case 71:
    case 25:  // greek
    case 70:
    case 26:  // cp1250
    case 34:
    case 44:
    case 66:
    case 99:
    case 30:  // latin5
    case 78:
    case 32:  // armscii8
    case 64:
    case 20:  // latin7
    case 41:
    case 42:
    case 79:
    case 92:  // geostd8
    case 93:
      return '\xA0';
    case 36:  // cp866
    case 68:
    case 37:  // keybcs2
    case 73:
    case 40:  // cp852
    case 81:
      return '\xFF';
    default:
      return '\0';
  }
}

bool SqlToken::Is(std::string_view keyword) const {
  return kind == Kind::kWord && absl::EqualsIgnoreCase(ToAbsl(text), ToAbsl(keyword));
}

std::string SqlToken::Name() const {
  if (kind != Kind::kName) return std::string(text);
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    name += text[i];
    if (text[i] == quote) ++i;  // the quote is doubled
  }
  return name;
}

bool SqlTokens::Take(std::string_view keyword) {
  if (!Peek().Is(keyword)) return false;
  Next();
  return true;
}

bool SqlTokens::TakeSign(char sign) {
  if (!Peek().IsSign(sign)) return false;
  Next();
  return true;
}

bool SqlTokens::IsSpace(char c) const {
  return absl::ascii_isspace(static_cast<unsigned char>(c)) ||
         (rules_.wide_space != '\0' && c == rules_.wide_space);
}

void SqlTokens::SkipPast(std::string_view mark) {
  const size_t at = rest_.find(mark);
  rest_.remove_prefix(at == rest_.npos ? rest_.size() : at + mark.size());
}

void SqlTokens::SkipBlanksAndComments() {
  while (!rest_.empty()) {
    if (IsSpace(rest_[0]) || rest_[0] == '\0') {
      rest_.remove_prefix(1);
    } else if (rest_.starts_with("/*!") || rest_.starts_with("/*M!")) {
      rest_.remove_prefix(rest_[2] == '!' ? 3 : 4);
      rest_.remove_prefix(VersionSize(rest_));
      in_comment_ = true;
    } else if (in_comment_ && rest_.starts_with("*/")) {
      rest_.remove_prefix(2);
      in_comment_ = false;
    } else if (rest_.starts_with("/*")) {
      rest_.remove_prefix(2);
      SkipPast("*/");
    } else if (rest_[0] == '#' || (rest_.starts_with("--") &&
                                   (rest_.size() == 2 || IsSpace(rest_[2]) ||
                                    absl::ascii_iscntrl(static_cast<unsigned char>(rest_[2]))))) {
      SkipPast("\n");
    } else {
      return;
    }
  }
}

bool SqlTokens::StartsDoubleByte() const {
  if (rest_.size() < 2 || static_cast<unsigned char>(rest_[1]) < 0x40) return false;
  const auto first = static_cast<unsigned char>(rest_[0]);
  switch (rules_.double_bytes) {
    case DoubleBytes::kNone:
      return false;
    case DoubleBytes::kBig5:
      return first >= 0xA1 && first <= 0xF9;
    case DoubleBytes::kSjis:
      return (first >= 0x81 && first <= 0x9F) || (first >= 0xE0 && first <= 0xFC);
    case DoubleBytes::kGbk:
      return first >= 0x81 && first <= 0xFE;
  }
  return false;
}

SqlToken SqlTokens::TakeQuoted(char quote) {
  const bool name = quote == '`' || (quote == '"' && rules_.ansi_quotes);
  const bool escapes = !name && !rules_.no_backslash_escapes;
  rest_.remove_prefix(1);
  const std::string_view inside = rest_;
  SqlToken token{name ? SqlToken::Kind::kName : SqlToken::Kind::kString, inside, quote};
  while (!rest_.empty()) {
    size_t size = 1;
    if (rest_[0] == quote) {
      if (rest_.size() < 2 || rest_[1] != quote) {
        token.text = inside.substr(0, inside.size() - rest_.size());
        rest_.remove_prefix(1);
        return token;
      }
      size = 2;
    } else if ((escapes && rest_[0] == '\\') || StartsDoubleByte()) {
      size = 2;
    }
    rest_.remove_prefix(std::min(size, rest_.size()));
  }
  return token;
}

SqlToken SqlTokens::Next() {
  SkipBlanksAndComments();
  if (rest_.empty()) return {};
  const char first = rest_[0];
  if (first == '\'' || first == '"' || first == '`') return TakeQuoted(first);
  size_t size = 0;
  const std::string_view begin = rest_;
  while (!rest_.empty() && IsOfWord(rest_[0]) && !IsSpace(rest_[0])) {
    const size_t step = StartsDoubleByte() ? 2 : 1;
    size += step;
    rest_.remove_prefix(step);
  }
  if (size > 0) return {SqlToken::Kind::kWord, begin.substr(0, size), 0};
  rest_.remove_prefix(1);
  return {SqlToken::Kind::kSign, begin.substr(0, 1), 0};
}

}  // namespace locus::stream
