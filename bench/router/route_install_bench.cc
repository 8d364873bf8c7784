// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "locus/routing/router.h"

// What an install costs, and what routing costs while another thread installs a table every
// millisecond: RouteOrderIdWhileInstalling beside RouteOrderIdWithoutInstalls, the same loop in the
// same run.

namespace locus {
namespace {

constexpr uint32_t kShards = 8;

// 64 ranges, dealt to the shards in turn from `first_owner`.
RoutingTable TableOf(uint64_t epoch, uint64_t first_owner, std::vector<VnodeMove> moves = {}) {
  constexpr uint64_t kRanges = 64;
  std::vector<Shard> shards;
  for (uint32_t id = 1; id <= kShards; ++id) {
    std::string name = "orders-" + std::to_string(id);
    shards.push_back({.id = id, .name = name, .endpoint = "mysql://" + name, .labels = {}});
  }
  std::vector<VnodeRange> ends;
  for (uint64_t i = 0; i < kRanges; ++i) {
    ends.push_back({static_cast<uint16_t>((i + 1) * ShardGene::kCount / kRanges - 1),
                    static_cast<uint32_t>((first_owner + i) % kShards) + 1});
  }
  return RoutingTable::Make(epoch, shards, ends, std::move(moves)).value();
}

// Tables of the epochs first..last. Each differs from the one before it in the 256 vnodes of one
// move, or in every word.
enum class Changed { kFew, kAll };
std::vector<RoutingTable> TablesOf(Changed changed, uint64_t first, uint64_t last) {
  std::vector<RoutingTable> tables;
  for (uint64_t epoch = first; epoch <= last; ++epoch) {
    if (changed == Changed::kAll) {
      tables.push_back(TableOf(epoch, epoch));
      continue;
    }
    // Vnodes 0..1023 are of shard 1.
    auto permyriad = static_cast<uint32_t>(epoch % 10000);
    tables.push_back(TableOf(epoch, 0, {{0, 255, kShards, permyriad}}));
  }
  return tables;
}

void InstallTable(benchmark::State& state) {
  auto changed = static_cast<Changed>(state.range(0));
  constexpr uint64_t kTables = 500;
  uint64_t next = 2;
  Router router(TablesOf(changed, 1, 1)[0]);
  std::vector<RoutingTable> tables;
  size_t i = 0;
  for (auto _ : state) {
    if (i == tables.size()) {
      state.PauseTiming();
      tables = TablesOf(changed, next, next + kTables - 1);
      next += kTables;
      i = 0;
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(router.Install(tables[i++]).ok());
  }
  state.SetItemsProcessed(state.iterations());
}

// At one a millisecond: for far longer than a benchmark runs.
const std::vector<RoutingTable>& TablesToInstall(Changed changed) {
  constexpr uint64_t kLast = 20000;
  static const std::vector<RoutingTable> few = TablesOf(Changed::kFew, 2, kLast);
  static const std::vector<RoutingTable> all = TablesOf(Changed::kAll, 2, kLast);
  return changed == Changed::kFew ? few : all;
}

// Installs a table every millisecond while it lives.
class Installer {
 public:
  Installer(Router& router, const std::vector<RoutingTable>& tables)
      : thread_([this, &router, &tables] { Run(router, tables); }) {}
  ~Installer() {
    stop_ = true;
    thread_.join();
  }
  uint64_t installs() const { return installs_; }

 private:
  void Run(Router& router, const std::vector<RoutingTable>& tables) {
    for (const RoutingTable& table : tables) {
      if (stop_) return;
      auto due = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
      if (router.Install(table).ok()) ++installs_;
      std::this_thread::sleep_until(due);
    }
  }

  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> installs_{0};
  std::thread thread_;  // last: it uses the others
};

const std::vector<OrderId>& InstallOrders() {
  static const std::vector<OrderId> orders = [] {
    std::thread([] {}).join();  // the C library skips atomics in a process of one thread
    std::mt19937_64 random(1);
    std::vector<OrderId> out;
    for (size_t i = 0; i < 1 << 14; ++i) {
      out.push_back(OrderId::FromInt64(static_cast<int64_t>(random() >> 1)).value());
    }
    return out;
  }();
  return orders;
}

void RouteAll(benchmark::State& state, const Router& router) {
  const std::vector<OrderId>& orders = InstallOrders();
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(&router.Route(orders[i]));
    i = (i + 1) % orders.size();
  }
  state.SetItemsProcessed(state.iterations());
}

void RouteOrderIdWithoutInstalls(benchmark::State& state) {
  Router router(TablesOf(static_cast<Changed>(state.range(0)), 1, 1)[0]);
  RouteAll(state, router);
}

void RouteOrderIdWhileInstalling(benchmark::State& state) {
  auto changed = static_cast<Changed>(state.range(0));
  Router router(TablesOf(changed, 1, 1)[0]);
  Installer installer(router, TablesToInstall(changed));
  RouteAll(state, router);
  state.counters["installs"] = static_cast<double>(installer.installs());
}

// all:0: few words change with an install, all:1: all of them.
BENCHMARK(InstallTable)->ArgName("all")->Arg(0)->Arg(1);
BENCHMARK(RouteOrderIdWithoutInstalls)->ArgName("all")->Arg(0)->Arg(1);
BENCHMARK(RouteOrderIdWhileInstalling)->ArgName("all")->Arg(0)->Arg(1);

}  // namespace
}  // namespace locus
