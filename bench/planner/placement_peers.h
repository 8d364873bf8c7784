// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_BENCH_PLANNER_PLACEMENT_PEERS_H_
#define LOCUS_BENCH_PLANNER_PLACEMENT_PEERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// How others place keys on shards, written small, to compare locus with (rebalance_peers.cc).
// Shards are called by number, from 0. tests/planner/placement_peers_test.cc holds each to known
// answers.

namespace locus::peers {

// "A Fast, Minimal Memory, Consistent Hash Algorithm", Lamping and Veach, 2014. Buckets are
// numbered: only the last one can go.
uint32_t JumpHash(uint64_t key, uint32_t buckets);

// libketama: a circle of 32-bit points, of each server floor(its part of all weight * 40 * number
// of servers) MD5 digests of NAME-i with four points each, so 160 where all weigh the same. A key
// goes to the first point at or after the first four bytes of its own MD5 digest.
class Ketama {
 public:
  struct Server {
    std::string name;
    uint32_t weight = 1;
  };
  explicit Ketama(const std::vector<Server>& servers);

  // The index in `servers`.
  uint32_t ServerOf(std::string_view key) const;
  size_t points() const { return points_.size(); }

 private:
  std::vector<std::pair<uint32_t, uint32_t>> points_;  // point, server; sorted
};

// Redis Cluster: 16,384 slots, each owned by a node.
inline constexpr size_t kRedisSlots = 16384;
using RedisSlots = std::vector<uint32_t>;  // the node of each slot

// CRC-16/XMODEM of the key, modulo the slots. Hash tags are not looked at: keys here have none.
uint16_t Crc16(std::string_view bytes);
uint16_t RedisSlotOf(std::string_view key);

// As `redis-cli --cluster create` deals the slots out.
RedisSlots CreateRedisCluster(uint32_t nodes);
// As `redis-cli --cluster rebalance --cluster-use-empty-masters --cluster-weight ...` (7.0) moves
// them: those nodes with more than their part of the weight, rounded down, give from their lowest
// slots on to those with less; nothing moves while every node with slots is within 2 % of its part.
// weights[i] is that of node i; 0 empties it.
RedisSlots RebalanceRedisCluster(RedisSlots slots, const std::vector<float>& weights);

}  // namespace locus::peers

#endif  // LOCUS_BENCH_PLANNER_PLACEMENT_PEERS_H_
