// SPDX-License-Identifier: Apache-2.0
#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "benchmark/benchmark.h"
#include "locus/engine/memory.h"
#include "locus/leased_snowflake.h"
#include "locus/snowflake.h"

namespace locus {
namespace {

// So many sequences a millisecond that the format is no limit.
using WideLayout = SnowflakeLayout<41, 2, 20>;

// While a process has one thread, the C library leaves out what it needs only with several.
void StartASecondThread() {
  static std::atomic<bool> started = [] {
    std::thread([] {
      while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    }).detach();
    return true;
  }();
  benchmark::DoNotOptimize(started.load());
}

// One generator for all runs and threads, since a worker has one.
template <typename Layout>
AnySnowflake& Generator() {
  StartASecondThread();
  static AnySnowflake* generator = [] {
    SnowflakeOptions options;
    options.worker = 1;
    return Snowflake<Layout>::Create(options)->release();
  }();
  return *generator;
}

// Wall time: at the cap a caller mostly sleeps, and items_per_second goes by processor time.
class Rate {
 public:
  explicit Rate(benchmark::State& state) : state_(state) {}
  void Tell(int64_t ids) {
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_;
    state_.counters["ids_a_second"] = static_cast<double>(ids) / took.count();
  }

 private:
  benchmark::State& state_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

template <typename Layout>
void Next(benchmark::State& state) {
  AnySnowflake& generator = Generator<Layout>();
  Rate rate(state);
  for (auto _ : state) {
    absl::StatusOr<int64_t> id = generator.Next();
    if (!id.ok()) return state.SkipWithError("no ID");
    benchmark::DoNotOptimize(*id);
  }
  rate.Tell(state.iterations());
}

// The same with a lease, for a worker of its own.
void LeasedSnowflakeNextBelowCap(benchmark::State& state) {
  StartASecondThread();
  static AnyLeasedSnowflake* generator = [] {
    auto store = std::make_shared<MemoryWorkerLeaseStore>();
    store->Create(SpaceName(), {.first_ever = true}, Clock::System().Now()).IgnoreError();
    LeasedSnowflakeOptions options;
    options.lease.range = WorkerRange{2, 2};
    return LeasedSnowflake<WideLayout>::Create(store, options)->release();
  }();
  Rate rate(state);
  for (auto _ : state) {
    absl::StatusOr<int64_t> id = generator->Next();
    if (!id.ok()) return state.SkipWithError("no ID");
    benchmark::DoNotOptimize(*id);
  }
  rate.Tell(state.iterations());
}

template <typename Layout>
void NextBatch(benchmark::State& state) {
  AnySnowflake& generator = Generator<Layout>();
  std::vector<int64_t> ids(static_cast<size_t>(state.range(0)));
  Rate rate(state);
  for (auto _ : state) {
    absl::StatusOr<size_t> filled = generator.NextBatch(ids);
    if (!filled.ok() || *filled != ids.size()) return state.SkipWithError("no IDs");
    benchmark::DoNotOptimize(ids.data());
  }
  rate.Tell(state.iterations() * state.range(0));
}

void SnowflakeNext(benchmark::State& state) { Next<SnowflakeDefaultLayout>(state); }
BENCHMARK(SnowflakeNext)->Threads(1)->Threads(2);

void SnowflakeNextBatch(benchmark::State& state) { NextBatch<SnowflakeDefaultLayout>(state); }
BENCHMARK(SnowflakeNextBatch)->Arg(1024);

void SnowflakeNextBelowCap(benchmark::State& state) { Next<WideLayout>(state); }
BENCHMARK(SnowflakeNextBelowCap)->Threads(1)->Threads(2);

BENCHMARK(LeasedSnowflakeNextBelowCap)->Threads(1)->Threads(2);

void SnowflakeNextBatchBelowCap(benchmark::State& state) { NextBatch<WideLayout>(state); }
BENCHMARK(SnowflakeNextBatchBelowCap)->Arg(128);

// The limit: the one clock reading that an ID needs.
void LimitClockRead(benchmark::State& state) {
  StartASecondThread();
  for (auto _ : state) {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    benchmark::DoNotOptimize(now);
  }
}
BENCHMARK(LimitClockRead)->Threads(1)->Threads(2);

}  // namespace
}  // namespace locus
