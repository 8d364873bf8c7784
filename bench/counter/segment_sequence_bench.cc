// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <mutex>

#include "benchmark/benchmark.h"
#include "locus/engine/memory.h"
#include "locus/segment_sequence.h"

// The limit of a counter that threads share, LimitSharedFetchAdd, is in order_id_bench.cc.

namespace locus {
namespace {

// With segments as long as they get, so that the sequencer is not measured.
std::unique_ptr<SegmentSequence> Make(int64_t thread_block) {
  SegmentSequence::Options options;
  options.min_length = int64_t{1} << 32;
  options.max_length = options.min_length;
  options.thread_block = thread_block;
  return SegmentSequence::Create(MemorySequencer::Create({}).value(), "bench", options).value();
}

void Draw(benchmark::State& state, SegmentSequence& sequence) {
  for (auto _ : state) {
    absl::StatusOr<int64_t> number = sequence.TryNext();
    if (!number.ok()) [[unlikely]] {
      number = sequence.Next(std::chrono::steady_clock::now() + std::chrono::seconds(10));
      if (!number.ok()) return state.SkipWithError("no number");
    }
    benchmark::DoNotOptimize(*number);
  }
}

void SegmentSequenceNext(benchmark::State& state) {
  static SegmentSequence& sequence = *Make(0).release();
  Draw(state, sequence);
}
BENCHMARK(SegmentSequenceNext)->Threads(1)->Threads(2);

void SegmentSequenceThreadBlocks(benchmark::State& state) {
  static SegmentSequence& sequence = *Make(state.range(0)).release();
  Draw(state, sequence);
}
BENCHMARK(SegmentSequenceThreadBlocks)->Arg(1024)->Threads(1)->Threads(2);

void SegmentSequenceNextBlock(benchmark::State& state) {
  static SegmentSequence& sequence = *Make(0).release();
  for (auto _ : state) {
    auto block = sequence.NextBlock(state.range(0),
                                    std::chrono::steady_clock::now() + std::chrono::seconds(10));
    if (!block.ok()) return state.SkipWithError("no numbers");
    benchmark::DoNotOptimize(block->first);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(SegmentSequenceNextBlock)->Arg(1024)->Threads(1)->Threads(2);

// The usual way: a counter under a mutex.
void PeerMutexCounter(benchmark::State& state) {
  static std::mutex mutex;
  static int64_t counter = 0;
  for (auto _ : state) {
    std::lock_guard lock(mutex);
    benchmark::DoNotOptimize(++counter);
  }
}
BENCHMARK(PeerMutexCounter)->Threads(1)->Threads(2);

}  // namespace
}  // namespace locus
