// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/statement.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "migration/stream/byte_reader.h"
#include "src/base/text/text.h"

namespace locus::stream {

using internal::ToAbsl;

namespace {

using What = Touched::What;

// No object has a longer name: 64 characters of at most four bytes.
constexpr size_t kMostName = 256;

bool IsOneOf(const SqlToken& token, std::initializer_list<std::string_view> keywords) {
  return std::any_of(keywords.begin(), keywords.end(),
                     [&](std::string_view keyword) { return token.Is(keyword); });
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view session, const TextRules& rules)
      : tokens_(text, rules), session_(session) {}

  Statement Parse() {
    while (tokens_.TakeSign(';')) {
    }
    SqlToken first = tokens_.Next();
    while (first.Is("SET")) {
      // Other SETs are not logged by themselves.
      if (!tokens_.Take("STATEMENT")) {
        const bool account = IsOneOf(tokens_.Next(), {"PASSWORD", "DEFAULT", "ROLE"});
        return account ? Harmless("SET") : Unknown("SET");
      }
      has_own_variables_ = true;
      SkipPast("FOR");  // variables for one statement, which follows
      first = tokens_.Next();
    }
    if (std::optional<Statement> found = Control(first)) return *std::move(found);
    if (first.Is("CREATE")) return Create();
    if (first.Is("ALTER")) return Alter();
    if (first.Is("DROP")) return Drop();
    if (first.Is("RENAME")) return Rename();
    if (first.Is("TRUNCATE")) {
      tokens_.Take("TABLE");
      return One("TRUNCATE TABLE");
    }
    // ANALYZE before another statement runs that one.
    if (first.Is("ANALYZE")) {
      if (!tokens_.Take("LOCAL")) tokens_.Take("NO_WRITE_TO_BINLOG");
      const bool statistics = IsOneOf(tokens_.Next(), {"TABLE", "TABLES"});
      return statistics ? Harmless("ANALYZE") : Unknown("ANALYZE");
    }
    // Rights, rebuilt tables.
    for (std::string_view verb : {"GRANT", "REVOKE", "OPTIMIZE", "REPAIR", "FLUSH", "INSTALL",
                                  "UNINSTALL", "SHUTDOWN", "CACHE", "COMMENT"}) {
      if (first.Is(verb)) return Harmless(verb);
    }
    return Rows(first);
  }
  // Whether it began with SET STATEMENT.
  bool has_own_variables() const { return has_own_variables_; }

 private:
  static Statement Harmless(std::string_view verb) {
    return {StatementKind::kSchema, std::string(verb), {}};
  }
  static Statement Unknown(std::string_view verb) {
    return {StatementKind::kUnknown, std::string(verb), {}};
  }
  static Statement Plain(StatementKind kind) { return {kind, "", {}}; }

  std::optional<Statement> Control(const SqlToken& first) {
    if (first.Is("BEGIN")) return Plain(StatementKind::kBegin);
    if (first.Is("START")) {
      if (tokens_.Take("TRANSACTION")) return Plain(StatementKind::kBegin);
      return Unknown("START");
    }
    if (first.Is("COMMIT")) return Plain(StatementKind::kCommit);
    if (IsOneOf(first, {"SAVEPOINT", "RELEASE"})) return Plain(StatementKind::kSavepoint);
    if (first.Is("XA")) return Plain(StatementKind::kXa);
    if (first.Is("ROLLBACK")) {
      tokens_.Take("WORK");
      return Plain(tokens_.Take("TO") ? StatementKind::kRollbackTo : StatementKind::kRollback);
    }
    return std::nullopt;
  }

  // Goes behind the next keyword outside of brackets; false: there is none.
  bool SkipPast(std::string_view keyword) {
    for (int depth = 0;;) {
      const SqlToken token = tokens_.Next();
      if (token.kind == SqlToken::Kind::kEnd) return false;
      if (token.IsSign('(')) ++depth;
      if (token.IsSign(')')) --depth;
      if (depth == 0 && token.Is(keyword)) return true;
    }
  }

  void SkipExists() {
    if (!tokens_.Take("IF")) return;
    tokens_.Take("NOT");
    tokens_.Take("EXISTS");
  }
  // WAIT 5 or NOWAIT.
  void SkipWait() {
    if (tokens_.Take("WAIT")) {
      tokens_.Next();
    } else {
      tokens_.Take("NOWAIT");
    }
  }
  // NAME = value, of which the value is one token.
  void SkipValue() {
    tokens_.TakeSign('=');
    tokens_.Next();
  }
  // = `name`@`host`, CURRENT_USER or CURRENT_USER().
  void SkipDefiner() {
    SkipValue();
    if (tokens_.TakeSign('(')) tokens_.TakeSign(')');
    if (!tokens_.TakeSign('@')) return;
    tokens_.Next();
    while (tokens_.TakeSign('.')) tokens_.Next();
  }

