// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ORDER_GENE_LANES_H_
#define LOCUS_SRC_ORDER_GENE_LANES_H_

#include "locus/internal/gene_hash.h"

namespace locus::internal {

// How many keys GenesOf8 hashes at once: the fastest number on this processor, measured at the
// first call, or the one that UseGeneLanes set.
GeneLanes GeneLanesInUse();

}  // namespace locus::internal

#endif  // LOCUS_SRC_ORDER_GENE_LANES_H_
