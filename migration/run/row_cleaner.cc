// SPDX-License-Identifier: Apache-2.0
#include "migration/run/row_cleaner.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/apply/copy_sql.h"
#include "migration/apply/peer_bands.h"
#include "migration/fence/guard_sql.h"
#include "migration/run/copy_marker.h"
#include "migration/run/fence_regroup.h"
#include "src/base/os/check.h"
#include "src/base/run/backoff.h"
#include "src/base/text/text.h"

namespace locus::mysql {

using internal::Side;
using internal::SqlName;
using internal::SqlText;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr uint64_t kFewestDeleted = 16, kMostDeleted = 4096;

// One range of vnodes in one table of one shard.
class RangeCleaner {
 public:
  RangeCleaner(ShardLink& link, const Move& move, Side side, const MovedTable& table,
               const FencedRange& range, uint64_t run)
      : link_(link), move_(move), side_(side), table_(table), range_(range), run_(run) {}

  // Deletes up to `rows`; returns how many there were.
  absl::StatusOr<uint64_t> DeleteBatch(uint64_t rows) {
    uint64_t deleted = 0;
    const absl::Status status = link_.Transact([&]() -> absl::Status {
      LOCUS_RETURN_IF_ERROR(RaiseCopyMarker(link_, move_.name, table_.guard.name, run_));
      LOCUS_RETURN_IF_ERROR(CheckFence());
      LOCUS_ASSIGN_OR_RETURN(
          std::vector<Result> results,
          link_.Run(absl::StrCat("SET STATEMENT foreign_key_checks = 0 FOR DELETE FROM ",
                                 SqlName(table_.guard.name), " WHERE ",
                                 internal::RowsOf(table_.guard, range_, true), " LIMIT ", rows),
                    {kNoRows}));
      deleted = results[0].affected;
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return deleted;
  }

 private:
  // Locked, so that no session gives the vnodes back to this shard while their rows are deleted. A
  // regroup that would give some of them another row needs the map. The rows of the source are
  // those of a move that took all of them: a later one may be copying here.
  absl::Status CheckFence() {
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> results,
        // Not by WHERE: READ COMMITTED keeps no lock of rows that it leaves out.
        link_.Run(absl::StrCat("SELECT COALESCE(SUM(fence <=> ", range_.lo,
                               "), 0) FROM locus_vnode WHERE vnode BETWEEN ", range_.lo, " AND ",
                               range_.hi, " LOCK IN SHARE MODE"),
                  {OneRow(1)}));
    LOCUS_ASSIGN_OR_RETURN(int64_t pointed, NumberIn(results[0].rows[0], 0, link_.place()));
    const auto rows = OwnRows(link_, {range_}, true);
    if (absl::IsFailedPrecondition(rows.status())) {
      return Refuse(std::string(rows.status().message()));
    }
    LOCUS_RETURN_IF_ERROR(rows.status());
    const OwnRow& own = rows->front();
    // An abort may come before all vnodes of the target have been pointed to its row.
    const bool whole =
        own.token_share == internal::kCohorts && pointed == range_.hi - range_.lo + 1;
    if (own.row.own_lo >= own.row.own_hi && (side_ == Side::kTarget || whole)) {
      return absl::OkStatus();
    }
    return Refuse(absl::StrCat(
        "mariadb ", link_.place(), ": the fence ",
        own.row.own_lo < own.row.own_hi ? "accepts cohorts of" : "says that a later move has used",
        " vnodes ", range_.lo, "-", range_.hi));
  }
  static absl::Status Refuse(const std::string& why) {
    return absl::FailedPreconditionError(absl::StrCat(why, ", so none of their rows is deleted"));
  }

  ShardLink& link_;
  const Move& move_;
  const Side side_;
  const MovedTable& table_;
  const FencedRange& range_;
  const uint64_t run_;
};

}  // namespace

absl::Status DeleteMovedRows(ShardLink& link, const Move& move, Side side, uint64_t run,
                             absl::Duration batch_time, const std::atomic<bool>& stop,
                             std::atomic<uint64_t>& deleted) {
  uint64_t rows = kFewestDeleted;
  internal::Backoff pauses({absl::Milliseconds(2), absl::Seconds(1), 0.5});
  LOCUS_RETURN_IF_ERROR(link.Transact([&] { return CheckRun(link, move.name, run); }));
  LOCUS_ASSIGN_OR_RETURN(const bool has_map, HasMap(link));
  if (!has_map) LOCUS_RETURN_IF_ERROR(RegroupAlone(link, [&] { return MakeMap(link); }));
  for (auto table = move.tables.rbegin(); table != move.tables.rend(); ++table) {
    LOCUS_RETURN_IF_ERROR(PutCopyMarker(link, move.name, table->guard.name, run));
    for (const FencedRange& range : move.ranges) {
      RangeCleaner cleaner(link, move, side, *table, range, run);
      for (uint64_t found = 1; found > 0 && !stop;) {
        const auto begun = SteadyClock::now();
        auto batch = cleaner.DeleteBatch(rows);
        if (!batch.ok() && link.conflict() &&
            SleepBeforeRetry(pauses, SteadyClock::time_point::max())) {
          rows = std::max(kFewestDeleted, rows / 2);
          continue;
        }
        pauses.Reset();
        LOCUS_RETURN_IF_ERROR(batch.status());
        found = *batch;
        deleted += found;
        const auto took = SteadyClock::now() - begun;
        rows = absl::FromChrono(took) > batch_time ? rows / 2 : rows + 64;
        rows = std::clamp(rows, kFewestDeleted, kMostDeleted);
        if (found > 0) std::this_thread::sleep_for(took);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace locus::mysql
