// SPDX-License-Identifier: Apache-2.0
#include "migration/engine/mariadb/run/tombstones.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/apply/copy_sql.h"
#include "migration/engine/mariadb/marker_tables.h"
#include "migration/fence/guard_sql.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus::mariadb {

using internal::HexOf;
using internal::SqlName;
using internal::SqlText;

namespace {

constexpr size_t kChunk = 1000;
// Of all vnodes in each of as many tables as a move may have.
constexpr size_t kMostVnodes = 65536 * 64;
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

// By which the other direction knows a transaction of a tool.
absl::Status RaiseMarker(ShardLink& link, const Move& move, uint64_t run) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      link.Run(absl::StrCat("UPDATE locus_copy SET counter = counter + 1 WHERE move = ",
                            SqlText(move.name), " AND tbl = '", kMarkerTable, "' AND run = ", run),
               {kNoRows}));
  return results[0].affected == 1 ? absl::OkStatus() : TakenOver(link.place(), move.name);
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
    LOCUS_RETURN_IF_ERROR(RaiseMarker(target, move, run));
    return target
        .Run(absl::StrCat("INSERT INTO locus_tombstone (tbl, pk, version, gene, cohort) VALUES ",
                          absl::StrJoin(values, ", "),
                          " ON DUPLICATE KEY UPDATE version = GREATEST(version, VALUES(version))"),
             {kNoRows})
        .status();
  });
}

}  // namespace

absl::Status CopyTombstones(ShardLink& from, ShardLink& to, const Move& move,
                            const internal::BandFence& own, uint64_t run,
                            const std::function<absl::Status()>& before_write,
                            const std::atomic<bool>& stop) {
  LOCUS_RETURN_IF_ERROR(
      to.Run(absl::StrCat("INSERT IGNORE INTO locus_copy (move, tbl, position, counter, run)"
                          " VALUES (",
                          SqlText(move.name), ", '", kMarkerTable, "', '', 0, ", run, ")"))
          .status());
  std::string behind;
  while (!stop) {
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> results,
        from.Run(
            absl::StrCat("SELECT tbl, pk, version, gene, cohort FROM locus_tombstone WHERE ",
                         OfMove(move), OfCohorts(own), behind, " ORDER BY tbl, pk LIMIT ", kChunk),
            {Rows(5, kChunk)}));
    const std::vector<Result::Row>& rows = results[0].rows;
    if (rows.empty()) return absl::OkStatus();
    LOCUS_RETURN_IF_ERROR(before_write());
    for (int attempt = 0;; ++attempt) {
      const absl::Status put = Put(to, move, run, rows);
      if (put.ok()) break;
      if (!to.conflict() || attempt == 10) return put;
    }
    const std::string table = Bytes(rows.back()[0]), key = Bytes(rows.back()[1]);
    behind = absl::StrCat(" AND (tbl > ", table, " OR tbl = ", table, " AND pk > ", key, ")");
  }
  return absl::OkStatus();
}

absl::Status DeleteDeadRows(ShardLink& link, const Move& move, const internal::BandFence& own,
                            uint64_t run, const std::atomic<bool>& stop) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      link.Run(absl::StrCat("SELECT DISTINCT tbl, gene FROM locus_tombstone WHERE ", OfMove(move),
                            OfCohorts(own)),
               {Rows(2, kMostVnodes)}));
  const std::vector<Result::Row> vnodes = std::move(results[0].rows);
  // Children go before their parents.
  for (auto table = move.tables.rbegin(); table != move.tables.rend(); ++table) {
    const std::string name = SqlName(table->guard.name);
    for (const Result::Row& row : vnodes) {
      if (row[0] != table->guard.name) continue;
      LOCUS_ASSIGN_OR_RETURN(int64_t gene, NumberIn(row, 1, link.place()));
      const uint32_t vnode = static_cast<uint32_t>(gene);
      const std::string remove = absl::StrCat(
          // As the stream and the clean-up delete: a parent may go before its children.
          "SET STATEMENT foreign_key_checks = 0 FOR DELETE FROM ", name, " WHERE ",
          internal::RowsOf(table->guard, {vnode, vnode}, true),
          " AND EXISTS (SELECT 1 FROM locus_tombstone AS locus_dead WHERE locus_dead.tbl = ",
          SqlText(table->guard.name),
          " AND locus_dead.pk = ", internal::TombstoneKeyExpression(*table, name + "."),
          " AND locus_dead.version > ", name, ".", SqlName(table->version),
          " AND locus_dead.cohort >= ", own.own_lo, " AND locus_dead.cohort < ", own.own_hi, ")");
      for (int attempt = 0; !stop; ++attempt) {
        const absl::Status removed = link.Transact([&]() -> absl::Status {
          LOCUS_RETURN_IF_ERROR(RaiseMarker(link, move, run));
          return link.Run(remove, {kNoRows}).status();
        });
        if (removed.ok()) break;
        if (!link.conflict() || attempt == kMostAttempts) return removed;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ForgetTombstones(ShardLink& target, const Move& move, uint64_t run) {
  return target.Transact([&]() -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> results,
        target.Run(absl::StrCat("SELECT 1 FROM ", kRuns, " WHERE move = ", SqlText(move.name),
                                " AND run = ", run, " LOCK IN SHARE MODE"),
                   {AtMostOneRow(1)}));
    if (results[0].rows.empty()) return TakenOver(target.place(), move.name);
    return target.Run(absl::StrCat("DELETE FROM locus_tombstone WHERE ", OfMove(move)), {kNoRows})
        .status();
  });
}

}  // namespace locus::mariadb
