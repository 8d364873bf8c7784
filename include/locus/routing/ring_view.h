// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_RING_VIEW_H_
#define LOCUS_ROUTING_RING_VIEW_H_

#include <span>
#include <string>

#include "locus/routing/rebalance.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/text_style.h"

namespace locus {

// Pictures of the ring: which shard owns how much of it, and what moves where. All show the table's
// epoch, shards and moves.

// For a terminal: a line per shard (id, name, vnodes, share, bar), the total, then a line
// per run of vnodes that move from one shard to another by the same permyriad.
std::string RingAsText(const RoutingTable& table, TextStyle style = {});

// For a page, SVG 1.1, as large as what it shows: the ring clockwise from vnode 0 at the top, an
// arc per run of vnodes of one shard, striped where they move, the target as a band around it, and
// a legend with each shard's id, name, endpoint, vnodes and share, the largest first. Fills are
// calm and differ in lightness and texture, so that neighbours and up to 18 shards can be told
// apart in black and white too. What is finer than a pixel is stacked: a slice of the ring shows
// its shards one above the other, as thick as their part of it. The legend lists at most 256
// shards. Below 1 MiB for every table. Every arc has an attribute data-vnodes, and these sum to
// 65,536.
std::string RingAsSvg(const RoutingTable& table);

// A plan for a terminal: a line per shard (id, name, weight, vnodes and share before and after),
// what moves in all, the biggest shard before and after, then how much goes from which shard to
// which. With the loads that were planned with (RebalanceRequest::load; empty otherwise) also each
// shard's part of them.
std::string RebalanceAsText(const RebalancePlan& plan, std::span<const double> load = {},
                            TextStyle style = {});

// The same for a page, SVG as RingAsSvg's: the ring before, striped where vnodes move already or
// are planned to, the ring after it, and one legend, the shards that change most first. Shards that
// get their first vnodes are dark and called new. With the loads that were planned with, the legend
// compares these, and both rings show how the load lies along them. Each ring's data-vnodes sum to
// 65,536.
std::string RebalanceAsSvg(const RebalancePlan& plan, std::span<const double> load = {});

}  // namespace locus

#endif  // LOCUS_ROUTING_RING_VIEW_H_
