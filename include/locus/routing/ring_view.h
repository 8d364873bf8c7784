// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_RING_VIEW_H_
#define LOCUS_ROUTING_RING_VIEW_H_

#include <span>
#include <string>

#include "locus/routing/rebalance.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/text_style.h"

namespace locus {

// Pictures of the ring: how much of it each shard owns, and what moves where. All show the table's
// epoch, shards and moves.

// For a terminal: a line per shard (id, name, vnodes, portion, bar), the total, then a line per run
// of vnodes that move between the same shards by the same permyriad.
std::string RingAsText(const RoutingTable& table, TextStyle style = {});

// For a web page: SVG 1.1 without margins. It shows the ring clockwise from vnode 0 at the top,
// with an arc per run of vnodes of one shard. Arcs that move are striped, with their target as a
// band around them. The legend has each shard's id, name, endpoint, vnodes and portion, the largest
// portion first, for at most 256 shards. Fills differ in lightness and texture, so that neighbours
// and up to 18 shards can be distinguished in black and white too. Arcs finer than a pixel are
// stacked: a slice of the ring shows its shards one above the other, each as thick as its part of
// the slice. At most 1 MiB for any table. The attributes data-vnodes of all arcs sum to 65,536.
std::string RingAsSvg(const RoutingTable& table);

// A plan for a terminal: a line per shard (id, name, weight, vnodes and portion before and after),
// the total that moves, the largest shard before and after, then how much goes from which shard to
// which. `load` is RebalanceRequest::load, or empty; with it, also each shard's part of the load.
std::string RebalanceAsText(const RebalancePlan& plan, std::span<const double> load = {},
                            TextStyle style = {});

// The same for a web page, as SVG like that of RingAsSvg: the ring before the plan, striped where
// vnodes move already or will move, the ring after it, and one legend, with the shards that change
// most first. Shards that get their first vnodes are dark and marked as new. With `load`, the
// legend compares loads, and both rings show how the load is distributed. The data-vnodes of each
// ring sum to 65,536.
std::string RebalanceAsSvg(const RebalancePlan& plan, std::span<const double> load = {});

}  // namespace locus

#endif  // LOCUS_ROUTING_RING_VIEW_H_
