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

// What differs between two tables, for people: a line per shard that came, went or changed
// (endpoints are shown), per run of vnodes that changed hands, and per move that began, went on,
// ended or was dropped; at the end how many vnodes changed hands in all. "no difference\n" where
// they differ in the epoch at most.
std::string TableDifference(const RoutingTable& before, const RoutingTable& after);

// Vnodes first..last.
struct VnodeSpan {
  uint16_t first = 0;
  uint16_t last = 0;

  friend bool operator==(const VnodeSpan&, const VnodeSpan&) = default;
};

// The changes between two tables that can lose orders or another operator's work. A publisher makes
// them only where its caller names them (TablePublisher::Publish).
struct GuardedChanges {
  // Vnodes whose move, which was in progress, is dropped or changed: another target, permyriad or
  // step. A move that stood at permyriad 10000 and whose target now owns the vnodes has ended; that
  // is not guarded.
  std::vector<VnodeSpan> moves = {};
  // Vnodes that get another owner outside of a move, or whose new move begins above permyriad 0,
  // which gives part of their orders to another shard at once.
  std::vector<VnodeSpan> owners = {};
  // Ids of shards that own vnodes or are the target of a move, and are dropped or replaced by
  // another shard: one with another name and another endpoint.
  std::vector<uint32_t> shards = {};
  // The new epoch, where it is more than kMaxEpochJump above every epoch before it; 0: it is not.
  // Epochs that were jumped over are lost: routers never go back to a lower one.
  uint64_t epoch = 0;

  static constexpr uint64_t kMaxEpochJump = 1000;

  bool empty() const { return moves.empty() && owners.empty() && shards.empty() && epoch == 0; }
  friend bool operator==(const GuardedChanges&, const GuardedChanges&) = default;
};

// The guarded changes from `before` to `after`, spans as long as they go, in the order of vnodes.
// `before` nullptr: there was no table. `highest`: the highest epoch that there ever was, if that
// is above the epoch of `before`.
GuardedChanges GuardedChangesBetween(const RoutingTable* before, const RoutingTable& after,
                                     uint64_t highest = 0);

// Those of `changes` that `named` leaves out. INVALID_ARGUMENT: `named` has one that `changes` has
// not: its caller knows another table than the newest.
absl::StatusOr<GuardedChanges> Unnamed(const GuardedChanges& changes, const GuardedChanges& named);

}  // namespace locus

#endif  // LOCUS_ROUTING_TABLE_CHANGE_H_
