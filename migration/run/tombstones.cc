// SPDX-License-Identifier: Apache-2.0
#include "migration/run/tombstones.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/apply/copy_sql.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/table_column.h"
#include "migration/fence/tombstone_sql.h"
#include "migration/run/copy_marker.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::mysql {

using internal::HexOf;
using internal::SqlName;
using internal::SqlText;

namespace {

// The most tombstones and posts, of any vnodes, that one statement looks at; and the most rows that
// one statement looks up or deletes for them.
constexpr size_t kChunk = 4000, kLookedUp = 200;
constexpr size_t kMostColumns = 4096;
constexpr int kMostAttempts = 10;
constexpr char kMarkerTable[] = "locus_tombstone";

struct Tombstone {
  internal::TombstoneId id;
  uint64_t version = 0, gene = 0, cohort = 0;
};

bool IsOfMove(const Tombstone& one, const Move& move) {
  return std::any_of(move.ranges.begin(), move.ranges.end(), [&](const FencedRange& range) {
    return range.lo <= one.gene && one.gene <= range.hi;
  });
}

bool IsOf(const Tombstone& one, const Move& move, const internal::BandFence& own) {
  return own.own_lo <= one.cohort && one.cohort < own.own_hi && IsOfMove(one, move);
}

// Some in one transaction of the target, with the marker of the run. The posts first, all in one
// order (tombstone_sql.h).
absl::Status Put(ShardLink& target, const Move& move, uint64_t run,
                 const std::vector<Tombstone>& tombstones) {
  std::set<uint32_t> buckets;
  uint64_t highest = 0;
  for (const Tombstone& one : tombstones) {
    buckets.insert(one.id.bucket);
    highest = std::max(highest, one.version);
  }
  const std::string values =
      absl::StrJoin(tombstones, ", ", [](std::string* out, const Tombstone& one) {
        absl::StrAppend(out, "(", one.id.bucket, ", ", SqlText(one.id.table), ", X'",
                        HexOf(one.id.pk), "', ", one.version, ", ", one.gene, ", ", one.cohort,
                        ")");
      });
  return target.Transact([&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(RaiseCopyMarker(target, move.name, kMarkerTable, run));
    LOCUS_RETURN_IF_ERROR(
        target
            .Run(internal::RaisePosts(std::vector<uint32_t>(buckets.begin(), buckets.end()),
                                      highest),
                 {kNoRows})
            .status());
    return target
        .Run(absl::StrCat("INSERT INTO locus_tombstone (bucket, tbl, pk, version, gene, cohort)"
                          " VALUES ",
                          values,
                          " ON DUPLICATE KEY UPDATE version = GREATEST(version, VALUES(version))"),
             {kNoRows})
        .status();
  });
}

// Goes over the tombstones of a shard in the order of their primary key, because they have no index
// by vnode. Each statement takes few enough to end soon. Clients add others meanwhile. The walk may
// miss those, because later tombstones come by the stream. It ends, because buckets scatter new
// ones, so few are just ahead of it.
class TombstoneWalk {
 public:
  explicit TombstoneWalk(ShardLink& link) : link_(link) {}

  // The next ones, at most kChunk; empty: there are none left.
  absl::StatusOr<std::vector<Tombstone>> Next() {
    while (!ended_) {
      LOCUS_ASSIGN_OR_RETURN(
          std::vector<Result> results,
          link_.Run(internal::SelectTombstonesBehind(behind_, kChunk), {Rows(6, kChunk)}));
      LOCUS_ASSIGN_OR_RETURN(std::vector<Tombstone> found, TombstonesIn(results[0]));
      ended_ = found.size() < kChunk;
      if (!found.empty()) behind_ = found.back().id;
      std::erase_if(found, [](const Tombstone& one) { return internal::IsPost(one.id); });
      if (!found.empty()) return found;
    }
    return std::vector<Tombstone>();
  }

 private:
  absl::StatusOr<std::vector<Tombstone>> TombstonesIn(const Result& result) const {
    std::vector<Tombstone> found;
    for (const Result::Row& row : result.rows) {
      std::optional<uint64_t> numbers[4];
      for (size_t i = 0; i < 4; ++i) {
        numbers[i] = internal::ParseDecimal(row[i == 0 ? 0 : i + 2].value_or(""), UINT64_MAX);
        if (numbers[i]) continue;
        return absl::DataLossError(
            absl::StrCat("mariadb ", link_.place(), ": a tombstone of table ",
                         internal::Quoted(row[1].value_or("")), " has no number"));
      }
      found.push_back(
          {{static_cast<uint32_t>(*numbers[0]), row[1].value_or(""), row[2].value_or("")},
           *numbers[1],
           *numbers[2],
           *numbers[3]});
    }
    return found;
  }

