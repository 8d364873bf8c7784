// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_SEGMENT_GENERATOR_REP_H_
#define LOCUS_SRC_SEGMENT_GENERATOR_REP_H_

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/order_id_generator.h"
#include "src/base/run/result_signal.h"
#include "src/segment/counters.h"
#include "src/segment/store_chain.h"

namespace locus {

// The counters of a generator and the chains that load them; the callers' side of a generator:
// take, move on to the next segment, ask the loader, wait for it.
// Thread safety: all methods may be called from any thread. Methods marked so may also be called in
// a forked child.
class OrderIdGenerator::Rep {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  Rep(std::vector<internal::StoreChain::Assignment> assignments, Options options,
      const SpaceOptions& space);

  // In a forked child too.
  bool forked() const { return counters_.forked(); }
  internal::HotCounters hot() { return counters_.hot(); }

  // Also in a forked child. Statuses have no message, so that nothing is allocated.
  absl::StatusOr<OrderId> TryNext(ShardGene gene);
  absl::StatusOr<size_t> TryBatch(std::span<const ShardGene> genes, std::span<OrderId> ids);
  absl::StatusOr<size_t> TryBatch(std::span<const BuyerKey> buyers, std::span<OrderId> ids);

  // As TryNext and TryBatch, but wait to `deadline`; errors have messages.
  absl::StatusOr<OrderId> Next(ShardGene gene, Deadline deadline);
  template <typename Key>  // BuyerKey or ShardGene
  absl::StatusOr<size_t> Batch(std::span<const Key> keys, std::span<OrderId> ids,
                               Deadline deadline);
  // `genes` empty: all vnodes.
  absl::Status Warm(std::span<const ShardGene> genes, Deadline deadline);

  GeneratorStats Stats() const;
  std::vector<uint64_t> IdsBySection() const;

 private:
  static ShardGene GeneOf(ShardGene gene) { return gene; }
  static ShardGene GeneOf(BuyerKey buyer) { return ShardGene::Of(buyer); }

  absl::StatusOr<size_t> TryOneByOne(std::span<const BuyerKey> buyers, std::span<OrderId> ids);
  size_t TakeBlock(std::span<const ShardGene> genes, OrderId* ids, absl::Status& status);
  absl::Status TakeSlowly(ShardGene gene, uint64_t& sequence);
  template <typename Key>
  void AskForAll(std::span<const Key> keys);
  internal::StoreChain& ChainOf(uint32_t section) const;
  absl::Status TryWarm(const std::vector<uint32_t>& sections, uint32_t& missing);
  absl::Status Explain(absl::Status status, ShardGene gene) const;
  absl::Status UsedUp(ShardGene gene) const;

  const Options options_;
  const absl::Duration most_lead_;
  internal::Counters counters_;
  internal::ResultSignal loaded_;
  mutable std::atomic<uint64_t> ids_reported_{0};              // so that Stats() never goes back
  std::vector<std::unique_ptr<internal::StoreChain>> chains_;  // in the order of their sections
};

}  // namespace locus

#endif  // LOCUS_SRC_SEGMENT_GENERATOR_REP_H_
