// SPDX-License-Identifier: Apache-2.0
// Strict sequences in process: numbers for random keys of ten million, one by one and in batches,
// and what the keys take of memory. Beside them what others do for a number: an atomic counter a
// key without owner or lease, a hash map under a mutex, and one call of an engine for each number.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "benchmark/benchmark.h"
#include "locus/engine/memory.h"
#include "locus/strict_sequencer.h"

namespace locus {
namespace {

constexpr uint64_t kKeys = 10'000'000;

// Memory of this process that is in use, in bytes.
int64_t Resident() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  int64_t pages = 0;
  int64_t resident = 0;
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  std::fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

// Random keys, drawn before the time is taken.
const std::vector<uint64_t>& RandomKeys() {
  static const std::vector<uint64_t>* keys = [] {
    auto* made = new std::vector<uint64_t>(1 << 22);
    uint64_t word = 88172645463325252u;
    for (uint64_t& key : *made) {
      word ^= word << 13;
      word ^= word >> 7;
      word ^= word << 17;
      key = word % kKeys;
    }
    return made;
  }();
  return *keys;
}

struct Ready {
  std::unique_ptr<StrictSequencer> sequencer;
  double bytes_per_key = 0;
};

// Owns all sections, has used every key once, and has measured the processor's counter, which takes
// a sequencer its first two seconds.
Ready& Sequencer() {
  static Ready* ready = [] {
    auto* made = new Ready;
    StrictSequencerOptions options;
    options.options.uids = kKeys;
    options.name = "bench";
    auto store = std::make_shared<MemoryStrictStore>();
    if (!store->Create(SpaceName(), options.options, {.first_ever = true}).ok()) std::abort();
    const int64_t before = Resident();
    made->sequencer = StrictSequencer::Open(store, options).value();
    std::vector<uint32_t> sections(options.options.sections());
    std::iota(sections.begin(), sections.end(), 0);
    if (!made->sequencer->Take(sections).ok()) std::abort();
    for (uint64_t uid = 0; uid < kKeys; ++uid) {
      if (!made->sequencer->TryNext(uid).ok()) std::abort();
    }
    std::this_thread::sleep_for(std::chrono::seconds(4));
    made->bytes_per_key = static_cast<double>(Resident() - before) / kKeys;
    return made;
  }();
  return *ready;
}

void StrictNext(benchmark::State& state) {
  StrictSequencer& sequencer = *Sequencer().sequencer;
  const std::vector<uint64_t>& keys = RandomKeys();
  size_t at = static_cast<size_t>(state.thread_index()) * 1'000'003;
  for (auto _ : state) {
    absl::StatusOr<uint64_t> number = sequencer.TryNext(keys[at++ & (keys.size() - 1)]);
    if (!number.ok()) return state.SkipWithError(number.status().ToString().c_str());
    benchmark::DoNotOptimize(*number);
  }
  state.counters["bytes_per_key"] =
      benchmark::Counter(Sequencer().bytes_per_key, benchmark::Counter::kAvgThreads);
}
BENCHMARK(StrictNext)->Threads(1)->Threads(2);

// The time is that of a batch; items_per_second that of numbers.
void StrictNextBatch(benchmark::State& state) {
  StrictSequencer& sequencer = *Sequencer().sequencer;
  const std::vector<uint64_t>& keys = RandomKeys();
  const auto size = static_cast<size_t>(state.range(0));
  std::vector<uint64_t> numbers(size);
  size_t at = static_cast<size_t>(state.thread_index()) * 1'000'003 % (keys.size() / 2);
  for (auto _ : state) {
    const absl::Status status = sequencer.TryNextBatch({keys.data() + at, size}, numbers);
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
    benchmark::DoNotOptimize(numbers.data());
    at = at + size < keys.size() - size ? at + size : 0;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(StrictNextBatch)->Arg(16)->Arg(64)->Arg(1024)->Threads(1)->Threads(2);

// The limit: an array of counters that nobody else may own.
void PeerAtomicArray(benchmark::State& state) {
  static std::atomic<uint64_t>* counters = new std::atomic<uint64_t>[kKeys]();
  const std::vector<uint64_t>& keys = RandomKeys();
  size_t at = static_cast<size_t>(state.thread_index()) * 1'000'003;
  for (auto _ : state) {
    benchmark::DoNotOptimize(counters[keys[at++ & (keys.size() - 1)]].fetch_add(1) + 1);
  }
}
BENCHMARK(PeerAtomicArray)->Threads(1)->Threads(2);

// The usual way in memory.
void PeerMapUnderMutex(benchmark::State& state) {
  static std::mutex mutex;
  static auto* counters = [] {
    auto* made = new std::unordered_map<uint64_t, uint64_t>;
    made->reserve(kKeys);
    for (uint64_t key = 0; key < kKeys; ++key) (*made)[key] = 0;
    return made;
  }();
  const std::vector<uint64_t>& keys = RandomKeys();
  size_t at = static_cast<size_t>(state.thread_index()) * 1'000'003;
  for (auto _ : state) {
    std::lock_guard lock(mutex);
    benchmark::DoNotOptimize(++(*counters)[keys[at++ & (keys.size() - 1)]]);
  }
}
BENCHMARK(PeerMapUnderMutex)->Threads(1)->Threads(2);

// One call of an engine for each number. Memory: without any I/O.
void PeerMemoryCall(benchmark::State& state) {
  static MemorySequencer& sequencer = *MemorySequencer::Create({}).value().release();
  const std::vector<uint64_t>& keys = RandomKeys();
  size_t at = 0;
  for (auto _ : state) {
    auto number = sequencer.Next(std::to_string(keys[at++ & 1023]));
    if (!number.ok()) return state.SkipWithError(number.status().ToString().c_str());
    benchmark::DoNotOptimize(*number);
  }
}
BENCHMARK(PeerMemoryCall);

}  // namespace
}  // namespace locus
