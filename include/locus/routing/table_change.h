// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_CHANGE_H_
#define LOCUS_ROUTING_TABLE_CHANGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/routing/routing_table.h"

namespace locus {

// `table` under another epoch, 1..kMaxEpoch (INVALID_ARGUMENT), otherwise unchanged.
absl::StatusOr<RoutingTable> WithEpoch(const RoutingTable& table, uint64_t epoch);

// The differences between two tables, for people: a line per shard that was added, dropped or
// changed (with its endpoint), per run of vnodes that got another owner, and per move that began,
// advanced, ended or was dropped, and finally how many vnodes got another owner. "no difference\n"
// if at most the epochs differ.
std::string TableDifference(const RoutingTable& before, const RoutingTable& after);

// Vnodes first..last.
struct VnodeSpan {
  uint16_t first = 0;
  uint16_t last = 0;

  friend bool operator==(const VnodeSpan&, const VnodeSpan&) = default;
};

// The changes between two tables that can lose orders or another operator's work. A publisher makes
// them only if its caller names them (TablePublisher::Publish).
struct GuardedChanges {
  // Vnodes whose move in progress is dropped or changed: it gets another target, permyriad or step.
  // The end of a move is not guarded: it was at permyriad 10000, and its target now owns the
  // vnodes.
  std::vector<VnodeSpan> moves = {};
  // Vnodes that get another owner outside of a move, or whose new move begins above permyriad 0.
  // Both give orders to another shard at once.
  std::vector<VnodeSpan> owners = {};
  // Ids of shards that own vnodes or are the target of a move, and are dropped or replaced by
  // another shard: one with another name and another endpoint.
  std::vector<uint32_t> shards = {};
  // Ids of such shards that get another name or another endpoint, also if shards exchange theirs.
  // Their orders stay where they are, and routers look for them elsewhere.
  std::vector<uint32_t> changed_shards = {};
  // The new epoch, if it is more than kMaxEpochJump above every epoch before it; otherwise 0. The
  // epochs in between are lost, since routers never go back to a lower one.
  uint64_t epoch = 0;
  // The place holds no routing table, and its content is replaced. Only a FileTablePublisher takes
  // it; it keeps the spoiled file under another name. The newest table is then the newest that is
  // kept.
  bool spoiled = false;

  static constexpr uint64_t kMaxEpochJump = 1000;

  bool empty() const { return *this == GuardedChanges{}; }
  friend bool operator==(const GuardedChanges&, const GuardedChanges&) = default;
};

// The guarded changes from `before` to `after`, as the longest spans, ordered by vnode. `before` is
// nullptr if there was no table. `highest` is the highest epoch that ever existed, if it is above
// the epoch of `before`.
GuardedChanges GuardedChangesBetween(const RoutingTable* before, const RoutingTable& after,
                                     uint64_t highest = 0);

// The changes in `changes` that are not in `named`. INVALID_ARGUMENT: `named` has one that is not
// in `changes`: its caller knows another table than the newest.
absl::StatusOr<GuardedChanges> Unnamed(const GuardedChanges& changes, const GuardedChanges& named);

}  // namespace locus

#endif  // LOCUS_ROUTING_TABLE_CHANGE_H_
