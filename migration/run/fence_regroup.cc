// SPDX-License-Identifier: Apache-2.0
#include "migration/run/fence_regroup.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/cut_over/token.h"
#include "migration/fence/guard_sql.h"
#include "migration/run/lock_holders.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::AcceptSame;
using internal::FenceRow;
using internal::Regroup;
using internal::RegroupPlan;
using internal::SqlText;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr size_t kVnodes = 65536;
// A runner must look at its move again before another one takes it over.
constexpr std::chrono::seconds kMostTime{2};
constexpr uint32_t kMostBatch = 512;
constexpr size_t kMostParts = 8;
constexpr char kWithoutWaiting[] = "SET STATEMENT innodb_lock_wait_timeout = 0 FOR ";

std::string ValuesOf(const FenceRow& row) {
  return absl::StrCat("(", row.lo, ", ", row.hi, ", ", row.own_lo, ", ", row.own_hi, ", ", row.step,
                      ", ", row.server_id, ", ", row.other.empty() ? "NULL" : SqlText(row.other),
                      ", NULL)");
}

std::string Condition(const FenceRow& row) {
  return absl::StrCat("lo = ", row.lo, " AND own_lo = ", row.own_lo, " AND own_hi = ", row.own_hi,
                      " AND step = ", row.step, " AND server_id = ", row.server_id);
}

using Pointing = RegroupPlan::Pointing;

class Regrouping {
 public:
  Regrouping(ShardLink& link, const Regroup& regroup, const std::function<absl::Status()>& check,
             const RegroupPatience& patience, bool& kept)
      : link_(link),
        regroup_(regroup),
        check_(check),
        patience_(patience),
        kept_(kept),
        plan_(regroup) {}

