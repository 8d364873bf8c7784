// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_SERVICE_BUYERS_H_
#define LOCUS_EXAMPLES_ORDER_SERVICE_BUYERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace shop {

struct BuyerRow {
  uint64_t buyer = 0;
  int64_t amount = 0;  // of an order, in hundredths
};

// The vnodes that orders are for, both included.
struct Vnodes {
  uint16_t first = 0;
  uint16_t last = 65535;
};

// `count` made-up buyers of these vnodes.
std::vector<BuyerRow> MakeBuyers(Vnodes vnodes, size_t count);

// The rows of a CSV file with the columns CustomerID and total whose buyers are of these vnodes.
// Rows without a buyer, and cancellations (a negative total), are left out. NOT_FOUND: no such
// file. INVALID_ARGUMENT: a column is missing, a field is no number, or no row is left.
absl::StatusOr<std::vector<BuyerRow>> ReadBuyers(const std::string& path, Vnodes vnodes);

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_SERVICE_BUYERS_H_
