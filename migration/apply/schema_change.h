// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_APPLY_SCHEMA_CHANGE_H_
#define LOCUS_MIGRATION_APPLY_SCHEMA_CHANGE_H_

#include <string>
#include <string_view>
#include <vector>

// What a statement of the log that changes the schema means for the tables of a move.

namespace locus::internal {

struct SchemaChange {
  enum class Effect {
    kNone,
    kTriggers,     // of `table`, and not those of locus: writes behind it may pass the guards
    kTable,        // `table` itself
    kDropsTables,  // all of them
  };
  Effect effect = Effect::kNone;
  std::string table;

  friend bool operator==(const SchemaChange&, const SchemaChange&) = default;
};

// `session`: the database that the statement ran in; of DROP DATABASE, the one that it drops.
// `database`: that of the tables; empty: any. A name in a statement may be meant otherwise, so this
// finds an effect once too often rather than once too seldom: a stop costs an operator's look.
SchemaChange EffectOf(std::string_view statement, std::string_view session,
                      std::string_view database, const std::vector<std::string>& tables);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_APPLY_SCHEMA_CHANGE_H_
