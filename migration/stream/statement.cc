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

 private:
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
  const std::string first = words.Next();
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
  if (first == "SET") {
    const std::string next = words.Next();
    // SET STATEMENT ... FOR may stand before any statement, and SET by itself is not logged.
    return next == "PASSWORD" || next == "DEFAULT" ? StatementKind::kSchema : StatementKind::kOther;
  }
  return StatementKind::kOther;
}

}  // namespace locus::stream
