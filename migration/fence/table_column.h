// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_TABLE_COLUMN_H_
#define LOCUS_MIGRATION_FENCE_TABLE_COLUMN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/fence/key_form.h"
#include "migration/stream/change.h"

// The facts about a column that moves need, from information_schema. The copy, the comparison, the
// version triggers and the preflight judge by this.

namespace locus::internal {

struct SchemaColumn {
  std::string name;
  std::string data_type;    // DATA_TYPE: "varchar"
  std::string column_type;  // COLUMN_TYPE: "varchar(20)"
  std::string collation;    // COLLATION_NAME; empty: no text, or bytes
  std::string charset;      // CHARACTER_SET_NAME; likewise
  uint64_t octets = 0;      // CHARACTER_OCTET_LENGTH; 0: no text and no bytes
  bool nullable = false;
  bool generated = false;
  uint8_t scale = 0;       // DATETIME_PRECISION
  bool on_update = false;  // ON UPDATE CURRENT_TIMESTAMP
};

// Of a SELECT from information_schema.COLUMNS; the values in the order of the struct's fields.
extern const char kSchemaColumns[];
inline constexpr unsigned kSchemaColumnFields = 10;
SchemaColumn SchemaColumnIn(const std::vector<std::optional<std::string>>& row);

// The kind of a column by its DATA_TYPE; FAILED_PRECONDITION: none known.
absl::StatusOr<stream::ColumnKind> KindOf(std::string_view data_type);

// As rows that are copied have it. FAILED_PRECONDITION: moves do not know the type, or the log does
// not say how long its values are.
absl::StatusOr<stream::Column> ColumnOf(const SchemaColumn& column);

// How version triggers write values of a primary key's column of this kind, or of this DATA_TYPE.
KeyForm KeyFormOf(stream::ColumnKind kind);
KeyForm KeyFormOf(std::string_view data_type);
// The text that version triggers then write into locus_tombstone. It depends on no setting of a
// session.
std::string KeyText(const stream::Value& value, const stream::Column& column);
// As statements of sessions in the zone +00:00 write it.
std::string SqlInstant(stream::Timestamp stamp);
// The instant of a KeyText of kInstant. nullopt: the text is none.
std::optional<stream::Timestamp> InstantIn(std::string_view key_text);
// Kinds that have such a text.
bool IsKeyKind(stream::ColumnKind kind);

// The longest key of a tombstone, in bytes.
inline constexpr uint64_t kMostKeyBytes = 1024;
// FAILED_PRECONDITION: the column is of no such kind, is shown with zeros before it, is a SET of 64
// members, changes by itself, or the key is too long for a tombstone. Columns that are missing are
// left out: others refuse them.
absl::Status CheckKey(std::string_view table, const std::vector<std::string>& key,
                      const std::vector<SchemaColumn>& columns);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_FENCE_TABLE_COLUMN_H_
