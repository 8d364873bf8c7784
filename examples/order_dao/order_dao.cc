// SPDX-License-Identifier: Apache-2.0
#include "order_dao.h"

#include <algorithm>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "locus/buyer_key.h"
#include "locus/shard_gene.h"

namespace shop {
namespace {

using locus::OrderId;
using locus::OrderNo;

using Kind = locus::FencedCall::Kind;

constexpr std::chrono::milliseconds kPause{20};

absl::StatusOr<Order> OrderOf(const Statement& row) {
  auto id = OrderId::FromInt64(static_cast<int64_t>(row.Number(0)));
  if (!id.ok()) return absl::DataLossError(id.status().message());
  auto no = OrderNo::FromBytes(row.Bytes(1));
  if (!no.ok()) return absl::DataLossError(no.status().message());
  return Order{*id, *no, row.Number(2), row.Number(3)};
}

absl::Status NoSuchOrder(const OrderId& id) {
  return absl::NotFoundError(absl::StrCat("there is no order ", id.ToString()));
}

}  // namespace

absl::StatusOr<Order> OrderDao::Insert(const OrderId& id, uint64_t buyer) {
  if (id.gene() != locus::ShardGene::Of(locus::BuyerKey::Uint64(buyer))) {
    return absl::InvalidArgumentError(
        absl::StrCat("order ID ", id.ToString(), " was not made for buyer ", buyer));
  }
  auto no = codec_.Encode(id);
  if (!no.ok()) return no.status();
  auto number = id.ToInt64();  // a table with wide IDs binds id.ToBytes()
  if (!number.ok()) return absl::FailedPreconditionError(number.status().message());
  Order order{id, *no, buyer, 1};
  const std::string bytes = no->ToBytes();
  auto insert = [&](locus::ShardConnection& connection) {
    absl::Status executed;
    {
      Statement statement(connection,
                          "INSERT INTO orders (order_id, order_no, order_no_kv, buyer_uid, version)"
                          " VALUES (?, ?, ?, ?, 1)");
      statement.Bind(static_cast<uint64_t>(*number)).Bind(bytes);
      statement.Bind(uint64_t{no->key_version().value()}).Bind(buyer);
      executed = statement.Execute();
    }
    return absl::IsAlreadyExists(executed) ? CompareWithStored(connection, order) : executed;
  };
  const TimePoint deadline = Deadline();
  bool in_doubt = false;
  absl::Status status;
  while (true) {
    status = fenced_.Run(id, {.kind = Kind::kStatement}, deadline, insert);
    if (!absl::IsUnknown(status) || std::chrono::steady_clock::now() + kPause >= deadline) break;
    // The answer was lost: the same ID again finds what was stored.
    in_doubt = true;
    std::this_thread::sleep_for(kPause);
  }
  in_doubt = in_doubt || absl::IsUnknown(status);
  if (status.ok()) return order;
  if (!in_doubt || absl::IsAlreadyExists(status)) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; order ", id.ToString(),
                                   " may be stored: insert it again with the same ID"));
}

