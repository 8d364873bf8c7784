// SPDX-License-Identifier: Apache-2.0
#include "order_dao.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "locus/buyer_key.h"
#include "statement.h"

namespace shop {
namespace {

using locus::OrderId;
using locus::OrderNo;

absl::StatusOr<Order> OrderOf(const Statement& row) {
  auto id = OrderId::FromInt64(static_cast<int64_t>(row.Number(0)));
  if (!id.ok()) return absl::DataLossError(id.status().message());
  auto no = OrderNo::FromBytes(row.Bytes(1));
  if (!no.ok()) return absl::DataLossError(no.status().message());
  return Order{*id, *no, row.Number(2), row.Number(3)};
}

}  // namespace

absl::Status OrderDao::WithNewerTable(const std::function<absl::Status(TimePoint deadline)>& call) {
  const TimePoint deadline = std::chrono::steady_clock::now() + timeout_;
  const uint64_t epoch = router_.epoch();  // before routing: the call goes by it or a later one
  absl::Status status = call(deadline);
  if (!absl::IsAborted(status)) return status;
  absl::Status refreshed = router_.Refresh(epoch + 1, deadline);
  if (!refreshed.ok()) {
    return absl::AbortedError(
        absl::StrCat(status.message(), "; and no newer table: ", refreshed.message()));
  }
  return call(deadline);
}

absl::StatusOr<Order> OrderDao::Insert(uint64_t buyer) {
  if (ids_ == nullptr) return absl::FailedPreconditionError("this program makes no order IDs");
  auto id = ids_->Next(locus::BuyerKey::Uint64(buyer), std::chrono::steady_clock::now() + timeout_);
  if (!id.ok()) return id.status();
  auto no = codec_.Encode(*id);
  if (!no.ok()) return no.status();
  auto number = id->ToInt64();  // a table with wide IDs binds id->ToBytes()
  if (!number.ok()) return number.status();
  const Order order{*id, *no, buyer, 1};
  const std::string bytes = no->ToBytes();
  absl::Status status = WithNewerTable([&](TimePoint deadline) -> absl::Status {
    auto connection = pools_.Take(router_.Route(order.id), deadline);
    if (!connection.ok()) return connection.status();
    Statement insert(*connection,
                     "INSERT INTO orders (order_id, order_no, order_no_kv, buyer_uid, version)"
                     " VALUES (?, ?, ?, ?, 1)");
    insert.Bind(static_cast<uint64_t>(*number)).Bind(bytes);
    insert.Bind(uint64_t{order.no.key_version().value()}).Bind(buyer);
    return insert.Execute();
  });
  if (!status.ok()) return status;
  return order;
}

absl::StatusOr<std::vector<Order>> OrderDao::Select(const locus::Shard& shard, const char* where,
                                                    uint64_t number, std::string_view bytes,
                                                    TimePoint deadline) {
  auto connection = pools_.Take(shard, deadline);
  if (!connection.ok()) return connection.status();
  const std::string text =
      absl::StrCat("SELECT order_id, order_no, buyer_uid, version FROM orders WHERE ", where);
  Statement select(*connection, text);
  bytes.empty() ? select.Bind(number) : select.Bind(bytes);
  absl::Status status = select.Execute();
  std::vector<Order> orders;
  while (status.ok()) {
    status = select.Fetch();
    if (absl::IsNotFound(status)) return orders;
    if (!status.ok()) break;
    auto order = OrderOf(select);
    if (!order.ok()) return order.status();
    orders.push_back(*order);
  }
  return status;
}

absl::StatusOr<Order> OrderDao::FindOne(const OrderId& id, const OrderNo* no) {
  auto number = id.ToInt64();
  if (!number.ok()) return number.status();
  const std::string bytes = no == nullptr ? "" : no->ToBytes();
  std::vector<Order> orders;
  absl::Status status = WithNewerTable([&](TimePoint deadline) -> absl::Status {
    auto found = Select(router_.Route(id), no == nullptr ? "order_id = ?" : "order_no = ?",
                        static_cast<uint64_t>(*number), bytes, deadline);
    if (found.ok()) orders = *std::move(found);
    return found.status();
  });
  if (!status.ok()) return status;
  // Of a number: that its row has the order ID it decodes to.
  if (orders.empty() || orders[0].id != id) {
    return absl::NotFoundError(absl::StrCat("there is no order ", id.ToString()));
  }
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
  std::vector<Order> orders;
  absl::Status status = WithNewerTable([&](TimePoint deadline) -> absl::Status {
    orders.clear();
    for (const locus::BuyerRoute& route : router_.RoutesOf(locus::BuyerKey::Uint64(buyer))) {
      if (route.empty()) continue;
      auto found = Select(*route.shard, "buyer_uid = ?", buyer, {}, deadline);
      if (!found.ok()) return found.status();
      // The other shard may have copies of these, or still have them.
      std::copy_if(found->begin(), found->end(), std::back_inserter(orders),
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
  if (!number.ok()) return number.status();
  uint64_t changed = 0;
  absl::Status status = WithNewerTable([&](TimePoint deadline) -> absl::Status {
    auto connection = pools_.Take(router_.Route(order.id), deadline);
    if (!connection.ok()) return connection.status();
    // Your columns are set here, too.
    Statement update(*connection,
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
