// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/statement.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "src/base/text.h"

namespace locus::stream {

using internal::ToAbsl;

namespace {

// What changes objects. A statement that is not listed is taken for one that changes rows: to stop
// once too often loses nothing.
constexpr std::array<std::string_view, 16> kSchemaWords = {
    "CREATE",   "ALTER",  "DROP",  "RENAME",  "TRUNCATE",  "GRANT",    "REVOKE", "ANALYZE",
    "OPTIMIZE", "REPAIR", "FLUSH", "INSTALL", "UNINSTALL", "SHUTDOWN", "CACHE",  "COMMENT"};

class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  // The next word in upper case; empty at the end, and where there is none.
  std::string Next() {
    SkipBlanks();
    size_t size = 0;
    while (size < rest_.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(rest_[size])) || rest_[size] == '_')) {
      ++size;
    }
    std::string word = absl::AsciiStrToUpper(ToAbsl(rest_.substr(0, size)));
    rest_.remove_prefix(size);
    return word;
  }

  // Goes behind the next word FOR that stands outside of strings and brackets, or to the end.
  void SkipPastFor() {
    for (int depth = 0; !rest_.empty();) {
      const std::string word = Next();
      if (word == "FOR" && depth == 0) return;
      if (!word.empty() || rest_.empty()) continue;
      const char sign = rest_[0];
      rest_.remove_prefix(1);
      if (sign == '(') ++depth;
      if (sign == ')') --depth;
      if (sign == '\'' || sign == '"' || sign == '`') SkipString(sign);
    }
  }

 private:
  // To the end of a string whose first quote is taken. One that holds its quote twice is two.
  void SkipString(char quote) {
    while (!rest_.empty() && rest_[0] != quote) {
      rest_.remove_prefix(rest_[0] == '\\' && quote != '`' ? std::min<size_t>(2, rest_.size()) : 1);
    }
    if (!rest_.empty()) rest_.remove_prefix(1);
  }
  bool TakePrefix(std::string_view prefix) {
    if (!rest_.starts_with(prefix)) return false;
    rest_.remove_prefix(prefix.size());
    return true;
  }
  void SkipPast(std::string_view mark) {
    const size_t at = rest_.find(mark);
    rest_.remove_prefix(at == rest_.npos ? rest_.size() : at + mark.size());
  }

  void SkipBlanks() {
    while (!rest_.empty()) {
      if (absl::ascii_isspace(static_cast<unsigned char>(rest_[0])) || rest_[0] == ';') {
        rest_.remove_prefix(1);
      } else if (TakePrefix("/*!") || TakePrefix("/*M!")) {
        while (!rest_.empty() && absl::ascii_isdigit(static_cast<unsigned char>(rest_[0]))) {
          rest_.remove_prefix(1);
        }
      } else if (TakePrefix("*/")) {
        // The end of a comment that servers run.
      } else if (TakePrefix("/*")) {
        SkipPast("*/");
      } else if (TakePrefix("#") || TakePrefix("--")) {
        SkipPast("\n");
      } else {
        return;
      }
    }
  }

  std::string_view rest_;
};

}  // namespace

StatementKind KindOfStatement(std::string_view text) {
  Words words(text);
  std::string first = words.Next();
  while (first == "SET") {
    const std::string next = words.Next();
    if (next != "STATEMENT") {  // other SETs are not logged by themselves
      const bool account = next == "PASSWORD" || next == "DEFAULT";
      return account ? StatementKind::kSchema : StatementKind::kOther;
    }
    words.SkipPastFor();  // variables for one statement, which follows
    first = words.Next();
  }
  if (std::find(kSchemaWords.begin(), kSchemaWords.end(), first) != kSchemaWords.end()) {
    return StatementKind::kSchema;
  }
  if (first == "BEGIN") return StatementKind::kBegin;
  if (first == "START") {
    return words.Next() == "TRANSACTION" ? StatementKind::kBegin : StatementKind::kOther;
  }
  if (first == "COMMIT") return StatementKind::kCommit;
  if (first == "SAVEPOINT") return StatementKind::kSavepoint;
  if (first == "RELEASE") return StatementKind::kSavepoint;
  if (first == "XA") return StatementKind::kXa;
  if (first == "ROLLBACK") {
    std::string next = words.Next();
    if (next == "WORK") next = words.Next();
    return next == "TO" ? StatementKind::kRollbackTo : StatementKind::kRollback;
  }
  return StatementKind::kOther;
}

}  // namespace locus::stream
