// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/fence/table_column.h"
#include "migration/preflight/default_value.h"
#include "migration/preflight/report.h"

namespace locus::preflight {

namespace {

const Column* Find(const Table& table, const std::string& name) {
  for (const Column& column : table.columns) {
    if (column.name == name) return &column;
  }
  return nullptr;
}

bool IsMoved(const Facts& facts, const std::string& table) {
  return std::any_of(facts.tables.begin(), facts.tables.end(),
                     [&](const MovedTable& moved) { return moved.guard.name == table; });
}

std::vector<std::string> PrimaryKeyOf(const Table& table) {
  for (const Key& key : table.keys) {
    if (key.name == "PRIMARY") return key.columns;
  }
  return {};
}

// Findings of one table on one shard.
class TableJudge {
 public:
  TableJudge(const MovedTable& moved, const Table& table, const std::string& place, Report& report)
      : moved_(moved), table_(table), place_(place), report_(report) {}

  void All() {
    Kind();
    PrimaryKey();
    OrderColumns();
    Version();
    Types();
    EachColumn();
  }

 private:
  void Kind() {
    report_.Add("engine", table_.engine == "InnoDB", place_, table_.engine, "InnoDB",
                absl::StrCat("ALTER TABLE `", moved_.guard.name, "` ENGINE = InnoDB"));
    report_.Add("system-versioning", table_.type == "BASE TABLE", place_,
                absl::AsciiStrToLower(table_.type), "a base table without versions of the system",
                absl::StrCat("ALTER TABLE `", moved_.guard.name,
                             "` DROP SYSTEM VERSIONING: the log has its DELETEs as UPDATEs"));
  }

  void PrimaryKey() {
    const std::vector<std::string> key = PrimaryKeyOf(table_);
    report_.Add("primary-key", key == moved_.primary_key, place_,
                key.empty() ? "none" : absl::StrJoin(key, ", "),
                absl::StrJoin(moved_.primary_key, ", "),
                "correct primary_key in the move file, or the table");
    std::vector<std::string> wrong;
    for (const std::string& name : key) {
      const Column* column = Find(table_, name);
      if (column == nullptr || column->collation.empty()) continue;
      // The index of these types holds the number.
      if (column->type.starts_with("enum") || column->type.starts_with("set")) continue;
      const bool by_bytes = absl::EndsWith(column->collation, "_bin") && column->no_pad;
      if (!by_bytes) wrong.push_back(absl::StrCat(name, " is ", column->collation));
    }
    report_.Add("primary-key-bytes", wrong.empty(), place_,
                wrong.empty() ? "compares by bytes" : absl::StrJoin(wrong, ", "),
                "a key that compares by bytes: otherwise two keys are one on the other shard",
                "make the column VARBINARY, or of a collation such as utf8mb4_nopad_bin");
  }

  void Needs(const std::string& name, const std::vector<std::string>& types, bool not_null) {
    const Column* column = Find(table_, name);
    bool right = false;
    for (const std::string& type : types) {
      right = right || (column != nullptr && column->type.starts_with(type));
    }
    // MariaDB knows no generated columns that are NOT NULL; guards refuse rows where one is.
    right = right && (!not_null || !column->nullable || !column->generated.empty());
    const std::string needed =
        absl::StrCat(absl::StrJoin(types, " or "), not_null ? " NOT NULL" : "");
    report_.Add("order-columns", right, place_,
                column == nullptr ? absl::StrCat(name, " is missing")
                                  : absl::StrCat(name, " is ", column->type,
                                                 column->nullable ? " NULL" : " NOT NULL"),
                absl::StrCat(name, " of type ", needed),
                "correct key and columns of the table in the move file, or the table");
  }

  void OrderColumns() {
    const GuardedTable& guard = moved_.guard;
    const std::vector<std::string> small = {"smallint", "mediumint", "int", "bigint"};
    switch (guard.key) {
      case GuardedTable::Key::kOrderIdNumber:
        return Needs(guard.order_id, {"bigint"}, true);
      case GuardedTable::Key::kOrderIdBytes:
        return Needs(guard.order_id, {"varbinary"}, true);
      case GuardedTable::Key::kGeneAndCohort:
        Needs(guard.gene, small, true);
        return Needs(guard.cohort, small, true);
    }
  }

