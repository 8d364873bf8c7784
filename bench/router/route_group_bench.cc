// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "locus/routing/router.h"

// Router::Group against what a DAO would write: route each order and append it to the list of its
// shard, once with lists made anew and once with lists that are kept and emptied. All group the
// same random order IDs by 8 shards; items are orders.

namespace locus {
namespace {

constexpr size_t kMostOrders = 65536;
constexpr size_t kGroupedShards = 8;

RoutingTable EvenTable() {
  std::vector<std::pair<std::string, std::string>> shards;
  for (size_t i = 1; i <= kGroupedShards; ++i) {
    shards.emplace_back("orders-" + std::to_string(i), "mysql://orders-" + std::to_string(i));
  }
  return RoutingTable::MakeEven(shards).value();
}

// All vnodes of the first shard are on their way to the second.
RoutingTable MovingTable() {
  RoutingTable even = EvenTable();
  return RoutingTable::Make(1, even.shards(), even.ranges(),
                            {{0, even.ranges()[0].last, even.shards()[1].id, 5000}})
      .value();
}

std::span<const OrderId> FirstOrders(int64_t size) {
  static const std::vector<OrderId> orders = [] {
    std::thread([] {}).join();  // the C library skips atomics in a process of one thread
    std::mt19937_64 random(1);
    std::vector<OrderId> out;
    for (size_t i = 0; i < kMostOrders; ++i) {
      out.push_back(OrderId::FromInt64(static_cast<int64_t>(random() >> 1)).value());
    }
    return out;
  }();
  return std::span(orders).first(static_cast<size_t>(size));
}

void CountOrders(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void Group(benchmark::State& state, const RoutingTable& table) {
  Router router(table);
  std::span<const OrderId> orders = FirstOrders(state.range(0));
  OrderGroups groups;
  for (auto _ : state) {
    router.Group(orders, groups);
    benchmark::DoNotOptimize(groups.shards().data());
    benchmark::ClobberMemory();
  }
  CountOrders(state);
}

void GroupOrderIds(benchmark::State& state) { Group(state, EvenTable()); }
void GroupMovingOrderIds(benchmark::State& state) { Group(state, MovingTable()); }

using MapOfVectors = std::unordered_map<const RoutedShard*, std::vector<OrderId>>;

void AppendEach(const Router& router, std::span<const OrderId> orders, MapOfVectors& groups) {
  for (const OrderId& id : orders) groups[&router.Route(id)].push_back(id);
}

void PeerUnorderedMapOfVectorsGroup(benchmark::State& state) {
  Router router(EvenTable());
  std::span<const OrderId> orders = FirstOrders(state.range(0));
  for (auto _ : state) {
    MapOfVectors groups;
    AppendEach(router, orders, groups);
    benchmark::DoNotOptimize(&groups);
    benchmark::ClobberMemory();
  }
  CountOrders(state);
}

void PeerKeptMapOfVectorsGroup(benchmark::State& state) {
  Router router(EvenTable());
  std::span<const OrderId> orders = FirstOrders(state.range(0));
  MapOfVectors groups;
  for (auto _ : state) {
    for (auto& [shard, ids] : groups) ids.clear();
    AppendEach(router, orders, groups);
    benchmark::DoNotOptimize(&groups);
    benchmark::ClobberMemory();
  }
  CountOrders(state);
}

void RoutesOfBuyer(benchmark::State& state) {
  Router router(MovingTable());
  FirstOrders(1);
  uint64_t uid = 0;
  for (auto _ : state) {
    BuyerRoutes routes = router.RoutesOf(BuyerKey::Uint64(uid++));
    benchmark::DoNotOptimize(routes);
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(GroupOrderIds)->Arg(16)->Arg(256)->Arg(4096)->Arg(kMostOrders);
BENCHMARK(GroupMovingOrderIds)->Arg(4096);
BENCHMARK(PeerUnorderedMapOfVectorsGroup)->Arg(16)->Arg(256)->Arg(4096)->Arg(kMostOrders);
BENCHMARK(PeerKeptMapOfVectorsGroup)->Arg(16)->Arg(256)->Arg(4096)->Arg(kMostOrders);
BENCHMARK(RoutesOfBuyer);

}  // namespace
}  // namespace locus
