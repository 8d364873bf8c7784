// SPDX-License-Identifier: Apache-2.0
#include "migration/engine/mariadb/run/tombstones.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/engine/mariadb/marker_tables.h"
#include "migration/fence/guard_sql.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus::mariadb {

using internal::HexOf;
using internal::SqlText;

namespace {

constexpr size_t kChunk = 1000;
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
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> results,
        target.Run(
            absl::StrCat("UPDATE locus_copy SET counter = counter + 1 WHERE move = ",
                         SqlText(move.name), " AND tbl = '", kMarkerTable, "' AND run = ", run),
            {kNoRows}));
    if (results[0].affected != 1) return TakenOver(target.place(), move.name);
    return target
        .Run(absl::StrCat("INSERT INTO locus_tombstone (tbl, pk, version, gene, cohort) VALUES ",
                          absl::StrJoin(values, ", "),
                          " ON DUPLICATE KEY UPDATE version = GREATEST(version, VALUES(version))"),
             {kNoRows})
        .status();
  });
}

}  // namespace

absl::Status CopyTombstones(ShardLink& source, ShardLink& target, const Move& move, uint64_t run,
                            const std::function<absl::Status()>& before_write,
                            const std::atomic<bool>& stop) {
  LOCUS_RETURN_IF_ERROR(
      target
          .Run(absl::StrCat("INSERT IGNORE INTO locus_copy (move, tbl, position, counter, run)"
                            " VALUES (",
                            SqlText(move.name), ", '", kMarkerTable, "', '', 0, ", run, ")"))
          .status());
  std::string behind;
  while (!stop) {
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> results,
        source.Run(absl::StrCat("SELECT tbl, pk, version, gene, cohort FROM locus_tombstone WHERE ",
                                OfMove(move), behind, " ORDER BY tbl, pk LIMIT ", kChunk),
                   {Rows(5, kChunk)}));
    const std::vector<Result::Row>& rows = results[0].rows;
    if (rows.empty()) return absl::OkStatus();
    LOCUS_RETURN_IF_ERROR(before_write());
    for (int attempt = 0;; ++attempt) {
      const absl::Status put = Put(target, move, run, rows);
      if (put.ok()) break;
      if (!target.conflict() || attempt == 10) return put;
    }
    const std::string table = Bytes(rows.back()[0]), key = Bytes(rows.back()[1]);
    behind = absl::StrCat(" AND (tbl > ", table, " OR tbl = ", table, " AND pk > ", key, ")");
  }
  return absl::OkStatus();
}

absl::Status ForgetTombstones(ShardLink& target, const Move& move) {
  return target.Run(absl::StrCat("DELETE FROM locus_tombstone WHERE ", OfMove(move)), {kNoRows})
      .status();
}

}  // namespace locus::mariadb
