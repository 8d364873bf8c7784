// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bitset>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "locus/routing/table_change.h"
#include "routing/table/table_check.h"
#include "routing/table/vnode_changes.h"

namespace locus {

using internal::OwnerOfEachVnode;
using internal::VnodeChange;
using internal::VnodesText;

namespace {

using VnodeSet = std::bitset<ShardGene::kCount>;

bool ChangesAMove(const VnodeChange& change) {
  if (!change.move_before || change.move_after == change.move_before) return false;
  return !(change.ended() && change.move_before->permyriad == RoutingTable::kMaxPermyriad);
}

bool ChangesOwner(const VnodeChange& change) {
  bool within_its_move = change.move_before && change.owner_after == change.move_before->to;
  bool begins_at_once =
      !change.move_before && change.move_after && change.move_after->permyriad > 0;
  return (change.changed_hands() && !within_its_move) || begins_at_once;
}

// The runs of vnodes that are in the set; runs of several moves that touch are one each.
std::vector<VnodeSpan> SpansOf(const VnodeSet& vnodes) {
  std::vector<VnodeSpan> spans;
  for (size_t i = 0; i < vnodes.size(); ++i) {
    if (!vnodes[i]) continue;
    auto vnode = static_cast<uint16_t>(i);
    if (spans.empty() || spans.back().last + 1u != i) spans.push_back({vnode, vnode});
    spans.back().last = vnode;
  }
  return spans;
}

VnodeSet SetOf(const std::vector<VnodeSpan>& spans) {
  VnodeSet vnodes;
  for (const VnodeSpan& span : spans) {
    for (size_t vnode = span.first; vnode <= span.last; ++vnode) vnodes.set(vnode);
  }
  return vnodes;
}

bool IsAnother(const Shard& before, const Shard* after) {
  return after == nullptr || (after->name != before.name && after->endpoint != before.endpoint);
}

// Shards that own vnodes or are the target of a move.
std::set<uint32_t> InUse(const RoutingTable& table) {
  std::set<uint32_t> in_use;
  for (uint32_t owner : OwnerOfEachVnode(table.ranges())) in_use.insert(owner);
  for (const VnodeMove& move : table.moves()) in_use.insert(move.to);
  return in_use;
}

void AddShardsInUse(const RoutingTable& before, const RoutingTable& after,
                    GuardedChanges& guarded) {
  for (uint32_t id : InUse(before)) {
    const Shard& old = *before.FindShard(id);
    const Shard* now = after.FindShard(id);
    if (IsAnother(old, now)) {
      guarded.shards.push_back(id);
    } else if (now->name != old.name || now->endpoint != old.endpoint) {
      guarded.changed_shards.push_back(id);
    }
  }
}

// `what`: the change that the table does not make to a shard that is named in vain.
absl::StatusOr<std::vector<uint32_t>> UnnamedShards(const std::vector<uint32_t>& changes,
                                                    const std::vector<uint32_t>& named,
                                                    absl::string_view what) {
  for (uint32_t id : named) {
    if (std::ranges::count(changes, id) > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("shard ", id, " is named ", what, "; name exactly the changes"));
  }
  std::vector<uint32_t> left;
  for (uint32_t id : changes) {
    if (std::ranges::count(named, id) == 0) left.push_back(id);
  }
  return left;
}

// `what`: names the change of these vnodes.
absl::StatusOr<std::vector<VnodeSpan>> UnnamedSpans(const std::vector<VnodeSpan>& changes,
                                                    const std::vector<VnodeSpan>& named,
                                                    absl::string_view what) {
  VnodeSet changed = SetOf(changes);
  VnodeSet in_vain = SetOf(named) & ~changed;
  if (in_vain.none()) return SpansOf(changed & ~SetOf(named));
  VnodeSpan first = SpansOf(in_vain).front();
  return absl::InvalidArgumentError(absl::StrCat(
      VnodesText(first.first, first.last), first.first == first.last ? " is" : " are",
      " named for a change of ", what, " that the table does not make; name exactly the changes"));
}

}  // namespace

GuardedChanges GuardedChangesBetween(const RoutingTable* before, const RoutingTable& after,
                                     uint64_t highest) {
  GuardedChanges guarded;
  if (before != nullptr) {
    highest = std::max(highest, before->epoch());
    std::vector<VnodeChange> changes = internal::ChangeOfEachVnode(*before, after);
    VnodeSet moves, owners;
    for (size_t vnode = 0; vnode < changes.size(); ++vnode) {
      moves[vnode] = ChangesAMove(changes[vnode]);
      owners[vnode] = ChangesOwner(changes[vnode]);
    }
    guarded.moves = SpansOf(moves);
    guarded.owners = SpansOf(owners);
    AddShardsInUse(*before, after, guarded);
  }
  if (after.epoch() > highest && after.epoch() - highest > GuardedChanges::kMaxEpochJump) {
    guarded.epoch = after.epoch();
  }
  return guarded;
}

absl::StatusOr<GuardedChanges> Unnamed(const GuardedChanges& changes, const GuardedChanges& named) {
  GuardedChanges left;
  auto moves = UnnamedSpans(changes.moves, named.moves, "a move");
  if (!moves.ok()) return moves.status();
  left.moves = *std::move(moves);
  auto owners = UnnamedSpans(changes.owners, named.owners, "owner");
  if (!owners.ok()) return owners.status();
  left.owners = *std::move(owners);
  auto shards = UnnamedShards(changes.shards, named.shards,
                              "as dropped, but the table does not drop it from use");
  if (!shards.ok()) return shards.status();
  left.shards = *std::move(shards);
  auto changed = UnnamedShards(
      changes.changed_shards, named.changed_shards,
      "as changed, but the table gives it no other name or endpoint, or it is not in use");
  if (!changed.ok()) return changed.status();
  left.changed_shards = *std::move(changed);
  if (named.epoch != 0 && named.epoch != changes.epoch) {
    return absl::InvalidArgumentError(absl::StrCat(
        "epoch ", named.epoch,
        " is named as a jump, but the table does not jump there; name exactly the changes"));
  }
  left.epoch = named.epoch == 0 ? changes.epoch : 0;
  return left;
}

}  // namespace locus
