// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PICTURE_SHARD_FILLS_H_
#define LOCUS_ROUTING_PICTURE_SHARD_FILLS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "locus/routing/routing_table.h"

namespace locus::internal {

// How shards are filled in a picture: calm colours in three steps of lightness and six textures, so
// that 18 shards differ also in black and white, and neighbours in the table differ in both. Shards
// to bring out are dark. The fills repeat after that.
class ShardFills {
 public:
  ShardFills(const RoutingTable& table, const std::set<uint32_t>& dark);

  // The value of an attribute `fill`; also of kSeveralShards.
  std::string Of(uint32_t shard);
  bool IsDark(uint32_t shard) const { return dark_.contains(shard); }
  // Whether Of(kSeveralShards) was asked for.
  bool several_shown() const { return several_shown_; }

  // <pattern> elements for the fills that were asked for, and for kStripes.
  std::string Definitions() const;

 private:
  std::unordered_map<uint32_t, size_t> index_of_;
  std::set<uint32_t> dark_;
  std::set<std::pair<bool, size_t>> used_;  // whether dark, number
  bool several_shown_ = false;
};

// A fill laid over vnodes that move. Only it is slanted.
inline constexpr char kStripes[] = "url(#moving)";

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PICTURE_SHARD_FILLS_H_