  // name, database.name, or .name of the session's database.
  bool ReadName(Touched& touched) {
    touched.database = session_;
    const bool dot = tokens_.TakeSign('.');
    SqlToken token = tokens_.Next();
    if (!token.IsName()) return false;
    if (!dot && tokens_.Peek().IsSign('.')) {
      tokens_.Next();
      touched.database = token.Name();
      token = tokens_.Next();
      if (!token.IsName()) return false;
    }
    touched.name = token.Name();
    return touched.database.size() <= kMostName && touched.name.size() <= kMostName;
  }

  Statement One(std::string_view verb) {
    Touched touched;
    if (!ReadName(touched)) return Unknown(verb);
    return {StatementKind::kSchema, std::string(verb), {std::move(touched)}};
  }

  // Goes behind the words before the kind of an object, and gives it.
  SqlToken Object(bool& replaces, bool& temporary, bool& unique, bool& ignores) {
    for (;;) {
      const SqlToken token = tokens_.Next();
      if (token.Is("REPLACE")) replaces = true;
      if (token.Is("TEMPORARY")) temporary = true;
      if (token.Is("UNIQUE")) unique = true;
      if (token.Is("IGNORE")) ignores = true;
      if (token.Is("DEFINER")) {
        SkipDefiner();
      } else if (token.Is("ALGORITHM")) {
        SkipValue();
      } else if (token.Is("SQL")) {  // SQL SECURITY INVOKER
        tokens_.Next();
        tokens_.Next();
      } else if (!IsOneOf(token,
                          {"OR", "REPLACE", "TEMPORARY", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR",
                           "AGGREGATE", "ONLINE", "OFFLINE", "IGNORE", "PUBLIC", "UNDO"})) {
        return token;
      }
    }
  }
  SqlToken Object() {
    bool unused = false;
    return Object(unused, unused, unused, unused);
  }
  // Objects that no row of a table depends on.
  static bool IsOtherObject(const SqlToken& object) {
    return IsOneOf(object, {"VIEW", "PROCEDURE", "FUNCTION", "EVENT", "USER", "ROLE", "PACKAGE",
                            "SERVER", "LOGFILE", "TABLESPACE", "INSTANCE"});
  }

  Statement Create() {
    bool replaces = false, temporary = false, unique = false, ignores = false;
    const SqlToken object = Object(replaces, temporary, unique, ignores);
    if (IsOtherObject(object)) return Harmless("CREATE");
    if (IsOneOf(object, {"DATABASE", "SCHEMA"})) {
      return replaces ? Database("CREATE OR REPLACE DATABASE") : Harmless("CREATE DATABASE");
    }
    if (object.Is("INDEX")) {
      // The index that it replaces may be unique.
      if (!unique && !replaces) return Harmless("CREATE INDEX");
      return SkipPast("ON") ? One("CREATE INDEX") : Unknown("CREATE INDEX");
    }
    if (object.Is("TRIGGER")) return CreateTrigger();
    if (!IsOneOf(object, {"TABLE", "SEQUENCE"})) return Unknown("CREATE");
    // The table is there already, or an earlier statement took it away.
    const bool if_missing = !replaces && tokens_.Peek().Is("IF");
    if (temporary || if_missing) return Harmless("CREATE TABLE");
    return One("CREATE TABLE");
  }

  Statement CreateTrigger() {
    SkipExists();
    Touched trigger, table;
    if (!ReadName(trigger) || !SkipPast("ON") || !ReadName(table)) return Unknown("CREATE TRIGGER");
    table.what = What::kTriggersOf;
    table.trigger = std::move(trigger.name);
    return {StatementKind::kSchema, "CREATE TRIGGER", {std::move(table)}};
  }

  Statement Database(std::string_view verb) {
    SkipExists();
    Touched touched;
    if (!ReadName(touched)) return Unknown(verb);
    touched.what = What::kDatabase;
    touched.database = std::move(touched.name);
    touched.name.clear();
    return {StatementKind::kSchema, std::string(verb), {std::move(touched)}};
  }

