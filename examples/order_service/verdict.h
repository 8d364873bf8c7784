// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_SERVICE_VERDICT_H_
#define LOCUS_EXAMPLES_ORDER_SERVICE_VERDICT_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "expected.h"
#include "locus/order_no_codec.h"
#include "locus/routing/router.h"

namespace shop {

// The rows of an order in a shard.
struct StoredOrder {
  uint64_t sum = 0;      // of the digests of its rows
  uint64_t version = 0;  // of the row in `orders`; 0: there is none
  std::string no;        // as its row has it

  // Rows without a row in `orders` are a state as well, which no client acknowledged.
  OrderState state() const { return {OrderDigest(sum), version}; }
};

struct ShardContents {
  locus::RoutedShard shard;
  std::unordered_map<uint64_t, StoredOrder> orders;
};

// Whether each acknowledged write is in the shards exactly once, with its last value, and nothing
// else is.
struct Verdict {
  RecordCounts counts;
  uint64_t orders = 0;     // that were inserted or attempted
  uint64_t there = 0;      // orders that their shards hold
  uint64_t open = 0;       // orders whose last write has no answer: either state is right
  uint64_t lost = 0;       // acknowledged, and not on their shard
  uint64_t changed = 0;    // on their shard with other rows than acknowledged
  uint64_t doubled = 0;    // also on a shard that must not have them
  uint64_t foreign = 0;    // on a shard although no client inserted them, or after their deletion
  uint64_t misrouted = 0;  // the order_no does not lead to the shard and the order
  uint64_t copies = 0;     // on the other shard of a move under way, as they should be
  std::vector<std::string> faults;  // the first few, a line each

  // A verdict that saw no acknowledged order is none.
  bool ok() const;
};

// `final`: no shard keeps rows of orders that it does not own; otherwise the two shards of a move
// in the router's table may. `shards`: every shard of the table.
Verdict Judge(const ExpectedOrders& expected, const std::vector<ShardContents>& shards,
              const locus::Router& router, const locus::OrderNoCodec& codec, bool final);

// For people: a few lines, ending with "OK" or "FAILED". For programs: one line of JSON.
std::string TextOf(const Verdict& verdict);
std::string JsonOf(const Verdict& verdict);

// The value that `share` (0..1) of the values do not exceed; 0 where there are none. Sorts a copy.
uint32_t Percentile(std::vector<uint32_t> values, double share);

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_SERVICE_VERDICT_H_
