// SPDX-License-Identifier: Apache-2.0
#include "apps/shared/moves/own_moves.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/run/move_control.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::apps {

using internal::Quoted;

namespace {

// What the shards of a table remember of moves of which they are the source.
struct Remembered {
  std::vector<mysql::MoveRecord> records;
  std::string unheard;  // of shards that did not answer, and of records that cannot be read
};

absl::StatusOr<Remembered> Remember(const MoveFile& file, const RoutingTable& table) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<MoveShard> shards, ShardsOf(file, table));
  Remembered remembered;
  for (const MoveShard& shard : shards) {
    std::vector<std::string> unread;
    auto records = mysql::MovesRemembered(shard.server, unread);
    // A shard that does not answer may remember none: what needs it says so.
    if (!records.ok()) {
      absl::StrAppend(&remembered.unheard, "; ", records.status().message());
      continue;
    }
    // One that was spoiled, or that a newer version wrote, leaves the others to their files.
    for (const std::string& why : unread) absl::StrAppend(&remembered.unheard, "; ", why);
    for (mysql::MoveRecord& record : *records) {
      // Two shards in one place would be two sources of one record.
      if (record.leg.source == shard.id) remembered.records.push_back(std::move(record));
    }
  }
  return remembered;
}

bool SamePair(const MoveLeg& a, const MoveLeg& b) {
  return a.source == b.source && a.target == b.target;
}

bool IsOver(const mysql::MoveRecord& record) {
  return record.phase == internal::Phase::kDone || record.phase == internal::Phase::kAborted;
}

// The vnodes of the leg that the table moves as the leg does. Others keep the table's move: the
// preflight refuses it, and names the one that has begun.
void AppendAgreed(const RoutingTable& table, const MoveLeg& leg, std::vector<FencedRange>& ranges) {
  for (const FencedRange& range : leg.ranges) {
    for (uint32_t vnode = range.lo; vnode <= range.hi; ++vnode) {
      const ShardGene gene = ShardGene::FromUint16(static_cast<uint16_t>(vnode));
      const VnodeMove* move = table.MoveOf(gene);
      const bool agrees =
          move != nullptr && move->to == leg.target && table.OwnerOf(gene).id == leg.source;
      if (!agrees) continue;
      if (!ranges.empty() && ranges.back().hi + 1 == vnode) {
        ranges.back().hi = vnode;
      } else {
        ranges.push_back({vnode, vnode});
      }
    }
  }
}

// The legs of the file, as OwnMovesOf; those that have begun with the vnodes that they began with.
absl::StatusOr<std::vector<MoveLeg>> LegsOf(const MoveFile& file, const RoutingTable& table,
                                            const Remembered& remembered, NotBegun not_begun) {
  std::vector<MoveLeg> own, ended;
  std::vector<FencedRange> begun;
  std::vector<std::string> others;
  for (const mysql::MoveRecord& record : remembered.records) {
    const bool is_own = record.name == MoveNameOf(file, record.leg) && file.Names(record.leg);
    if (is_own) (IsOver(record) ? ended : own).push_back(record.leg);
    if (IsOver(record)) continue;
    AppendAgreed(table, record.leg, begun);
    if (!is_own) others.push_back(record.name);
  }
  LOCUS_ASSIGN_OR_RETURN(std::vector<MoveLeg> legs, MoveLegsOf(table, begun));
  const bool only_begun = not_begun == NotBegun::kIfNoneHasBegun && !(own.empty() && ended.empty());
  std::erase_if(legs, [&](const MoveLeg& leg) {
    return only_begun || !file.Names(leg) ||
           absl::c_any_of(own, [&](const MoveLeg& other) { return SamePair(leg, other); });
  });
  legs.insert(legs.end(), own.begin(), own.end());
  // Of a pair that moves again, what the table says now.
  for (const MoveLeg& leg : ended) {
    if (absl::c_none_of(legs, [&](const MoveLeg& other) { return SamePair(leg, other); })) {
      legs.push_back(leg);
    }
  }
  if (!legs.empty()) return legs;
  return absl::NotFoundError(absl::StrCat(
      "epoch ", table.epoch(), " of the routing table has no moves for ", Quoted(file.name),
      others.empty()
          ? std::string()
          : absl::StrCat(" (begun under other names: ", absl::StrJoin(others, ", "), ")"),
      ", and no shard remembers one of it: `locus plan apply` begins those of a plan, at share "
      "0",
      remembered.unheard));
}

}  // namespace

absl::StatusOr<std::vector<Move>> OwnMovesOf(const MoveFile& file, const RoutingTable& table,
                                             NotBegun not_begun, std::string& unheard) {
  LOCUS_ASSIGN_OR_RETURN(Remembered remembered, Remember(file, table));
  unheard = remembered.unheard;
  LOCUS_ASSIGN_OR_RETURN(std::vector<MoveLeg> legs, LegsOf(file, table, remembered, not_begun));
  LOCUS_ASSIGN_OR_RETURN(std::vector<Move> moves, MovesOf(file, table, legs));
  std::sort(moves.begin(), moves.end(),
            [](const Move& a, const Move& b) { return a.name < b.name; });
  return moves;
}

}  // namespace locus::apps
