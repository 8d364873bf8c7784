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
using locus::Shard;

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

absl::Status OrderDao::Retrying(TimePoint deadline, const Attempt& attempt) {
  std::chrono::milliseconds pause = kFirstPause;
  absl::Status refused;
  while (true) {
    const uint64_t epoch =
        router_.epoch();  // before routing: the attempt goes by it or a later one
    absl::Status status = attempt(epoch);
    // Out of time on the way to a shard after one has refused: that it refused is what matters.
    if (absl::IsDeadlineExceeded(status) && !refused.ok()) return refused;
    if (!absl::IsAborted(status) || std::chrono::steady_clock::now() >= deadline) return status;
    const TimePoint again = std::min(deadline, std::chrono::steady_clock::now() + pause);
    if (LostAgainstAnother(status)) {
      std::this_thread::sleep_until(again);
    } else {
      absl::Status refreshed = router_.Refresh(epoch + 1, again);
      if (!refreshed.ok() && !absl::IsDeadlineExceeded(refreshed)) return refreshed;
    }
    pause = std::min(2 * pause, kLongestPause);
    refused = status;
  }
}

const Shard* OrderDao::ShardNamed(std::string_view name) const {
  // 65,536 loads, a fraction of a millisecond, and only after a refusal.
  for (uint32_t vnode = 0; vnode < locus::ShardGene::kCount; ++vnode) {
    auto gene = locus::ShardGene::FromUint16(static_cast<uint16_t>(vnode));
    const locus::GeneRoute route = router_.Route(gene);
    if (route.owner->name == name) return route.owner;
    if (route.target != nullptr && route.target->name == name) return route.target;
  }
  return nullptr;
}

absl::Status OrderDao::OnShard(const Shard& shard, uint64_t epoch, TimePoint deadline,
                               const Work& work) {
  auto connection = pools_.Take(shard, epoch, deadline);
  return connection.ok() ? work(*connection) : connection.status();
}

absl::Status OrderDao::OnShardOf(const OrderId& id, TimePoint deadline, const Work& work) {
  return Retrying(deadline, [&](uint64_t epoch) -> absl::Status {
    const Shard& shard = router_.Route(id);
    absl::Status status = OnShard(shard, epoch, deadline, work);
    const std::string_view name = ShardThatHasIt(status);
    const Shard* other = name.empty() || name == shard.name ? nullptr : ShardNamed(name);
    return other == nullptr ? status : OnShard(*other, epoch, deadline, work);
  });
}

absl::StatusOr<Order> OrderDao::Insert(uint64_t buyer) {
  if (ids_ == nullptr) return absl::FailedPreconditionError("this program makes no order IDs");
  const TimePoint deadline = Deadline();
  auto id = ids_->Next(locus::BuyerKey::Uint64(buyer), deadline);
  if (!id.ok()) return id.status();
  auto no = codec_.Encode(*id);
  if (!no.ok()) return no.status();
  auto number = id->ToInt64();  // a table with wide IDs binds id->ToBytes()
  if (!number.ok()) return number.status();
  const Order order{*id, *no, buyer, 1};
  const std::string bytes = no->ToBytes();
  absl::Status status = OnShardOf(order.id, deadline, [&](locus::ShardConnection& connection) {
    Statement insert(connection,
                     "INSERT INTO orders (order_id, order_no, order_no_kv, buyer_uid, version)"
                     " VALUES (?, ?, ?, ?, 1)");
    insert.Bind(static_cast<uint64_t>(*number)).Bind(bytes);
    insert.Bind(uint64_t{order.no.key_version().value()}).Bind(buyer);
    return insert.Execute();
  });
  if (!status.ok()) return status;
  return order;
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
  auto number = id.ToInt64();
  if (!number.ok()) return NoSuchOrder(id);  // wide: the column has no room for it
  const std::string bytes = no == nullptr ? "" : no->ToBytes();
  std::vector<Order> orders;
  absl::Status status = OnShardOf(id, Deadline(), [&](locus::ShardConnection& connection) {
    if (no == nullptr) {
      Statement select(connection,
                       "SELECT order_id, order_no, buyer_uid, version FROM orders"
                       " WHERE order_id = ?");
      select.Bind(static_cast<uint64_t>(*number));
      return Select(select, orders);
    }
    Statement select(connection,
                     "SELECT order_id, order_no, buyer_uid, version FROM orders"
                     " WHERE order_no = ?");
    select.Bind(bytes);
    return Select(select, orders);
  });
  if (!status.ok()) return status;
  // Of a number: that its row has the order ID it decodes to.
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
  absl::Status status = Retrying(deadline, [&](uint64_t epoch) {
    orders.clear();
    for (const locus::BuyerRoute& route : router_.RoutesOf(locus::BuyerKey::Uint64(buyer))) {
      if (route.empty()) continue;
      absl::Status asked = OnShard(*route.shard, epoch, deadline, select_all);
      if (!asked.ok()) return asked;
      // The other shard may have copies of these, or still have them.
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
  absl::Status status = OnShardOf(order.id, Deadline(), [&](locus::ShardConnection& connection) {
    // Your columns are set here, too.
    Statement update(connection,
                     "UPDATE orders SET version = version + 1 WHERE order_id = ? AND version = ?");
    update.Bind(static_cast<uint64_t>(*number)).Bind(order.version);
    absl::Status executed = update.Execute();
    if (executed.ok()) changed = update.affected();
    return executed;
  });
  if (!status.ok()) return status;
  if (changed == 0) {
    return absl::AbortedError(absl::StrCat("order ", order.id.ToString(), " is not of version ",
                                           order.version, " any more, or gone: read it again"));
  }
  ++order.version;
  return order;
}

}  // namespace shop
