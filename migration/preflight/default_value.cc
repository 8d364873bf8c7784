// SPDX-License-Identifier: Apache-2.0
#include "migration/preflight/default_value.h"

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace locus::preflight {

namespace {

// Words that may stand before a parenthesis. Only harmless ones are listed, so a loadable function,
// or one of a later server, is refused until it was checked. Not here although they are common:
// nextval, lastval, setval; uuid_short, which counts from server_id & 255; rand, whose seed two
// servers that start together may share; user, database, version, connection_id, last_insert_id.
bool IsHarmless(absl::string_view word) {
  static const auto* const words = new std::set<absl::string_view>{
      // Operators and types.
      "and", "as", "between", "binary", "case", "cast", "char", "charset", "collate", "convert",
      "datetime", "decimal", "div", "double", "else", "in", "interval", "is", "like", "mod", "not",
      "or", "regexp", "rlike", "signed", "then", "time", "timestamp", "unsigned", "using",
      "varbinary", "varchar", "when", "xor",
      // Values of their arguments.
      "abs", "ascii", "bin", "bit_count", "bit_length", "ceil", "ceiling", "char_length",
      "character_length", "chr", "coalesce", "compress", "concat", "concat_ws", "conv", "crc32",
      "crc32c", "date", "default", "elt", "exp", "export_set", "field", "find_in_set", "floor",
      "format", "from_base64", "greatest", "hex", "if", "ifnull", "inet6_aton", "inet6_ntoa",
      "inet_aton", "inet_ntoa", "insert", "instr", "isnull", "lcase", "least", "left", "length",
      "ln", "locate", "log", "log10", "log2", "lower", "lpad", "ltrim", "make_set", "md5", "mid",
      "nullif", "nvl", "nvl2", "oct", "octet_length", "ord", "pi", "position", "pow", "power",
      "quote", "regexp_instr", "regexp_replace", "regexp_substr", "repeat", "replace", "reverse",
      "right", "round", "rpad", "rtrim", "sha", "sha1", "sha2", "sign", "sqrt", "strcmp", "substr",
      "substring", "substring_index", "to_base64", "to_char", "trim", "truncate", "ucase",
      "uncompress", "unhex", "upper",
      // JSON.
      "json_array", "json_compact", "json_contains", "json_exists", "json_extract", "json_insert",
      "json_length", "json_merge", "json_object", "json_query", "json_quote", "json_set",
      "json_unquote", "json_valid", "json_value",
      // Clocks and calendars.
      "add_months", "adddate", "addtime", "curdate", "current_date", "current_time",
      "current_timestamp", "curtime", "date_add", "date_format", "date_sub", "datediff", "day",
      "dayname", "dayofmonth", "dayofweek", "dayofyear", "extract", "from_days", "from_unixtime",
      "hour", "last_day", "localtime", "localtimestamp", "makedate", "maketime", "microsecond",
      "minute", "month", "monthname", "now", "period_add", "period_diff", "quarter", "sec_to_time",
      "second", "str_to_date", "subdate", "subtime", "sysdate", "time_format", "time_to_sec",
      "timediff", "timestampadd", "timestampdiff", "to_days", "to_seconds", "unix_timestamp",
      "utc_date", "utc_time", "utc_timestamp", "week", "weekday", "weekofyear", "year", "yearweek",
      // Random ones that never meet.
      "random_bytes", "sys_guid", "uuid", "uuid_v4", "uuid_v7"};
  return words->contains(absl::AsciiStrToLower(word));
}

bool IsOfWord(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '$' || (c & 0x80) != 0; }

// Where the quoted text that begins at `at` ends; npos: it does not.
size_t EndOfQuoted(absl::string_view text, size_t at) {
  const char quote = text[at];
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\' && quote != '`') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;  // a doubled one ends a text and begins the next
    }
  }
  return absl::string_view::npos;
}

}  // namespace

std::string PartOfOneServer(absl::string_view expression) {
  absl::string_view before;  // the word or name that ended last, with only blanks behind it
  for (size_t i = 0; i < expression.size();) {
    const char c = expression[i];
    size_t end = i + 1;
    if (c == '@') return std::string(expression.substr(i));  // a variable of server or session
    if (c == '\'' || c == '"' || c == '`') {
      end = EndOfQuoted(expression, i);
      if (end == absl::string_view::npos) return std::string(expression.substr(i));
      before = c == '`' ? expression.substr(i, end - i) : absl::string_view();
    } else if (IsOfWord(c)) {
      while (end < expression.size() && IsOfWord(expression[end])) ++end;
      before = expression.substr(i, end - i);
    } else if (c == '(') {
      if (!before.empty() && !IsHarmless(before)) return absl::StrCat(before, "()");
      before = absl::string_view();
    } else if (!absl::ascii_isspace(static_cast<unsigned char>(c))) {
      before = absl::string_view();
    }
    i = end;
  }
  return "";
}

}  // namespace locus::preflight
