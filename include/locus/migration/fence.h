// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_H_
#define LOCUS_MIGRATION_FENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "locus/routing/routing_table.h"

// The fence makes exactly one shard accept a given order at any moment, even for clients with an
// old routing table.
//
// Every shard has a table locus_fence. A row says which cohorts [own_lo, own_hi) of the vnodes
// lo..hi the shard accepts; vnodes without a row are not accepted. A table locus_vnode names the
// row of each vnode by its lo, so that a write locks two rows by exact key. Every write takes a
// shared lock on its one row and keeps it to COMMIT; a change of the row takes the exclusive lock,
// so it waits for the writers under way and shuts out later ones. Guard triggers on the tables of
// orders take the lock and refuse orders that the row does not accept. They do so for every client,
// even one that does not use locus:
//
//   SQLSTATE 45000  LOCUS_FENCED <step> <shard that has it>
//                   LOCUS_UNBOUND <server_id of the row> <@@server_id>     after a promotion
//                   LOCUS_REFUSED <why>                                    a write that moves would
//                                                                          not see, a changed key

namespace locus {

// A table whose rows belong to orders, and the columns that say to which order. Names are as SHOW
// CREATE TABLE writes them, without quotes.
struct GuardedTable {
  enum class Key {
    kOrderIdNumber,  // order_id: BIGINT with narrow order IDs
    kOrderIdBytes,   // order_id: VARBINARY(16) with order IDs of 8 and 16 bytes
    // gene and cohort: of tables that hold only an order_no, which does not show the cohort. The
    // client stores both; they never change.
    kGeneAndCohort,
  };
  std::string name;
  Key key = Key::kOrderIdNumber;
  std::string order_id = "order_id";  // the column, unless the key is kGeneAndCohort
  std::string gene = "shard_gene";    // these two only if it is
  std::string cohort = "cohort";

  friend bool operator==(const GuardedTable&, const GuardedTable&) = default;
};

struct FenceOptions {
  std::vector<GuardedTable> tables;
  // The accounts that move orders, which the guards let pass, as USER() returns them, with the host
  // that they connect from: "locus_mover@10.0.0.5". A host must be exact.
  std::vector<std::string> movers;

  // INVALID_ARGUMENT, naming the value and the limit.
  absl::Status Check() const;
};

// A trigger of a guarded table.
struct GuardTrigger {
  std::string name;  // locus_guard_<table>_<insert, update or delete>
  std::string table;
  std::string event;  // INSERT, UPDATE, DELETE; all of them BEFORE
  std::string body;

  friend bool operator==(const GuardTrigger&, const GuardTrigger&) = default;
};

// Three a table.
std::vector<GuardTrigger> GuardTriggersOf(const FenceOptions& options);

// Something on a shard that is not as the fence or a move needs it.
struct FenceDifference {
  enum class Kind {
    kTriggerMissing,     // a trigger of ours is not there
    kTriggerBody,        // it is there, and does something else
    kTriggerOther,       // its definer, its event or the order of triggers is wrong
    kBoundElsewhere,     // rows of locus_fence are bound to another server
    kVnodesMissing,      // there is no table locus_vnode
    kVnodesWrong,        // it lacks vnodes, or names rows that are not there
    kTombstonesMissing,  // there is no table locus_tombstone
    kTombstonesOld,      // it is of an earlier version
    kPostsMissing,       // it lacks posts
    kUseNotNoted,        // locus_moved_table has no row of the move and the table
  };
  Kind kind = Kind::kTriggerOther;
  std::string text;  // names the object

  friend bool operator==(const FenceDifference&, const FenceDifference&) = default;
};

// Vnodes that a shard accepts as a whole.
struct FencedRange {
  uint32_t lo = 0;
  uint32_t hi = 0;

  friend bool operator==(const FencedRange&, const FencedRange&) = default;
};

// The ranges of vnodes that the table gives to the shard, ascending, adjacent ones joined.
std::vector<FencedRange> FencedRangesOf(const RoutingTable& table, uint32_t shard);

}  // namespace locus

#endif  // LOCUS_MIGRATION_FENCE_H_
