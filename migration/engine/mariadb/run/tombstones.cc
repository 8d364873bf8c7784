// SPDX-License-Identifier: Apache-2.0
#include "migration/engine/mariadb/run/tombstones.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/apply/copy_sql.h"
#include "migration/engine/mariadb/run/copy_marker.h"
#include "migration/fence/guard_sql.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus::mariadb {

using internal::HexOf;
using internal::SqlName;
using internal::SqlText;

namespace {

// Tombstones that one statement looks at, whatever vnodes they are of; of those, rows that one
// statement looks up.
constexpr size_t kChunk = 2000, kLookedUp = 200;
constexpr size_t kMostColumns = 4096;
constexpr int kMostAttempts = 10;
constexpr char kMarkerTable[] = "locus_tombstone";

std::string OfMove(const Move& move) {
  return absl::StrCat("(",
                      absl::StrJoin(move.ranges, " OR ",
                                    [](std::string* out, const FencedRange& range) {
                                      absl::StrAppend(out, "gene BETWEEN ", range.lo, " AND ",
                                                      range.hi);
                                    }),
                      ")");
}

std::string OfCohorts(const internal::BandFence& own) {
  return absl::StrCat(" AND cohort >= ", own.own_lo, " AND cohort < ", own.own_hi);
}

std::string Bytes(const std::optional<std::string>& value) {
  return absl::StrCat("X'", HexOf(value.value_or("")), "'");
}

// One chunk in one transaction of the target, with the marker of the run.
absl::Status Put(ShardLink& target, const Move& move, uint64_t run,
                 const std::vector<Result::Row>& rows) {
  std::vector<std::string> values;
  for (const Result::Row& row : rows) {
    for (size_t i : {2, 3, 4}) {
      if (internal::ParseDecimal(row[i].value_or(""), UINT64_MAX)) continue;
      return absl::DataLossError("a tombstone of the source has no number");
    }
    values.push_back(absl::StrCat("(", Bytes(row[0]), ", ", Bytes(row[1]), ", ", *row[2], ", ",
                                  *row[3], ", ", *row[4], ")"));
  }
  return target.Transact([&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(RaiseCopyMarker(target, move.name, kMarkerTable, run));
    return target
        .Run(absl::StrCat("INSERT INTO locus_tombstone (tbl, pk, version, gene, cohort) VALUES ",
                          absl::StrJoin(values, ", "),
                          " ON DUPLICATE KEY UPDATE version = GREATEST(version, VALUES(version))"),
             {kNoRows})
        .status();
  });
}

// Goes over the tombstones of a shard so many at a time that no statement takes long: they have no
// index by vnode.
class TombstoneWalk {
 public:
  explicit TombstoneWalk(ShardLink& link) : link_(link) {}

  // The condition of the next ones, to be put behind others; nullopt: there are none left.
  absl::StatusOr<std::optional<std::string>> Next() {
    if (done_) return std::optional<std::string>();
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> results,
        link_.Run(absl::StrCat("SELECT tbl, pk FROM locus_tombstone FORCE INDEX (PRIMARY) WHERE"
                               " 1 = 1",
                               behind_, " ORDER BY tbl, pk LIMIT 1 OFFSET ", kChunk - 1),
                  {AtMostOneRow(2)}));
    std::string slice = behind_;
    done_ = results[0].rows.empty();
    if (!done_) {
      const Result::Row& last = results[0].rows[0];
      const std::string table = Bytes(last[0]), key = Bytes(last[1]);
      absl::StrAppend(&slice, " AND (tbl < ", table, " OR tbl = ", table, " AND pk <= ", key, ")");
      behind_ = absl::StrCat(" AND (tbl > ", table, " OR tbl = ", table, " AND pk > ", key, ")");
    }
    return std::optional<std::string>(std::move(slice));
  }

 private:
  ShardLink& link_;
  std::string behind_;
  bool done_ = false;
};

// A column of a primary key, and how a value of it is written so that the index is used: a number
// that is compared with text, or a text with bits, would be looked for in all rows.
struct KeyColumn {
  std::string name;
  enum class Form { kNumber, kBits, kText } form = Form::kText;
};

absl::StatusOr<std::vector<KeyColumn>> KeyColumnsOf(ShardLink& link, const MovedTable& table) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      link.Run(absl::StrCat("SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS WHERE"
                            " TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ",
                            SqlText(table.guard.name)),
               {Rows(2, kMostColumns)}));
  const std::set<std::string> numbers = {"tinyint", "smallint", "mediumint", "int",   "bigint",
                                         "year",    "decimal",  "float",     "double"};
  std::map<std::string, std::string> types;
  for (const Result::Row& row : results[0].rows) types[row[0].value_or("")] = row[1].value_or("");
  std::vector<KeyColumn> columns;
  for (const std::string& name : table.primary_key) {
    const std::string& type = types[name];
    columns.push_back({name, numbers.contains(type) ? KeyColumn::Form::kNumber
                             : type == "bit"        ? KeyColumn::Form::kBits
                                                    : KeyColumn::Form::kText});
  }
  return columns;
}

// The condition of the row whose tombstone has this key (CreateTombstones); nullopt: it has another
// number of columns, or no numbers where numbers belong.
std::optional<std::string> RowOf(const std::vector<KeyColumn>& columns, std::string_view key) {
  std::vector<std::string> parts;
  for (const KeyColumn& column : columns) {
    const size_t colon = key.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto length = internal::ParseDecimal(key.substr(0, colon), key.size() - colon - 1);
    if (!length) return std::nullopt;
    const std::string value(key.substr(colon + 1, *length));
    key.remove_prefix(colon + 1 + *length);
    const bool number = value.find_first_not_of("0123456789+-.e") == std::string::npos;
    if (column.form == KeyColumn::Form::kNumber && (!number || value.empty())) return std::nullopt;
    const std::string text = column.form == KeyColumn::Form::kNumber ? value
                             : column.form == KeyColumn::Form::kBits
                                 ? absl::StrCat("0x", HexOf(value))
                                 : absl::StrCat("_binary X'", HexOf(value), "'");
    parts.push_back(absl::StrCat(SqlName(column.name), " = ", text));
  }
  if (!key.empty()) return std::nullopt;
  return absl::StrJoin(parts, " AND ");
}

