// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_SERVICE_ORDER_STORE_H_
#define LOCUS_EXAMPLES_ORDER_SERVICE_ORDER_STORE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "change.h"
#include "locus/routing/engine/fenced_transaction.h"
#include "locus/routing/engine/shard_pools.h"
#include "locus/routing/router.h"

namespace shop {

// The outcome of a write.
struct Written {
  enum class Outcome {
    kAcknowledged,  // stored
    kRefused,       // not stored
    kOpen,          // stored or not; it could not be found out
    kContradicted,  // the shards answered what no order of events explains; `found`: what they have
  };
  Outcome outcome = Outcome::kRefused;
  absl::Status status;    // why it was not acknowledged
  uint64_t refusals = 0;  // of fences
  uint64_t unknown = 0;   // lost answers
  OrderState found;
};

struct ReadOrder {
  OrderState state;
  bool fenced = true;  // false: the shard has no fence
};

// Where orders are kept. Thread safety: calls may come from any thread.
class OrderStore {
 public:
  virtual ~OrderStore() = default;

  virtual Style style() const = 0;
  // Only one thread writes an order.
  virtual Written Write(const Change& change) = 0;
};

// Reads that see every write that was acknowledged before. Thread safety: as of OrderStore.
class OrderReader {
 public:
  virtual ~OrderReader() = default;

  virtual absl::StatusOr<ReadOrder> Read(const locus::OrderId& id) = 0;
};

// A service as it should be: every write and every read follows the fence. A write whose answer was
// lost is repeated until it is known whether it was stored.
class FencedStore : public OrderStore, public OrderReader {
 public:
  // All of them outlive it. `stop`: set when the process is to end. `patience`: how long a write is
  // repeated whose answer was lost; at most 10 s once `stop` is set. Longer: fewer open writes.
  FencedStore(locus::Router& router, locus::ShardPools& pools, const std::atomic<bool>& stop,
              std::chrono::milliseconds patience = std::chrono::seconds(60))
      : fenced_(router, pools), stop_(stop), patience_(patience) {}

  Style style() const override { return Style::kTransactions; }
  Written Write(const Change& change) override;
  absl::StatusOr<ReadOrder> Read(const locus::OrderId& id) override;

 private:
  // Decides the outcome of a write that found another version, or a row with its key.
  void Resolve(const Change& change, Written& written);
  bool GiveUp(std::chrono::steady_clock::time_point begun) const;

  locus::FencedTransactions fenced_;
  const std::atomic<bool>& stop_;
  const std::chrono::milliseconds patience_;
};

// A client that does not use locus: it sends each statement to the shard of the first routing
// table, and takes every error for "not written". It is no OrderReader: that shard may have lost
// the order.
class PlainStore : public OrderStore {
 public:
  // Both outlive it. `router` keeps its first table. The pools only connect.
  PlainStore(const locus::Router& router, locus::ShardPools& pools)
      : router_(router), pools_(pools) {}

  Style style() const override { return Style::kStatements; }
  Written Write(const Change& change) override;

 private:
  const locus::Router& router_;
  locus::ShardPools& pools_;
};

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_SERVICE_ORDER_STORE_H_
