// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_TABLE_RANDOM_TABLE_H_
#define LOCUS_TESTS_TABLE_RANDOM_TABLE_H_

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locus/routing/routing_table.h"

namespace locus {

// Valid tables of every shape: one to many shards, one to many ranges that wrap or not, moves that
// touch each other, both ends of the ring. Descriptions of shards vary little, so they recur.
class RandomTable {
 public:
  explicit RandomTable(uint64_t seed) : random_(seed) {}

  RoutingTable Next(uint64_t epoch) {
    std::vector<Shard> shards = Shards();
    std::vector<VnodeRange> ranges = Ranges(shards);
    auto still = RoutingTable::Make(epoch, shards, ranges).value();
    return RoutingTable::Make(epoch, shards, ranges, Moves(still)).value();
  }

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  uint16_t Vnode() { return static_cast<uint16_t>(random_()); }

 private:
  std::vector<Shard> Shards() {
    std::vector<Shard> shards(1 + Below(Below(4) == 0 ? 40 : 5));
    for (uint32_t i = 0; i < shards.size(); ++i) {
      Shard& shard = shards[i];
      shard.id = i + 1;
      shard.name = absl::StrCat("orders-", i, Below(8) == 0 ? " \"\\/~ \xC3\xA9" : "");
      shard.endpoint = absl::StrCat("mysql://127.0.0.", Below(3), ":3306/orders-", i);
      if (Below(4) == 0) shard.weight = static_cast<uint32_t>(Below(200));
      if (Below(4) == 0) shard.labels = {{"tier", "hot"}, {"a/b~c", ""}};
    }
    std::shuffle(shards.begin(), shards.end(), random_);
    return shards;
  }

  std::vector<VnodeRange> Ranges(const std::vector<Shard>& shards) {
    std::set<uint16_t> lasts;
    for (uint64_t n = 1 + Below(Below(4) == 0 ? 20000 : 10); n > 0; --n) lasts.insert(Vnode());
    if (Below(2) == 0) lasts.insert(65535);
    std::vector<VnodeRange> ranges;
    for (uint16_t last : lasts) ranges.push_back({last, shards[Below(shards.size())].id});
    return ranges;
  }

  std::vector<VnodeMove> Moves(const RoutingTable& still) {
    std::vector<VnodeMove> moves;
    uint64_t vnode = Below(3) == 0 ? 0 : Below(65536);
    for (uint64_t n = Below(20); n > 0 && vnode < 65536; --n) {
      VnodeMove move;
      move.first = static_cast<uint16_t>(vnode);
      move.to = still.shards()[Below(still.shards().size())].id;
      move.permyriad = static_cast<uint32_t>(Below(4) == 0 ? 10000 * Below(2) : Below(10001));
      uint64_t end = std::min<uint64_t>(65536, vnode + 1 + Below(3000));
      while (vnode < end && !Owns(still, move.to, vnode)) ++vnode;
      if (vnode == move.first) {
        ++vnode;
        continue;
      }
      move.last = static_cast<uint16_t>(vnode - 1);
      moves.push_back(move);
      if (Below(2) == 0) vnode += Below(8000);
    }
    std::shuffle(moves.begin(), moves.end(), random_);
    return moves;
  }

  static bool Owns(const RoutingTable& table, uint32_t id, uint64_t vnode) {
    return table.OwnerOf(ShardGene::FromUint16(static_cast<uint16_t>(vnode))).id == id;
  }

  std::mt19937_64 random_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_TABLE_RANDOM_TABLE_H_