  Statement Drop() {
    bool temporary = false, unused = false;
    const SqlToken object = Object(unused, temporary, unused, unused);
    if (IsOtherObject(object) || IsOneOf(object, {"SEQUENCE", "PREPARE"})) return Harmless("DROP");
    if (IsOneOf(object, {"DATABASE", "SCHEMA"})) return Database("DROP DATABASE");
    if (object.Is("INDEX")) return SkipPast("ON") ? One("DROP INDEX") : Unknown("DROP INDEX");
    if (object.Is("TRIGGER")) {
      SkipExists();
      Touched touched;
      if (!ReadName(touched)) return Unknown("DROP TRIGGER");
      touched.what = What::kDroppedTrigger;
      touched.trigger = std::move(touched.name);
      touched.name.clear();
      return {StatementKind::kSchema, "DROP TRIGGER", {std::move(touched)}};
    }
    if (!IsOneOf(object, {"TABLE", "TABLES"})) return Unknown("DROP");
    if (temporary) return Harmless("DROP TABLE");
    SkipExists();
    Statement statement = Harmless("DROP TABLE");
    do {
      if (!AddName(statement)) return Unknown("DROP TABLE");
    } while (tokens_.TakeSign(','));
    return statement;
  }

  Statement Rename() {
    if (tokens_.Take("USER")) return Harmless("RENAME USER");
    if (!tokens_.Take("TABLE") && !tokens_.Take("TABLES")) return Unknown("RENAME");
    SkipExists();
    Statement statement = Harmless("RENAME TABLE");
    do {
      if (!AddName(statement)) return Unknown("RENAME TABLE");
      SkipWait();
      if (!tokens_.Take("TO") || !AddName(statement)) return Unknown("RENAME TABLE");
    } while (tokens_.TakeSign(','));
    return statement;
  }

  bool AddName(Statement& statement) {
    Touched touched;
    if (!ReadName(touched)) return false;
    statement.touched.push_back(std::move(touched));
    return true;
  }

  Statement Alter() {
    bool unused = false, ignores = false;
    const SqlToken object = Object(unused, unused, unused, ignores);
    if (IsOtherObject(object) || IsOneOf(object, {"DATABASE", "SCHEMA", "SEQUENCE"})) {
      return Harmless("ALTER");
    }
    if (!object.Is("TABLE")) return Unknown("ALTER");
    SkipExists();
    Statement statement = Harmless("ALTER TABLE");
    if (!AddName(statement)) return Unknown("ALTER TABLE");
    SkipWait();
    const SqlTokens changes = tokens_;
    if (!ignores && KeepsShapeAndRows()) return Harmless("ALTER TABLE");
    tokens_ = changes;
    // EXCHANGE PARTITION p WITH TABLE x, CONVERT TABLE x TO PARTITION p, RENAME TO x.
    for (int depth = 0;;) {
      const SqlToken token = tokens_.Next();
      if (token.kind == SqlToken::Kind::kEnd) return statement;
      if (token.IsSign('(')) ++depth;
      if (token.IsSign(')')) --depth;
      if (depth != 0) continue;
      if (token.Is("RENAME") && !IsOneOf(tokens_.Peek(), {"INDEX", "KEY", "COLUMN"})) {
        if (!tokens_.Take("TO") && !tokens_.Take("AS")) tokens_.TakeSign('=');
        if (!AddName(statement)) return Unknown("ALTER TABLE");
      } else if (token.Is("TABLE") && !AddName(statement)) {
        return Unknown("ALTER TABLE");
      }
    }
  }

  // Whether an ALTER TABLE only changes indexes that are not unique, the comment or statistics, or
  // rebuilds the table.
  bool KeepsShapeAndRows() {
    for (;;) {
      const SqlToken token = tokens_.Next();
      if (token.kind == SqlToken::Kind::kEnd) return true;
      if (token.IsSign(',') || token.IsSign(';') || token.Is("FORCE")) continue;
      if (IsOneOf(token, {"COMMENT", "ALGORITHM", "LOCK", "STATS_PERSISTENT", "STATS_AUTO_RECALC",
                          "STATS_SAMPLE_PAGES"})) {
        SkipValue();
      } else if (token.Is("ENGINE")) {
        tokens_.TakeSign('=');
        if (!tokens_.Take("INNODB")) return false;
      } else if (IsOneOf(token, {"ENABLE", "DISABLE"})) {
        if (!tokens_.Take("KEYS")) return false;
      } else if (token.Is("ADD")) {
        const SqlToken kind = tokens_.Next();
        if (!IsOneOf(kind, {"INDEX", "KEY", "FULLTEXT", "SPATIAL", "VECTOR"})) return false;
        // A column may have this name.
        if (kind.Is("VECTOR") && !IsOneOf(tokens_.Peek(), {"INDEX", "KEY"})) return false;
        if (!SkipIndex()) return false;
      } else {
        return false;
      }
    }
  }
  // To the comma behind an index, or to the end; false: something else follows.
  bool SkipIndex() {
    for (int depth = 0;;) {
      const SqlToken token = tokens_.Peek();
      if (token.kind == SqlToken::Kind::kEnd || (depth == 0 && token.IsSign(','))) return true;
      if (token.IsSign('(')) ++depth;
      if (token.IsSign(')')) --depth;
      if (depth == 0 && IsOneOf(token, {"PARTITION", "REMOVE"})) return false;
      tokens_.Next();
    }
  }