  absl::Status Run() {
    LOCUS_RETURN_IF_ERROR(MakeMap(link_));
    LOCUS_RETURN_IF_ERROR(InsertRows());
    // The map is read again after each pass. Once it names no old row, no write holds one by it.
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(std::vector<Pointing> left, WrongPointers());
      if (left.empty()) break;
      LOCUS_RETURN_IF_ERROR(Point(left));
    }
    return EndRows();
  }

 private:
  absl::Status Changed(uint32_t lo, uint32_t hi) const {
    return absl::AbortedError(absl::StrCat("mariadb ", link_.place(),
                                           ": another session changed the fence of vnodes ", lo,
                                           "-", hi, " meanwhile; repeat the command"));
  }
  absl::Status Transact(const std::function<absl::Status()>& work) {
    LockHolders holders(link_, patience_.names);
    const absl::Status done = link_.Transact([&]() -> absl::Status {
      LOCUS_RETURN_IF_ERROR(check_());
      return work();
    });
    return !done.ok() && IsBusy(link_.error()) ? Kept(holders.Text()) : done;
  }
  absl::Status Kept(const std::string& holders) {
    kept_ = true;
    return KeptFence(link_.place(), patience_.wait, holders);
  }

  // The rows that will be replaced are locked as writers lock them, so that they stay as they were
  // read.
  absl::Status InsertRows() {
    std::vector<std::string> values;
    for (const FenceRow& row : plan_.Inserted()) values.push_back(ValuesOf(row));
    if (values.empty()) return absl::OkStatus();
    LOCUS_RETURN_IF_ERROR(link_.Run(internal::kKeepsMap).status());
    return Transact([&]() -> absl::Status {
      for (const FenceRow& row : regroup_.removed) {
        LOCUS_ASSIGN_OR_RETURN(
            std::vector<Result> same,
            link_.Run(absl::StrCat(Within(patience_.wait), "SELECT lo FROM locus_fence WHERE ",
                                   Condition(row), " LOCK IN SHARE MODE"),
                      {Rows(1, 1)}));
        if (same[0].rows.size() != 1) return Changed(row.lo, row.hi);
      }
      return link_
          .Run(absl::StrCat(Within(patience_.wait),
                            "INSERT INTO locus_fence (lo, hi, own_lo, own_hi, step, server_id,"
                            " other, token) VALUES ",
                            absl::StrJoin(values, ", ")))
          .status();
    });
  }

  absl::StatusOr<std::vector<Pointing>> WrongPointers() {
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> results,
        link_.Run("SELECT vnode, fence FROM locus_vnode ORDER BY vnode", {Rows(2, kVnodes)}));
    if (results[0].rows.size() != kVnodes) return Refuse("table locus_vnode lacks vnodes");
    std::vector<std::optional<uint32_t>> map(kVnodes);
    for (size_t vnode = 0; vnode < kVnodes; ++vnode) {
      const Result::Row& found = results[0].rows[vnode];
      if (!found[1]) continue;
      LOCUS_ASSIGN_OR_RETURN(int64_t from, NumberIn(found, 1, link_.place()));
      map[vnode] = static_cast<uint32_t>(from);
    }
    auto wrong = plan_.WrongPointers(map);
    if (!wrong.ok()) return Refuse(wrong.status().message());
    return wrong;
  }
  absl::Status Refuse(absl::string_view why) const {
    return absl::FailedPreconditionError(absl::StrCat("mariadb ", link_.place(), ": ", why));
  }

  // A transaction of its own. Both rows still accept the same: a rebind, or a step of a move of the
  // same vnodes, may have changed one since it was read. Errors as of ShardLink::error.
  absl::Status PointSome(const std::string& within, uint32_t first, uint32_t last,
                         const Pointing& pointing) {
    const std::string from = pointing.from ? absl::StrCat(*pointing.from) : "NULL";
    return link_.Transact([&]() -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(
          std::vector<Result> results,
          link_.Run(absl::StrCat(within, "SELECT lo, own_lo, own_hi, server_id FROM locus_fence",
                                 " WHERE lo IN (", from, ", ", pointing.to, ") LOCK IN SHARE MODE"),
                    {Rows(4, 2)}));
      std::map<uint32_t, FenceRow> rows;
      for (const Result::Row& row : results[0].rows) {
        uint32_t numbers[4];
        for (size_t i = 0; i < 4; ++i) {
          LOCUS_ASSIGN_OR_RETURN(int64_t number, NumberIn(row, i, link_.place()));
          numbers[i] = static_cast<uint32_t>(number);
        }
        rows[numbers[0]] = {numbers[0], numbers[0], numbers[1], numbers[2], 0, numbers[3], ""};
      }
      auto old = pointing.from ? rows.find(*pointing.from) : rows.end();
      const bool same = rows.contains(pointing.to) &&
                        AcceptSame(old == rows.end() ? nullptr : &old->second, rows[pointing.to]);
      if (!same) return Changed(first, last);
      return link_
          .Run(absl::StrCat(within, "UPDATE locus_vnode SET fence = ", pointing.to,
                            " WHERE vnode BETWEEN ", first, " AND ", last, " AND fence <=> ", from),
               {kNoRows})
          .status();
    });
  }

  // First the rows that no writer keeps, without waiting. If one batch waited for one vnode, the
  // writers of all its vnodes would queue behind it.
  absl::Status Point(const std::vector<Pointing>& left) {
    uint32_t batch = kMostBatch;
    std::vector<Pointing> kept;
    for (const Pointing& pointing : left) {
      for (uint32_t first = pointing.first; first <= pointing.last;) {
        if (SteadyClock::now() > until_) return Late(first);
        const uint32_t last = std::min(pointing.last, first + batch - 1);
        const absl::Status done = PointSome(kWithoutWaiting, first, last, pointing);
        if (!done.ok() && !IsBusy(link_.error())) return done;
        if (done.ok()) {
          first = last + 1;
          batch = std::min(batch * 2, kMostBatch);
        } else if (last > first) {
          batch = std::max(batch / 4, 1u);
        } else {
          kept.push_back({first, first, pointing.from, pointing.to});
          ++first;
        }
      }
    }
    return PointKept(kept);
  }

  // Then the others one by one. Nothing else is locked meanwhile, so there is no deadlock.
  absl::Status PointKept(const std::vector<Pointing>& kept) {
    std::string holders;
    bool busy = false;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (SteadyClock::now() > until_) return busy ? Kept(holders) : Late(kept[i].first);
      const Pointing& one = kept[(i + patience_.turn) % kept.size()];
      LockHolders watch(link_, patience_.names);
      const absl::Status done = PointSome(Within(patience_.wait), one.first, one.last, one);
      if (done.ok()) continue;
      if (!IsBusy(link_.error())) return done;
      busy = true;
      if (holders.empty()) holders = watch.Text();
    }
    return busy ? Kept(holders) : absl::OkStatus();
  }
  absl::Status Late(uint32_t vnode) const {
    return absl::UnavailableError(absl::StrCat("mariadb ", link_.place(), ": vnodes from ", vnode,
                                               " are to be pointed to their row of locus_fence"
                                               " yet"));
  }

  // Writers that use the map only lock the rows of their own vnodes. SQL of an earlier version may
  // have read a row by its range, so this waits for the writers of each. A row that only has to end
  // earlier may stay as it is while its writers keep it. A token goes with the vnodes that the row
  // had when it was written.
  absl::Status EndRows() {
    for (const RegroupPlan::End& end : plan_.Ends()) {
      if (!end.becomes) {
        LOCUS_RETURN_IF_ERROR(Change(end.row, "DELETE FROM locus_fence"));
        continue;
      }
      const FenceRow& row = *end.becomes;
      if (end.may_stay) {
        const absl::Status done =
            link_
                .Run(absl::StrCat(kWithoutWaiting, "UPDATE locus_fence SET hi = ", row.hi,
                                  ", token = NULL WHERE ", Condition(end.row)),
                     {kNoRows})
                .status();
        if (!done.ok() && !IsBusy(link_.error())) return done;
        continue;
      }
      LOCUS_RETURN_IF_ERROR(Change(
          end.row, absl::StrCat("UPDATE locus_fence SET hi = ", row.hi, ", own_lo = ", row.own_lo,
                                ", own_hi = ", row.own_hi, ", step = ", row.step,
                                ", other = ", row.other.empty() ? "NULL" : SqlText(row.other),
                                ", token = NULL")));
    }
    return absl::OkStatus();
  }

  absl::Status Change(const FenceRow& row, const std::string& change) {
    return Transact([&]() -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(
          std::vector<Result> done,
          link_.Run(absl::StrCat(Within(patience_.wait), change, " WHERE ", Condition(row)),
                    {kNoRows}));
      return done[0].affected == 1 ? absl::OkStatus() : Changed(row.lo, row.hi);
    });
  }

  ShardLink& link_;
  const Regroup& regroup_;
  const std::function<absl::Status()>& check_;
  const RegroupPatience& patience_;
  bool& kept_;
  const RegroupPlan plan_;
  const SteadyClock::time_point until_ = SteadyClock::now() + kMostTime;
};

}  // namespace

