// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "locus/routing/router.h"
#include "src/base/os/check.h"

namespace locus {
namespace {

// The shards of one vnode while it moves: owner first where neither is likelier.
std::array<BuyerRoute, 2> RoutesWhileMoving(const GeneRoute& route) {
  BuyerRoute owner{route.owner, route.permyriad, OrderId::kCohorts};
  BuyerRoute target{route.target, 0, route.permyriad};
  if (route.permyriad > OrderId::kCohorts / 2) return {target, owner};
  return {owner, target};
}

}  // namespace

void OrderGroups::Prepare(size_t orders) {
  LOCUS_CHECK(orders <= std::numeric_limits<uint32_t>::max());
  shards_.clear();
  indexes_.clear();
  if (ids_.size() >= orders) return;
  ids_.resize(orders);
  positions_.resize(orders);
  index_of_each_.resize(orders);
}

void OrderGroups::SeeUpTo(uint16_t index) { cursors_.resize(size_t{index} + 1); }

uint64_t Router::ShardIndexOf(const OrderId& id) const {
  // Pairs with the release in SetWords(), as in Route(). Loaded once per order, so that its answer
  // is that of one table, even if another one is installed meanwhile.
  uint64_t word = words_[id.gene().value()].load(std::memory_order_acquire);
  if (word >= kPermyriadUnit && id.cohort() < word / kPermyriadUnit) word >>= kTargetShift;
  return word & 0xFFFF;
}

// A counting sort: route and count, find where each group begins, put each order into its place.
void Router::Group(std::span<const OrderId> ids, OrderGroups& groups) const {
  groups.Prepare(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    auto index = static_cast<uint16_t>(ShardIndexOf(ids[i]));
    if (index >= groups.cursors_.size()) [[unlikely]]
      groups.SeeUpTo(index);
    groups.index_of_each_[i] = index;
    if (groups.cursors_[index]++ == 0) [[unlikely]]
      groups.indexes_.push_back(index);
  }
  size_t begin = 0;
  for (uint16_t index : groups.indexes_) {
    size_t size = groups.cursors_[index];
    groups.shards_.push_back({.shard = &Description(index),
                              .ids = {groups.ids_.data() + begin, size},
                              .positions = {groups.positions_.data() + begin, size}});
    groups.cursors_[index] = static_cast<uint32_t>(begin);
    begin += size;
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    uint32_t place = groups.cursors_[groups.index_of_each_[i]]++;
    groups.ids_[place] = ids[i];
    groups.positions_[place] = static_cast<uint32_t>(i);
  }
  for (uint16_t index : groups.indexes_) groups.cursors_[index] = 0;
}

BuyerRoutes Router::RoutesOf(BuyerKey buyer) const { return RoutesOf(ShardGene::Of(buyer)); }

BuyerRoutes Router::RoutesOf(ShardGene gene) const {
  GeneRoute route = Route(gene);
  BuyerRoutes routes;
  if (route.target == nullptr) {
    routes.routes_[0] = {route.owner, 0, OrderId::kCohorts};
  } else {
    routes.routes_ = RoutesWhileMoving(route);
  }
  return routes;
}

}  // namespace locus
