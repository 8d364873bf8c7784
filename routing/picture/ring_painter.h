// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PICTURE_RING_PAINTER_H_
#define LOCUS_ROUTING_PICTURE_RING_PAINTER_H_

#include <span>
#include <string>
#include <vector>

#include "locus/routing/routing_table.h"
#include "routing/picture/shard_fills.h"
#include "routing/picture/svg_page.h"

namespace locus::internal {

// Where a ring is drawn: within a circle of this radius, with all that is around it.
struct RingPlace {
  double x;  // of the centre
  double y;
  double radius;
  bool with_load = false;  // leaves room for PaintLoad
};

// Owners, stripes over what moves, a band around the owners for the targets of moves and for dark
// shards, the ids of shards whose arcs have room, and vnode numbers at the quarters.
void PaintRing(const RoutingTable& table, const RingPlace& place, ShardFills& fills, SvgPage& page);

// How far each move has come, beside it, where there is room.
void PaintMoveProgress(const RoutingTable& table, const RingPlace& place, SvgPage& page);

// How the load lies along the ring, as a grey band around it with the square root of the load as
// its height, and a line for the mean. `load` has a number for each vnode. Returns the highest
// point over the mean.
double PaintLoad(std::span<const double> load, const RingPlace& place, SvgPage& page);

// Lines of text in the middle of the ring, the first one large. They are cut to fit.
void PaintCenter(const std::vector<std::string>& lines, const RingPlace& place, SvgPage& page);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PICTURE_RING_PAINTER_H_