absl::Status KeptFence(const std::string& place, absl::Duration patience,
                       const std::string& holders) {
  return absl::UnavailableError(absl::StrCat(
      "mariadb ", place, ": writers under way kept the fence for longer than ",
      absl::FormatDuration(patience), holders.empty() ? "" : absl::StrCat(": ", holders)));
}

std::string Within(absl::Duration patience) {
  return absl::StrCat("SET STATEMENT max_statement_time = ", absl::ToDoubleSeconds(patience),
                      " FOR ");
}

bool IsBusy(unsigned error) {
  return error == kStatementOutOfTime || error == kLockWaitTimeout || error == kDeadlock;
}

static absl::StatusOr<std::vector<OwnRow>> StoredRows(ShardLink& link, const std::string& which) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      link.Run(absl::StrCat("SELECT lo, hi, own_lo, own_hi, step, server_id, @@server_id,"
                            " COALESCE(other, ''), COALESCE(token, '') FROM locus_fence ",
                            which),
               {Rows(9, kVnodes)}));
  std::vector<OwnRow> rows;
  for (const Result::Row& row : results[0].rows) {
    uint64_t numbers[7];
    for (size_t i = 0; i < 7; ++i) {
      LOCUS_ASSIGN_OR_RETURN(int64_t number, NumberIn(row, i, link.place()));
      numbers[i] = static_cast<uint64_t>(number);
    }
    OwnRow& read = rows.emplace_back();
    read.row = {static_cast<uint32_t>(numbers[0]),
                static_cast<uint32_t>(numbers[1]),
                static_cast<uint32_t>(numbers[2]),
                static_cast<uint32_t>(numbers[3]),
                numbers[4],
                static_cast<uint32_t>(numbers[5]),
                row[7].value_or("")};
    read.server = static_cast<uint32_t>(numbers[6]);
    std::tie(read.token_share, read.token_nonce) = internal::TokenIn(row[8].value_or(""));
  }
  return rows;
}

