// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_APPLY_SCHEMA_CHANGE_H_
#define LOCUS_MIGRATION_APPLY_SCHEMA_CHANGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "migration/stream/statement.h"

// The effect of a statement of the log on the tables of a move.

namespace locus::internal {

struct StatementEffect {
  enum class Kind {
    kNone,
    kTriggers,     // of `table`, and not those of locus: writes behind it may pass the guards
    kTable,        // the shape of `table`, or all of its rows
    kDropsTables,  // all of them
    kRows,         // rows of `table`, which only the statement's text has
    kUnknown,      // any of these
  };
  Kind kind = Kind::kNone;
  std::string table;

  friend bool operator==(const StatementEffect&, const StatementEffect&) = default;
};

// `database`: that of the tables; empty: any. `tables`: those that move; `own`: those of locus,
// whose rows the stream also needs. Letters are compared without case, and a name beyond ASCII may
// be any other one: it reports an effect too many rather than one too few.
StatementEffect EffectOf(const stream::Statement& statement, std::string_view database,
                         const std::vector<std::string>& tables,
                         const std::vector<std::string>& own);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_APPLY_SCHEMA_CHANGE_H_
