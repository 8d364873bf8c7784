// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ROUTER_H_
#define LOCUS_ROUTING_ROUTER_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "locus/order_id.h"
#include "locus/order_no.h"
#include "locus/routing/routing_table.h"

namespace locus {

// Where the orders of a vnode may be.
struct GeneRoute {
  const Shard* owner = nullptr;
  const Shard* target = nullptr;  // nullptr while the vnode does not move
  uint32_t permyriad = 0;         // target owns the cohorts below it

  friend bool operator==(const GeneRoute&, const GeneRoute&) = default;
};

// Answers which shard an order is on, from the routing table installed last. The table is a hint:
// the fence inside the shard is the truth.
//
// The pointers it answers stay valid, and what they point to unchanged, as long as the Router
// lives: a shard whose description changes gets a new Shard.
//
// Thread safety: all methods may be called from any thread, also while tables are installed. In a
// forked child everything but Install may be called too.
// Cost: routing is one load of a 64-bit word; it takes no lock, allocates nothing, and does not
// depend on the number of ranges. Install rewrites the words that change. About 0.5 MiB.
class Router {
 public:
  explicit Router(const RoutingTable& table);
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  // The one shard that the table gives this order to.
  const Shard& Route(const OrderId& id) const {
    uint64_t word = words_[id.gene().value()].load(std::memory_order_acquire);
    if (word < kPermyriadUnit) [[likely]]
      return Description(word);
    return Description(id.cohort() < word / kPermyriadUnit ? word >> kTargetShift : word);
  }
  // Without keys the cohort is unknown: owner and, while the vnode moves, target.
  GeneRoute Route(ShardGene gene) const;
  // The gene of an order_no needs no key; at a public edge decode it first and route the order ID.
  GeneRoute Route(const OrderNo& number) const { return Route(number.gene()); }
  GeneRoute Route(OrderNo64 number) const { return Route(number.gene()); }

  // Replaces the table. A reader sees each vnode's old or new word, never a mixture.
  // ABORTED: its epoch is not greater than epoch(); OUT_OF_RANGE: more than 65,536 descriptions of
  // shards were seen in this Router's life. The table in force stays in either case.
  absl::Status Install(const RoutingTable& table);

  // Of the table in force. An answer given after epoch() returned E is from table E or a later one.
  uint64_t epoch() const;

 private:
  class Rep;

  // A vnode's word: permyriad | index of target 16 | index of owner 16, the highest first; a vnode
  // that does not move has its owner for target and permyriad 0. An index is that of a Shard in
  // blocks_[index / kBlockSize].
  static constexpr int kTargetShift = 16;
  static constexpr uint64_t kPermyriadUnit = uint64_t{1} << 32;
  static constexpr size_t kBlockSize = 256;

  const Shard& Description(uint64_t index) const {
    index &= 0xFFFF;
    return blocks_[index / kBlockSize][index % kBlockSize];
  }

  std::unique_ptr<Rep> rep_;
  const std::atomic<uint64_t>* words_;      // of rep_; here, so that Route is inlined
  const std::unique_ptr<Shard[]>* blocks_;  // of rep_
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ROUTER_H_