static std::vector<FenceRow> FenceOf(const std::vector<OwnRow>& rows) {
  std::vector<FenceRow> fence;
  for (const OwnRow& row : rows) fence.push_back(row.row);
  return fence;
}

absl::StatusOr<std::vector<FenceRow>> StoredFence(ShardLink& link) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<OwnRow> rows, StoredRows(link, "ORDER BY lo"));
  return FenceOf(rows);
}

absl::StatusOr<std::vector<OwnRow>> OwnRows(ShardLink& link, const std::vector<FencedRange>& ranges,
                                            bool locking) {
  // A row may reach past its range. The row that begins there then cuts it.
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<OwnRow> rows,
      StoredRows(link,
                 absl::StrCat("WHERE lo BETWEEN ", ranges.front().lo, " AND ", ranges.back().hi + 1,
                              " ORDER BY lo", locking ? " LOCK IN SHARE MODE" : "")));
  const std::vector<FenceRow> apart = Apart(FenceOf(rows));
  std::vector<OwnRow> own;
  for (const FencedRange& range : ranges) {
    auto first = std::partition_point(apart.begin(), apart.end(),
                                      [&](const FenceRow& row) { return row.lo < range.lo; });
    if (first != apart.end() && first->lo == range.lo && first->hi == range.hi) {
      own.push_back(std::move(rows[static_cast<size_t>(first - apart.begin())]));
      own.back().row = *first;
      continue;
    }
    std::vector<std::string> parts;
    for (; first != apart.end() && first->lo <= range.hi; ++first) {
      parts.push_back(absl::StrCat(first->lo, "-", first->hi));
    }
    if (parts.size() > kMostParts) parts.resize(kMostParts);
    return absl::FailedPreconditionError(absl::StrCat(
        "mariadb ", link.place(), ": locus_fence has no row for vnodes ", range.lo, "-", range.hi,
        parts.empty() ? "" : absl::StrCat(", but ", absl::StrJoin(parts, ", "))));
  }
  return own;
}

absl::StatusOr<bool> HasMap(ShardLink& link) {
  auto count = link.Run("SELECT COUNT(*) FROM locus_vnode", {OneRow(1)});
  if (!count.ok() && link.error() != kNoSuchTable) return count.status();
  return count.ok() && (*count)[0].rows[0][0] == absl::StrCat(kVnodes);
}

absl::Status MakeMap(ShardLink& link) {
  LOCUS_ASSIGN_OR_RETURN(const bool there, HasMap(link));
  if (there) return absl::OkStatus();
  for (const char* statement :
       {internal::kProtectFence, internal::kCreateVnodes, internal::kMapVnodes}) {
    LOCUS_RETURN_IF_ERROR(link.Run(statement).status());
  }
  return absl::OkStatus();
}

absl::Status RegroupAlone(ShardLink& link, const std::function<absl::Status()>& work) {
  constexpr char kName[] = "CONCAT('locus_regroup ', SHA1(DATABASE()))";
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> locked,
                         link.Run(absl::StrCat("SELECT GET_LOCK(", kName, ", 1)"), {OneRow(1)}));
  if (locked[0].rows[0][0] != "1") {
    return absl::UnavailableError(
        absl::StrCat("mariadb ", link.place(), ": the fence is regrouped for another move"));
  }
  // A connection that broke has lost the lock, and another regroup may have begun.
  const absl::Status done = link.InSession(work);
  link.Run(absl::StrCat("DO RELEASE_LOCK(", kName, ")")).IgnoreError();
  return done;
}

absl::Status RegroupFence(ShardLink& link, const Regroup& regroup,
                          const std::function<absl::Status()>& check,
                          const RegroupPatience& patience, bool& kept) {
  return Regrouping(link, regroup, check, patience, kept).Run();
}

}  // namespace locus::mysql
