// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_STATEMENT_H_
#define LOCUS_MIGRATION_STREAM_STATEMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migration/stream/sql_tokens.h"

// The objects that a statement in the log changes. Its text may hold passwords and customers' data,
// so only names of objects outlive the parsing.

namespace locus::stream {

enum class StatementKind : uint8_t {
  kBegin,
  kCommit,
  kRollback,
  kSavepoint,   // changes nothing: SAVEPOINT, RELEASE SAVEPOINT
  kRollbackTo,  // takes back a part of the transaction
  kXa,
  kSchema,   // changes tables or other objects; Statement::touched has the tables
  kRows,     // changes rows of Statement::touched, as text
  kUnknown,  // may change anything
};

// An object whose shape or rows a statement changes.
struct Touched {
  enum class What : uint8_t {
    kTable,
    kTriggersOf,      // a table that gets a trigger; `trigger` is its name
    kDroppedTrigger,  // of a table that the statement does not name
    kDatabase,        // with all of its tables
  };
  What what = What::kTable;
  std::string database;  // that of the session where the statement names none
  std::string name;      // of the table; of kDroppedTrigger and kDatabase empty
  std::string trigger;

  friend bool operator==(const Touched&, const Touched&) = default;
};

// The verb of a statement behind SET STATEMENT sql_mode that reads otherwise in another mode.
inline constexpr std::string_view kOwnModes = "SET STATEMENT";

struct Statement {
  StatementKind kind = StatementKind::kUnknown;
  // "ALTER TABLE", "INSERT", ...: never a word that only the statement's text has; empty: not
  // known.
  std::string verb;
  // Empty: neither the shape nor the rows of any table. Statements that only create what was not
  // there, rights, statistics, rebuilt tables, and indexes that are not unique touch nothing.
  std::vector<Touched> touched;

  friend bool operator==(const Statement&, const Statement&) = default;
};

// `session`: the database that the statement ran in. In doubt it returns kUnknown, or a table too
// many; never one too few.
Statement ParseStatement(std::string_view text, std::string_view session,
                         const TextRules& rules = {});

// A statement as bytes, and back; nullopt: these are none.
std::string Packed(const Statement& statement);
std::optional<Statement> Unpacked(std::string_view bytes);

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_STATEMENT_H_
