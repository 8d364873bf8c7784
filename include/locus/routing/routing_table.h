// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ROUTING_TABLE_H_
#define LOCUS_ROUTING_ROUTING_TABLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/shard_gene.h"

namespace locus {

// A physical database that owns ranges of vnodes. Texts are UTF-8 without control characters.
struct Shard {
  uint32_t id = 0;        // from 1
  std::string name;       // 1 to 255 bytes
  std::string endpoint;   // a URL or address, 1 to 2,048 bytes, without spaces and credentials
  uint32_t weight = 100;  // its share among the shards, 0..1,000,000; 0: it is to be emptied
  std::map<std::string, std::string> labels;  // names 1 to 255 bytes, values up to 2,048

  friend bool operator==(const Shard&, const Shard&) = default;
};

// Vnodes above the range before it, up to and including `last`, belong to `shard`.
struct VnodeRange {
  uint16_t last = 0;
  uint32_t shard = 0;

  friend bool operator==(const VnodeRange&, const VnodeRange&) = default;
};

// Vnodes first..last are on their way to shard `to`, which owns their cohorts below `permyriad`.
struct VnodeMove {
  uint16_t first = 0;
  uint16_t last = 0;
  uint32_t to = 0;
  uint32_t permyriad = 0;  // 0..10000

  friend bool operator==(const VnodeMove&, const VnodeMove&) = default;
};

// Which shard owns which vnodes, in one version (epoch). The document is JSON:
//
//   { "epoch": 12,
//     "shards": [ {"id": 1, "name": "orders-a", "endpoint": "mysql://127.0.0.1:3306/orders",
//                  "weight": 100, "labels": {"tier": "hot"}} ],
//     "ranges": [ {"last": 16383, "shard": 1}, {"last": 65535, "shard": 2} ],
//     "moves":  [ {"first": 0, "last": 255, "to": 2, "permyriad": 500} ] }
//
// `ranges` is a ceiling map: a gene belongs to the first range whose `last` >= gene; genes above
// the highest `last` wrap to the first range. weight (100), labels and moves may be left out.
//
// A value that exists is valid: every factory checks all of it. INVALID_ARGUMENT messages begin
// with the JSON Pointer of the offending value (of the parent, where a member is missing) and ": ",
// unless that is the whole document, then the reason: unknown shard, repeated id or name, unsorted
// or repeated `last`, overlapping moves, first > last, a move of a gene that `to` already owns, a
// number out of range, unknown or duplicate members, no shards, no ranges, an endpoint with
// credentials (any '@', or an option password=, passwd= or pwd=), JSON that is malformed (line,
// column and byte). No message quotes an endpoint. Integers are JSON integers: 1.0 and 1e3 are
// refused.
//
// A table keeps shards in the order of their ids and moves in the order of their vnodes, so tables
// that say the same are equal.
//
// Immutable; const methods may be called from any thread.
class RoutingTable {
 public:
  static constexpr uint32_t kMaxPermyriad = 10000;
  static constexpr uint64_t kMaxEpoch = INT64_MAX;  // fits a BIGINT; the first epoch is 1
  static constexpr uint32_t kMaxWeight = 1000000;
  static constexpr size_t kMaxShards = 65536;
  static constexpr size_t kMaxNameBytes = 255;
  static constexpr size_t kMaxTextBytes = 2048;  // of endpoints and of values of labels

  static absl::StatusOr<RoutingTable> Parse(std::string_view json);
  static absl::StatusOr<RoutingTable> Make(uint64_t epoch, std::vector<Shard> shards,
                                           std::vector<VnodeRange> ranges,
                                           std::vector<VnodeMove> moves = {});
  // The ring in as many equal ranges as there are shards: ids from 1, weight 100, epoch 1, range i
  // ends at floor((i + 1) * 65536 / n) - 1.
  static absl::StatusOr<RoutingTable> MakeEven(
      const std::vector<std::pair<std::string, std::string>>& names_and_endpoints);

  // The document, indented by two, with a line for each shard, range and move. Parse() reads back
  // an equal table.
  std::string ToJson() const;

  uint64_t epoch() const { return epoch_; }
  const std::vector<Shard>& shards() const { return shards_; }
  const std::vector<VnodeRange>& ranges() const { return ranges_; }
  const std::vector<VnodeMove>& moves() const { return moves_; }

  // By the ceiling map. Cost: a binary search; Router is for looking up in bulk.
  const Shard& OwnerOf(ShardGene gene) const;
  // The move that gene takes part in, or nullptr.
  const VnodeMove* MoveOf(ShardGene gene) const;
  // nullptr: no shard of that id.
  const Shard* FindShard(uint32_t id) const;

  friend bool operator==(const RoutingTable&, const RoutingTable&) = default;

 private:
  RoutingTable() = default;

  uint64_t epoch_ = 0;
  std::vector<Shard> shards_;
  std::vector<VnodeRange> ranges_;
  std::vector<VnodeMove> moves_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ROUTING_TABLE_H_