// Deletes the rows of the condition, where there are any.
absl::Status DeleteRows(ShardLink& link, const Move& move, const std::string& table,
                        const std::string& where, uint64_t run) {
  const std::string rows =
      absl::StrCat(" FROM ", SqlName(table), " FORCE INDEX (PRIMARY) WHERE ", where);
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> found,
                         link.Run(absl::StrCat("SELECT 1", rows, " LIMIT 1"), {AtMostOneRow(1)}));
  if (found[0].rows.empty()) return absl::OkStatus();
  for (int attempt = 0;; ++attempt) {
    const absl::Status removed = link.Transact([&]() -> absl::Status {
      LOCUS_RETURN_IF_ERROR(RaiseCopyMarker(link, move.name, kMarkerTable, run));
      return link
          // As the stream and the clean-up delete: a parent may go before its children.
          .Run(absl::StrCat("SET STATEMENT foreign_key_checks = 0 FOR DELETE ", SqlName(table),
                            rows),
               {kNoRows})
          .status();
    });
    if (removed.ok() || !link.conflict() || attempt == kMostAttempts) return removed;
  }
}

}  // namespace

absl::Status CopyTombstones(ShardLink& from, ShardLink& to, const Move& move,
                            const internal::BandFence& own, uint64_t run,
                            const std::function<absl::Status()>& before_write,
                            const std::atomic<bool>& stop) {
  LOCUS_RETURN_IF_ERROR(PutCopyMarker(to, move.name, kMarkerTable, run));
  TombstoneWalk walk(from);
  while (!stop) {
    LOCUS_ASSIGN_OR_RETURN(const std::optional<std::string> slice, walk.Next());
    if (!slice) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> results,
        from.Run(absl::StrCat("SELECT tbl, pk, version, gene, cohort FROM locus_tombstone WHERE ",
                              OfMove(move), OfCohorts(own), *slice, " ORDER BY tbl, pk"),
                 {Rows(5, kChunk)}));
    const std::vector<Result::Row>& rows = results[0].rows;
    if (rows.empty()) continue;
    LOCUS_RETURN_IF_ERROR(before_write());
    for (int attempt = 0;; ++attempt) {
      const absl::Status put = Put(to, move, run, rows);
      if (put.ok()) break;
      if (!to.conflict() || attempt == kMostAttempts) return put;
    }
  }
  return absl::OkStatus();
}

absl::Status DeleteDeadRows(ShardLink& link, const Move& move, const internal::BandFence& own,
                            uint64_t run, const std::atomic<bool>& stop) {
  std::map<std::string, const MovedTable*> tables;
  std::map<std::string, std::vector<KeyColumn>> keys;
  for (const MovedTable& table : move.tables) {
    tables[table.guard.name] = &table;
    LOCUS_ASSIGN_OR_RETURN(keys[table.guard.name], KeyColumnsOf(link, table));
  }
  TombstoneWalk walk(link);
  while (!stop) {
    LOCUS_ASSIGN_OR_RETURN(const std::optional<std::string> slice, walk.Next());
    if (!slice) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> results,
        link.Run(absl::StrCat("SELECT tbl, pk, version FROM locus_tombstone WHERE ", OfMove(move),
                              OfCohorts(own), *slice, " ORDER BY tbl, pk"),
                 {Rows(3, kChunk)}));
    std::map<std::string, std::vector<std::string>> dead;
    for (const Result::Row& row : results[0].rows) {
      const auto table = tables.find(row[0].value_or(""));
      if (table == tables.end()) continue;
      const auto one = RowOf(keys[table->first], row[1].value_or(""));
      const auto version = internal::ParseDecimal(row[2].value_or(""), UINT64_MAX);
      if (!one || !version) {
        return absl::DataLossError(absl::StrCat("mariadb ", link.place(),
                                                ": locus_tombstone has a key of table ",
                                                internal::Quoted(table->first), " that is none"));
      }
      dead[table->first].push_back(
          absl::StrCat("(", *one, " AND ", SqlName(table->second->version), " < ", *version, ")"));
    }
    for (const auto& [table, rows] : dead) {
      for (size_t i = 0; i < rows.size() && !stop; i += kLookedUp) {
        const auto begin = rows.begin() + static_cast<ptrdiff_t>(i);
        const auto end = begin + static_cast<ptrdiff_t>(std::min(kLookedUp, rows.size() - i));
        LOCUS_RETURN_IF_ERROR(
            DeleteRows(link, move, table, absl::StrJoin(begin, end, " OR "), run));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ForgetTombstones(ShardLink& target, const Move& move, uint64_t run) {
  TombstoneWalk walk(target);
  bool more = true;
  while (more) {
    LOCUS_RETURN_IF_ERROR(target.Transact([&]() -> absl::Status {
      if (const absl::Status ours = CheckRun(target, move.name, run); !ours.ok()) return ours;
      LOCUS_ASSIGN_OR_RETURN(const std::optional<std::string> slice, walk.Next());
      more = slice.has_value();
      if (!more) return absl::OkStatus();
      return target
          .Run(absl::StrCat("DELETE FROM locus_tombstone WHERE ", OfMove(move), *slice), {kNoRows})
          .status();
    }));
  }
  return absl::OkStatus();
}

}  // namespace locus::mariadb
