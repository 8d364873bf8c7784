// SPDX-License-Identifier: Apache-2.0
// What a caller of TryNext feels of a store that is far away.
#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "benchmark/benchmark.h"
#include "locus/engine/memory.h"
#include "locus/order_id_generator.h"

namespace locus {
namespace {

// A memory store whose allocations take this long.
class DistantStore : public MemorySegmentStore {
 public:
  explicit DistantStore(std::chrono::milliseconds distance) : distance_(distance) {}
  absl::StatusOr<SegmentReply> Allocate(const SpaceName& space, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time caller_now) override {
    std::this_thread::sleep_for(distance_);
    return MemorySegmentStore::Allocate(space, options, requests, caller_now);
  }

 private:
  const std::chrono::milliseconds distance_;
};

// Counts of calls by how long they took: 64 buckets for each doubling, so a bucket is within 1.6 %.
class Histogram {
 public:
  void Add(int64_t ns) { ++counts_[BucketOf(static_cast<uint64_t>(std::max<int64_t>(ns, 1)))]; }
  // In ns: the upper end of the bucket in which this share of all calls is reached.
  double Quantile(double share) const {
    uint64_t all = 0, seen = 0;
    for (uint64_t count : counts_) all += count;
    auto wanted = static_cast<uint64_t>(share * static_cast<double>(all));
    for (size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen > wanted) return UpperEnd(i);
    }
    return 0;
  }

 private:
  static size_t BucketOf(uint64_t ns) {
    if (ns < 64) return ns;
    int exponent = 63 - __builtin_clzll(ns);
    return static_cast<size_t>(exponent - 5) * 64 + (ns >> (exponent - 6)) - 64;
  }
  static double UpperEnd(size_t bucket) {
    if (bucket < 64) return static_cast<double>(bucket + 1);
    return static_cast<double>(uint64_t{65 + bucket % 64} << (bucket / 64 - 1));
  }
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(64 * 60);
};

// Argument: how far away the store is, in ms. A million IDs a second for 4,096 buyers, each call
// timed by itself: the quantiles hold two reads of the clock. A call that found no sequence counts
// with its whole wait.
void OrderIdStoreDistance(benchmark::State& state) {
  OrderIdGenerator::Options options;
  options.create_space = true;
  options.horizon = absl::Seconds(10);
  auto generator = OrderIdGenerator::Create(
      std::make_shared<DistantStore>(std::chrono::milliseconds(state.range(0))), options);
  if (!generator.ok()) return state.SkipWithError("no generator");
  std::mt19937_64 random(7);
  std::vector<BuyerKey> buyers;
  for (int i = 0; i < 1 << 16; ++i) buyers.push_back(BuyerKey::Uint64(random() % 4096));
  using SteadyClock = std::chrono::steady_clock;
  Histogram histogram;
  uint64_t waits = 0;
  auto draw = [&](size_t i, SteadyClock::time_point due) {
    while (SteadyClock::now() < due) {
    }
    BuyerKey buyer = buyers[i % buyers.size()];
    auto begin = SteadyClock::now();
    auto id = (*generator)->TryNext(buyer);
    if (!id.ok()) {
      ++waits;
      id = (*generator)->Next(buyer, begin + std::chrono::seconds(10));
    }
    benchmark::DoNotOptimize(id);
    return SteadyClock::now() - begin;
  };
  // The first use of a section always waits for the store, and it takes seconds until the rate is
  // known: neither is asked here.
  auto start = SteadyClock::now();
  size_t calls = 0;
  for (; calls < 4'000'000; ++calls) draw(calls, start + std::chrono::microseconds(calls));
  waits = 0;
  for (auto _ : state) {
    for (int i = 0; i < 1000; ++i, ++calls) {
      auto took = draw(calls, start + std::chrono::microseconds(calls));
      histogram.Add(std::chrono::nanoseconds(took).count());
    }
  }
  state.SetItemsProcessed(state.iterations() * 1000);
  state.counters["p50_ns"] = histogram.Quantile(0.5);
  state.counters["p99_ns"] = histogram.Quantile(0.99);
  state.counters["p99.99_ns"] = histogram.Quantile(0.9999);
  state.counters["waits"] = static_cast<double>(waits);
  state.counters["allocations"] = static_cast<double>((*generator)->Stats().allocations);
}
BENCHMARK(OrderIdStoreDistance)->Arg(0)->Arg(5)->Unit(benchmark::kMillisecond)->MinTime(3);

}  // namespace
}  // namespace locus
