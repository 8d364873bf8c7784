// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_ASSIGN_ORDER_ROWS_H_
#define LOCUS_APPS_LOCUS_ASSIGN_ORDER_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/locus/id/buyer.h"
#include "apps/locus/io/csv.h"
#include "locus/buyer_key.h"

namespace locus::cli {

// Which field of a record has the buyer, as the header says.
struct OrderColumns {
  size_t count = 0;
  size_t buyer = 0;

  // INVALID_ARGUMENT: no column, or more than one, is named `buyer_column` (the message lists the
  // columns); a column is already named order_id, order_no or shard.
  static absl::StatusOr<OrderColumns> OfHeader(const csv::Record& header,
                                               std::string_view buyer_column);
};

// Why a row gets no order ID; as written to the rejects file.
enum class Rejection { kNone, kFieldCount, kEmptyBuyer, kNotUint64, kQuoting };
std::string_view TextOf(Rejection rejection);

// The rows of a batch whose buyers could be read. Rows point into the record splitter's buffer.
class OrderBatch {
 public:
  struct Row {
    std::string_view bytes;
    std::string_view ending;
  };

  OrderBatch(OrderColumns columns, BuyerType type) : columns_(columns), type_(type) {}

  // Adds the record, or answers why it cannot be added.
  Rejection Add(const csv::Record& record);
  void Clear();

  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<BuyerKey>& buyers() const { return buyers_; }  // of each row

 private:
  OrderColumns columns_;
  BuyerType type_;
  std::vector<Row> rows_;
  std::vector<BuyerKey> buyers_;
  std::string scratch_;
  std::deque<std::string> unquoted_;  // buyers whose quotes were removed
};

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_ASSIGN_ORDER_ROWS_H_
