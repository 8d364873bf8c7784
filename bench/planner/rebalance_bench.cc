// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "locus/routing/rebalance.h"

// Planning one more shard for a full ring, from the table to the list of moves.

namespace locus {
namespace {

RoutingTable TableOf(int64_t shards) {
  std::vector<std::pair<std::string, std::string>> names;
  for (int64_t i = 0; i < shards; ++i) {
    names.emplace_back("orders-" + std::to_string(i), "mysql://h" + std::to_string(i));
  }
  return RoutingTable::MakeEven(names).value();
}

void PlanFor(benchmark::State& state, std::vector<double> load) {
  RoutingTable table = TableOf(state.range(0));
  RebalanceRequest request;
  request.add = {{.name = "new", .endpoint = "mysql://new"}};
  request.load = std::move(load);
  size_t moves = 0;
  for (auto _ : state) {
    auto plan = PlanRebalance(table, request);
    if (!plan.ok()) return state.SkipWithError(plan.status().ToString().c_str());
    moves = plan->moves.size();
  }
  state.counters["moves"] = static_cast<double>(moves);
}

void PlanByWeights(benchmark::State& state) { PlanFor(state, {}); }

// Every vnode its own load, a thousandth of them hot.
void PlanByLoad(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::vector<double> load;
  for (int i = 0; i < 65536; ++i) {
    bool hot = random() % 1000 == 0;
    load.push_back(static_cast<double>(1 + random() % 100) * (hot ? 100 : 1));
  }
  PlanFor(state, std::move(load));
}

BENCHMARK(PlanByWeights)->ArgName("shards")->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);
// 65,535 shards and the new one are as many as there are vnodes.
BENCHMARK(PlanByLoad)
    ->ArgName("shards")
    ->Arg(16)
    ->Arg(64)
    ->Arg(65535)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace locus