  ShardLink& link_;
  std::optional<internal::TombstoneId> behind_;  // the last row read
  bool ended_ = false;
};

// A column of a primary key, and how a value of it is written so that the index is used: a number
// that is compared with text, or a text with bits, would be looked for in all rows.
struct KeyColumn {
  std::string name;
  enum class Form { kNumber, kInstant, kTime, kText } form = Form::kText;
};

absl::StatusOr<std::vector<KeyColumn>> KeyColumnsOf(ShardLink& link, const MovedTable& table) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      link.Run(absl::StrCat("SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS WHERE"
                            " TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ",
                            SqlText(table.guard.name)),
               {Rows(2, kMostColumns)}));
  const std::set<std::string> numbers = {"tinyint", "smallint", "mediumint", "int",
                                         "bigint",  "year",     "decimal",   "float",
                                         "double",  "enum",     "set",       "bit"};
  const std::set<std::string> times = {"date", "datetime", "time"};
  std::map<std::string, std::string> types;
  for (const Result::Row& row : results[0].rows) types[row[0].value_or("")] = row[1].value_or("");
  std::vector<KeyColumn> columns;
  for (const std::string& name : table.primary_key) {
    const std::string& type = types[name];
    columns.push_back({name, numbers.contains(type) ? KeyColumn::Form::kNumber
                             : type == "timestamp"  ? KeyColumn::Form::kInstant
                             : times.contains(type) ? KeyColumn::Form::kTime
                                                    : KeyColumn::Form::kText});
  }
  return columns;
}

// The condition of the row whose tombstone has this key (CreateTombstones); nullopt: it has another
// number of columns, or no numbers or instants where these belong.
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
    const auto stamp = internal::InstantIn(value);
    if (column.form == KeyColumn::Form::kInstant && !stamp) return std::nullopt;
    const std::string text =
        column.form == KeyColumn::Form::kNumber    ? value
        : column.form == KeyColumn::Form::kInstant ? internal::SqlInstant(*stamp)
        : column.form == KeyColumn::Form::kTime    ? SqlText(value)
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
  // Days of a key need not exist. As the stream and the clean-up delete: a parent may go before its
  // children.
  const std::string set =
      "SET STATEMENT sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES', foreign_key_checks = 0"
      " FOR ";
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> found,
      link.Run(absl::StrCat(set, "SELECT 1", rows, " LIMIT 1"), {AtMostOneRow(1)}));
  if (found[0].rows.empty()) return absl::OkStatus();
  for (int attempt = 0;; ++attempt) {
    const absl::Status removed = link.Transact([&]() -> absl::Status {
      LOCUS_RETURN_IF_ERROR(RaiseCopyMarker(link, move.name, kMarkerTable, run));
      return link.Run(absl::StrCat(set, "DELETE ", SqlName(table), rows), {kNoRows}).status();
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
    LOCUS_ASSIGN_OR_RETURN(std::vector<Tombstone> found, walk.Next());
    if (found.empty()) return absl::OkStatus();
    std::erase_if(found, [&](const Tombstone& one) { return !IsOf(one, move, own); });
    if (found.empty()) continue;
    LOCUS_RETURN_IF_ERROR(before_write());
    for (int attempt = 0;; ++attempt) {
      const absl::Status put = Put(to, move, run, found);
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
    LOCUS_ASSIGN_OR_RETURN(const std::vector<Tombstone> found, walk.Next());
    if (found.empty()) return absl::OkStatus();
    std::map<std::string, std::vector<std::string>> dead;
    for (const Tombstone& one : found) {
      const auto table = tables.find(one.id.table);
      if (table == tables.end() || !IsOf(one, move, own)) continue;
      const auto row = RowOf(keys[one.id.table], one.id.pk);
      if (!row) {
        return absl::DataLossError(absl::StrCat("mariadb ", link.place(),
                                                ": locus_tombstone has a key of table ",
                                                internal::Quoted(one.id.table), " that is none"));
      }
      dead[one.id.table].push_back(absl::StrCat("(", *row, " AND ", SqlName(table->second->version),
                                                " < ", one.version, ")"));
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
  // Also where there is none and nothing is written.
  LOCUS_RETURN_IF_ERROR(CheckRun(target, move.name, run));
  TombstoneWalk walk(target);
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(const std::vector<Tombstone> found, walk.Next());
    if (found.empty()) return absl::OkStatus();
    std::vector<internal::TombstoneId> ids;
    for (const Tombstone& one : found) {
      if (IsOfMove(one, move)) ids.push_back(one.id);
    }
    for (size_t i = 0; i < ids.size(); i += kLookedUp) {
      const auto some = std::span(ids).subspan(i, std::min(kLookedUp, ids.size() - i));
      for (int attempt = 0;; ++attempt) {
        const absl::Status removed = target.Transact([&]() -> absl::Status {
          LOCUS_RETURN_IF_ERROR(CheckRun(target, move.name, run));
          return target.Run(internal::DeleteTombstones(some), {kNoRows}).status();
        });
        if (removed.ok()) break;
        if (!target.conflict() || attempt == kMostAttempts) return removed;
      }
    }
  }
}

}  // namespace locus::mysql
