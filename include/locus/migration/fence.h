// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_H_
#define LOCUS_MIGRATION_FENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/mariadb.h"
#include "locus/routing/routing_table.h"

// The fence: what makes exactly one shard accept a given order at any moment, whatever routing
// tables its clients have.
//
// In every shard stands a table locus_fence. A row says which cohorts [own_lo, own_hi) of the
// vnodes lo..hi the shard accepts; vnodes without a row are not accepted. Every write takes a
// shared lock on its one row and keeps it to COMMIT; a change of the row takes the exclusive lock,
// so it waits for the writers under way and shuts out later ones. Guard triggers on the tables of
// orders take the lock and refuse what the row does not accept, for every client, also one that has
// never heard of locus:
//
//   SQLSTATE 45000  LOCUS_FENCED <step> <shard that has it>
//                   LOCUS_UNBOUND <server_id of the row> <@@server_id>     after a promotion
//                   LOCUS_REFUSED <why>                                    a write that moves would
//                                                                          not see, a changed key

namespace locus {

// A table whose rows belong to orders, and where a row says to which order. Names are as SHOW
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
  // The accounts that move orders, which the guards let pass: what USER() returns for them, with
  // the host that they connect from: "locus_mover@10.0.0.5". A host must be exact.
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

// Vnodes that a shard accepts as a whole.
struct FencedRange {
  uint32_t lo = 0;
  uint32_t hi = 0;

  friend bool operator==(const FencedRange&, const FencedRange&) = default;
};

// The ranges of vnodes that the table gives to the shard, ascending, adjacent ones joined.
std::vector<FencedRange> FencedRangesOf(const RoutingTable& table, uint32_t shard);

// The fence of one shard. Connects for each call, by an account with the rights to create tables
// and triggers; the account stays the definer of the triggers and must not be dropped. Thread
// safety: calls may come from any thread.
class ShardFence {
 public:
  // Does not connect. INVALID_ARGUMENT: bad options.
  static absl::StatusOr<ShardFence> Create(const MariadbOptions& server,
                                           const FenceOptions& options);

  // Makes the table and its rows for the shard's vnodes, then the triggers. From then on the
  // guarded tables accept exactly these vnodes. Nothing happens where all of it is there. Safe to
  // repeat after a failure: the rows come before the triggers.
  //
  // FAILED_PRECONDITION, before anything changes: the table has moves under way; the server has no
  // binary log, or one that is not ROW and FULL; it is a Galera node; a guarded table is missing,
  // is not InnoDB, has no such column, a trigger of somebody else, or a foreign key that cascades
  // or sets null (no trigger fires for it); the fence has other rows. UNAVAILABLE: somebody uses a
  // table for longer than a second, so that its triggers could not be made: repeat the call.
  absl::Status Install(const RoutingTable& table, uint32_t shard) const;
  // OK: the triggers are those of the options, made by one account, and every row is bound to this
  // server. FAILED_PRECONDITION names everything that differs.
  absl::Status Verify() const;
  // Drops the triggers and then the table: writes are not fenced any more. FAILED_PRECONDITION: a
  // row does not own all cohorts of its vnodes, since a move has been made or is under way. Clients
  // with an old routing table would write to this shard orders that another one has.
  absl::Status Remove() const;

 private:
  ShardFence(const MariadbOptions& server, const FenceOptions& options)
      : server_(server), options_(options) {}

  MariadbOptions server_;
  FenceOptions options_;
};

}  // namespace locus

#endif  // LOCUS_MIGRATION_FENCE_H_
