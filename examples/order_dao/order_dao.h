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

namespace shop {

// A row of the table `orders` of docs/schema.sql. Your columns come on top.
struct Order {
  locus::OrderId id;
  locus::OrderNo no;
  uint64_t buyer = 0;
  uint64_t version = 1;

  friend bool operator==(const Order&, const Order&) = default;
};

// Orders in sharded MariaDB. Every call ends by `timeout`; a shard that refuses a call because an
// order has moved (ABORTED) is asked for a newer table once, and the call made again by that.
//
// NOT_FOUND: no such order. ABORTED: it moves, or somebody changed it; begin the larger operation
// again. Otherwise the errors of ShardPools::Take.
// Thread safety: all methods may be called from any thread.
class OrderDao {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // All of them outlive it. `ids` may be nullptr in a program that inserts nothing.
  OrderDao(locus::Router& router, locus::ShardPools& pools, locus::OrderIdGenerator* ids,
           const locus::OrderNoCodec& codec,
           std::chrono::milliseconds timeout = std::chrono::seconds(3))
      : router_(router), pools_(pools), ids_(ids), codec_(codec), timeout_(timeout) {}

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
  // Runs `call` with a deadline, and once more with a newer table where that was ABORTED by a
  // shard.
  absl::Status WithNewerTable(const std::function<absl::Status(TimePoint deadline)>& call);
  absl::StatusOr<std::vector<Order>> Select(const locus::Shard& shard, const char* where,
                                            uint64_t number, std::string_view bytes,
                                            TimePoint deadline);
  absl::StatusOr<Order> FindOne(const locus::OrderId& id, const locus::OrderNo* no);

  locus::Router& router_;
  locus::ShardPools& pools_;
  locus::OrderIdGenerator* const ids_;
  const locus::OrderNoCodec& codec_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_DAO_ORDER_DAO_H_
