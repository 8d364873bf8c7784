// SPDX-License-Identifier: Apache-2.0
#include "migration/move/table_steps.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::internal {
namespace {

constexpr uint32_t kVnodes = 65536;
constexpr int kMostAttempts = 50;

ShardGene GeneOf(uint32_t vnode) { return ShardGene::FromUint16(static_cast<uint16_t>(vnode)); }

bool IsOf(const MoveLeg& leg, uint32_t vnode) {
  for (const FencedRange& range : leg.ranges) {
    if (vnode >= range.lo && vnode <= range.hi) return true;
  }
  return false;
}

// The moves of the table, without the vnodes of the leg.
std::vector<VnodeMove> OtherMoves(const RoutingTable& table, const MoveLeg& leg) {
  std::vector<VnodeMove> others;
  for (const VnodeMove& move : table.moves()) {
    std::optional<VnodeMove> run;
    for (uint32_t vnode = move.first; vnode <= move.last; ++vnode) {
      if (IsOf(leg, vnode)) {
        if (run) others.push_back(*run);
        run.reset();
        continue;
      }
      if (!run) {
        run = move;
        run->first = static_cast<uint16_t>(vnode);
      }
      run->last = static_cast<uint16_t>(vnode);
    }
    if (run) others.push_back(*run);
  }
  return others;
}

absl::Status Unexpected(const RoutingTable& table, const MoveLeg& leg) {
  return absl::AbortedError(absl::StrCat(
      "epoch ", table.epoch(), " of the routing table says otherwise of the move from shard ",
      leg.source, " to shard ", leg.target, ": another publisher changed it meanwhile"));
}

bool IsUnderWay(const RoutingTable& table, const MoveLeg& leg) {
  return SightOf(table, leg).kind == TableSight::Kind::kUnderWay;
}
bool IsUnderWayAt(const RoutingTable& table, const MoveLeg& leg, uint32_t share) {
  const TableSight sight = SightOf(table, leg);
  return sight.kind == TableSight::Kind::kUnderWay && sight.share == share;
}

absl::StatusOr<RoutingTable> Next(const RoutingTable& table, std::vector<VnodeRange> ranges,
                                  std::vector<VnodeMove> moves) {
  return RoutingTable::Make(table.epoch() + 1, table.shards(), std::move(ranges), std::move(moves),
                            table.table_id());
}

}  // namespace

TableSight SightOf(const RoutingTable& table, const MoveLeg& leg) {
  TableSight sight;
  std::optional<TableSight> seen;
  for (const FencedRange& range : leg.ranges) {
    for (uint32_t vnode = range.lo; vnode <= range.hi; ++vnode) {
      const uint32_t owner = table.OwnerOf(GeneOf(vnode)).id;
      const VnodeMove* move = table.MoveOf(GeneOf(vnode));
      TableSight one;
      if (move != nullptr && owner == leg.source && move->to == leg.target) {
        one = {TableSight::Kind::kUnderWay, move->permyriad, move->step};
      } else if (move == nullptr && owner == leg.target) {
        one.kind = TableSight::Kind::kEnded;
      } else if (move == nullptr && owner == leg.source) {
        one.kind = TableSight::Kind::kAbsent;
      }
      if (!seen) seen = one;
      const bool same =
          seen->kind == one.kind && seen->share == one.share && seen->step == one.step;
      if (!same || one.kind == TableSight::Kind::kOther) return sight;
    }
  }
  return seen.value_or(sight);
}

absl::StatusOr<RoutingTable> WithShare(const RoutingTable& table, const MoveLeg& leg,
                                       uint32_t share, uint64_t step) {
  if (!IsUnderWay(table, leg)) return Unexpected(table, leg);
  if (SightOf(table, leg).step > step) return Unexpected(table, leg);
  std::vector<VnodeMove> moves = OtherMoves(table, leg);
  for (const FencedRange& range : leg.ranges) {
    moves.push_back({static_cast<uint16_t>(range.lo), static_cast<uint16_t>(range.hi), leg.target,
                     share, step});
  }
  return Next(table, table.ranges(), std::move(moves));
}

absl::StatusOr<RoutingTable> WithEnd(const RoutingTable& table, const MoveLeg& leg) {
  if (!IsUnderWayAt(table, leg, 10000)) return Unexpected(table, leg);
  std::vector<VnodeRange> ranges;
  for (uint32_t vnode = 0; vnode < kVnodes; ++vnode) {
    const uint32_t owner = IsOf(leg, vnode) ? leg.target : table.OwnerOf(GeneOf(vnode)).id;
    if (!ranges.empty() && ranges.back().shard == owner) {
      ranges.back().last = static_cast<uint16_t>(vnode);
    } else {
      ranges.push_back({static_cast<uint16_t>(vnode), owner});
    }
  }
  return Next(table, std::move(ranges), OtherMoves(table, leg));
}

absl::StatusOr<RoutingTable> WithoutMove(const RoutingTable& table, const MoveLeg& leg) {
  if (!IsUnderWayAt(table, leg, 0)) return Unexpected(table, leg);
  return Next(table, table.ranges(), OtherMoves(table, leg));
}

absl::StatusOr<RoutingTable> PublishChange(TablePublisher& publisher, const MoveLeg& leg,
                                           const PublicationNote& note, const TableChange& change) {
  absl::Status last;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    LOCUS_ASSIGN_OR_RETURN(RoutingTable newest, publisher.Current());
    LOCUS_ASSIGN_OR_RETURN(RoutingTable next, change(newest));
    LOCUS_ASSIGN_OR_RETURN(uint64_t epoch, NextEpoch(publisher, newest.epoch()));
    LOCUS_ASSIGN_OR_RETURN(next, WithEpoch(next, epoch));
    GuardedChanges named;
    for (const VnodeSpan& span : GuardedChangesBetween(&newest, next).moves) {
      // The change is of this move alone, so the spans are.
      LOCUS_CHECK(IsOf(leg, span.first) && IsOf(leg, span.last));
      named.moves.push_back(span);
    }
    last = publisher.Publish(next, newest.epoch(), named, note);
    if (last.ok()) return next;
    if (!absl::IsAborted(last)) return last;
  }
  return last;
}

}  // namespace locus::internal
