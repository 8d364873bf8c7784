// SPDX-License-Identifier: Apache-2.0
#include "change.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace shop {
namespace {

// Statements hold numbers and hex literals only, so nothing needs escaping.
std::string Hex(const std::string& bytes) {
  return absl::StrCat("X'", absl::BytesToHexString(bytes), "'");
}
std::string Text(const std::string& text) { return absl::StrCat("_utf8mb4 ", Hex(text)); }
std::string Text(const std::optional<std::string>& text) { return text ? Text(*text) : "NULL"; }

uint64_t Pick(Random& random, uint64_t n) { return random() % n; }

Item NewItem(uint16_t line, Random& random) {
  return {line, absl::StrCat("SKU-", 10000 + Pick(random, 90000)),
          static_cast<uint32_t>(1 + Pick(random, 48)), static_cast<int64_t>(Pick(random, 5000))};
}

Payment NewPayment(int64_t amount, Random& random) {
  Payment payment{"", amount};
  for (int i = 0; i < 16; ++i) payment.no.push_back(static_cast<char>(Pick(random, 256)));
  return payment;
}

std::optional<std::string> NewNote(Random& random) {
  switch (Pick(random, 4)) {
    case 0:
      return std::nullopt;
    case 1:
      return "";
    case 2:
      return absl::StrCat("leave at the door, 'flat' ", Pick(random, 1000));
    default:
      return absl::StrCat("\xE5\xBC\xA0\xE4\xB8\x89 \xF0\x9F\x8E\x81 ", Pick(random, 1'000'000));
  }
}

// INSERT with the values of one row or of several, separated by commas.
std::string InsertInto(Table table, const std::string& values) {
  const char* columns = table == Table::kOrders
                            ? "order_id, order_no, buyer, status, amount, note, created"
                        : table == Table::kItems ? "order_id, line, sku, quantity, price"
                                                 : "order_id, payment_no, amount";
  return absl::StrCat("INSERT INTO ", NameOf(table), " (", columns, ") VALUES ", values);
}

std::string ValuesOf(const Order& order) {
  return absl::StrCat("(", order.id.ToString(), ", ", Hex(order.no), ", ", order.buyer, ", ",
                      order.status, ", ", MoneyText(order.amount), ", ", Text(order.note), ", ",
                      Text(order.created), ")");
}

std::string ValuesOf(const locus::OrderId& id, const Item& item) {
  return absl::StrCat("(", id.ToString(), ", ", item.line, ", ", Text(item.sku), ", ",
                      item.quantity, ", ", MoneyText(item.price), ")");
}

std::string ValuesOf(const locus::OrderId& id, const Payment& payment) {
  return absl::StrCat("(", id.ToString(), ", ", Hex(payment.no), ", ", MoneyText(payment.amount),
                      ")");
}

std::string ById(const locus::OrderId& id) {
  return absl::StrCat(" WHERE order_id = ", id.ToString());
}
std::string ByVersion(const Order& order) {
  return absl::StrCat(ById(order.id), " AND version = ", order.version);
}

std::string UpdateOrder(const Order& before, const Order& after) {
  return absl::StrCat("UPDATE orders SET status = ", after.status,
                      ", amount = ", MoneyText(after.amount), ", note = ", Text(after.note),
                      ", version = version + 1", ByVersion(before));
}

// Adds, changes or removes one item of `after`; `remove`: removes one if there is any. The
// statement that does so.
std::string ChangeItems(Order& after, bool remove, Random& random) {
  constexpr size_t kMostItems = 6;
  const uint64_t what = after.items.empty()                          ? 0
                        : remove || after.items.size() == kMostItems ? 2
                                                                     : Pick(random, 3);
  if (what == 0) {
    // The lowest free line: one that was deleted comes back.
    uint16_t line = 1;
    while (std::any_of(after.items.begin(), after.items.end(),
                       [&](const Item& item) { return item.line == line; })) {
      ++line;
    }
    after.items.push_back(NewItem(line, random));
    return InsertInto(Table::kItems, ValuesOf(after.id, after.items.back()));
  }
  const size_t i = Pick(random, after.items.size());
  const std::string by_key = absl::StrCat(ById(after.id), " AND line = ", after.items[i].line);
  if (what == 2) {
    after.items.erase(after.items.begin() + static_cast<ptrdiff_t>(i));
    return "DELETE FROM order_items" + by_key;
  }
  Item& item = after.items[i];
  item.quantity = static_cast<uint32_t>(1 + (item.quantity + Pick(random, 47)) % 48);
  return absl::StrCat("UPDATE order_items SET quantity = ", item.quantity,
                      ", version = version + 1", by_key);
}

Change Deletion(const Order& order) {
  Change change{.op = Op::kDelete, .before = StateOf(order), .id = order.id};
  change.statements.push_back({"DELETE FROM orders" + ByVersion(order)});
  if (!order.items.empty()) {
    change.statements.push_back({"DELETE FROM order_items" + ById(order.id), order.items.size()});
  }
  if (!order.payments.empty()) {
    change.statements.push_back({"DELETE FROM payments" + ById(order.id), order.payments.size()});
  }
  return change;
}

void Finish(Change& change, Order after) {
  change.id = after.id;
  change.state = StateOf(after);
  change.after = std::move(after);
}

}  // namespace

