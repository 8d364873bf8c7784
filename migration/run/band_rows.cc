// SPDX-License-Identifier: Apache-2.0
#include "migration/run/band_rows.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/apply/peer_bands.h"
#include "migration/cut_over/token.h"
#include "migration/fence/guard_sql.h"
#include "migration/run/copy_marker.h"
#include "migration/run/fence_regroup.h"
#include "migration/run/lock_holders.h"
#include "migration/run/prepared_xa.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::BandFence;
using internal::FenceRow;
using internal::Quoted;
using internal::Recut;
using internal::Regroup;
using internal::Side;
using internal::SqlText;

namespace {

constexpr size_t kMostRows = 65536;
// Between two looks at prepared transactions, while writers wait for the fence.
constexpr std::chrono::milliseconds kPreparedPause{2};
// The part of its patience that a regroup uses up at each call that writers hold up.
constexpr unsigned kMostDoublings = 3;
constexpr absl::Duration kMostPatience = absl::Seconds(2);

std::string RangeText(const FencedRange& range) { return absl::StrCat(range.lo, "-", range.hi); }

std::string LosOf(const std::vector<FencedRange>& ranges) {
  return absl::StrJoin(ranges, ", ", [](std::string* out, const FencedRange& range) {
    absl::StrAppend(out, range.lo);
  });
}

absl::StatusOr<uint64_t> NaturalIn(const Result::Row& row, size_t column,
                                   const std::string& place) {
  LOCUS_ASSIGN_OR_RETURN(int64_t number, NumberIn(row, column, place));
  return static_cast<uint64_t>(number);
}

}  // namespace

absl::StatusOr<std::vector<FenceRow>> BandRows::Touching() {
  LOCUS_ASSIGN_OR_RETURN(std::vector<FenceRow> rows, StoredFence(link_));
  rows = Apart(std::move(rows));
  std::erase_if(rows, [&](const FenceRow& row) {
    return absl::c_none_of(move_.ranges, [&](const FencedRange& range) {
      return row.lo <= range.hi && row.hi >= range.lo;
    });
  });
  return rows;
}

absl::Status BandRows::Make(uint64_t step, uint64_t run, absl::Duration patience) {
  // A writer of one vnode waits for as long, and then for the writers before it.
  const absl::Duration doubled = patience * (1 << std::min(kept_, kMostDoublings));
  const RegroupPatience regroup_patience{std::max(patience, std::min(doubled, kMostPatience)),
                                         kept_, kept_ > 0};
  bool kept = false;
  const absl::Status made = RegroupAlone(link_, [&]() -> absl::Status {
    Regroup regroup;
    LOCUS_ASSIGN_OR_RETURN(regroup.stored, StoredFence(link_));
    LOCUS_ASSIGN_OR_RETURN(Recut recut,
                           RecutOf(Apart(regroup.stored), move_.ranges, side_ == Side::kSource));
    // New rows would be bound to this server without a check whether they may.
    LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results,
                           link_.Run("SELECT @@server_id", {OneRow(1)}));
    LOCUS_ASSIGN_OR_RETURN(uint64_t server, NaturalIn(results[0].rows[0], 0, link_.place()));
    for (const FenceRow& row : recut.removed) {
      if (row.server_id == server) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "mariadb ", link_.place(), ": the fence of vnodes ", row.lo, "-", row.hi,
          " is bound to server ", row.server_id, ", and server ", server,
          " answers: a replica was promoted, or a backup restored; see `locus move rebind`"));
    }
    const BandFence own = Owned(side_, 0, internal::kCohorts);
    const std::string& other = side_ == Side::kSource ? move_.target.name : move_.source.name;
    regroup.removed = recut.removed;
    regroup.rest = recut.inserted;
    for (const FencedRange& range : move_.ranges) {
      regroup.made.push_back(
          {range.lo, range.hi, own.own_lo, own.own_hi, step, static_cast<uint32_t>(server), other});
    }
    return RegroupFence(
        link_, regroup, [&] { return CheckRun(link_, move_.name, run); }, regroup_patience, kept);
  });
  if (kept) {
    ++kept_;
  } else if (made.ok()) {
    kept_ = 0;
  }
  return made;
}