  void Version() {
    const Column* column = Find(table_, moved_.version);
    const bool right = column != nullptr && column->type.starts_with("bigint") &&
                       absl::EndsWith(column->type, "unsigned") && !column->nullable;
    report_.Add("version-column", right, place_,
                column == nullptr ? absl::StrCat(moved_.version, " is missing")
                                  : absl::StrCat(moved_.version, " is ", column->type,
                                                 column->nullable ? " NULL" : " NOT NULL"),
                "BIGINT UNSIGNED NOT NULL",
                absl::StrCat("ALTER TABLE `", moved_.guard.name, "` ADD COLUMN `", moved_.version,
                             "` BIGINT UNSIGNED NOT NULL DEFAULT 1"));
  }

  // Key columns that the copy or the version triggers would refuse.
  void Types() {
    std::vector<std::string> wrong;
    const GuardedTable& guard = moved_.guard;
    for (const internal::SchemaColumn& column : table_.schema.columns) {
      const bool says_where = guard.key == GuardedTable::Key::kGeneAndCohort &&
                              (column.name == guard.gene || column.name == guard.cohort);
      if (column.generated && !says_where) continue;
      const auto known = internal::ColumnOf(column);
      if (known.ok()) continue;
      wrong.push_back(absl::StrCat(column.name, ": ", known.status().message()));
    }
    report_.Add("column-types", wrong.empty(), place_,
                wrong.empty() ? "all are copied" : absl::StrJoin(wrong, "; "),
                "types that moves read from the table and from the log alike",
                "ALTER TABLE ... MODIFY the column to another type, such as BLOB");
    const absl::Status key =
        internal::CheckKey(guard.name, moved_.primary_key, table_.schema.columns);
    report_.Add("primary-key-types", key.ok(), place_,
                key.ok() ? "all have one text" : std::string(key.message()),
                "a key whose text is the same in every session and fits into a tombstone",
                "make a UUID a BINARY(16), a FLOAT a DECIMAL, a SET of 64 members a BIGINT; drop "
                "ON UPDATE; or "
                "shorten the column");
  }

  void EachColumn() {
    std::vector<std::string> numbered, zoned, compressed;
    for (const Column& column : table_.columns) {
      if (absl::StrContains(column.extra, "auto_increment")) numbered.push_back(column.name);
      if (absl::StrContains(column.type, "COMPRESSED")) compressed.push_back(column.name);
      if (absl::StrContains(column.extra, "STORED") && DependsOnZone(column)) {
        zoned.push_back(absl::StrCat(column.name, " AS (", column.generated, ")"));
      }
    }
    report_.Add("auto-increment", numbered.empty(), place_,
                numbered.empty() ? "none" : absl::StrJoin(numbered, ", "),
                "no AUTO_INCREMENT: both shards would give the same numbers",
                "use order_id and a line number as the key, or `locus seq` for the numbers");
    Defaults();
    report_.Add("stored-columns", zoned.empty(), place_,
                zoned.empty() ? "none of the session's zone" : absl::StrJoin(zoned, ", "),
                "no stored column that the session's time zone changes: its rows would differ",
                "make it VIRTUAL, or store the value in the service");
    report_.Add("compressed-columns", compressed.empty(), place_,
                compressed.empty() ? "none" : absl::StrJoin(compressed, ", "),
                "no COMPRESSED columns: moves do not read their log",
                "ALTER TABLE ... MODIFY them without COMPRESSED");
  }

  // Looks at generated columns as well, which may call a loadable function.
  void Defaults() {
    std::vector<std::string> found;
    for (const Column& column : table_.columns) {
      for (const std::string* expression : {&column.default_value, &column.generated}) {
        const std::string part = PartOfOneServer(*expression);
        if (!part.empty()) found.push_back(absl::StrCat(column.name, " has ", part));
      }
    }
    report_.Add("column-defaults", found.empty(), place_,
                found.empty() ? "the same on each server" : absl::StrJoin(found, ", "),
                "no default from a sequence, a variable or a function that is not known to be the "
                "same on each server: both shards would give the same numbers",
                "ALTER TABLE ... ALTER the column DROP DEFAULT, and let the service give the "
                "value: numbers by `locus seq`");
  }

  bool DependsOnZone(const Column& column) const {
    const std::string text = absl::AsciiStrToLower(column.generated);
    for (const char* function : {"unix_timestamp", "from_unixtime", "convert_tz", "now(",
                                 "current_timestamp", "curdate", "sysdate"}) {
      if (absl::StrContains(text, function)) return true;
    }
    for (const Column& other : table_.columns) {
      if (other.type.starts_with("timestamp") &&
          absl::StrContains(column.generated, absl::StrCat("`", other.name, "`"))) {
        return true;
      }
    }
    return false;
  }

