// SPDX-License-Identifier: Apache-2.0
#include "migration/preflight/preflight_schema.h"

#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/table_column.h"
#include "migration/fence/user_triggers.h"
#include "migration/preflight/partitions.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/answer.h"

namespace locus::mysql {

using internal::SqlText;

std::string NamesOf(const std::vector<MovedTable>& tables) {
  return absl::StrJoin(tables, ", ", [](std::string* out, const MovedTable& table) {
    absl::StrAppend(out, SqlText(table.guard.name));
  });
}

namespace {

absl::Status ReadIndexes(const AskRows& ask, const std::string& where, preflight::Schema& schema) {
  LOCUS_ASSIGN_OR_RETURN(auto rows,
                         ask(absl::StrCat("SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME, SUB_PART,"
                                          " NON_UNIQUE, INDEX_TYPE FROM"
                                          " information_schema.STATISTICS",
                                          where, " ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"),
                             6));
  for (const Result::Row& row : rows) {
    preflight::Table& table = schema.tables[Text(row, 0)];
    const std::string name = Text(row, 1), column = Text(row, 2), prefix = Text(row, 3);
    if (Text(row, 4) == "0") {
      std::vector<preflight::Key>& keys = table.keys;
      if (keys.empty() || keys.back().name != name) keys.push_back({name, {}});
      keys.back().columns.push_back(column);
      keys.back().shape.push_back(prefix.empty() ? column : absl::StrCat(column, "(", prefix, ")"));
    }
    if (Text(row, 5) != "BTREE") continue;
    std::vector<internal::SchemaIndex>& indexes = table.schema.indexes;
    if (indexes.empty() || indexes.back().name != name) indexes.push_back({name, {}, false});
    indexes.back().columns.push_back(column);
    if (!prefix.empty()) indexes.back().prefixes = true;
  }
  return absl::OkStatus();
}

absl::Status ReadPartitions(const AskRows& ask, const std::string& where,
                            preflight::Schema& schema) {
  LOCUS_ASSIGN_OR_RETURN(
      auto rows, ask(absl::StrCat("SELECT TABLE_NAME, PARTITION_METHOD, PARTITION_EXPRESSION,"
                                  " PARTITION_DESCRIPTION FROM information_schema.PARTITIONS",
                                  where,
                                  " AND PARTITION_METHOD IS NOT NULL ORDER BY TABLE_NAME,"
                                  " PARTITION_ORDINAL_POSITION"),
                     4));
  std::map<std::string, std::vector<preflight::Partition>> partitions;
  for (const Result::Row& row : rows) {
    partitions[Text(row, 0)].push_back({Text(row, 1), Text(row, 2), Text(row, 3)});
  }
  for (const auto& [table, all] : partitions) {
    schema.tables[table].takes = preflight::RowsTaken(all);
  }
  return absl::OkStatus();
}

absl::Status ReadTables(const AskRows& ask, const std::string& names, preflight::Schema& schema) {
  const std::string where =
      absl::StrCat(" WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (", names, ")");
  LOCUS_ASSIGN_OR_RETURN(auto rows,
                         ask(absl::StrCat("SELECT TABLE_NAME, ENGINE, TABLE_TYPE, TABLE_ROWS,"
                                          " DATA_LENGTH + INDEX_LENGTH FROM"
                                          " information_schema.TABLES",
                                          where),
                             5));
  for (const Result::Row& row : rows) {
    preflight::Table& table = schema.tables[Text(row, 0)];
    table.engine = Text(row, 1);
    table.type = Text(row, 2);
    table.rows = Natural(row, 3);
    table.bytes = Natural(row, 4);
  }
  LOCUS_ASSIGN_OR_RETURN(
      rows, ask(absl::StrCat("SELECT ", internal::kSchemaColumns,
                             ", TABLE_NAME, EXTRA, GENERATION_EXPRESSION, COLUMN_DEFAULT"
                             " FROM information_schema.COLUMNS",
                             where, " ORDER BY TABLE_NAME, ORDINAL_POSITION"),
                internal::kSchemaColumnFields + 4));
  for (Result::Row& row : rows) {
    constexpr size_t kMore = internal::kSchemaColumnFields;
    preflight::Table& table = schema.tables[Text(row, kMore)];
    preflight::Column column;
    column.extra = Text(row, kMore + 1);
    column.generated = Text(row, kMore + 2);
    column.default_value = Text(row, kMore + 3);
    row.resize(kMore);
    internal::SchemaColumn found = internal::SchemaColumnIn(row);
    column.name = found.name;
    column.type = found.column_type;
    column.collation = found.collation;
    column.no_pad = absl::StrContains(column.collation, "_nopad_");
    column.nullable = found.nullable;
    table.columns.push_back(std::move(column));
    table.schema.columns.push_back(std::move(found));
  }
  LOCUS_RETURN_IF_ERROR(ReadIndexes(ask, where, schema));
  LOCUS_RETURN_IF_ERROR(ReadPartitions(ask, where, schema));
  LOCUS_ASSIGN_OR_RETURN(rows,
                         ask(absl::StrCat("SELECT TABLE_NAME, CHECK_CLAUSE FROM"
                                          " information_schema.CHECK_CONSTRAINTS WHERE"
                                          " CONSTRAINT_SCHEMA = DATABASE() AND TABLE_NAME IN (",
                                          names, ") ORDER BY TABLE_NAME, CHECK_CLAUSE"),
                             2));
  for (const Result::Row& row : rows) schema.tables[Text(row, 0)].checks.push_back(Text(row, 1));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<preflight::Schema> ReadSchema(const AskRows& ask,
                                             const std::vector<MovedTable>& tables) {
  preflight::Schema schema;
  const std::string names = NamesOf(tables);
  LOCUS_RETURN_IF_ERROR(ReadTables(ask, names, schema));
  LOCUS_ASSIGN_OR_RETURN(
      auto rows, ask(absl::StrCat("SELECT CONSTRAINT_NAME, TABLE_NAME, REFERENCED_TABLE_NAME,"
                                  " DELETE_RULE, UPDATE_RULE FROM"
                                  " information_schema.REFERENTIAL_CONSTRAINTS WHERE"
                                  " (CONSTRAINT_SCHEMA = DATABASE() AND TABLE_NAME IN (",
                                  names,
                                  ")) OR (UNIQUE_CONSTRAINT_SCHEMA = DATABASE() AND"
                                  " REFERENCED_TABLE_NAME IN (",
                                  names, "))"),
                     5));
  for (const Result::Row& row : rows) {
    schema.foreign_keys.push_back(
        {Text(row, 0), Text(row, 1), Text(row, 2), Text(row, 3), Text(row, 4)});
  }
  LOCUS_ASSIGN_OR_RETURN(
      rows, ask(absl::StrCat("SELECT CONSTRAINT_NAME, TABLE_NAME, COLUMN_NAME,"
                             " REFERENCED_COLUMN_NAME FROM"
                             " information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA ="
                             " DATABASE() AND REFERENCED_TABLE_NAME IS NOT NULL AND"
                             " TABLE_NAME IN (",
                             names, ") ORDER BY ORDINAL_POSITION"),
                4));
  for (const Result::Row& row : rows) {
    for (preflight::ForeignKey& key : schema.foreign_keys) {
      if (key.name != Text(row, 0) || key.table != Text(row, 1)) continue;
      key.columns.push_back(Text(row, 2));
      key.referenced_columns.push_back(Text(row, 3));
    }
  }
  LOCUS_ASSIGN_OR_RETURN(
      rows, ask(absl::StrCat("SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE, DEFINER, ACTION_TIMING,"
                             " EVENT_MANIPULATION, ACTION_STATEMENT, SQL_MODE,"
                             " CONCAT(CHARACTER_SET_CLIENT, ' ', COLLATION_CONNECTION),"
                             " ACTION_ORDER FROM information_schema.TRIGGERS WHERE"
                             " EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE IN (",
                             names, ")"),
                9));
  for (const Result::Row& row : rows) {
    schema.triggers.push_back({Text(row, 0), Text(row, 1), Text(row, 2), Text(row, 3), Text(row, 4),
                               Text(row, 5), Text(row, 6), Text(row, 7)});
    if (!absl::SimpleAtoi(Text(row, 8), &schema.triggers.back().order)) {
      return absl::InternalError("a trigger's ACTION_ORDER is no number");
    }
  }
  LOCUS_ASSIGN_OR_RETURN(rows, ask(std::string(internal::kStoredFunctions), 1));
  for (const Result::Row& row : rows) schema.functions.push_back(Text(row, 0));
  LOCUS_ASSIGN_OR_RETURN(rows,
                         ask(absl::StrCat("SELECT DISTINCT EVENT_OBJECT_TABLE FROM"
                                          " information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA ="
                                          " DATABASE() AND TRIGGER_NAME = CONCAT('locus_guard_',"
                                          " EVENT_OBJECT_TABLE, '_', LOWER(EVENT_MANIPULATION)) AND"
                                          " EVENT_OBJECT_TABLE NOT IN (",
                                          names, ") ORDER BY EVENT_OBJECT_TABLE"),
                             1));
  for (const Result::Row& row : rows) schema.guarded.push_back(Text(row, 0));
  std::set<std::string> ids;
  for (const MovedTable& table : tables) {
    const bool by_gene = table.guard.key == GuardedTable::Key::kGeneAndCohort;
    ids.insert(SqlText(by_gene ? table.guard.gene : table.guard.order_id));
  }
  LOCUS_ASSIGN_OR_RETURN(
      rows, ask(absl::StrCat("SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS JOIN"
                             " information_schema.TABLES USING (TABLE_SCHEMA, TABLE_NAME) WHERE"
                             " TABLE_SCHEMA = DATABASE() AND TABLE_TYPE <> 'VIEW' AND COLUMN_NAME"
                             " IN (",
                             absl::StrJoin(ids, ", "),
                             ") AND TABLE_NAME NOT LIKE 'locus\\_%' AND"
                             " TABLE_NAME NOT IN (",
                             names, ") ORDER BY TABLE_NAME, COLUMN_NAME"),
                2));
  for (const Result::Row& row : rows) {
    schema.unlisted.push_back(absl::StrCat(Text(row, 0), ".", Text(row, 1)));
  }
  return schema;
}

}  // namespace locus::mysql
