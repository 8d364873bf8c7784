// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "locus/routing/router.h"

// Router against the usual way to hold a table that may change: a std::map by the ranges' ends,
// looked up by ceiling under a std::shared_mutex. Both answer a reference to a shard for the same
// random order IDs, more of them than the first-level cache holds.

namespace locus {
namespace {

// Ranges of equal size, dealt to 8 shards in turn.
RoutingTable TableOf(int64_t ranges, std::vector<VnodeMove> moves = {}) {
  constexpr uint32_t kShards = 8;
  std::vector<Shard> shards;
  for (uint32_t id = 1; id <= kShards; ++id) {
    std::string name = "orders-" + std::to_string(id);
    shards.push_back({.id = id, .name = name, .endpoint = "mysql://" + name, .labels = {}});
  }
  std::vector<VnodeRange> ends;
  for (int64_t i = 1; i <= ranges; ++i) {
    ends.push_back({static_cast<uint16_t>(i * ShardGene::kCount / ranges - 1),
                    static_cast<uint32_t>(i) % kShards + 1});
  }
  return RoutingTable::Make(1, shards, ends, std::move(moves)).value();
}

constexpr size_t kOrders = 1 << 14;

const std::vector<OrderId>& Orders() {
  static const std::vector<OrderId> orders = [] {
    std::thread([] {}).join();  // the C library skips atomics in a process of one thread
    std::mt19937_64 random(1);
    std::vector<OrderId> out;
    for (size_t i = 0; i < kOrders; ++i) {
      out.push_back(OrderId::FromInt64(static_cast<int64_t>(random() >> 1)).value());
    }
    return out;
  }();
  return orders;
}

class PeerMapSharedMutex {
 public:
  explicit PeerMapSharedMutex(const RoutingTable& table) : shards_(table.shards()) {
    std::unique_lock lock(mutex_);
    for (const VnodeRange& range : table.ranges()) {
      shard_by_last_[range.last] = &shards_[range.shard - 1];
    }
  }

  const Shard& Route(const OrderId& id) const {
    std::shared_lock lock(mutex_);
    auto it = shard_by_last_.lower_bound(id.gene().value());
    if (it == shard_by_last_.end()) it = shard_by_last_.begin();
    return *it->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::vector<Shard> shards_;
  std::map<uint16_t, const Shard*> shard_by_last_;
};

// One table per number of ranges, shared by the threads of a run and by later runs.
template <typename Table>
const Table& Shared(int64_t ranges) {
  static std::mutex mutex;
  static std::map<int64_t, std::unique_ptr<Table>> tables;
  std::lock_guard lock(mutex);
  std::unique_ptr<Table>& table = tables[ranges];
  if (table == nullptr) table = std::make_unique<Table>(TableOf(ranges));
  return *table;
}

template <typename Table>
void RouteEach(benchmark::State& state) {
  const Table& table = Shared<Table>(state.range(0));
  const std::vector<OrderId>& orders = Orders();
  // Threads begin at different orders.
  size_t i = static_cast<size_t>(state.thread_index()) * kOrders / 2;
  for (auto _ : state) {
    benchmark::DoNotOptimize(&table.Route(orders[i]));
    i = (i + 1) % kOrders;
  }
  state.SetItemsProcessed(state.iterations());
}

// Every vnode of the first of two ranges moves, so half of the orders need their cohort.
void RouteMovingOrderId(benchmark::State& state) {
  Router router(TableOf(2, {{0, 32767, 3, 5000}}));
  const std::vector<OrderId>& orders = Orders();
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(&router.Route(orders[i]));
    i = (i + 1) % kOrders;
  }
  state.SetItemsProcessed(state.iterations());
}

void RouteOrderId(benchmark::State& state) { RouteEach<Router>(state); }
void PeerMapSharedMutexRoute(benchmark::State& state) { RouteEach<PeerMapSharedMutex>(state); }

BENCHMARK(RouteOrderId)->ArgName("ranges")->Arg(8)->Arg(64)->Arg(1024)->Arg(65536)->Threads(1);
BENCHMARK(RouteOrderId)->ArgName("ranges")->Arg(8)->Arg(64)->Arg(1024)->Arg(65536)->Threads(2);
BENCHMARK(RouteMovingOrderId);
BENCHMARK(PeerMapSharedMutexRoute)->ArgName("ranges")->Arg(8)->Arg(64)->Arg(1024)->Threads(1);
BENCHMARK(PeerMapSharedMutexRoute)->ArgName("ranges")->Arg(8)->Arg(64)->Arg(1024)->Threads(2);

}  // namespace
}  // namespace locus
