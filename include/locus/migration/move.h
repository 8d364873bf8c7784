// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_MOVE_H_
#define LOCUS_MIGRATION_MOVE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/mysql.h"
#include "locus/migration/fence.h"
#include "locus/migration/moved_table.h"
#include "locus/routing/routing_table.h"

// A move brings the orders of some vnodes from one shard, the source, to another, the target. A
// split of one shard into many, and a merge of many into one, are several moves side by side.

namespace locus {

// One of the two shards of a move.
struct MoveShard {
  uint32_t id = 0;   // in the routing table
  std::string name;  // likewise
  // Where it is, and the account that moves orders: the guards let it pass (FenceOptions::movers).
  MysqlOptions server;
};

// One move. Its ranges step together: at any moment they have one share and one step.
struct Move {
  // 1 to 64 bytes of a-z, 0-9, '-', '_', '.' and '>'. State is stored on both shards under this
  // name; never reuse it.
  std::string name;
  MoveShard source;
  MoveShard target;
  std::vector<FencedRange> ranges;  // ascending, not adjacent; 1 to 1,024
  std::vector<MovedTable> tables;
  std::vector<std::string> movers;  // as in FenceOptions

  // INVALID_ARGUMENT, naming the value and the limit.
  absl::Status Check() const;
};

// How fast a move goes.
struct MovePace {
  // Cohorts of one step, in permyriad. More: fewer steps; more orders wait at each.
  uint32_t by = 500;
  // How long the move is watched after a step before the next. Longer: faults show earlier.
  absl::Duration dwell = absl::Seconds(60);
  // How long the recipient may take to accept a band before the step is taken back.
  absl::Duration accept_within = absl::Seconds(2);
  // How long the donor's fence may wait for writers under way; every writer of the vnodes queues
  // meanwhile. A step that runs out of it changes nothing and is tried again.
  absl::Duration fence_wait = absl::Milliseconds(150);
  // How long one chunk of the copy takes, and one slice of the comparison.
  absl::Duration chunk_time = absl::Milliseconds(100);

  absl::Status Check() const;
};

// Conditions of a step. A gate that fails for longer than `patience` holds the move.
struct MoveGates {
  // Of both streams: the round trip of a marker. Larger: bands wait longer at a step.
  absl::Duration lag = absl::Milliseconds(500);
  // The age of the oldest transaction on either shard: a step waits for transactions that hold its
  // fence.
  absl::Duration oldest_transaction = absl::Milliseconds(200);
  // Row versions that InnoDB keeps for old readers, on either shard.
  uint64_t history_list = 1'000'000;
  // A command of the user, run by /bin/sh before each step with LOCUS_MOVE, LOCUS_SHARE and
  // LOCUS_NEXT_SHARE in its environment. Exit 0: the step is made. Empty: no command.
  std::string command;
  absl::Duration patience = absl::Seconds(60);
  // The command's failure takes the move back to share 0 instead of holding it.
  bool command_rolls_back = false;

  absl::Status Check() const;
};

// Vnodes that go from one shard to another in a routing table.
struct MoveLeg {
  uint32_t source = 0;
  uint32_t target = 0;
  std::vector<FencedRange> ranges;

  friend bool operator==(const MoveLeg&, const MoveLeg&) = default;
};

// The moves under way in the table, by source and target; adjacent ranges of one pair are joined.
// Vnodes of `without` are left out. Moves of one pair at different shares are refused:
// FAILED_PRECONDITION.
absl::StatusOr<std::vector<MoveLeg>> MoveLegsOf(const RoutingTable& table,
                                                const std::vector<FencedRange>& without = {});

}  // namespace locus

#endif  // LOCUS_MIGRATION_MOVE_H_
