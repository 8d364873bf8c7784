// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PICTURE_RING_BANDS_H_
#define LOCUS_ROUTING_PICTURE_RING_BANDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "locus/routing/routing_table.h"

// The bands of a ring's picture, in vnodes. However finely the table is divided, there are at most
// a few thousand bands.

namespace locus::internal {

// Stands for several shards, each too thin to be drawn. No shard has this id.
inline constexpr uint32_t kSeveralShards = 0;

// Vnodes first..last (last may be above 65,535: it wraps) of one shard. Of a slice that several
// shards share, the part from `inner` to `outer` of the ring's thickness, 0..1.
struct OwnerBand {
  size_t first;
  size_t last;
  uint32_t shard;
  size_t vnodes;  // all bands together have 65,536
  double inner = 0;
  double outer = 1;
};
std::vector<OwnerBand> OwnerBandsOf(const RoutingTable& table);

// Vnodes first..last, all or (where moves are finer than a pixel) some of which move to `target`.
struct TargetBand {
  size_t first;
  size_t last;
  uint32_t target;
};
std::vector<TargetBand> TargetBandsOf(const RoutingTable& table);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PICTURE_RING_BANDS_H_
