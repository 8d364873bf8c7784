// SPDX-License-Identifier: Apache-2.0
#include "migration/fence/guard_drop.h"

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::internal {

namespace {

// Of the vnodes of the move.
bool HasAny(const RoutingTable& table, uint32_t shard, const VnodeMove& move) {
  for (uint32_t vnode = move.first; vnode <= move.last; ++vnode) {
    if (table.OwnerOf(ShardGene::FromUint16(static_cast<uint16_t>(vnode))).id == shard) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> ReasonsToKeepGuards(const RoutingTable& table, const GuardDropFacts& facts,
                                             absl::Duration grace, absl::Time now) {
  std::vector<std::string> reasons;
  const std::string epoch = absl::StrCat("epoch ", table.epoch(), " of the routing table");
  for (const VnodeMove& move : table.moves()) {
    const bool source = HasAny(table, facts.shard, move);
    if (!source && move.to != facts.shard) continue;
    reasons.push_back(absl::StrCat(epoch, " moves vnodes ", move.first, "-", move.last,
                                   source ? " from" : " to", " this shard, at share ",
                                   move.permyriad, ": end that move first"));
  }
  for (const GuardDropFacts::RememberedMove& move : facts.moves) {
    if (move.source != facts.shard && move.target != facts.shard) continue;
    if (move.phase == Phase::kDone || move.phase == Phase::kAborted) continue;
    reasons.push_back(absl::StrCat("move ", move.name, " is ", ToAbsl(ToString(move.phase)),
                                   ", neither DONE nor ABORTED: end it first"));
  }
  for (const std::string& why : facts.unheard) {
    reasons.push_back(absl::StrCat(why, ": it may remember a move of this shard"));
  }
  if (grace <= absl::ZeroDuration()) return reasons;
  const std::string until =
      absl::StrCat("; wait for --grace ", absl::FormatDuration(grace),
                   ", or say --grace 0 where no client can have an older table any more");
  if (!facts.published) {
    reasons.push_back(absl::StrCat("no time is known at which ", epoch, " was published", until));
  } else if (const absl::Duration age = now - *facts.published; age < absl::ZeroDuration()) {
    reasons.push_back(absl::StrCat(epoch, " was published ", absl::FormatDuration(-age),
                                   " after this host's time: set the clocks", until));
  } else if (age < grace) {
    const bool just_now = age < absl::Seconds(1);
    reasons.push_back(absl::StrCat(
        epoch, " was published ",
        just_now ? "just now"
                 : absl::StrCat(absl::FormatDuration(absl::Trunc(age, absl::Seconds(1))), " ago"),
        until));
  }
  return reasons;
}

}  // namespace locus::internal