absl::StatusOr<BandFence> BandRows::Read() {
  LOCUS_ASSIGN_OR_RETURN(Seen seen, ReadUnbound());
  if (seen.bound_to == 0) return seen.row;
  return absl::FailedPreconditionError(absl::StrCat(
      "mariadb ", link_.place(), ": the fence of vnodes ", RangeText(move_.ranges.front()),
      " is bound to server ", seen.bound_to, ", and server ", seen.server,
      " answers: a replica was promoted, or a backup restored; see `locus move rebind`"));
}

absl::StatusOr<BandRows::Seen> BandRows::ReadUnbound() {
  LOCUS_ASSIGN_OR_RETURN(std::vector<OwnRow> rows, OwnRows(link_, move_.ranges));
  Seen seen;
  seen.server = rows.front().server;
  for (const OwnRow& own : rows) {
    const FenceRow& row = own.row;
    if (row.server_id != own.server) seen.bound_to = row.server_id;
    const BandFence one{row.own_lo, row.own_hi, row.step, own.token_share, own.token_nonce};
    if (&own == &rows.front()) seen.row = one;
    if (one == seen.row) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", link_.place(), ": the rows of locus_fence for vnodes ",
                     RangeText(move_.ranges.front()), " and ", RangeText({row.lo, row.hi}),
                     " differ, and they step together: they were changed by hand"));
  }
  return seen;
}

bool BandRows::IsKept(const std::function<absl::Status()>& work, absl::Status& status) {
  LockHolders watch(link_, busy_);
  status = work();
  busy_ = !status.ok() && IsBusy(link_.error());
  holders_ = busy_ ? watch.Text() : "";
  return busy_;
}

absl::StatusOr<bool> BandRows::Free(absl::Duration patience) {
  absl::Status locked;
  // Outside of a transaction: the locks go with the statement.
  const bool kept = IsKept(
      [&] {
        return link_
            .Run(absl::StrCat(Within(patience), "SELECT lo FROM locus_fence WHERE lo IN (",
                              LosOf(move_.ranges), ") FOR UPDATE"),
                 {Rows(1, kMostRows)})
            .status();
      },
      locked);
  if (kept) return false;
  LOCUS_RETURN_IF_ERROR(locked);
  return true;
}

absl::StatusOr<BandRows::Written> BandRows::Replace(const BandFence& row, uint64_t seen,
                                                    uint64_t run, absl::Duration patience) {
  const std::string token = row.token_nonce == 0
                                ? "NULL"
                                : SqlText(internal::TokenText(row.token_share, row.token_nonce));
  Written written = Written::kDone;
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(patience);
  const auto replace = [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(CheckRun(link_, move_.name, run));
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> results,
        link_.Run(
            absl::StrCat(Within(patience), "UPDATE locus_fence SET own_lo = ", row.own_lo,
                         ", own_hi = ", row.own_hi, ", step = ", row.step, ", token = ", token,
                         " WHERE step = ", seen, " AND lo IN (", LosOf(move_.ranges), ")"),
            {kNoRows}));
    if (results[0].affected != move_.ranges.size()) {
      written = Written::kOutdated;
      return absl::AbortedError("");
    }
    // Only a shard that gives up orders must be sure that no transaction can still write them. A
    // transaction that is prepared from now on has read the new row of the fence, or writes other
    // tables.
    if (row.token_nonce == 0) return absl::OkStatus();
    auto goes_on = [&](size_t) {
      std::this_thread::sleep_for(kPreparedPause);
      return std::chrono::steady_clock::now() < until;
    };
    LOCUS_ASSIGN_OR_RETURN(const size_t left, WaitForPrepared(link_, goes_on));
    if (left == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "mariadb ", link_.place(), " has ", left,
        " prepared XA transactions, which have dropped their locks and may still commit; commit "
        "or roll them back (XA RECOVER lists them)"));
  };
  absl::Status status;
  const bool kept = IsKept([&] { return link_.Transact(replace); }, status);
  if (written == Written::kOutdated) return written;
  if (kept) return Written::kBusy;
  LOCUS_RETURN_IF_ERROR(status);
  return written;
}

}  // namespace locus::mysql
