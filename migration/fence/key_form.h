// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_KEY_FORM_H_
#define LOCUS_MIGRATION_FENCE_KEY_FORM_H_

#include <string>
#include <string_view>
#include <vector>

#include "locus/migration/moved_table.h"

// How the version triggers write the values of a primary key into locus_tombstone: as a text that
// depends on no session.

namespace locus::internal {

enum class KeyForm {
  kText,     // as the server prints it
  kNumber,   // ENUM, SET, BIT: the number that the log has
  kInstant,  // TIMESTAMP: seconds since 1970 in UTC, with its fraction; "0": '0000-00-00'
};

// A table with the forms of the columns of its primary key, as a shard has them; kText where they
// end.
struct KeyedTable : MovedTable {
  std::vector<KeyForm> key_forms;
};
KeyForm KeyFormOf(const KeyedTable& table, size_t column);

// The text of a value; KeyText has the same.
std::string KeyTextExpression(KeyForm form, std::string_view value);
// The pk of a row's tombstone: of each column its length and its text, so that no two keys are one.
std::string TombstoneKeyExpression(const KeyedTable& table, std::string_view row);

// As the public one, which takes all columns for kText.
std::vector<VersionTrigger> VersionTriggersOf(const KeyedTable& table,
                                              const std::vector<std::string>& movers);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_FENCE_KEY_FORM_H_