absl::Status OrderDao::CompareWithStored(locus::ShardConnection& connection, Order& order) {
  std::vector<Order> stored;
  absl::Status status = SelectById(connection, order.id, stored);
  if (!status.ok()) return status;
  if (stored.empty()) {
    return absl::AlreadyExistsError(absl::StrCat(
        "another order has the order_no ", order.no.ToString(), " of order ", order.id.ToString()));
  }
  // After a key rotation one order may have two valid numbers: the stored one counts if it decodes
  // to this ID. Compare the columns that you added as well.
  auto id = codec_.Decode(stored[0].no);
  if (stored[0].buyer == order.buyer && id.ok() && *id == order.id) {
    order = stored[0];
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(absl::StrCat("order ", order.id.ToString(),
                                               " exists with other contents: it belongs to buyer ",
                                               stored[0].buyer));
}

absl::Status OrderDao::SelectById(locus::ShardConnection& connection, const OrderId& id,
                                  std::vector<Order>& orders) {
  auto number = id.ToInt64();
  if (!number.ok()) return number.status();
  Statement select(connection,
                   "SELECT order_id, order_no, buyer_uid, version FROM orders"
                   " WHERE order_id = ?");
  select.Bind(static_cast<uint64_t>(*number));
  return Select(select, orders);
}

absl::Status OrderDao::Select(Statement& select, std::vector<Order>& orders) {
  orders.clear();
  absl::Status status = select.Execute();
  while (status.ok()) {
    status = select.Fetch();
    if (absl::IsNotFound(status)) return absl::OkStatus();
    if (!status.ok()) break;
    auto order = OrderOf(select);
    if (!order.ok()) return order.status();
    orders.push_back(*order);
  }
  return status;
}

absl::StatusOr<Order> OrderDao::FindOne(const OrderId& id, const OrderNo* no) {
  if (!id.ToInt64().ok()) return NoSuchOrder(id);  // wide: the column has no room for it
  const std::string bytes = no == nullptr ? "" : no->ToBytes();
  std::vector<Order> orders;
  auto select = [&](locus::ShardConnection& connection) {
    absl::Status selected;
    if (no == nullptr) {
      selected = SelectById(connection, id, orders);
    } else {
      Statement by_no(connection,
                      "SELECT order_id, order_no, buyer_uid, version FROM orders"
                      " WHERE order_no = ?");
      by_no.Bind(bytes);
      selected = Select(by_no, orders);
    }
    // A row found by its order_no counts if it has the order ID that the order_no decodes to.
    const bool found = !orders.empty() && orders[0].id == id;
    return selected.ok() && !found ? NoSuchOrder(id) : selected;
  };
  absl::Status status = fenced_.Run(id, {.kind = Kind::kRead}, Deadline(), select);
  if (!status.ok()) return status;
  return orders[0];
}

absl::StatusOr<Order> OrderDao::FindByNo(std::string_view text) {
  auto no = OrderNo::Parse(text);
  if (!no.ok()) return no.status();
  auto id = codec_.Decode(*no);
  if (!id.ok()) return id.status();
  return FindOne(*id, &*no);
}

absl::StatusOr<Order> OrderDao::FindById(const OrderId& id) { return FindOne(id, nullptr); }

// Appends the buyer's orders that the table assigns to the shard. While the vnode moves, the other
// shard holds copies of some of them.
absl::Status OrderDao::SelectByBuyer(const locus::BuyerRoute& route, uint64_t epoch, uint64_t buyer,
                                     TimePoint deadline, std::vector<Order>& orders) {
  auto connection = pools_.Take(*route.shard, epoch, deadline);
  if (!connection.ok()) return connection.status();
  Statement select(*connection,
                   "SELECT order_id, order_no, buyer_uid, version FROM orders"
                   " WHERE buyer_uid = ?");
  select.Bind(buyer);
  std::vector<Order> found;
  absl::Status status = Select(select, found);
  std::copy_if(found.begin(), found.end(), std::back_inserter(orders),
               [&route](const Order& order) { return route.Holds(order.id); });
  return status;
}

absl::StatusOr<std::vector<Order>> OrderDao::FindByBuyer(uint64_t buyer) {
  const TimePoint deadline = Deadline();
  std::vector<Order> orders;
  absl::Status status;
  do {
    orders.clear();
    // Read before routing: the shards are those of the table of this epoch or a later one.
    const uint64_t epoch = router_.epoch();
    status = absl::OkStatus();
    for (const locus::BuyerRoute& route : router_.RoutesOf(locus::BuyerKey::Uint64(buyer))) {
      if (route.empty() || !status.ok()) continue;
      status = SelectByBuyer(route, epoch, buyer, deadline, orders);
    }
    // The endpoint of a shard has changed: wait for the table that names it.
    if (absl::IsAborted(status) && !router_.Refresh(epoch + 1, deadline).ok()) return status;
  } while (absl::IsAborted(status) && std::chrono::steady_clock::now() < deadline);
  if (!status.ok()) return status;
  std::sort(orders.begin(), orders.end(),
            [](const Order& a, const Order& b) { return a.id < b.id; });
  return orders;
}

absl::StatusOr<Order> OrderDao::Update(Order order) {
  auto number = order.id.ToInt64();
  if (!number.ok()) return NoSuchOrder(order.id);
  auto change = [&](locus::ShardConnection& connection) {
    // Set your columns here as well.
    Statement update(connection,
                     "UPDATE orders SET version = version + 1 WHERE order_id = ? AND version = ?");
    update.Bind(static_cast<uint64_t>(*number)).Bind(order.version);
    absl::Status executed = update.Execute();
    return executed.ok() && update.affected() == 0 ? NoSuchOrder(order.id) : executed;
  };
  absl::Status status = fenced_.Run(order.id, {.kind = Kind::kStatement}, Deadline(), change);
  if (absl::IsNotFound(status)) {
    return absl::AbortedError(absl::StrCat("order ", order.id.ToString(), " no longer has version ",
                                           order.version, ", or is gone: read it again"));
  }
  if (!status.ok()) return status;
  ++order.version;
  return order;
}

}  // namespace shop
