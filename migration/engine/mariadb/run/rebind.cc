// SPDX-License-Identifier: Apache-2.0
#include "migration/engine/mariadb/run/rebind.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "migration/engine/mariadb/marker_tables.h"
#include "migration/engine/mariadb/primary.h"
#include "src/base/check.h"

namespace locus::mariadb {

using internal::FenceRow;

namespace {

constexpr size_t kMostRows = 65536;
constexpr uint32_t kCohorts = RoutingTable::kMaxPermyriad;

ShardGene GeneOf(uint32_t vnode) { return ShardGene::FromUint16(static_cast<uint16_t>(vnode)); }

std::string Condition(const FenceRow& row) {
  return absl::StrCat("lo = ", row.lo, " AND hi = ", row.hi, " AND own_lo = ", row.own_lo,
                      " AND own_hi = ", row.own_hi, " AND step = ", row.step,
                      " AND server_id = ", row.server_id);
}

}  // namespace

bool MayBindAtRest(const FenceRow& row, uint32_t shard, const RoutingTable& table,
                   std::string& why) {
  const bool none = row.own_lo >= row.own_hi;
  if (!none && (row.own_lo != 0 || row.own_hi != kCohorts)) {
    why = "it accepts a part of the cohorts: a move stands there";
    return false;
  }
  for (uint32_t vnode = row.lo; vnode <= row.hi && vnode <= UINT16_MAX; ++vnode) {
    if (table.MoveOf(GeneOf(vnode)) != nullptr) {
      why = absl::StrCat("epoch ", table.epoch(), " moves vnode ", vnode,
                         ": the runner of that move binds it");
      return false;
    }
    const uint32_t owner = table.OwnerOf(GeneOf(vnode)).id;
    if ((owner == shard) == !none) continue;
    why = absl::StrCat("it accepts ", none ? "no" : "all", " cohorts of vnode ", vnode,
                       ", and epoch ", table.epoch(), " gives that to shard ", owner);
    return false;
  }
  return true;
}

absl::Status MayBindMove(const BandRows::Seen& source, const BandRows::Seen& target) {
  if (SituationOf(source.row, target.row, kCohorts).kind !=
      internal::Situation::Kind::kImpossible) {
    return absl::OkStatus();
  }
  const BandRows::Seen& unbound = source.bound_to != 0 ? source : target;
  return absl::FailedPreconditionError(
      absl::StrCat("the fence of the ", source.bound_to != 0 ? "source" : "target",
                   " is bound to server ", unbound.bound_to, ", and server ", unbound.server,
                   " answers, which lacks what the other shard has seen: ",
                   internal::Described(source.row, target.row), "; see `locus move rebind`"));
}

absl::StatusOr<RebindResult> RebindRows(ShardLink& link, uint32_t shard, const RoutingTable& table,
                                        const std::vector<FencedRange>& fitting, bool dry) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      link.Run("SELECT lo, hi, own_lo, own_hi, step, server_id FROM locus_fence WHERE server_id <>"
               " @@server_id ORDER BY lo",
               {Rows(6, kMostRows)}));
  RebindResult result;
  for (const Result::Row& found : results[0].rows) {
    uint64_t numbers[6];
    for (size_t i = 0; i < 6; ++i) {
      LOCUS_ASSIGN_OR_RETURN(int64_t number, NumberIn(found, i, link.place()));
      numbers[i] = static_cast<uint64_t>(number);
    }
    const FenceRow row{static_cast<uint32_t>(numbers[0]),
                       static_cast<uint32_t>(numbers[1]),
                       static_cast<uint32_t>(numbers[2]),
                       static_cast<uint32_t>(numbers[3]),
                       numbers[4],
                       static_cast<uint32_t>(numbers[5]),
                       ""};
    const bool of_fitting = std::any_of(
        fitting.begin(), fitting.end(),
        [&](const FencedRange& range) { return range.lo == row.lo && range.hi == row.hi; });
    std::string why;
    if (!of_fitting && !MayBindAtRest(row, shard, table, why)) {
      result.left.push_back(absl::StrCat("vnodes ", row.lo, "-", row.hi, ": ", why));
      continue;
    }
    if (!dry) {
      LOCUS_ASSIGN_OR_RETURN(
          std::vector<Result> changed,
          link.Run(
              absl::StrCat("UPDATE locus_fence SET server_id = @@server_id WHERE ", Condition(row)),
              {kNoRows}));
      if (changed[0].affected != 1) {
        return absl::AbortedError(absl::StrCat("mariadb ", link.place(),
                                               ": somebody changed the fence of vnodes ", row.lo,
                                               "-", row.hi, " meanwhile; repeat the command"));
      }
    }
    result.bound.push_back(row);
  }
  return result;
}

absl::Status BurnRuns(std::initializer_list<ShardLink*> shards, const std::string& move,
                      uint64_t run) {
  for (ShardLink* shard : shards) {
    std::string place;
    LOCUS_ASSIGN_OR_RETURN(Handle handle, LogInToPrimary(shard->Options(), place));
    LOCUS_RETURN_IF_ERROR(TakeOverRun(handle.get(), place, move, run));
  }
  return absl::OkStatus();
}

}  // namespace locus::mariadb
