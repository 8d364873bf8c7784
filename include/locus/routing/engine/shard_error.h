// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_SHARD_ERROR_H_
#define LOCUS_ROUTING_ENGINE_SHARD_ERROR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "locus/routing/engine/shard_pools.h"

struct st_mysql_stmt;

namespace locus {

// The status of the statement that failed last on `connection`. Its message is "PLACE: TEXT
// (NUMBER)", with the server's text made safe for a terminal, and the functions below read it.
//
// ABORTED: the fence of the shard refused the order (FenceRefusalOf), or another transaction was in
// the way (LostConflict). ALREADY_EXISTS: duplicate key. INVALID_ARGUMENT: a value does not fit
// (SQLSTATE 22xxx). FAILED_PRECONDITION: another refusal that a retry does not change: constraints
// (23xxx), SIGNAL (45xxx), rights and names (42xxx). UNAVAILABLE: everything else; also a shard
// whose fence is bound to another server. The connection is spoiled if it is of no further use.
absl::Status ShardErrorOf(ShardConnection& connection);
// The same for a prepared statement on `connection`. nullptr: the client library had no memory.
absl::Status ShardErrorOf(ShardConnection& connection, st_mysql_stmt* statement);

// Why the fence of a shard refused an order. See locus/migration/fence.h.
struct FenceRefusal {
  uint64_t step = 0;  // of the fence row; 0: no row covers the vnode
  std::string other;  // the name of the shard that has the order; empty: the fence knows none
};

// nullopt: `status` is something else.
std::optional<FenceRefusal> FenceRefusalOf(const absl::Status& status);
// The statement lost against another transaction, and its own was rolled back: a deadlock (1213), a
// lock wait that took too long (1205), a row that has changed (1020). Repeat the transaction.
bool LostConflict(const absl::Status& status);
// The connection broke before an answer came: the server may have executed the statement.
bool AnswerLost(const absl::Status& status);

}  // namespace locus

#endif  // LOCUS_ROUTING_ENGINE_SHARD_ERROR_H_
