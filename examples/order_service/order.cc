// SPDX-License-Identifier: Apache-2.0
#include "order.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shop {
namespace {

// FNV-1a, and a last mix that spreads it over all bits: sums of digests must not cancel out.
class Digest {
 public:
  void Add(std::string_view bytes) {
    for (const char byte : bytes) {
      state_ = (state_ ^ static_cast<unsigned char>(byte)) * 0x100000001B3u;
    }
  }
  void AddNumber(uint64_t number) {
    for (int i = 0; i < 8; ++i) state_ = (state_ ^ (number >> 8 * i & 0xFF)) * 0x100000001B3u;
  }
  uint64_t value() const {
    uint64_t mixed = state_;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    return mixed ^ mixed >> 31;
  }

 private:
  uint64_t state_ = 0xCBF29CE484222325u;
};

}  // namespace

const char* NameOf(Table table) {
  switch (table) {
    case Table::kOrders:
      return "orders";
    case Table::kItems:
      return "order_items";
    case Table::kPayments:
      return "payments";
  }
  return "";
}

const char* ColumnsOf(Table table) {
  switch (table) {
    case Table::kOrders:
      return "order_id, order_no, buyer, status, amount, note, created, version";
    case Table::kItems:
      return "order_id, line, sku, quantity, price";
    case Table::kPayments:
      return "order_id, payment_no, amount";
  }
  return "";
}

uint64_t DigestOf(Table table, const Row& row) {
  Digest digest;
  digest.AddNumber(static_cast<uint64_t>(table));
  for (const std::optional<std::string>& field : row) {
    digest.AddNumber(field ? field->size() : UINT64_MAX);
    if (field) digest.Add(*field);
  }
  return digest.value();
}

OrderState StateOf(const Order& order) {
  const std::string id = order.id.ToString();
  uint64_t sum = DigestOf(Table::kOrders, {id, order.no, absl::StrCat(order.buyer),
                                           absl::StrCat(order.status), MoneyText(order.amount),
                                           order.note, order.created, absl::StrCat(order.version)});
  for (const Item& item : order.items) {
    sum += DigestOf(Table::kItems, {id, absl::StrCat(item.line), item.sku,
                                    absl::StrCat(item.quantity), MoneyText(item.price)});
  }
  for (const Payment& payment : order.payments) {
    sum += DigestOf(Table::kPayments, {id, payment.no, MoneyText(payment.amount)});
  }
  return {OrderDigest(sum), order.version};
}

std::string MoneyText(int64_t hundredths) {
  return absl::StrFormat("%d.%02d", hundredths / 100, hundredths % 100);
}

// No foreign keys: what cascades passes no trigger and is no event of the log. VARBINARY, not
// BINARY: a row event leaves trailing zero bytes of BINARY out.
const char* SchemaSql() {
  return R"(CREATE TABLE orders (
  order_id   BIGINT UNSIGNED   NOT NULL,
  order_no   VARBINARY(16)     NOT NULL,
  buyer      BIGINT UNSIGNED   NOT NULL,
  status     TINYINT UNSIGNED  NOT NULL,
  amount     DECIMAL(12,2)     NOT NULL,
  note       VARCHAR(200)      NULL,
  created    DATETIME          NOT NULL,
  version    BIGINT UNSIGNED   NOT NULL DEFAULT 1,
  shard_gene SMALLINT UNSIGNED AS (order_id >> 47 & 65535) STORED,
  PRIMARY KEY (order_id),
  UNIQUE KEY orders_by_no (order_no),
  KEY orders_by_buyer (buyer, order_id),
  CONSTRAINT orders_id_is_narrow CHECK (order_id < 9223372036854775808)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE order_items (
  order_id   BIGINT UNSIGNED   NOT NULL,
  line       SMALLINT UNSIGNED NOT NULL,
  sku        VARCHAR(40)       NOT NULL,
  quantity   INT UNSIGNED      NOT NULL,
  price      DECIMAL(12,2)     NOT NULL,
  version    BIGINT UNSIGNED   NOT NULL DEFAULT 1,
  PRIMARY KEY (order_id, line)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE payments (
  order_id   BIGINT UNSIGNED   NOT NULL,
  payment_no VARBINARY(16)     NOT NULL,
  amount     DECIMAL(12,2)     NOT NULL,
  version    BIGINT UNSIGNED   NOT NULL DEFAULT 1,
  PRIMARY KEY (order_id, payment_no)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
)";
}

}  // namespace shop
