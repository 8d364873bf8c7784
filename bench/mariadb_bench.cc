// SPDX-License-Identifier: Apache-2.0
// Measures the engine MariaDB against a server on 127.0.0.1, for bench/mariadb_bench.sh:
//
//   mariadb_bench PORT SECONDS      as user root without a password, in database locus_bench
//
// Prints calls a second, median and 99th percentile of one thread, and calls a second of eight.
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
#include "locus/engine/mariadb.h"

namespace {

using Steady = std::chrono::steady_clock;

// Each call answers whether it worked.
void Measure(const char* name, double seconds, int threads,
             const std::function<bool(int thread)>& call) {
  std::vector<std::vector<double>> took_us(static_cast<size_t>(threads));
  std::vector<std::thread> running;
  std::atomic<bool> failed{false};
  auto end = Steady::now() + std::chrono::duration<double>(seconds);
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (auto start = Steady::now(); start < end && !failed;) {
        if (!call(t)) failed = true;
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
  if (failed) {
    std::fprintf(stderr, "mariadb_bench: %s failed\n", name);
    std::exit(1);
  }
  std::printf("%-44s %8.0f /s   p50 %7.0f us   p99 %7.0f us\n", name,
              static_cast<double>(all.size()) / seconds, all[all.size() / 2],
              all[all.size() * 99 / 100]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: mariadb_bench PORT SECONDS\n", stderr);
    return 2;
  }
  locus::MariadbOptions options;
  options.hosts = {{"127.0.0.1", static_cast<uint16_t>(std::atoi(argv[1]))}};
  options.user = "root";
  options.database = "locus_bench";
  options.max_connections = 8;
  double seconds = std::atof(argv[2]);
  absl::Status schema = locus::MariadbSegmentStore::CreateSchema(options);
  auto store = locus::MariadbSegmentStore::Open(options);
  auto sequencer = locus::MariadbSequencer::Open(options, {});
  if (!schema.ok() || !store.ok() || !sequencer.ok() ||
      !(*store)->Create(locus::SpaceName(), {}, absl::Now()).ok()) {
    std::fprintf(stderr, "mariadb_bench: %s\n", store.status().ToString().c_str());
    return 1;
  }
  auto lease = [&](uint16_t first, uint16_t sections) {
    std::vector<locus::LeaseRequest> requests;
    for (uint16_t i = 0; i < sections; ++i) {
      requests.push_back({static_cast<uint16_t>(first + i), 64, 0});
    }
    return (*store)->Lease(locus::SpaceName(), requests, absl::Now()).ok();
  };
  lease(0, 256);
  Measure("Lease of one section", seconds, 1, [&](int) { return lease(0, 1); });
  Measure("Lease of 256 sections", seconds, 1, [&](int) { return lease(0, 256); });
  Measure("Lease, 8 threads, a section each", seconds, 8,
          [&](int t) { return lease(static_cast<uint16_t>(t), 1); });
  Measure("Next", seconds, 1, [&](int) { return (*sequencer)->Next("k").ok(); });
  Measure("Next, 8 threads, one key", seconds, 8,
          [&](int) { return (*sequencer)->Next("k").ok(); });
  Measure("Next, 8 threads, a key each", seconds, 8,
          [&](int t) { return (*sequencer)->Next(absl::StrCat("k", t)).ok(); });
  return 0;
}
