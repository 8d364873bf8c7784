// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "locus/migration/moved_table.h"
#include "migration/fence/guard_sql.h"
#include "src/base/text.h"

namespace locus {

namespace internal {

std::string TombstoneKeyExpression(const MovedTable& table, std::string_view row) {
  std::vector<std::string> parts;
  for (const std::string& column : table.primary_key) {
    const std::string text = absl::StrCat("CAST(", ToAbsl(row), SqlName(column), " AS BINARY)");
    parts.push_back(absl::StrCat("OCTET_LENGTH(", text, "), ':', ", text));
  }
  return absl::StrCat("CONCAT(", absl::StrJoin(parts, ", "), ")");
}

}  // namespace internal

using internal::HexOf;
using internal::Quoted;
using internal::SqlName;
using internal::SqlText;
using internal::ToAbsl;
using internal::TombstoneKeyExpression;

namespace {

// 17 bytes at the most stand before and behind the table's name in a trigger's.
constexpr size_t kMostTableBytes = 64 - 29;

std::string TombstoneOf(const MovedTable& table, std::string_view row) {
  return absl::StrCat("tbl = ", SqlText(table.guard.name),
                      " AND pk = ", TombstoneKeyExpression(table, row));
}

// `statements` for everybody but the movers. Each variable costs the movers, too, some time a row.
std::string BodyOf(const std::vector<std::string>& movers, const std::string& variables,
                   const std::string& statements) {
  const std::string names = absl::StrJoin(movers, ", ", [](std::string* out, const auto& mover) {
    absl::StrAppend(out, "X'", HexOf(mover), "'");
  });
  return absl::StrCat(
      "BEGIN\n",
      variables.empty() ? "" : absl::StrCat("  DECLARE ", variables, " BIGINT UNSIGNED;\n"),
      "  IF BINARY USER() NOT IN (", names, ") THEN\n", statements, "  END IF;\nEND");
}

// Locking reads: they see what is committed, and what they saw stays until the transaction ends.
std::string ReadTombstone(const MovedTable& table) {
  return absl::StrCat("    SET locus_tombstone = (SELECT version FROM locus_tombstone WHERE ",
                      TombstoneOf(table, "NEW."), " LOCK IN SHARE MODE);\n");
}

std::string BeforeInsert(const MovedTable& table) {
  const std::string version = absl::StrCat("NEW.", SqlName(table.version));
  const std::string same =
      absl::StrJoin(table.primary_key, " AND ", [](std::string* out, const std::string& column) {
        absl::StrAppend(out, SqlName(column), " = NEW.", SqlName(column));
      });
  return absl::StrCat("    SET locus_there = (SELECT ", SqlName(table.version), " FROM ",
                      SqlName(table.guard.name), " WHERE ", same, " LOCK IN SHARE MODE);\n",
                      ReadTombstone(table), "    SET ", version, " = GREATEST(COALESCE(", version,
                      ", 1), COALESCE(locus_there + 2, 1), COALESCE(locus_tombstone + 1, 1));\n");
}

// A row that INSERT ... ON DUPLICATE KEY or an explicit version brought below its tombstone.
std::string AfterInsert(const MovedTable& table) {
  return absl::StrCat(ReadTombstone(table), "    IF NEW.", SqlName(table.version),
                      " <= locus_tombstone THEN\n"
                      "      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT ="
                      " 'LOCUS_REFUSED the version is not above that of the deleted row';\n"
                      "    END IF;\n");
}

std::string BeforeUpdate(const MovedTable& table) {
  // Compared as bytes: a collation calls 'abc' and 'ABC ' the same.
  const std::string same =
      absl::StrJoin(table.primary_key, " AND ", [](std::string* out, const std::string& column) {
        absl::StrAppend(out, "CAST(NEW.", SqlName(column), " AS BINARY) <=> CAST(OLD.",
                        SqlName(column), " AS BINARY)");
      });
  const std::string version = SqlName(table.version);
  return absl::StrCat("    IF NOT (", same,
                      ") THEN\n"
                      "      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT ="
                      " 'LOCUS_REFUSED the primary key of a row cannot change';\n"
                      "    END IF;\n"
                      "    SET NEW.",
                      version, " = GREATEST(NEW.", version, ", OLD.", version, " + 1);\n");
}

std::string AfterDelete(const MovedTable& table) {
  const std::string gone = absl::StrCat("OLD.", SqlName(table.version), " + 1");
  return absl::StrCat("    INSERT INTO locus_tombstone (tbl, pk, version, gene, cohort) VALUES (",
                      SqlText(table.guard.name), ", ", TombstoneKeyExpression(table, "OLD."), ", ",
                      gone, ", ", internal::GeneExpression(table.guard, "OLD."), ", ",
                      internal::CohortExpression(table.guard, "OLD."),
                      ")\n      ON DUPLICATE KEY UPDATE version = GREATEST(version, ", gone,
                      ");\n");
}

absl::Status Refuse(const char* what, const std::string& value, const std::string& limit) {
  return absl::InvalidArgumentError(
      absl::StrCat("moved table option ", what, " is ", Quoted(value), "; it must have ", limit));
}

}  // namespace

absl::Status MovedTable::Check() const {
  auto is_name = [](const std::string& name, size_t most) {
    return !name.empty() && name.size() <= most && name.find('\0') == std::string::npos;
  };
  if (!is_name(guard.name, kMostTableBytes)) {
    return Refuse("name", guard.name, absl::StrCat("1 to ", kMostTableBytes, " bytes"));
  }
  if (!is_name(version, 64)) return Refuse("version", version, "1 to 64 bytes");
  if (primary_key.empty() || primary_key.size() > 32) {
    return Refuse("primary_key", absl::StrJoin(primary_key, ","), "1 to 32 columns");
  }
  for (const std::string& column : primary_key) {
    if (!is_name(column, 64)) return Refuse("primary_key", column, "columns of 1 to 64 bytes");
    if (column == version) return Refuse("primary_key", column, "columns other than the version");
  }
  return absl::OkStatus();
}

std::vector<VersionTrigger> VersionTriggersOf(const MovedTable& table,
                                              const std::vector<std::string>& movers) {
  auto trigger = [&](const char* timing, const char* event, const char* end, const char* variables,
                     const std::string& statements) {
    return VersionTrigger{absl::StrCat("locus_version_", table.guard.name, end), table.guard.name,
                          timing, event, BodyOf(movers, variables, statements)};
  };
  return {trigger("BEFORE", "INSERT", "_before_insert", "locus_there, locus_tombstone",
                  BeforeInsert(table)),
          trigger("AFTER", "INSERT", "_after_insert", "locus_tombstone", AfterInsert(table)),
          trigger("BEFORE", "UPDATE", "_before_update", "", BeforeUpdate(table)),
          trigger("AFTER", "DELETE", "_after_delete", "", AfterDelete(table))};
}

std::string CreateTombstones() {
  // The longest key of an InnoDB index has 3,072 bytes; a table's primary key is usually far below.
  return "CREATE TABLE IF NOT EXISTS locus_tombstone (\n"
         "  tbl VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
         "  pk VARBINARY(1024) NOT NULL,\n"
         "  version BIGINT UNSIGNED NOT NULL,\n"
         "  gene SMALLINT UNSIGNED NOT NULL,\n"
         "  cohort SMALLINT UNSIGNED NOT NULL,\n"
         "  PRIMARY KEY (tbl, pk)\n"
         ") ENGINE = InnoDB";
}

}  // namespace locus
