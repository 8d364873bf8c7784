// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_DAO_ORDER_DAO_H_
#define LOCUS_EXAMPLES_ORDER_DAO_ORDER_DAO_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/order_id.h"
#include "locus/order_id_generator.h"
#include "locus/order_no.h"
#include "locus/order_no_codec.h"
#include "locus/routing/engine/shard_pools.h"
#include "locus/routing/router.h"
#include "statement.h"

namespace shop {

// A row of the table `orders` of docs/schema.sql. Your columns come on top.
struct Order {
  locus::OrderId id;
  locus::OrderNo no;
  uint64_t buyer = 0;
  uint64_t version = 1;

  friend bool operator==(const Order&, const Order&) = default;
};

// Orders in sharded MariaDB, in the table `orders`: with narrow order IDs.
//
// A shard that refuses a write because it does not have the order any more names the shard that
// does, which is asked next; after that the routing table is asked for a newer one, again and again
// until `timeout`. What lost against another transaction (a deadlock, a lock that did not come) is
// tried again, too. A call ends by `timeout`, and a statement that is under way then by
// ShardPoolsOptions::timeout.
//
// NOT_FOUND: no such order; a wide order ID is never in this table, and no shard is asked for it.
// ABORTED: it moves, or somebody changed it; begin the larger operation again. Otherwise the errors
// of ShardPools::Take. UNAVAILABLE of Insert and Update: the connection may have been lost after
// the shard did what it was told; look by the order ID before doing it anew. Thread safety: all
// methods may be called from any thread.
class OrderDao {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // All of them outlive it. `ids` may be nullptr in a program that inserts nothing.
  OrderDao(locus::Router& router, locus::ShardPools& pools, locus::OrderIdGenerator* ids,
           const locus::OrderNoCodec& codec,
           std::chrono::milliseconds timeout = std::chrono::seconds(3))
      : router_(router), pools_(pools), ids_(ids), codec_(codec), timeout_(timeout) {}

  // FAILED_PRECONDITION also: the order ID is wide; docs/schema.sql has the way to a table for
  // such.
  absl::StatusOr<Order> Insert(uint64_t buyer);

  // For a public edge: `text` is what a customer sent. It is decoded and authenticated before any
  // shard is touched, and INVALID_ARGUMENT where that fails.
  absl::StatusOr<Order> FindByNo(std::string_view text);
  // For services inside: an order ID is no secret, and nobody can tell whether it was made up.
  absl::StatusOr<Order> FindById(const locus::OrderId& id);
  // The oldest first. Asks two shards while the buyer's vnode moves, and takes from each what the
  // table gives it.
  absl::StatusOr<std::vector<Order>> FindByBuyer(uint64_t buyer);

  // Stores a changed order as the version after `order.version`, which it returns. ABORTED: the
  // order has another version by now.
  absl::StatusOr<Order> Update(Order order);

 private:
  using Work = std::function<absl::Status(locus::ShardConnection&)>;

  // Is told which epoch was in force before it routes.
  using Attempt = std::function<absl::Status(uint64_t epoch)>;

  // Makes `attempt` until it answers something else than ABORTED.
  absl::Status Retrying(TimePoint deadline, const Attempt& attempt);
  // Does `work` on the order's shard or, where that refuses, on the one that it names.
  absl::Status OnShardOf(const locus::OrderId& id, TimePoint deadline, const Work& work);
  absl::Status OnShard(const locus::Shard& shard, uint64_t epoch, TimePoint deadline,
                       const Work& work);
  // nullptr: the table gives it no vnodes, or does not know it.
  const locus::Shard* ShardNamed(std::string_view name) const;
  absl::StatusOr<Order> FindOne(const locus::OrderId& id, const locus::OrderNo* no);
  static absl::Status Select(Statement& select, std::vector<Order>& orders);
  TimePoint Deadline() const { return std::chrono::steady_clock::now() + timeout_; }

  locus::Router& router_;
  locus::ShardPools& pools_;
  locus::OrderIdGenerator* const ids_;
  const locus::OrderNoCodec& codec_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_DAO_ORDER_DAO_H_
