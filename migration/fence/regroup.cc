// SPDX-License-Identifier: Apache-2.0
#include "migration/fence/regroup.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "migration/cut_over/coordinator.h"

namespace locus::internal {

std::vector<FenceRow> Apart(std::vector<FenceRow> rows) {
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    rows[i].hi = std::min(rows[i].hi, rows[i + 1].lo - 1);
  }
  return rows;
}

absl::StatusOr<Recut> RecutOf(const std::vector<FenceRow>& rows,
                              const std::vector<FencedRange>& ranges, bool owned) {
  Recut recut;
  for (const FenceRow& row : rows) {
    std::vector<FencedRange> inside;
    for (const FencedRange& range : ranges) {
      if (range.lo <= row.hi && range.hi >= row.lo) inside.push_back(range);
    }
    if (inside.empty()) continue;
    const bool all = row.own_lo == 0 && row.own_hi == kWhole;
    if (owned ? !all : row.own_lo < row.own_hi) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the fence accepts cohorts [", row.own_lo, ", ", row.own_hi, ") of vnodes ", row.lo, "-",
          row.hi,
          owned ? "; the source of a move must accept all of them"
                : "; the target of a move must accept none of them",
          ": another move of these vnodes has not ended, or the routing table is not the one "
          "that the fence was made from"));
    }
    recut.removed.push_back(row);
    recut.step = std::max(recut.step, row.step);
    uint32_t from = row.lo;
    for (const FencedRange& range : inside) {
      if (range.lo > from) {
        recut.inserted.push_back(row);
        recut.inserted.back().lo = from;
        recut.inserted.back().hi = range.lo - 1;
      }
      from = std::max(from, range.hi + 1);
    }
    if (from <= row.hi) {
      recut.inserted.push_back(row);
      recut.inserted.back().lo = from;
    }
  }
  if (!owned) return recut;
  // The source must accept every vnode, so a gap between its rows is an error. On a target it is
  // none: vnodes without a row are not accepted.
  for (const FencedRange& range : ranges) {
    uint32_t next = range.lo;
    for (const FenceRow& row : recut.removed) {
      if (row.lo <= next && row.hi >= next) next = row.hi + 1;
    }
    if (next <= range.hi) {
      return absl::FailedPreconditionError(
          absl::StrCat("the fence of the source has no row for vnode ", next, " of ", range.lo, "-",
                       range.hi, "; install the fence from the routing table"));
    }
  }
  return recut;
}

bool AcceptSame(const FenceRow* from, const FenceRow& to) {
  // A vnode without a row is not accepted, as by a row that accepts no cohort.
  const bool accepts = from != nullptr && from->own_lo < from->own_hi;
  if (!accepts) return to.own_lo >= to.own_hi;
  return from->own_lo == to.own_lo && from->own_hi == to.own_hi && from->server_id == to.server_id;
}

RegroupPlan::ByLo RegroupPlan::MapOf(const std::vector<FenceRow>& rows) {
  ByLo by_lo;
  for (const FenceRow& row : rows) by_lo[row.lo] = row;
  return by_lo;
}

RegroupPlan::RegroupPlan(const Regroup& regroup)
    : stored_(MapOf(regroup.stored)),
      made_(MapOf(regroup.made)),
      after_(MapOf(Apart(regroup.stored))) {
  for (const FenceRow& row : regroup.removed) after_.erase(row.lo);
  for (const FenceRow& row : regroup.rest) after_[row.lo] = row;
  for (const FenceRow& row : regroup.made) after_[row.lo] = row;
}

std::vector<FenceRow> RegroupPlan::Inserted() const {
  std::vector<FenceRow> rows;
  for (const auto& [lo, row] : after_) {
    if (!stored_.contains(lo)) rows.push_back(row);
  }
  return rows;
}

absl::StatusOr<std::vector<RegroupPlan::Pointing>> RegroupPlan::WrongPointers(
    const std::vector<std::optional<uint32_t>>& map) const {
  auto refuse = [](uint32_t vnode, const char* why) {
    return absl::FailedPreconditionError(
        absl::StrCat("table locus_vnode, vnode ", vnode, ": ", why,
                     "; it was changed by hand: compare it with locus_fence"));
  };
  std::vector<Pointing> wrong;
  for (uint32_t vnode = 0; vnode < map.size(); ++vnode) {
    const std::optional<uint32_t> from = map[vnode];
    auto next = after_.upper_bound(vnode);
    const FenceRow* to = next == after_.begin() ? nullptr : &std::prev(next)->second;
    if (to == nullptr || to->hi < vnode) {
      if (from) return refuse(vnode, "it names a row, and no row has this vnode");
      continue;
    }
    if (from == to->lo) continue;
    auto stored = from ? stored_.find(*from) : stored_.end();
    if (!AcceptSame(stored == stored_.end() ? nullptr : &stored->second, *to)) {
      return refuse(vnode, "the row that it names accepts other cohorts");
    }
    // Both rows accept the same, so vnodes beside the regroup keep the row that they name.
    if (from && !made_.contains(to->lo) && !IsTaken(*from)) continue;
    Pointing* last = wrong.empty() ? nullptr : &wrong.back();
    if (last != nullptr && last->last + 1 == vnode && last->from == from && last->to == to->lo) {
      last->last = vnode;
    } else {
      wrong.push_back({vnode, vnode, from, to->lo});
    }
  }
  return wrong;
}

std::vector<RegroupPlan::End> RegroupPlan::Ends() const {
  std::vector<End> ends;
  for (const auto& [lo, stored] : stored_) {
    auto found = after_.find(lo);
    if (found == after_.end()) {
      ends.push_back({stored, std::nullopt, false});
    } else if (found->second != stored) {
      FenceRow shorter = stored;
      shorter.hi = found->second.hi;
      ends.push_back({stored, found->second, shorter == found->second});
    }
  }
  return ends;
}

}  // namespace locus::internal
