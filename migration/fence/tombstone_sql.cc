// SPDX-License-Identifier: Apache-2.0
#include "migration/fence/tombstone_sql.h"

#include <zlib.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/key_form.h"
#include "migration/fence/numbers_sql.h"
#include "src/base/text/text.h"

namespace locus {

namespace internal {

static_assert((kTombstoneBuckets & (kTombstoneBuckets - 1)) == 0, "a bucket is a bit mask");

const char kCountPosts[] = "SELECT COUNT(*) FROM locus_tombstone WHERE tbl = '' AND pk = ''";
const char kFindOldTombstones[] =
    "SELECT 1 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME ="
    " 'locus_tombstone' HAVING SUM(COLUMN_NAME = 'bucket') = 0";
const char kOldTombstones[] =
    "locus_tombstone was made by an earlier version of locus, and a move of that version still"
    " uses it: end the move with that version (finalize or abort, then cleanup), then go on with"
    " this one";

uint32_t TombstoneBucket(std::string_view pk) {
  const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(pk.data()), pk.size());
  return static_cast<uint32_t>(crc) & (kTombstoneBuckets - 1);
}

std::string BucketExpression(std::string_view pk) {
  return absl::StrCat("CRC32(", ToAbsl(pk), ") & ", kTombstoneBuckets - 1);
}

std::string KeyTextExpression(KeyForm form, std::string_view value) {
  switch (form) {
    case KeyForm::kText:
      break;
    case KeyForm::kNumber:
      return absl::StrCat("CAST(", ToAbsl(value), " | 0 AS BINARY)");
    case KeyForm::kInstant: {
      // Of '0000-00-00' it is NULL in a trigger, and 0 or 0.000 elsewhere. Not _binary '0', which
      // the body of a trigger has without its character set when it is read again.
      const std::string seconds = absl::StrCat("UNIX_TIMESTAMP(", ToAbsl(value), ")");
      return absl::StrCat("IF(", seconds, " > 0, CAST(", seconds, " AS BINARY), X'30')");
    }
  }
  return absl::StrCat("CAST(", ToAbsl(value), " AS BINARY)");
}

KeyForm KeyFormOf(const KeyedTable& table, size_t column) {
  return column < table.key_forms.size() ? table.key_forms[column] : KeyForm::kText;
}

std::string TombstoneKeyExpression(const KeyedTable& table, std::string_view row) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < table.primary_key.size(); ++i) {
    const std::string text = KeyTextExpression(
        KeyFormOf(table, i), absl::StrCat(ToAbsl(row), SqlName(table.primary_key[i])));
    parts.push_back(absl::StrCat("OCTET_LENGTH(", text, "), ':', ", text));
  }
  return absl::StrCat("CONCAT(", absl::StrJoin(parts, ", "), ")");
}

std::string TombstoneIs(const TombstoneId& id) {
  return absl::StrCat("(bucket = ", id.bucket, " AND tbl = ", SqlText(id.table), " AND pk = X'",
                      HexOf(id.pk), "')");
}

std::string SelectTombstonesBehind(const std::optional<TombstoneId>& behind, size_t most) {
  std::string where;
  if (behind) {
    const std::string table = SqlText(behind->table);
    where = absl::StrCat(" WHERE bucket > ", behind->bucket, " OR (bucket = ", behind->bucket,
                         " AND (tbl > ", table, " OR (tbl = ", table, " AND pk > X'",
                         HexOf(behind->pk), "')))");
  }
  return absl::StrCat(
      "SELECT bucket, tbl, pk, version, gene, cohort FROM locus_tombstone FORCE INDEX (PRIMARY)",
      where, " ORDER BY bucket, tbl, pk LIMIT ", most);
}

std::string DeleteTombstones(std::span<const TombstoneId> ids) {
  return absl::StrCat(
      "DELETE FROM locus_tombstone WHERE ",
      absl::StrJoin(ids.begin(), ids.end(), " OR ",
                    [](std::string* out, const TombstoneId& id) { *out += TombstoneIs(id); }));
}

std::string RaisePosts(std::span<const uint32_t> buckets, uint64_t version) {
  return absl::StrCat(
      "UPDATE locus_tombstone FORCE INDEX (PRIMARY) SET version ="
      " GREATEST(version, ",
      version, ") WHERE bucket IN (", absl::StrJoin(buckets.begin(), buckets.end(), ", "),
      ") AND tbl = '' AND pk = ''");
}

}  // namespace internal

std::vector<std::string> CreateTombstones() {
  // The longest key of an InnoDB index has 3,072 bytes; a table's primary key is usually far below.
  return {
      "CREATE TABLE IF NOT EXISTS locus_tombstone (\n"
      "  bucket INT UNSIGNED NOT NULL,\n"
      "  tbl VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
      "  pk VARBINARY(1024) NOT NULL,\n"
      "  version BIGINT UNSIGNED NOT NULL,\n"
      "  gene SMALLINT UNSIGNED NOT NULL,\n"
      "  cohort SMALLINT UNSIGNED NOT NULL,\n"
      "  PRIMARY KEY (bucket, tbl, pk)\n"
      ") ENGINE = InnoDB",
      // In a table that has tombstones a missing post gets the highest version of all: then each
      // INSERT of its bucket looks for the tombstone itself.
      "INSERT IGNORE INTO locus_tombstone (bucket, tbl, pk, version, gene, cohort)\n"
      "  " LOCUS_WITH_NUMBERS
      "\n"
      "  SELECT i, '', '', IF(EXISTS (SELECT 1 FROM locus_tombstone LOCK IN SHARE MODE),"
      " 18446744073709551615, 0), 0, 0 FROM numbers"};
}

}  // namespace locus