  const MovedTable& moved_;
  const Table& table_;
  const std::string place_;
  Report& report_;
};

// Whether a row and the row that it refers to are always of one order, so that one never moves
// without the other. They are if the key has the columns that say to which order a row belongs.
bool IsWithinOrders(const Facts& facts, const ForeignKey& key) {
  auto guard_of = [&](const std::string& table) {
    return std::find_if(facts.tables.begin(), facts.tables.end(),
                        [&](const MovedTable& moved) { return moved.guard.name == table; })
        ->guard;
  };
  auto has = [&](const std::string& column, const std::string& referenced) {
    for (size_t i = 0; i < key.columns.size(); ++i) {
      if (key.columns[i] == column && key.referenced_columns[i] == referenced) return true;
    }
    return false;
  };
  const GuardedTable child = guard_of(key.table), parent = guard_of(key.referenced);
  if (child.key != parent.key) return false;
  if (child.key != GuardedTable::Key::kGeneAndCohort) return has(child.order_id, parent.order_id);
  return has(child.gene, parent.gene) && has(child.cohort, parent.cohort);
}

void JudgeForeignKeys(const Facts& facts, const Shard& shard, Report& report) {
  std::vector<std::string> cascading, from, to, across;
  for (const ForeignKey& key : shard.schema->foreign_keys) {
    const bool child = IsMoved(facts, key.table), parent = IsMoved(facts, key.referenced);
    const std::string name = absl::StrCat(key.name, " of ", key.table);
    const bool changes = key.on_delete == "CASCADE" || key.on_delete == "SET NULL" ||
                         key.on_update == "CASCADE" || key.on_update == "SET NULL";
    if (child && changes) cascading.push_back(name);
    if (parent && !child) from.push_back(name);
    if (child && !parent) to.push_back(absl::StrCat(name, " to ", key.referenced));
    if (child && parent && !IsWithinOrders(facts, key)) {
      across.push_back(absl::StrCat(name, " to ", key.referenced));
    }
  }
  const std::string& place = shard.server.place;
  auto list = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string("none") : absl::StrJoin(names, ", ");
  };
  report.Add("foreign-keys-cascade", cascading.empty(), place, list(cascading),
             "none that cascades or sets null: no trigger fires for it, and the log lacks it",
             "make it RESTRICT, and delete the rows in the service");
  report.Add("foreign-keys-from-outside", from.empty(), place, list(from),
             "none from tables that do not move: their rows would stay behind their orders",
             "add the table to [[tables]], or drop the foreign key");
  report.Add("foreign-keys-to-outside", to.empty(), place, list(to),
             "none to tables that do not move: the other shard may lack their rows",
             "add the table to [[tables]], or drop the foreign key");
  report.Add("foreign-keys-across-orders", across.empty(), place, list(across),
             "none that lets a row refer to another order's: the two may be on two shards",
             "add the order ID (or gene and cohort) to both sides of the key, or drop it");
}

}  // namespace

void JudgeTables(const Facts& facts, const Shard& shard, Report& report) {
  const std::string& place = shard.server.place;
  const auto* schema = report.Read(
      "tables", place, shard.schema,
      absl::StrCat("GRANT SELECT ON `", shard.server.database, "`.* TO ", GranteeOf(shard.server)));
  if (schema == nullptr) return;
  for (const MovedTable& moved : facts.tables) {
    const std::string where = absl::StrCat(place, " table ", moved.guard.name);
    auto found = schema->tables.find(moved.guard.name);
    const bool there = found != schema->tables.end();
    report.Add("tables", there, where, there ? "is there" : "is missing", "to be there",
               "create it as on the other shard, or correct [[tables]] of the move file");
    if (there) TableJudge(moved, found->second, where, report).All();
  }
  report.Add("guarded-tables", schema->guarded.empty(), place,
             schema->guarded.empty()
                 ? "none but those of the move file"
                 : absl::StrCat(absl::StrJoin(schema->guarded, ", "), ": not in the move file"),
             "every guarded table in [[tables]]: rows of one that is not stay behind when their "
             "orders move, where the guards refuse them",
             "add it to [[tables]]; where it has no rows of orders any more, drop its triggers "
             "locus_guard_...");
  if (schema->unlisted.empty()) {
    report.Add("unlisted-tables", true, place,
               "no other table has a column of the order ID's name");
  } else {
    report.Warn("unlisted-tables", place,
                absl::StrCat(absl::StrJoin(schema->unlisted, ", "),
                             ": not in the move file. If the rows are of orders, they stay behind: "
                             "add the table to [[tables]]"));
  }
  JudgeForeignKeys(facts, shard, report);
}

}  // namespace locus::preflight
