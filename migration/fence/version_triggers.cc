// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "locus/migration/moved_table.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/key_form.h"
#include "migration/fence/tombstone_sql.h"
#include "src/base/text/text.h"

namespace locus {

using internal::BucketExpression;
using internal::HexOf;
using internal::KeyedTable;
using internal::KeyForm;
using internal::Quoted;
using internal::SqlName;
using internal::SqlText;
using internal::ToAbsl;
using internal::TombstoneKeyExpression;

namespace {

// A trigger's name has at most 17 bytes besides the table's name.
constexpr size_t kMostTableBytes = 64 - 29;

std::string PostOf(const std::string& bucket) {
  return absl::StrCat("bucket = ", bucket, " AND tbl = '' AND pk = ''");
}
std::string TombstoneOf(const KeyedTable& table, const std::string& bucket, std::string_view row) {
  return absl::StrCat("bucket = ", bucket, " AND tbl = ", SqlText(table.guard.name),
                      " AND pk = ", TombstoneKeyExpression(table, row));
}
std::string BucketOf(const KeyedTable& table, std::string_view row) {
  return absl::StrCat("(", BucketExpression(TombstoneKeyExpression(table, row)), ")");
}

// Versions of clients end where those of a signed number would, long before a row could neither
// change nor be deleted any more (1690).
std::string RefuseIf(const std::string& too_high) {
  return absl::StrCat("    IF ", too_high,
                      " THEN\n      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT ="
                      " 'LOCUS_REFUSED a version of 2^63 or more: give the row a smaller one"
                      " before a move';\n    END IF;\n");
}

// Above the versions of the rows that a statement, a REPLACE, has deleted, or kLater. Of one
// table: a trigger of the service may insert into another moved table meanwhile, but never into the
// same one (1442).
std::string GoneOf(const KeyedTable& table) {
  return absl::StrCat("@", SqlName(absl::StrCat("locus_gone_", table.guard.name)));
}

// The value of the variable if the key is only known after the INSERT: the highest signed number,
// since the server takes a variable in a GREATEST for a signed one. If a row was deleted at this
// very version, the lookup is merely repeated.
constexpr char kLater[] = "9223372036854775807";

// Runs `statements` for all accounts but the movers. Each variable costs time per row, for the
// movers as well.
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

// A condition of each column of the primary key, by its form and its name.
std::string EachOfKey(const KeyedTable& table,
                      std::string (*condition)(KeyForm form, const std::string& name)) {
  std::vector<std::string> all;
  for (size_t i = 0; i < table.primary_key.size(); ++i) {
    all.push_back(condition(internal::KeyFormOf(table, i), SqlName(table.primary_key[i])));
  }
  return absl::StrJoin(all, " AND ");
}

// The text of the key that NEW has so far. NULL: a column got no value, or NULL. The server then
// chooses its value after this trigger (an implicit default, the time for a TIMESTAMP), or refuses
// the row.
std::string BucketOfGiven(const KeyedTable& table) {
  std::string missing;
  for (size_t i = 0; i < table.primary_key.size(); ++i) {
    // The text of the others is NULL then.
    if (internal::KeyFormOf(table, i) != KeyForm::kInstant) continue;
    absl::StrAppend(&missing, missing.empty() ? "" : " OR ", "NEW.", SqlName(table.primary_key[i]),
                    " IS NULL");
  }
  const std::string bucket = BucketOf(table, "NEW.");
  return missing.empty() ? bucket : absl::StrCat("IF(", missing, ", NULL, ", bucket, ")");
}

// A lock on the post: deletions of its bucket are seen, or wait.
std::string LockPost(const std::string& bucket) {
  return absl::StrCat("SET locus_tombstone = (SELECT version FROM locus_tombstone WHERE ",
                      PostOf(bucket), " LOCK IN SHARE MODE);\n");
}
constexpr char kRefuseLackOfPosts[] =
    "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT ="
    " 'LOCUS_REFUSED locus_tombstone lacks its posts: locus move repair makes them';\n";

// Locking reads see what is committed, and what they saw stays until the transaction ends. In a
// trigger SET v = (SELECT ...) and IF EXISTS (SELECT ...) always lock; only SELECT ... INTO can
// read without a lock. A locking read of a row that may be missing would lock the gap where it
// belongs under REPEATABLE READ, and INSERTs beside one another would end in deadlocks: 87 % of
// transactions with three INSERTs did, with 8 writers on 4 vnodes. A read without a lock is no way
// out: it misses deletions, also under READ COMMITTED and in autocommit.
std::string AboveTombstone(const KeyedTable& table) {
  const std::string version = absl::StrCat("NEW.", SqlName(table.version));
  return absl::StrCat(
      "    SET locus_bucket = ", BucketOfGiven(table), ";\n    ", LockPost("locus_bucket"),
      "    IF locus_tombstone IS NULL AND locus_bucket IS NOT NULL THEN\n      ",
      kRefuseLackOfPosts,
      "    END IF;\n"
      // Something in this bucket was deleted at such a version: look for the row itself.
      "    IF locus_tombstone >= ",
      version,
      " THEN\n"
      "      SET locus_tombstone = (SELECT version FROM locus_tombstone WHERE ",
      TombstoneOf(table, "locus_bucket", "NEW."), " LOCK IN SHARE MODE);\n      SET ", version,
      " = GREATEST(", version,
      ", COALESCE(locus_tombstone + 1, 1));\n"
      "    END IF;\n");
}

std::string BeforeInsert(const KeyedTable& table) {
  const std::string version = absl::StrCat("NEW.", SqlName(table.version));
  const std::string at_least_1 =
      absl::StrCat("    SET ", version, " = GREATEST(COALESCE(", version, ", 1), 1);\n",
                   RefuseIf(absl::StrCat(version, " >> 63")));
  const std::string above = absl::StrCat(AboveTombstone(table), "    SET ", GoneOf(table),
                                         " = IF(locus_bucket IS NULL, ", kLater, ", NULL);\n");
  if (!table.replaces) return absl::StrCat(at_least_1, above);
  const std::string same = EachOfKey(table, [](KeyForm form, const std::string& name) {
    const bool number = form == KeyForm::kNumber;
    return absl::StrCat(name, " = ", number ? "(" : "", "NEW.", name, number ? " | 0)" : "");
  });
  const std::string row = absl::StrCat(" FROM ", SqlName(table.guard.name), " WHERE ", same);
  // MAX: no row would be a warning. Without a lock first: the row is usually missing.
  return absl::StrCat(at_least_1, "    SELECT MAX(", SqlName(table.version), ") INTO locus_there",
                      row,
                      ";\n"
                      "    IF locus_there IS NOT NULL THEN\n"
                      "      SET locus_there = (SELECT ",
                      SqlName(table.version), row,
                      " LOCK IN SHARE MODE);\n"
                      "    END IF;\n"
                      "    IF locus_there IS NOT NULL THEN\n      SET ",
                      version, " = GREATEST(", version,
                      ", locus_there + 2);\n"
                      "    END IF;\n",
                      above);
}

std::string AfterInsert(const KeyedTable& table) {
  const std::string version = absl::StrCat("NEW.", SqlName(table.version));
  const std::string bucket = BucketOf(table, "NEW.");
  const std::string tombstone = TombstoneOf(table, bucket, "NEW.");
  return absl::StrCat(
      "    IF ", GoneOf(table), " = ", kLater, " THEN\n      ", LockPost(bucket),
      "      IF locus_tombstone IS NULL THEN\n        ", kRefuseLackOfPosts,
      "      END IF;\n"
      "      IF ",
      version,
      " <= locus_tombstone THEN\n"
      "        SET locus_tombstone = (SELECT version FROM locus_tombstone WHERE ",
      tombstone, " LOCK IN SHARE MODE);\n        IF ", version,
      " <= locus_tombstone THEN\n"
      "          SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT ="
      " 'LOCUS_REFUSED a row of this key was deleted: give each column of the primary key a value"
      " in the statement';\n"
      "        END IF;\n"
      "      END IF;\n"
      "    ELSEIF ",
      version, " <= ", GoneOf(table),
      " THEN\n"
      "      SELECT MAX(version) INTO locus_tombstone FROM locus_tombstone WHERE ",
      tombstone, ";\n      IF ", version, " <= locus_tombstone THEN\n        SIGNAL SQLSTATE ",
      table.replaces
          ? "'HY000' SET MYSQL_ERRNO = 1020, MESSAGE_TEXT ="
            " 'LOCUS_RETRY the replaced row changed meanwhile: repeat the transaction';\n"
          : "'45000' SET MESSAGE_TEXT ="
            " 'LOCUS_REFUSED REPLACE of a row that exists: INSERT ... ON DUPLICATE KEY UPDATE,"
            " or `replaces` in the move file';\n",
      "      END IF;\n    END IF;\n");
}

std::string BeforeUpdate(const KeyedTable& table) {
  // Compared as bytes: a collation calls 'abc' and 'ABC ' the same, and two instants of an hour
  // that comes twice are one text in the session's zone.
  const std::string same = EachOfKey(table, [](KeyForm form, const std::string& name) {
    return absl::StrCat(
        internal::KeyTextExpression(form, "NEW." + name), " <=> ",
        internal::KeyTextExpression(form, "OLD." + name),
        // It becomes the time; its text is that of '0000-00-00'.
        form == KeyForm::kInstant ? absl::StrCat(" AND NEW.", name, " IS NOT NULL") : "");
  });
  const std::string version = SqlName(table.version);
  return absl::StrCat(RefuseIf(absl::StrCat("(NEW.", version, " | OLD.", version, ") >> 63")),
                      "    IF NOT (", same,
                      ") THEN\n"
                      "      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT ="
                      " 'LOCUS_REFUSED the primary key of a row cannot change';\n"
                      "    END IF;\n"
                      "    SET NEW.",
                      version, " = GREATEST(NEW.", version, ", OLD.", version, " + 1);\n");
}

std::string AfterDelete(const KeyedTable& table) {
  const std::string gone = absl::StrCat("OLD.", SqlName(table.version), " + 1");
  const std::string bucket = BucketOf(table, "OLD.");
  return absl::StrCat(
      RefuseIf(absl::StrCat("OLD.", SqlName(table.version), " = ~0")), "    SET ", GoneOf(table),
      " = GREATEST(COALESCE(", GoneOf(table), ", 0), ", gone,
      ");\n"
      // The post first: an INSERT that reads it now waits, and then sees the tombstone.
      "    UPDATE locus_tombstone SET version = GREATEST(version, ",
      gone, ") WHERE ", PostOf(bucket),
      ";\n"
      "    INSERT INTO locus_tombstone (bucket, tbl, pk, version, gene, cohort) VALUES (",
      bucket, ", ", SqlText(table.guard.name), ", ", TombstoneKeyExpression(table, "OLD."), ", ",
      gone, ", ", internal::GeneExpression(table.guard, "OLD."), ", ",
      internal::CohortExpression(table.guard, "OLD."),
      ")\n      ON DUPLICATE KEY UPDATE version = GREATEST(version, ", gone, ");\n");
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
  return internal::VersionTriggersOf(KeyedTable{table, {}}, movers);
}

std::vector<VersionTrigger> internal::VersionTriggersOf(const KeyedTable& table,
                                                        const std::vector<std::string>& movers) {
  auto trigger = [&](const char* timing, const char* event, const char* end, const char* variables,
                     const std::string& statements) {
    return VersionTrigger{absl::StrCat("locus_version_", table.guard.name, end), table.guard.name,
                          timing, event, BodyOf(movers, variables, statements)};
  };
  return {trigger("BEFORE", "INSERT", "_before_insert",
                  table.replaces ? "locus_there, locus_bucket, locus_tombstone"
                                 : "locus_bucket, locus_tombstone",
                  BeforeInsert(table)),
          trigger("AFTER", "INSERT", "_after_insert", "locus_tombstone", AfterInsert(table)),
          trigger("BEFORE", "UPDATE", "_before_update", "", BeforeUpdate(table)),
          trigger("AFTER", "DELETE", "_after_delete", "", AfterDelete(table))};
}

}  // namespace locus
