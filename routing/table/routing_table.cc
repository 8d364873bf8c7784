// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/routing_table.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "routing/table/refusal.h"
#include "routing/table/table_check.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"

namespace locus {

using internal::CheckTable;
using internal::RandomWord;

absl::StatusOr<RoutingTable> RoutingTable::Make(uint64_t epoch, std::vector<Shard> shards,
                                                std::vector<VnodeRange> ranges,
                                                std::vector<VnodeMove> moves,
                                                std::string table_id) {
  LOCUS_RETURN_IF_ERROR(CheckTable(epoch, table_id, shards, ranges, moves));
  RoutingTable table;
  table.epoch_ = epoch;
  absl::AsciiStrToLower(&table_id);
  table.table_id_ = std::move(table_id);
  table.shards_ = std::move(shards);
  table.ranges_ = std::move(ranges);
  table.moves_ = std::move(moves);
  std::ranges::sort(table.shards_, {}, &Shard::id);
  std::ranges::sort(table.moves_, {}, &VnodeMove::first);
  return table;
}

absl::StatusOr<RoutingTable> RoutingTable::MakeEven(
    const std::vector<std::pair<std::string, std::string>>& names_and_endpoints,
    std::string table_id) {
  std::vector<Shard> shards;
  std::vector<VnodeRange> ranges;
  uint64_t count = names_and_endpoints.size();
  for (uint64_t i = 0; i < count; ++i) {
    auto id = static_cast<uint32_t>(i + 1);
    const auto& [name, endpoint] = names_and_endpoints[i];
    shards.push_back({.id = id, .name = name, .endpoint = endpoint, .labels = {}});
    uint64_t end = (i + 1) * ShardGene::kCount / count;
    ranges.push_back({.last = static_cast<uint16_t>(end - 1), .shard = id});
  }
  return Make(1, std::move(shards), std::move(ranges), {}, std::move(table_id));
}

absl::StatusOr<std::string> RoutingTable::NewTableId() {
  std::optional<uint64_t> word = RandomWord();
  if (!word) return absl::UnavailableError("OpenSSL has no randomness for a table_id; try again");
  return absl::StrCat(absl::Hex(*word, absl::kZeroPad16));
}

const Shard& RoutingTable::OwnerOf(ShardGene gene) const {
  auto range = std::ranges::lower_bound(ranges_, gene.value(), {}, &VnodeRange::last);
  if (range == ranges_.end()) range = ranges_.begin();
  return *FindShard(range->shard);
}

const VnodeMove* RoutingTable::MoveOf(ShardGene gene) const {
  auto move = std::ranges::lower_bound(moves_, gene.value(), {}, &VnodeMove::last);
  return move != moves_.end() && move->first <= gene.value() ? &*move : nullptr;
}

const Shard* RoutingTable::FindShard(uint32_t id) const {
  auto shard = std::ranges::lower_bound(shards_, id, {}, &Shard::id);
  return shard != shards_.end() && shard->id == id ? &*shard : nullptr;
}

}  // namespace locus
