// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_DAO_ORDER_DAO_H_
#define LOCUS_EXAMPLES_ORDER_DAO_ORDER_DAO_H_

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/order_id.h"
#include "locus/order_no.h"
#include "locus/order_no_codec.h"
#include "locus/routing/engine/fenced_transaction.h"
#include "locus/routing/engine/shard_pools.h"
#include "locus/routing/router.h"
#include "statement.h"

namespace shop {

// A row of the table `orders` of docs/schema.sql. Add your columns.
struct Order {
  locus::OrderId id;
  locus::OrderNo no;
  uint64_t buyer = 0;
  uint64_t version = 1;

  friend bool operator==(const Order&, const Order&) = default;
};

// Orders in sharded MariaDB, in the table `orders`: with narrow order IDs.
//
// While orders move between shards, a call runs on the shard that accepts the order
// (locus::FencedTransactions). A call ends by `timeout`; a statement that is under way then ends by
// ShardPoolsSettings::timeout.
//
// NOT_FOUND: no such order; a wide order ID is never in this table, and no shard is asked for it.
// ABORTED: the order was between two shards until `timeout`, or another client changed it; restart
// the larger operation. INVALID_ARGUMENT, FAILED_PRECONDITION: the shard refuses the statement for
// good; do not retry. Otherwise the errors of ShardPools::Take. Thread safety: all methods may be
// called from any thread. Make one for a process.
class OrderDao {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // All of them outlive it.
  OrderDao(locus::Router& router, locus::ShardPools& pools, const locus::OrderNoCodec& codec,
           std::chrono::milliseconds timeout = std::chrono::seconds(3))
      : router_(router), pools_(pools), codec_(codec), timeout_(timeout), fenced_(router, pools) {}

  // Stores a new order with an ID that the caller took from OrderIdGenerator for this buyer, and
  // returns it. Safe to repeat with the same ID: an order that is stored already is returned
  // unchanged. After a lost answer the call repeats itself; where it cannot find out whether the
  // order was stored, it returns an error and the caller repeats it, with the same ID. A new ID
  // would store the order twice.
  //
  // ALREADY_EXISTS: the ID, or its order_no, belongs to another order. INVALID_ARGUMENT also: the
  // ID was made for another buyer. FAILED_PRECONDITION also: the ID is wide; docs/schema.sql shows
  // how to get to a table that holds wide IDs.
  absl::StatusOr<Order> Insert(const locus::OrderId& id, uint64_t buyer);

  // For a public edge: `text` comes from a customer. It is decoded and authenticated before any
  // shard is touched, and INVALID_ARGUMENT where that fails.
  absl::StatusOr<Order> FindByNo(std::string_view text);
  // For internal services: an order ID is not secret, and any client can make one up.
  absl::StatusOr<Order> FindById(const locus::OrderId& id);
  // The oldest first. Asks two shards while the buyer's vnode moves, and takes from each the orders
  // that the table assigns to it.
  absl::StatusOr<std::vector<Order>> FindByBuyer(uint64_t buyer);

  // Stores a changed order as the version after `order.version`, and returns it. ABORTED: the order
  // has another version by now. UNKNOWN: the connection broke, perhaps after the change was stored;
  // read the order before you try again.
  absl::StatusOr<Order> Update(Order order);

 private:
  // The shard has the key of `order` already: OK, and the stored order, if it is the same order.
  absl::Status CompareWithStored(locus::ShardConnection& connection, Order& order);
  absl::Status SelectByBuyer(const locus::BuyerRoute& route, uint64_t epoch, uint64_t buyer,
                             TimePoint deadline, std::vector<Order>& orders);
  absl::StatusOr<Order> FindOne(const locus::OrderId& id, const locus::OrderNo* no);
  static absl::Status SelectById(locus::ShardConnection& connection, const locus::OrderId& id,
                                 std::vector<Order>& orders);
  static absl::Status Select(Statement& select, std::vector<Order>& orders);
  TimePoint Deadline() const { return std::chrono::steady_clock::now() + timeout_; }

  locus::Router& router_;
  locus::ShardPools& pools_;
  const locus::OrderNoCodec& codec_;
  const std::chrono::milliseconds timeout_;
  locus::FencedTransactions fenced_;
};

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_DAO_ORDER_DAO_H_
