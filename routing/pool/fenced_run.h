// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_POOL_FENCED_RUN_H_
#define LOCUS_ROUTING_POOL_FENCED_RUN_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/order_id.h"
#include "locus/routing/engine/fenced_transaction.h"
#include "routing/fence/band_probes.h"
#include "src/base/run/backoff.h"

namespace locus::internal {

struct FencedCounters {
  std::atomic<uint64_t> calls{0}, attempts{0}, refusals{0}, conflicts{0}, rereads{0},
      unknown_commits{0};
};

// The state that all calls of one FencedTransactions share.
struct FencedContext {
  Router& router;
  ShardPools& pools;
  BandProbes probes = {};
  FencedCounters counters = {};
};

// One call of FencedTransactions::Run. Thread safety: none.
class FencedRun {
 public:
  using TimePoint = FencedTransactions::TimePoint;

  // All of them outlive it.
  FencedRun(FencedContext& context, const OrderId& id, FencedCall call, TimePoint deadline,
            const FencedTransactions::Work& work);

  absl::Status Run();

 private:
  absl::Status Attempt(const RoutedShard& shard, uint64_t epoch);
  absl::Status Begin(ShardConnection& connection);
  absl::Status Commit(ShardConnection& connection);
  // OK: the shard accepts the order until the transaction ends.
  absl::Status LockFence(ShardConnection& connection);
  absl::Status AskFence(ShardConnection& connection, bool locking);
  absl::Status UnknownCommit(const absl::Status& lost);

  // Each of these returns an error to end the call with, or OK: make the next attempt.
  absl::Status AfterAttempt(const RoutedShard& shard, uint64_t epoch, const absl::Status& status);
  absl::Status Follow(const RoutedShard& shard, const FenceRefusal& refusal,
                      const absl::Status& status);
  absl::Status WaitForBand(const RoutingTable& table, const absl::Status& status);
  absl::Status Pause(const absl::Status& status);
  absl::Status TimeIsUp(const absl::Status& status) const;

  std::optional<uint32_t> Probe(uint64_t epoch);

  FencedContext& context_;
  const OrderId& id_;
  FencedCall call_;
  const TimePoint deadline_;
  const FencedTransactions::Work& work_;

  bool working_ = false;                 // the last attempt had a connection
  bool checking_ = false;                // the work found nothing, and runs again behind the fence
  std::optional<RoutedShard> next_;      // to try; nullopt: where the table says
  absl::Status refused_;                 // the last refusal of a fence
  std::vector<RoutedShard> refused_by_;  // since the table was last asked
  Backoff pauses_;
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_POOL_FENCED_RUN_H_
