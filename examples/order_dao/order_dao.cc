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
using locus::RoutedShard;

constexpr std::chrono::milliseconds kFirstPause{20};
constexpr std::chrono::milliseconds kLongestPause{500};

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

absl::Status OrderDao::Retrying(TimePoint deadline, Repeatable repeatable, const Attempt& attempt) {
  std::chrono::milliseconds pause = kFirstPause;
  absl::Status refused;
  while (true) {
    // Read before routing: the attempt goes by the table of this epoch or a later one.
    const uint64_t epoch = router_.epoch();
    absl::Status status = attempt(epoch);
    const bool lost = repeatable == Repeatable::kYes && AnswerLost(status);
    // If a shard has refused and time runs out on the way to the next, the refusal says more.
    if (absl::IsDeadlineExceeded(status) && !refused.ok()) return refused;
    if (!absl::IsAborted(status) && !lost) return status;
    if (std::chrono::steady_clock::now() >= deadline) return status;
    const TimePoint again = std::min(deadline, std::chrono::steady_clock::now() + pause);
    if (lost || LostAgainstAnother(status)) {
      std::this_thread::sleep_until(again);
    } else {
      absl::Status refreshed = router_.Refresh(epoch + 1, again);
      if (!refreshed.ok() && !absl::IsDeadlineExceeded(refreshed)) return refreshed;
    }
    pause = std::min(2 * pause, kLongestPause);
    refused = status;
  }
}

const RoutedShard* OrderDao::ShardNamed(std::string_view name) const {
  // 65,536 loads, a fraction of a millisecond, and only after a refusal.
  for (uint32_t vnode = 0; vnode < locus::ShardGene::kCount; ++vnode) {
    auto gene = locus::ShardGene::FromUint16(static_cast<uint16_t>(vnode));
    const locus::GeneRoute route = router_.Route(gene);
    if (route.owner->name == name) return route.owner;
    if (route.target != nullptr && route.target->name == name) return route.target;
  }
  return nullptr;
}

absl::Status OrderDao::OnShard(const RoutedShard& shard, uint64_t epoch, TimePoint deadline,
                               const Work& work) {
  auto connection = pools_.Take(shard, epoch, deadline);
  return connection.ok() ? work(*connection) : connection.status();
}

absl::Status OrderDao::OnShardOf(const OrderId& id, TimePoint deadline, Repeatable repeatable,
                                 const Work& work) {
  return Retrying(deadline, repeatable, [&](uint64_t epoch) -> absl::Status {
    const RoutedShard& shard = router_.Route(id);
    absl::Status status = OnShard(shard, epoch, deadline, work);
    const std::string_view name = ShardThatHasIt(status);
    const RoutedShard* other = name.empty() || name == shard.name ? nullptr : ShardNamed(name);
    return other == nullptr ? status : OnShard(*other, epoch, deadline, work);
  });
}

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
  bool in_doubt = false;
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
    in_doubt = in_doubt || AnswerLost(executed);
    return absl::IsAlreadyExists(executed) ? CompareWithStored(connection, order) : executed;
  };
  absl::Status status = OnShardOf(id, Deadline(), Repeatable::kYes, insert);
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
  // to this ID. Compare the columns that you added, too.
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
    if (no == nullptr) return SelectById(connection, id, orders);
    Statement by_no(connection,
                    "SELECT order_id, order_no, buyer_uid, version FROM orders"
                    " WHERE order_no = ?");
    by_no.Bind(bytes);
    return Select(by_no, orders);
  };
  absl::Status status = OnShardOf(id, Deadline(), Repeatable::kYes, select);
  if (!status.ok()) return status;
  // A row found by its order_no counts if it has the order ID that the order_no decodes to.
  if (orders.empty() || orders[0].id != id) return NoSuchOrder(id);
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

absl::StatusOr<std::vector<Order>> OrderDao::FindByBuyer(uint64_t buyer) {
  const TimePoint deadline = Deadline();
  std::vector<Order> orders, found;
  auto select_all = [&](locus::ShardConnection& connection) {
    Statement select(connection,
                     "SELECT order_id, order_no, buyer_uid, version FROM orders"
                     " WHERE buyer_uid = ?");
    select.Bind(buyer);
    return Select(select, found);
  };
  absl::Status status = Retrying(deadline, Repeatable::kYes, [&](uint64_t epoch) {
    orders.clear();
    for (const locus::BuyerRoute& route : router_.RoutesOf(locus::BuyerKey::Uint64(buyer))) {
      if (route.empty()) continue;
      absl::Status asked = OnShard(*route.shard, epoch, deadline, select_all);
      if (!asked.ok()) return asked;
      // While the vnode moves, the other shard holds copies of some of these.
      std::copy_if(found.begin(), found.end(), std::back_inserter(orders),
                   [&route](const Order& order) { return route.Holds(order.id); });
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  std::sort(orders.begin(), orders.end(),
            [](const Order& a, const Order& b) { return a.id < b.id; });
  return orders;
}

absl::StatusOr<Order> OrderDao::Update(Order order) {
  auto number = order.id.ToInt64();
  if (!number.ok()) return NoSuchOrder(order.id);
  uint64_t changed = 0;
  // Not repeatable: after a lost answer the version may have changed already.
  auto change = [&](locus::ShardConnection& connection) {
    // Set your columns here, too.
    Statement update(connection,
                     "UPDATE orders SET version = version + 1 WHERE order_id = ? AND version = ?");
    update.Bind(static_cast<uint64_t>(*number)).Bind(order.version);
    absl::Status executed = update.Execute();
    if (executed.ok()) changed = update.affected();
    return executed;
  };
  absl::Status status = OnShardOf(order.id, Deadline(), Repeatable::kNo, change);
  if (!status.ok()) return status;
  if (changed == 0) {
    return absl::AbortedError(absl::StrCat("order ", order.id.ToString(), " no longer has version ",
                                           order.version, ", or is gone: read it again"));
  }
  ++order.version;
  return order;
}

}  // namespace shop