  Statement Rows(const SqlToken& first) {
    for (std::string_view verb : {"INSERT", "REPLACE"}) {
      if (!first.Is(verb)) continue;
      while (
          IsOneOf(tokens_.Peek(), {"LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO"})) {
        tokens_.Next();
      }
      Statement statement = One(verb);
      if (statement.kind == StatementKind::kSchema) statement.kind = StatementKind::kRows;
      return statement;
    }
    // Each name before these may be one of the tables, or a column.
    if (first.Is("UPDATE")) return AllNames("UPDATE", "SET");
    if (first.Is("DELETE")) return AllNames("DELETE", "WHERE");
    if (first.Is("LOAD")) {
      if (!SkipPast("INTO") || !tokens_.Take("TABLE")) return Unknown("LOAD");
      Statement statement = One("LOAD DATA");
      if (statement.kind == StatementKind::kSchema) statement.kind = StatementKind::kRows;
      return statement;
    }
    // The text does not show what a function changes.
    for (std::string_view verb : {"SELECT", "DO", "CALL", "WITH", "VALUES", "HANDLER"}) {
      if (first.Is(verb)) return Unknown(verb);
    }
    return Unknown("");
  }

  Statement AllNames(std::string_view verb, std::string_view before) {
    Statement statement{StatementKind::kRows, std::string(verb), {}};
    for (int depth = 0;;) {
      const SqlToken token = tokens_.Peek();
      if (token.kind == SqlToken::Kind::kEnd || (depth == 0 && token.Is(before))) return statement;
      if (token.IsName()) {
        Touched touched;
        // "orders.*" of a DELETE; the table is named again behind it.
        if (ReadName(touched)) statement.touched.push_back(std::move(touched));
        continue;
      }
      if (token.IsSign('(')) ++depth;
      if (token.IsSign(')')) --depth;
      tokens_.Next();
    }
  }

  SqlTokens tokens_;
  const std::string session_;
  bool has_own_variables_ = false;
};

void AppendText(std::string& out, std::string_view text) {
  const auto size = static_cast<uint16_t>(text.size());
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out.append(text);
}

std::string TextIn(ByteReader& reader) {
  return std::string(reader.Bytes(static_cast<size_t>(reader.Little(sizeof(uint16_t)))));
}

}  // namespace

Statement ParseStatement(std::string_view text, std::string_view session, const TextRules& rules) {
  session = session.substr(0, kMostName);
  Parser parser(text, session, rules);
  Statement statement = parser.Parse();
  if (!parser.has_own_variables() ||
      !absl::StrContains(absl::AsciiStrToLower(ToAbsl(text)), "sql_mode")) {
    return statement;
  }
  // The server read the text in the session's mode, but the log has the one that the text sets.
  for (const bool ansi : {false, true}) {
    for (const bool plain : {false, true}) {
      TextRules other = rules;
      other.ansi_quotes = ansi;
      other.no_backslash_escapes = plain;
      if (Parser(text, session, other).Parse() != statement) {
        return {StatementKind::kUnknown, std::string(kOwnModes), {}};
      }
    }
  }
  return statement;
}

std::string Packed(const Statement& statement) {
  std::string out(1, static_cast<char>(statement.kind));
  AppendText(out, statement.verb);
  for (const Touched& touched : statement.touched) {
    out += static_cast<char>(touched.what);
    AppendText(out, touched.database);
    AppendText(out, touched.name);
    AppendText(out, touched.trigger);
  }
  return out;
}

std::optional<Statement> Unpacked(std::string_view bytes) {
  ByteReader reader(bytes);
  Statement statement;
  statement.kind = static_cast<StatementKind>(reader.Byte());
  statement.verb = TextIn(reader);
  while (reader.ok() && !reader.empty()) {
    Touched touched;
    touched.what = static_cast<Touched::What>(reader.Byte());
    touched.database = TextIn(reader);
    touched.name = TextIn(reader);
    touched.trigger = TextIn(reader);
    statement.touched.push_back(std::move(touched));
  }
  if (!reader.ok()) return std::nullopt;
  return statement;
}

}  // namespace locus::stream
