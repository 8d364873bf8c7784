// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "benchmark/benchmark.h"
#include "locus/audit.h"
#include "locus/audit_hooks.h"
#include "locus/engine/memory.h"
#include "locus/internal/gene_hash.h"
#include "locus/order_id_generator.h"
#include "locus/shard_gene.h"

namespace locus {
namespace {

constexpr size_t kInputs = 1 << 16;

std::vector<BuyerKey> RandomBuyers(int thread) {
  std::mt19937_64 random(1000 + thread);
  std::vector<BuyerKey> buyers;
  for (size_t i = 0; i < kInputs; ++i) buyers.push_back(BuyerKey::Uint64(random()));
  return buyers;
}

std::vector<uint16_t> RandomIndices(int thread) {
  std::mt19937_64 random(2000 + thread);
  std::vector<uint16_t> indices;
  for (size_t i = 0; i < kInputs; ++i) indices.push_back(static_cast<uint16_t>(random()));
  return indices;
}

OrderIdGenerator* NewGenerator(std::function<void(const GeneratorEvent&)> on_event) {
  OrderIdGenerator::Options options;
  options.create_space = true;
  options.space_options = SpaceOptions();
  options.space_options->max_lead = uint64_t{1} << 36;
  options.on_event = std::move(on_event);
  auto made = OrderIdGenerator::Create(std::make_shared<MemorySegmentStore>(), options);
  // Otherwise the first run, by which the number of iterations is chosen, is one of first
  // allocations.
  static_cast<void>((*made)->Warm(absl::Seconds(10)));
  return made->release();
}

// One generator for all runs, with segments as long as they get: the store is not measured.
OrderIdGenerator& Generator() {
  static OrderIdGenerator* generator = NewGenerator({});
  return *generator;
}

// Takes rows and keeps none: only what the process that is audited does is measured.
class Nowhere : public AuditWriter {
 public:
  absl::Status Write(std::string_view rows) override {
    benchmark::DoNotOptimize(rows.data());
    return absl::OkStatus();
  }
};

// As Generator, and each segment is recorded.
OrderIdGenerator& AuditedGenerator() {
  static OrderIdGenerator* generator = [] {
    static AuditSink* sink = AuditSink::Open(std::make_unique<Nowhere>(), {})->release();
    return NewGenerator(AuditSegments(*sink, {.place = "memory"}));
  }();
  return *generator;
}

std::chrono::steady_clock::time_point Soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(10);
}

void TryNextOf(OrderIdGenerator& generator, benchmark::State& state) {
  std::vector<BuyerKey> buyers = RandomBuyers(state.thread_index());
  size_t i = 0;
  for (auto _ : state) {
    BuyerKey buyer = buyers[i++ % kInputs];
    absl::StatusOr<OrderId> id = generator.TryNext(buyer);
    if (!id.ok()) [[unlikely]] {
      id = generator.Next(buyer, Soon());
      if (!id.ok()) return state.SkipWithError("no order ID");
    }
    benchmark::DoNotOptimize(id->first_word());
  }
}
void OrderIdTryNext(benchmark::State& state) { TryNextOf(Generator(), state); }
BENCHMARK(OrderIdTryNext)->Threads(1)->Threads(2);
void OrderIdTryNextAudited(benchmark::State& state) { TryNextOf(AuditedGenerator(), state); }
BENCHMARK(OrderIdTryNextAudited)->Threads(1)->Threads(2);

void OrderIdTryNextGene(benchmark::State& state) {
  std::vector<ShardGene> genes;
  for (uint16_t index : RandomIndices(state.thread_index())) {
    genes.push_back(ShardGene::FromUint16(index));
  }
  OrderIdGenerator& generator = Generator();
  size_t i = 0;
  for (auto _ : state) {
    ShardGene gene = genes[i++ % kInputs];
    absl::StatusOr<OrderId> id = generator.TryNext(gene);
    if (!id.ok()) [[unlikely]] {
      id = generator.Next(gene, absl::Seconds(10));
      if (!id.ok()) return state.SkipWithError("no order ID");
    }
    benchmark::DoNotOptimize(id->first_word());
  }
}
BENCHMARK(OrderIdTryNextGene)->Threads(1)->Threads(2);

void OrderIdNextBatch(benchmark::State& state) {
  auto size = static_cast<size_t>(state.range(0));
  std::vector<BuyerKey> buyers = RandomBuyers(state.thread_index());
  std::vector<OrderId> ids(size);
  OrderIdGenerator& generator = Generator();
  size_t i = 0;
  for (auto _ : state) {
    auto filled = generator.NextBatch(std::span(buyers).subspan(i, size), ids, Soon());
    if (!filled.ok() || *filled != size) return state.SkipWithError("no order IDs");
    benchmark::DoNotOptimize(ids.data());
    i = (i + size) % kInputs;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(OrderIdNextBatch)->Arg(1024)->Threads(1)->Threads(2);

// As OrderIdNextBatch/1024 on a processor that hashes fewer keys at once.
template <internal::GeneLanes kLanes>
void NextBatchWith(benchmark::State& state) {
  if (internal::UseGeneLanes(kLanes) != kLanes) state.SetLabel("this processor hashes fewer");
  OrderIdNextBatch(state);
  internal::UseGeneLanes(internal::GeneLanes::kEight);
}
void OrderIdNextBatchAvx2(benchmark::State& state) {
  NextBatchWith<internal::GeneLanes::kFour>(state);
}
BENCHMARK(OrderIdNextBatchAvx2)->Arg(1024);
void OrderIdNextBatchScalar(benchmark::State& state) {
  NextBatchWith<internal::GeneLanes::kOne>(state);
}
BENCHMARK(OrderIdNextBatchScalar)->Arg(1024);

void GeneUint64(benchmark::State& state) {
  std::vector<BuyerKey> buyers = RandomBuyers(0);
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(ShardGene::Of(buyers[i++ % kInputs]));
  }
}
BENCHMARK(GeneUint64);

void GeneUint64Batch(benchmark::State& state) {
  auto size = static_cast<size_t>(state.range(0));
  std::vector<BuyerKey> buyers = RandomBuyers(0);
  std::vector<ShardGene> genes(size);
  for (auto _ : state) {
    ShardGene::OfEach(std::span(buyers).first(size), genes);
    benchmark::DoNotOptimize(genes.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(GeneUint64Batch)->Arg(1024);

// The limits: what the processor needs for the one thing that cannot be left out.

std::atomic<uint64_t> packed_words[65536];

void LimitRandomCas65536(benchmark::State& state) {
  std::vector<uint16_t> indices = RandomIndices(state.thread_index());
  size_t i = 0;
  for (auto _ : state) {
    std::atomic<uint64_t>& word = packed_words[indices[i++ % kInputs]];
    uint64_t value = word.load(std::memory_order_relaxed);
    while (!word.compare_exchange_weak(value, value + 1, std::memory_order_relaxed)) {
    }
    benchmark::DoNotOptimize(value);
  }
}
BENCHMARK(LimitRandomCas65536)->Threads(1)->Threads(2);

// What TryNext cannot leave out: both hashes of the buyer key as they are defined, then the
// compare-and-swap of a word whose address they give. All of it inline.
void LimitHashCas65536(benchmark::State& state) {
  std::vector<BuyerKey> buyers = RandomBuyers(state.thread_index());
  size_t i = 0;
  for (auto _ : state) {
    uint16_t gene = internal::GeneOf8(buyers[i++ % kInputs].uint64());
    std::atomic<uint64_t>& word = packed_words[gene];
    uint64_t value = word.load(std::memory_order_relaxed);
    while (!word.compare_exchange_weak(value, value + 1, std::memory_order_relaxed)) {
    }
    benchmark::DoNotOptimize(value);
  }
}
BENCHMARK(LimitHashCas65536)->Threads(1)->Threads(2);

std::atomic<uint64_t> shared_word;

void LimitSharedFetchAdd(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(shared_word.fetch_add(1, std::memory_order_relaxed));
  }
}
BENCHMARK(LimitSharedFetchAdd)->Threads(1)->Threads(2);

}  // namespace
}  // namespace locus
