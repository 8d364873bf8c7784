// SPDX-License-Identifier: Apache-2.0
#include "bench/planner/placement_peers.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace locus::peers {

uint32_t JumpHash(uint64_t key, uint32_t buckets) {
  int64_t bucket = -1;
  int64_t next = 0;
  while (next < buckets) {
    bucket = next;
    key = key * 2862933555777941757u + 1;
    next = static_cast<int64_t>(
        static_cast<double>(bucket + 1) *
        (static_cast<double>(int64_t{1} << 31) / static_cast<double>((key >> 33) + 1)));
  }
  return static_cast<uint32_t>(bucket);
}

namespace {

// Four points, each of four bytes of the MD5 digest, little-endian.
std::array<uint32_t, 4> Md5Points(std::string_view text) {
  std::array<unsigned char, 16> digest;
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_md5(), nullptr) != 1) {
    std::abort();
  }
  std::array<uint32_t, 4> points{};
  for (size_t i = 0; i < digest.size(); ++i) {
    points[i / 4] |= static_cast<uint32_t>(digest[i]) << i % 4 * 8;
  }
  return points;
}

}  // namespace

Ketama::Ketama(const std::vector<Server>& servers) {
  uint32_t all = 0;
  for (const Server& server : servers) all += server.weight;
  for (uint32_t i = 0; i < servers.size(); ++i) {
    // In float, as libketama has it.
    float part = static_cast<float>(servers[i].weight) / static_cast<float>(all);
    auto digests =
        static_cast<uint32_t>(std::floor(part * 40.0F * static_cast<float>(servers.size())));
    for (uint32_t k = 0; k < digests; ++k) {
      for (uint32_t point : Md5Points(servers[i].name + "-" + std::to_string(k))) {
        points_.emplace_back(point, i);
      }
    }
  }
  std::sort(points_.begin(), points_.end());
}

uint32_t Ketama::ServerOf(std::string_view key) const {
  std::pair<uint32_t, uint32_t> at{Md5Points(key)[0], 0};
  auto found = std::lower_bound(points_.begin(), points_.end(), at);
  return found == points_.end() ? points_.front().second : found->second;
}

uint16_t Crc16(std::string_view bytes) {
  uint32_t crc = 0;
  for (char c : bytes) {
    crc ^= static_cast<uint32_t>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = crc << 1 ^ ((crc & 0x8000) != 0 ? 0x1021 : 0);
    crc &= 0xFFFF;
  }
  return static_cast<uint16_t>(crc);
}

uint16_t RedisSlotOf(std::string_view key) { return Crc16(key) % kRedisSlots; }

RedisSlots CreateRedisCluster(uint32_t nodes) {
  RedisSlots slots(kRedisSlots);
  float each = static_cast<float>(kRedisSlots) / static_cast<float>(nodes);
  float cursor = 0;
  size_t first = 0;
  for (uint32_t node = 0; node < nodes; ++node) {
    auto last = static_cast<size_t>(std::lround(cursor + each - 1));
    if (last >= kRedisSlots || node == nodes - 1) last = kRedisSlots - 1;
    std::fill(slots.begin() + static_cast<std::ptrdiff_t>(first),
              slots.begin() + static_cast<std::ptrdiff_t>(last + 1), node);
    first = last + 1;
    cursor += each;
  }
  return slots;
}

namespace {

struct RedisNode {
  uint32_t number;
  int balance;  // slots above its part
};

// The nodes by rising balance, which sums to 0; empty: all are near enough to their parts.
std::vector<RedisNode> Balances(const RedisSlots& slots, const std::vector<float>& weights) {
  constexpr float kThresholdPercent = 2;
  float all = std::accumulate(weights.begin(), weights.end(), 0.0F);
  std::vector<RedisNode> nodes;
  bool worth_it = false;
  int sum = 0;
  for (uint32_t i = 0; i < weights.size(); ++i) {
    auto owned = static_cast<int>(std::count(slots.begin(), slots.end(), i));
    auto part = static_cast<int>(static_cast<float>(kRedisSlots) / all * weights[i]);
    nodes.push_back({i, owned - part});
    sum += owned - part;
    float off = std::fabs(100.0F - 100.0F * static_cast<float>(part) / static_cast<float>(owned));
    worth_it |= owned > 0 ? off > kThresholdPercent : part > 1;
  }
  if (!worth_it) return {};
  // Parts are rounded down: somebody takes the rest.
  while (sum > 0) {
    for (RedisNode& node : nodes) {
      if (node.balance > 0 || sum == 0) continue;
      --node.balance;
      --sum;
    }
  }
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const RedisNode& a, const RedisNode& b) { return a.balance < b.balance; });
  return nodes;
}

void MoveLowest(uint32_t from, uint32_t to, int count, RedisSlots& slots) {
  for (uint32_t& node : slots) {
    if (count == 0) return;
    if (node != from) continue;
    node = to;
    --count;
  }
}

}  // namespace

RedisSlots RebalanceRedisCluster(RedisSlots slots, const std::vector<float>& weights) {
  std::vector<RedisNode> nodes = Balances(slots, weights);
  if (nodes.empty()) return slots;
  size_t taker = 0;
  size_t giver = nodes.size() - 1;
  while (taker < giver) {
    int count = std::min(std::abs(nodes[taker].balance), std::abs(nodes[giver].balance));
    MoveLowest(nodes[giver].number, nodes[taker].number, count, slots);
    nodes[taker].balance += count;
    nodes[giver].balance -= count;
    if (nodes[taker].balance == 0) ++taker;
    if (nodes[giver].balance == 0) --giver;
  }
  return slots;
}

}  // namespace locus::peers
