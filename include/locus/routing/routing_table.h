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
  std::string name;       // 1 to 64 bytes
  std::string endpoint;   // a URL or address, 1 to 2,048 bytes, without spaces and credentials
  uint32_t weight = 100;  // its portion of the ring, 0..1,000,000; 0: planners empty it
  std::map<std::string, std::string> labels;  // names 1 to 64 bytes, values up to 2,048

  friend bool operator==(const Shard&, const Shard&) = default;
};

// The part of a shard that routing needs. Weight and labels are left out, since they change without
// orders moving; Router::Table has them.
struct RoutedShard {
  RoutedShard() = default;
  RoutedShard(const Shard& shard)  // NOLINT(google-explicit-constructor): loses nothing routed by
      : id(shard.id), name(shard.name), endpoint(shard.endpoint) {}

  uint32_t id = 0;
  std::string name;
  std::string endpoint;

  friend bool operator==(const RoutedShard&, const RoutedShard&) = default;
};

// The vnodes above the previous range, up to and including `last`, belong to `shard`.
struct VnodeRange {
  uint16_t last = 0;
  uint32_t shard = 0;

  friend bool operator==(const VnodeRange&, const VnodeRange&) = default;
};

// Vnodes first..last are moving to shard `to`, which owns their cohorts below `permyriad`.
struct VnodeMove {
  uint16_t first = 0;
  uint16_t last = 0;
  uint32_t to = 0;
  uint32_t permyriad = 0;  // 0..10000
  // The number of the move's last change, as in the fences of both shards; 0: no number was given.
  uint64_t step = 0;

  friend bool operator==(const VnodeMove&, const VnodeMove&) = default;
};

// Which shard owns which vnodes, in one version (epoch). The document is JSON:
//
//   { "epoch": 12, "table_id": "9f1c02d7b5a64e38",
//     "shards": [ {"id": 1, "name": "orders-a", "endpoint": "mysql://127.0.0.1:3306/orders",
//                  "weight": 100, "labels": {"tier": "hot"}} ],
//     "ranges": [ {"last": 16383, "shard": 1}, {"last": 65535, "shard": 2} ],
//     "moves":  [ {"first": 0, "last": 255, "to": 2, "permyriad": 500, "step": 7} ] }
//
// `ranges` is a ceiling map: a gene belongs to the first range whose `last` >= gene; genes above
// the highest `last` wrap to the first range. table_id, weight (100), labels, moves and a move's
// step (0) are optional.
//
// A RoutingTable is always valid: every factory checks all of it. An INVALID_ARGUMENT message
// begins with the JSON Pointer of the offending value and ": "; a missing member is reported at its
// parent, and an error of the whole document without a pointer. Refused are: an unknown shard, a
// repeated id, name or endpoint, an unsorted or repeated `last`, overlapping moves, first > last, a
// move of a gene that `to` already owns, a number out of range, unknown or duplicate members, no
// shards, no ranges, an endpoint with credentials (any '@', or an option password=, passwd= or
// pwd=), more of anything than the limits below, and malformed JSON (line, column and byte).
// Endpoints are compared byte by byte; publishers also refuse two spellings of one database. No
// message quotes an endpoint. Integers are JSON integers:
// 1.0 and 1e3 are refused.
//
// A table keeps its shards ordered by id and its moves ordered by vnode, so two tables with the
// same contents are equal.
//
// Immutable; const methods may be called from any thread.
class RoutingTable {
 public:
  static constexpr uint32_t kMaxPermyriad = 10000;
  static constexpr uint64_t kMaxEpoch = INT64_MAX;  // fits a BIGINT; the first epoch is 1
  static constexpr uint64_t kMaxStep = INT64_MAX;
  static constexpr uint32_t kMaxWeight = 1000000;
  static constexpr size_t kMaxShards = 65536;
  static constexpr size_t kMaxLabels = 65536;    // of all shards together
  static constexpr size_t kMaxNameBytes = 64;    // of a shard or a label
  static constexpr size_t kMaxTextBytes = 2048;  // of an endpoint or the value of a label
  // Of all names, endpoints and labels together: 128 a shard where there are kMaxShards.
  static constexpr size_t kMaxAllTextBytes = size_t{8} << 20;
  static constexpr size_t kTableIdDigits = 16;

  static absl::StatusOr<RoutingTable> Parse(std::string_view json);
  // `table_id`: 16 hex digits, kept in lower case; empty: the table has none.
  static absl::StatusOr<RoutingTable> Make(uint64_t epoch, std::vector<Shard> shards,
                                           std::vector<VnodeRange> ranges,
                                           std::vector<VnodeMove> moves = {},
                                           std::string table_id = {});
  // Divides the ring into equal ranges, one for each shard: ids from 1, weight 100, epoch 1. Range
  // i of n ends at floor((i + 1) * 65536 / n) - 1.
  static absl::StatusOr<RoutingTable> MakeEven(
      const std::vector<std::pair<std::string, std::string>>& names_and_endpoints,
      std::string table_id = {});
  // A random table_id for a new table. UNAVAILABLE: the system has no randomness.
  static absl::StatusOr<std::string> NewTableId();

  // The document, indented by two spaces, with a line for each shard, range and move. Parse() gives
  // an equal table.
  std::string ToJson() const;

  uint64_t epoch() const { return epoch_; }
  // The random name that this table has through all its epochs; empty: it has none.
  const std::string& table_id() const { return table_id_; }
  const std::vector<Shard>& shards() const { return shards_; }
  const std::vector<VnodeRange>& ranges() const { return ranges_; }
  const std::vector<VnodeMove>& moves() const { return moves_; }

  // The owner by the ceiling map. Cost: a binary search; use Router for many lookups.
  const Shard& OwnerOf(ShardGene gene) const;
  // The move that `gene` takes part in, or nullptr.
  const VnodeMove* MoveOf(ShardGene gene) const;
  // nullptr: no shard of that id.
  const Shard* FindShard(uint32_t id) const;

  friend bool operator==(const RoutingTable&, const RoutingTable&) = default;

 private:
  RoutingTable() = default;

  uint64_t epoch_ = 0;
  std::string table_id_;
  std::vector<Shard> shards_;
  std::vector<VnodeRange> ranges_;
  std::vector<VnodeMove> moves_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ROUTING_TABLE_H_
