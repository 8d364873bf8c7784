// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_RING_VIEW_H_
#define LOCUS_ROUTING_RING_VIEW_H_

#include <span>
#include <string>

#include "locus/routing/rebalance.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/text_style.h"

namespace locus {

// Pictures of the ring: who owns how much of it, and what moves where. Both show all of the table's
// epoch, shards and moves; neither shows endpoints.

// For a terminal: a line per shard (id, name, vnodes, share, bar), the total, then a line
// per run of vnodes that move from one shard to another by the same permyriad.
std::string RingAsText(const RoutingTable& table, TextStyle style = {});

// For a page, SVG 1.1 of 800 x 800 pixels: the ring clockwise from vnode 0 at the top, an arc per
// run of vnodes of one shard, hatched where they move, the target as a band around it, and a
// legend. Shards differ in colour (a palette that the colour-blind can tell apart) and in pattern,
// so it can be printed in black and white; the pairs repeat after 64 shards. What is finer than a
// pixel is stacked: a slice of the ring shows its shards one above the other, as thick as their
// part of it. Below 1 MiB for every table. Every arc has an attribute data-vnodes, and these sum to
// 65,536.
std::string RingAsSvg(const RoutingTable& table);

// A plan for a terminal: a line per shard (id, name, weight, vnodes and share before and
// after), what moves in all, the biggest shard before and after, then how much goes from whom to
// whom. With the loads that were planned with (RebalanceWish::load; empty otherwise) also each
// shard's part of them. Shows no endpoints.
std::string RebalanceAsText(const RebalancePlan& plan, std::span<const double> load = {},
                            TextStyle style = {});

// The same for a page, SVG as RingAsSvg's but 1200 x 800 pixels: the ring before, hatched where
// vnodes move already or are planned to, the ring after it, and one legend. Each ring's data-vnodes
// sum to 65,536.
std::string RebalanceAsSvg(const RebalancePlan& plan);

}  // namespace locus

#endif  // LOCUS_ROUTING_RING_VIEW_H_
