// SPDX-License-Identifier: Apache-2.0
// Measures a store for bench/engine/engines_bench.sh:
//
//   engines_bench NAME URI SECONDS      creates the space and the tables where missing
//
// Prints a line a call: calls a second, median and 99th percentile of one thread, then of eight.
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
#include "locus/open.h"

namespace locus {
namespace {

using Steady = std::chrono::steady_clock;

[[noreturn]] void Give(const absl::Status& status) {
  std::fprintf(stderr, "engines_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

class Measured {
 public:
  Measured(std::string engine, double seconds) : engine_(std::move(engine)), seconds_(seconds) {}

  void Run(const char* name, int threads, const std::function<absl::Status(int thread)>& call) {
    std::vector<std::vector<double>> took_us(static_cast<size_t>(threads));
    std::vector<std::thread> running;
    auto end = Steady::now() + std::chrono::duration<double>(seconds_);
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        for (auto start = Steady::now(); start < end;) {
          absl::Status status = call(t);
          if (!status.ok()) Give(status);
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
    std::printf("%-8s  %-28s  %8.0f /s   p50 %7.0f us   p99 %7.0f us\n", engine_.c_str(), name,
                static_cast<double>(all.size()) / seconds_, all[all.size() / 2],
                all[all.size() * 99 / 100]);
    std::fflush(stdout);
  }

 private:
  const std::string engine_;
  const double seconds_;
};

void MeasureAllocations(SegmentStore& store, Measured& measured) {
  auto allocate = [&](uint16_t first, uint16_t sections) {
    std::vector<SegmentRequest> requests;
    for (uint16_t i = 0; i < sections; ++i) {
      requests.push_back({static_cast<uint16_t>(first + i), 64, 0});
    }
    return store.Allocate(SpaceName(), SpaceOptions(), requests, absl::Now()).status();
  };
  absl::Status first = allocate(0, 256);
  if (!first.ok()) Give(first);
  measured.Run("Allocation of one section", 1, [&](int) { return allocate(0, 1); });
  measured.Run("Allocation of 256 sections", 1, [&](int) { return allocate(0, 256); });
}

void MeasureNumbers(Sequencer& sequencer, Measured& measured) {
  measured.Run("Next", 1, [&](int) { return sequencer.Next("k").status(); });
  measured.Run("Next, 8 threads, one key", 8, [&](int) { return sequencer.Next("k").status(); });
  measured.Run("Next, 8 threads, a key each", 8,
               [&](int t) { return sequencer.Next(absl::StrCat("k", t)).status(); });
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  using namespace locus;
  if (argc != 4) {
    std::fputs("usage: engines_bench NAME URI SECONDS\n", stderr);
    return 2;
  }
  // The servers of the bench script know no passwords.
  auto store = OpenSegmentStore(argv[2], {.create = true});
  if (!store.ok()) Give(store.status());
  absl::Status created = (*store)->Create(SpaceName(), SpaceOptions(), absl::Now());
  if (!created.ok()) Give(created);
  auto sequencer = OpenSequencer(argv[2]);
  if (!sequencer.ok()) Give(sequencer.status());
  Measured measured(argv[1], std::atof(argv[3]));
  MeasureAllocations(**store, measured);
  MeasureNumbers(**sequencer, measured);
  return 0;
}
