// SPDX-License-Identifier: Apache-2.0
#include "migration/run/copy_marker.h"

#include "absl/strings/str_cat.h"
#include "migration/fence/guard_sql.h"
#include "migration/mysql/marker_tables.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::SqlText;

absl::Status CheckRun(ShardLink& link, const std::string& move, uint64_t run) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results,
                         link.Run(absl::StrCat("SELECT run FROM ", kRuns, " WHERE move = ",
                                               SqlText(move), " LOCK IN SHARE MODE"),
                                  {AtMostOneRow(1)}));
  if (!results[0].rows.empty() && results[0].rows[0][0] == absl::StrCat(run)) {
    return absl::OkStatus();
  }
  return TakenOver(link.place(), move);
}

absl::Status PutCopyMarker(ShardLink& link, const std::string& move, const std::string& table,
                           uint64_t run) {
  constexpr int kMostAttempts = 10;
  for (int attempt = 1;; ++attempt) {
    const absl::Status put = link.Transact([&]() -> absl::Status {
      LOCUS_RETURN_IF_ERROR(CheckRun(link, move, run));
      return link
          .Run(absl::StrCat("INSERT IGNORE INTO ", kCopies,
                            " (move, tbl, position, counter, run) VALUES (", SqlText(move), ", ",
                            SqlText(table), ", '', 0, ", run, ")"))
          .status();
    });
    if (put.ok() || !link.conflict() || attempt == kMostAttempts) return put;
  }
}

absl::Status RaiseCopyMarker(ShardLink& link, const std::string& move, const std::string& table,
                             uint64_t run) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      link.Run(absl::StrCat("UPDATE ", kCopies, " SET counter = counter + 1 WHERE move = ",
                            SqlText(move), " AND tbl = ", SqlText(table), " AND run = ", run),
               {kNoRows}));
  return results[0].affected == 1 ? absl::OkStatus() : TakenOver(link.place(), move);
}

absl::StatusOr<std::vector<std::string>> TracesOf(ShardLink& link, const std::string& move) {
  std::vector<std::string> found;
  for (const char* table : {kRuns, kCheckpoints, kCopies, "locus_moved_table"}) {
    const auto results =
        link.Run(absl::StrCat("SELECT 1 FROM ", table, " WHERE move = ", SqlText(move), " LIMIT 1"),
                 {AtMostOneRow(1)});
    if (!results.ok() && link.error() == kNoSuchTable) continue;
    LOCUS_RETURN_IF_ERROR(results.status());
    if (!(*results)[0].rows.empty()) found.emplace_back(table);
  }
  return found;
}

}  // namespace locus::mysql
