// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_SERVICE_TRAFFIC_H_
#define LOCUS_EXAMPLES_ORDER_SERVICE_TRAFFIC_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "buyers.h"
#include "change.h"
#include "locus/order_id_generator.h"
#include "locus/order_no_codec.h"
#include "order_store.h"
#include "record.h"
#include "statistics.h"

namespace shop {

// The state that the threads of a process share. All of it outlives them.
struct TrafficParts {
  OrderStore& store;
  OrderReader* reader;  // nullptr: orders are not read back
  locus::OrderIdGenerator& ids;
  const locus::OrderNoCodec& codec;
  std::span<const BuyerRow> buyers;
  Recorder& recorder;
  Statistics& statistics;
  const std::atomic<bool>& stop;
};

struct TrafficOptions {
  uint64_t seed = 0;
  size_t first_buyer = 0;  // the buyer of the first order, by position
  size_t buyer_stride = 1;
  uint64_t orders = UINT64_MAX;  // the thread ends once it has attempted so many inserts
  double writes_a_second = 0;    // 0: as fast as it goes
  // Of the orders: those that it inserts first, many of a buyer in one transaction. A move of their
  // vnodes that has begun to step refuses these.
  uint64_t bulk = 0;
  size_t most_open = 200;  // orders that it goes on changing
};

// One thread's orders: it inserts, changes, deletes and reads them, so that it always knows what
// each of them must be.
class Traffic {
 public:
  Traffic(const TrafficParts& parts, const TrafficOptions& options)
      : parts_(parts), options_(options), random_(options.seed) {}

  // Until `stop` or the last order. An error ends the process: the record cannot be written, or no
  // order IDs come.
  absl::Status Run();

 private:
  absl::Status Insert();
  absl::Status InsertMany();
  const BuyerRow& NextBuyer();
  absl::StatusOr<Change> NewOrderOf(const BuyerRow& buyer);
  void GoOnWith(Order order);
  absl::Status ChangeOne();
  // Writes it and records it. Returns the outcome.
  absl::StatusOr<Written::Outcome> Perform(const Change& change);
  // The same for `write`, which contains all of `changes`; each has records of its own.
  absl::StatusOr<Written::Outcome> Perform(const Change& write, std::span<const Change> changes);
  absl::Status RecordOutcome(const Written& written, absl::Duration took, const Change& change);
  absl::Status ReadOne();
  absl::Status ReadBack(const locus::OrderId& id, const OrderState& acknowledged);
  void WaitForTurn();

  const TrafficParts parts_;
  const TrafficOptions options_;
  Random random_;
  std::vector<Order> open_;
  std::deque<locus::OrderId> gone_;  // deleted a while ago: they must not come back
  uint64_t inserted_ = 0;
  uint64_t buyers_ = 0;  // that had their turn
  uint64_t writes_ = 0;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_SERVICE_TRAFFIC_H_
