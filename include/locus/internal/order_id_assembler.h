// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_INTERNAL_ORDER_ID_ASSEMBLER_H_
#define LOCUS_INTERNAL_ORDER_ID_ASSEMBLER_H_

#include "locus/order_id.h"

namespace locus::internal {

// Makes order IDs from parts that were checked already.
class OrderIdAssembler {
 public:
  // Needs sequence <= OrderId::kMaxNarrowSequence.
  static constexpr OrderId Narrow(ShardGene gene, uint64_t sequence) {
    return OrderId(uint64_t{gene.value()} << OrderId::kNarrowSequenceBits | sequence, 0);
  }
  // Needs OrderId::kMaxNarrowSequence < sequence <= OrderId::kMaxSequence.
  static constexpr OrderId Wide(ShardGene gene, uint64_t sequence) {
    return OrderId(
        uint64_t{gene.value()} << OrderId::kNarrowSequenceBits | OrderId::kMaxNarrowSequence,
        sequence);
  }
  // Needs sequence <= OrderId::kMaxSequence.
  static constexpr OrderId Of(ShardGene gene, uint64_t sequence) {
    return sequence <= OrderId::kMaxNarrowSequence ? Narrow(gene, sequence) : Wide(gene, sequence);
  }
};

}  // namespace locus::internal

#endif  // LOCUS_INTERNAL_ORDER_ID_ASSEMBLER_H_
