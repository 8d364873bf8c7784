// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_SERVICE_CHANGE_H_
#define LOCUS_EXAMPLES_ORDER_SERVICE_CHANGE_H_

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "buyers.h"
#include "order.h"

namespace shop {

using Random = std::mt19937_64;

// The kind of a write; the numbers are those of the record's files.
enum class Op : uint8_t { kInsert = 1, kUpdate = 2, kItems = 3, kPay = 4, kDelete = 5 };

// One write to one order: the statements of a transaction, and the order before and after it.
struct Change {
  struct Statement {
    std::string text = {};
    // How many rows it changes; nullopt: any number. The first statement of a change that finds no
    // row found another version than the expected one.
    std::optional<uint64_t> affects = 1;
  };
  Op op = Op::kInsert;
  std::vector<Statement> statements = {};
  OrderState before = {};
  OrderState state = {};            // after it
  std::optional<Order> after = {};  // nullopt: the order is deleted
  locus::OrderId id = {};
};

// Which changes are made. A client without transactions makes each of one statement.
enum class Style { kTransactions, kStatements };

// A new order of `buyer`, with 1 to 4 items and sometimes a payment; kStatements: without them.
Change NewOrder(const locus::OrderId& id, std::string no, const BuyerRow& buyer,
                std::string created, Style style, Random& random);
// These new orders, at least one, as one write: one INSERT for each table. All of them are stored
// or none is, so its ID and states, which are those of the first, stand for all.
Change Together(std::span<const Change> inserts);
// A random change of an order, which expects its version; one of twelve deletes it.
Change NextChange(const Order& order, Style style, Random& random);

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_SERVICE_CHANGE_H_
