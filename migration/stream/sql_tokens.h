// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_SQL_TOKENS_H_
#define LOCUS_MIGRATION_STREAM_SQL_TOKENS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace locus::stream {

// Character sets of clients whose second bytes may be a backslash or a grave accent.
enum class DoubleBytes : uint8_t { kNone, kBig5, kSjis, kGbk };
// By the number of a collation, as in information_schema.COLLATIONS.ID.
DoubleBytes DoubleBytesOf(uint32_t collation);
// The byte beyond ASCII that is a space in the collation's character set; '\0': there is none.
char WideSpaceOf(uint32_t collation);

// How the session that ran a statement wrote its text.
struct TextRules {
  bool ansi_quotes = false;           // sql_mode: "x" is a name, not a string
  bool no_backslash_escapes = false;  // sql_mode: a backslash is an ordinary character
  DoubleBytes double_bytes = DoubleBytes::kNone;
  char wide_space = '\0';
};

struct SqlToken {
  enum class Kind : uint8_t {
    kEnd,
    kWord,    // a keyword, a name or a number
    kName,    // a quoted name
    kString,  // its value is of no interest
    kSign,    // one character
  };
  Kind kind = Kind::kEnd;
  std::string_view text;  // as written, between the quotes
  char quote = 0;         // of a kName

  // Whether it is this keyword, given in capitals.
  bool Is(std::string_view keyword) const;
  bool IsSign(char sign) const { return kind == Kind::kSign && text[0] == sign; }
  bool IsName() const { return kind == Kind::kWord || kind == Kind::kName; }
  // Of a word or a quoted name.
  std::string Name() const;
};

// The tokens of a statement as a MariaDB server reads them. Comments are none; the inside of /*!
// ... */ and /*M! ... */ is, because the log has only those that the server ran. What is not closed
// ends with the text. Copies are independent. Cost: no allocation.
class SqlTokens {
 public:
  SqlTokens(std::string_view text, const TextRules& rules) : rest_(text), rules_(rules) {}

  SqlToken Next();
  SqlToken Peek() const { return SqlTokens(*this).Next(); }
  // Takes the next token if it is this keyword.
  bool Take(std::string_view keyword);
  bool TakeSign(char sign);

 private:
  bool IsSpace(char c) const;
  void SkipBlanksAndComments();
  void SkipPast(std::string_view mark);
  SqlToken TakeQuoted(char quote);
  bool StartsDoubleByte() const;

  std::string_view rest_;
  TextRules rules_;
  bool in_comment_ = false;  // one that the server runs
};

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_SQL_TOKENS_H_
