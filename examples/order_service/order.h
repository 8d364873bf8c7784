// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_SERVICE_ORDER_H_
#define LOCUS_EXAMPLES_ORDER_SERVICE_ORDER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "locus/order_id.h"

namespace shop {

struct Item {
  uint16_t line = 0;
  std::string sku = {};
  uint32_t quantity = 0;
  int64_t price = 0;  // in hundredths
};

struct Payment {
  std::string no = {};  // 16 bytes
  int64_t amount = 0;   // in hundredths
};

// An order with its rows in three tables (SchemaSql). Every transaction that changes one of them
// raises `version`, which is that of the row in `orders`.
struct Order {
  locus::OrderId id = {};  // narrow
  std::string no = {};     // 16 bytes, made of the ID
  uint64_t buyer = 0;
  unsigned status = 0;
  int64_t amount = 0;  // in hundredths
  std::optional<std::string> note = {};
  std::string created = {};  // YYYY-MM-DD hh:mm:ss
  uint64_t version = 1;
  std::vector<Item> items = {};
  std::vector<Payment> payments = {};
};

// The compared state of an order: whether it exists, its version, and a digest of its rows.
struct OrderState {
  uint64_t digest = 0;  // 0: there is no such order
  uint64_t version = 0;

  bool there() const { return digest != 0; }
  friend bool operator==(const OrderState&, const OrderState&) = default;
};

enum class Table { kOrders, kItems, kPayments };
inline constexpr Table kTables[] = {Table::kOrders, Table::kItems, Table::kPayments};
const char* NameOf(Table table);
// The columns that count, separated by commas. order_id is the first. Versions of items and
// payments are left out: triggers raise them where a row is deleted and inserted again.
const char* ColumnsOf(Table table);
// Where these are among the columns of kOrders.
inline constexpr size_t kOrderNoColumn = 1;
inline constexpr size_t kVersionColumn = 7;

// The row as the server writes it; nullopt: NULL.
using Row = std::vector<std::optional<std::string>>;
// 64 bits of a row. An order has the sum of the digests of its rows, in any order, so tables can be
// read one after another. It finds accidents, not forgeries.
uint64_t DigestOf(Table table, const Row& row);
// The sum, for OrderState::digest: 0 is kept for "no such order".
inline uint64_t OrderDigest(uint64_t sum) { return sum == 0 ? 1 : sum; }

// The state of an order that is there.
OrderState StateOf(const Order& order);

// "12.34", as DECIMAL(12,2) is written.
std::string MoneyText(int64_t hundredths);

// The SQL of a shard: `orders`, `order_items`, `payments`.
const char* SchemaSql();

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_SERVICE_ORDER_H_
