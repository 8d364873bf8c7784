// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ORDER_ORDER_NO_ASSEMBLER_H_
#define LOCUS_SRC_ORDER_ORDER_NO_ASSEMBLER_H_

#include "locus/order_no.h"

namespace locus::internal {

// Makes order_nos from words that were checked already.
class OrderNoAssembler {
 public:
  // Needs bit 127 = 0 and format 2 or 3.
  static constexpr OrderNo Of(uint64_t high, uint64_t low) { return OrderNo(high, low); }
  // Needs value >= 0.
  static constexpr OrderNo64 Of64(int64_t value) { return OrderNo64(value); }
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_ORDER_ORDER_NO_ASSEMBLER_H_
