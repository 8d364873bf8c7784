// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_FENCE_FENCE_ROW_H_
#define LOCUS_ROUTING_FENCE_FENCE_ROW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "locus/order_id.h"
#include "locus/shard_gene.h"

namespace locus::internal {

// A row of locus_fence, the table inside a shard that says which orders the shard accepts: those of
// the vnodes lo..hi whose cohort is in [own_lo, own_hi).
struct FenceRow {
  uint32_t lo = 0;
  uint32_t hi = 0;
  uint32_t own_lo = 0;
  uint32_t own_hi = 0;
  uint64_t step = 0;
  uint32_t server_id = 0;  // of the server that the row is bound to
  std::string other;       // the shard that has the rest; empty: none is known

  friend bool operator==(const FenceRow&, const FenceRow&) = default;
};

// Reads the row of `gene` by the map, and @@server_id: lo, hi, own_lo, own_hi, step, server_id,
// other, @@server_id; lo and hi are `gene`. By exact key: no gap is locked. A vnode without a fence
// has a row that accepts nothing. No row: the map is not filled yet.
std::string SelectFence(ShardGene gene, bool locking);
// The same columns of the one row that may cover `gene`, of a shard without a map: an exact upper
// bound and LIMIT 1, since a range condition would lock every row.
std::string SelectFenceByRange(ShardGene gene, bool locking);
constexpr unsigned kFenceColumns = 8;

// The words that a guard's message begins with.
constexpr std::string_view kFencedWord = "LOCUS_FENCED ";    // <step> <other shard>
constexpr std::string_view kUnboundWord = "LOCUS_UNBOUND ";  // <server_id of the row> <@@server_id>

struct FenceVerdict {
  enum class Kind {
    kAccepted,
    kRefused,  // the order belongs to another shard
    kUnbound,  // the row was made on another server, from which this one was promoted or restored
  };
  Kind kind = Kind::kRefused;
  // The message that a guard raises; empty where it accepts.
  std::string message;
};

// `row`: the row that SelectFence found, if any. `server_id`: of the server that was asked.
FenceVerdict JudgeFence(const std::optional<FenceRow>& row, uint32_t server_id, ShardGene gene,
                        uint32_t cohort);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_FENCE_FENCE_ROW_H_