Change NewOrder(const locus::OrderId& id, std::string no, const BuyerRow& buyer,
                std::string created, Style style, Random& random) {
  Order order{.id = id,
              .no = std::move(no),
              .buyer = buyer.buyer,
              .amount = buyer.amount,
              .note = NewNote(random),
              .created = std::move(created)};
  Change change{.op = Op::kInsert};
  change.statements.push_back({InsertInto(Table::kOrders, ValuesOf(order))});
  if (style == Style::kTransactions) {
    const auto lines = static_cast<uint16_t>(1 + Pick(random, 4));
    for (uint16_t line = 1; line <= lines; ++line) {
      order.items.push_back(NewItem(line, random));
      change.statements.push_back({InsertInto(Table::kItems, ValuesOf(id, order.items.back()))});
    }
    if (Pick(random, 4) == 0) {
      order.payments.push_back(NewPayment(order.amount, random));
      change.statements.push_back(
          {InsertInto(Table::kPayments, ValuesOf(id, order.payments.back()))});
    }
  }
  Finish(change, std::move(order));
  return change;
}

Change Together(std::span<const Change> inserts) {
  std::vector<std::string> orders, items, payments;
  for (const Change& insert : inserts) {
    orders.push_back(ValuesOf(*insert.after));
    for (const Item& item : insert.after->items) items.push_back(ValuesOf(insert.id, item));
    for (const Payment& payment : insert.after->payments) {
      payments.push_back(ValuesOf(insert.id, payment));
    }
  }
  Change change{.op = Op::kInsert, .state = inserts.front().state, .id = inserts.front().id};
  for (const auto& [table, rows] : {std::pair(Table::kOrders, &orders),
                                    {Table::kItems, &items},
                                    {Table::kPayments, &payments}}) {
    if (rows->empty()) continue;
    change.statements.push_back({InsertInto(table, absl::StrJoin(*rows, ", ")), rows->size()});
  }
  return change;
}

Change NextChange(const Order& order, Style style, Random& random) {
  const uint64_t what = Pick(random, 12);
  // Without transactions an order is deleted once it has no items.
  if (what == 0 && (style == Style::kTransactions || order.items.empty())) return Deletion(order);
  Order after = order;
  Change change{.op = Op::kUpdate, .before = StateOf(order)};
  if (what < 4) {
    change.op = Op::kItems;
    Change::Statement items{ChangeItems(after, /*remove=*/what == 0, random)};
    if (style == Style::kTransactions) {
      change.statements.push_back({UpdateOrder(order, after)});
      ++after.version;
    }
    change.statements.push_back(std::move(items));
  } else {
    after.status = static_cast<unsigned>((after.status + 1) % 6);
    after.amount = static_cast<int64_t>(Pick(random, 100'000'000));
    if (what == 11) after.note = NewNote(random);
    change.statements.push_back({UpdateOrder(order, after)});
    ++after.version;
    if (what == 10 && style == Style::kTransactions && after.payments.size() < 3) {
      change.op = Op::kPay;
      after.payments.push_back(NewPayment(after.amount, random));
      change.statements.push_back(
          {InsertInto(Table::kPayments, ValuesOf(order.id, after.payments.back()))});
    }
  }
  Finish(change, std::move(after));
  return change;
}

}  // namespace shop
