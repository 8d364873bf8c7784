// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ROUTER_NAIVE_ROUTER_H_
#define LOCUS_TESTS_ROUTER_NAIVE_ROUTER_H_

#include <map>
#include <mutex>
#include <optional>

#include "locus/order_id.h"
#include "locus/routing/routing_table.h"

namespace locus {

// The naive twin of Router, written from the document's description alone: two maps and a mutex.
class NaiveRouter {
 public:
  struct Answer {
    Shard owner;
    std::optional<Shard> target;
    uint32_t permyriad = 0;
  };

  explicit NaiveRouter(const RoutingTable& table) { Install(table); }

  void Install(const RoutingTable& table) {
    std::lock_guard lock(mutex_);
    shards_.clear();
    ranges_.clear();
    moves_.clear();
    for (const Shard& shard : table.shards()) shards_[shard.id] = shard;
    for (const VnodeRange& range : table.ranges()) ranges_[range.last] = range.shard;
    for (const VnodeMove& move : table.moves()) moves_[move.first] = move;
  }

  Answer Route(ShardGene gene) {
    std::lock_guard lock(mutex_);
    auto range = ranges_.lower_bound(gene.value());
    if (range == ranges_.end()) range = ranges_.begin();
    Answer answer{.owner = shards_.at(range->second), .target = {}};
    auto move = moves_.upper_bound(gene.value());
    if (move == moves_.begin()) return answer;
    --move;
    if (gene.value() > move->second.last) return answer;
    answer.target = shards_.at(move->second.to);
    answer.permyriad = move->second.permyriad;
    return answer;
  }

  Shard Route(const OrderId& id) {
    Answer answer = Route(id.gene());
    uint64_t cohort = (id.sequence() % 10000 * 6181 + id.gene().value() * 2531u) % 10000;
    return cohort < answer.permyriad ? *answer.target : answer.owner;
  }

 private:
  std::mutex mutex_;
  std::map<uint32_t, Shard> shards_;
  std::map<uint16_t, uint32_t> ranges_;
  std::map<uint16_t, VnodeMove> moves_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_ROUTER_NAIVE_ROUTER_H_
