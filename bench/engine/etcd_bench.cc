// SPDX-License-Identifier: Apache-2.0
// Measures the engine etcd against members on 127.0.0.1, for bench/engine/etcd_bench.sh:
//
//   etcd_bench SECONDS HOST:PORT...
//
// Prints calls a second, median and 99th percentile.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "locus/engine/etcd.h"

namespace {

using Steady = std::chrono::steady_clock;

[[noreturn]] void Fail(const char* name, const absl::Status& status) {
  std::fprintf(stderr, "etcd_bench: %s: %s\n", name, status.ToString().c_str());
  std::exit(1);
}

void Measure(const char* name, double seconds, int threads,
             const std::function<absl::Status(int thread)>& call) {
  std::vector<std::vector<double>> took_us(static_cast<size_t>(threads));
  std::vector<std::thread> running;
  auto end = Steady::now() + std::chrono::duration<double>(seconds);
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (auto start = Steady::now(); start < end;) {
        absl::Status status = call(t);
        if (!status.ok()) Fail(name, status);
        auto now = Steady::now();
        took_us[static_cast<size_t>(t)].push_back(
            std::chrono::duration<double, std::micro>(now - start).count());
        start = now;
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  std::vector<double> all;
  for (const auto& some : took_us) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  std::printf("%-44s %8.0f /s   p50 %7.0f us   p99 %7.0f us\n", name,
              static_cast<double>(all.size()) / seconds, all[all.size() / 2],
              all[all.size() * 99 / 100]);
}

locus::EtcdOptions options;

std::unique_ptr<locus::EtcdSegmentStore> OpenStore() {
  auto store = locus::EtcdSegmentStore::Open(options);
  if (!store.ok()) Fail("open", store.status());
  return *std::move(store);
}

std::unique_ptr<locus::EtcdSequencer> OpenSequencer(absl::Duration ttl = absl::ZeroDuration()) {
  locus::SequencerOptions sequencer_options;
  sequencer_options.ttl = ttl;
  auto sequencer = locus::EtcdSequencer::Open(options, sequencer_options);
  if (!sequencer.ok()) Fail("open", sequencer.status());
  return *std::move(sequencer);
}

absl::Status AllocateSections(locus::SegmentStore& store, int first, int count) {
  std::vector<locus::SegmentRequest> requests;
  for (int i = 0; i < count; ++i) requests.push_back({static_cast<uint16_t>(first + i), 64, 0});
  return store.Allocate(locus::SpaceName(), locus::SpaceOptions(), requests, absl::Now()).status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: etcd_bench SECONDS HOST:PORT...\n");
    return 2;
  }
  double seconds = std::atof(argv[1]);
  for (int i = 2; i < argc; ++i) options.endpoints.push_back(argv[i]);
  options.prefix = absl::StrCat("bench", absl::ToUnixNanos(absl::Now()));
  options.call_timeout = options.request_timeout = absl::Seconds(10);

  auto store = OpenStore();
  absl::Status created = store->Create(locus::SpaceName(), locus::SpaceOptions(), absl::Now());
  if (!created.ok()) Fail("create", created);
  Measure("Allocation of one section", seconds, 1,
          [&](int) { return AllocateSections(*store, 0, 1); });
  Measure("Allocation of 256 sections", seconds, 1,
          [&](int) { return AllocateSections(*store, 0, 256); });
  std::vector<std::unique_ptr<locus::EtcdSegmentStore>> stores;
  for (int i = 0; i < 8; ++i) stores.push_back(OpenStore());
  Measure("Allocation, 8 stores, each other sections", seconds, 8,
          [&](int t) { return AllocateSections(*stores[static_cast<size_t>(t)], t * 8, 1); });

  auto one = OpenSequencer();
  Measure("Next", seconds, 1, [&](int) { return one->Next("a").status(); });
  auto brief = OpenSequencer(absl::Hours(1));
  Measure("Next, with a ttl", seconds, 1, [&](int) { return brief->Next("t").status(); });
  Measure("Next, 8 threads, a key each", seconds, 8,
          [&](int t) { return one->Next(absl::StrCat("own", t)).status(); });
  Measure("Next, 8 threads of one process, one key", seconds, 8,
          [&](int) { return one->Next("a").status(); });
  std::vector<std::unique_ptr<locus::EtcdSequencer>> others;
  for (int i = 0; i < 8; ++i) others.push_back(OpenSequencer());
  Measure("Next, 8 sequencers, one key", seconds, 8,
          [&](int t) { return others[static_cast<size_t>(t)]->Next("a").status(); });
  return 0;
}
