// SPDX-License-Identifier: Apache-2.0
// Measures RedisSequencer against a server on 127.0.0.1, for bench/engine/redis_bench.sh:
//
//   redis_bench PORT sha              loads the script that takes numbers, prints its SHA
//   redis_bench PORT MODE SECONDS [N] prints calls (keys, in mode each) a second
//     next, batch    one thread, one call after the other
//     each           one thread, N keys a call
//     threads        N threads that share the connection
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "locus/engine/redis.h"
#include "src/engine/redis/sequencer_scripts.h"

namespace {

using Steady = std::chrono::steady_clock;

// Repeats `call` for so long; what it counts, a second. Negative: it failed.
template <typename Call>
double Rate(double seconds, const Call& call) {
  Steady::time_point start = Steady::now();
  auto end = start + std::chrono::duration<double>(seconds);
  double count = 0;
  while (Steady::now() < end) {
    int done = call();
    if (done < 0) return -1;
    count += done;
  }
  return count / std::chrono::duration<double>(Steady::now() - start).count();
}

double Threads(locus::RedisSequencer& sequencer, double seconds, int threads) {
  std::atomic<bool> failed{false};
  std::vector<double> rates(static_cast<size_t>(threads));
  std::vector<std::thread> running;
  for (double& rate : rates) {
    running.emplace_back([&] {
      rate = Rate(seconds, [&] { return sequencer.Next("k").ok() ? 1 : -1; });
      if (rate < 0) failed = true;
    });
  }
  double sum = 0;
  for (std::thread& thread : running) thread.join();
  for (double rate : rates) sum += rate;
  return failed ? -1 : sum;
}

double Run(locus::RedisSequencer& sequencer, std::string_view mode, double seconds, int n) {
  if (mode == "next") {
    return Rate(seconds, [&] { return sequencer.Next("k").ok() ? 1 : -1; });
  }
  if (mode == "batch") {
    return Rate(seconds, [&] { return sequencer.NextBatch("k", 100).ok() ? 1 : -1; });
  }
  if (mode == "threads") return Threads(sequencer, seconds, n);
  if (mode != "each") return -1;
  std::vector<std::string_view> keys(static_cast<size_t>(n), "k");
  return Rate(seconds, [&] {
    for (const auto& number : sequencer.NextEach(keys)) {
      if (!number.ok()) return -1;
    }
    return n;
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: redis_bench PORT sha|next|batch|each|threads [SECONDS [N]]\n", stderr);
    return 2;
  }
  locus::RedisOptions server;
  server.addresses = {{"127.0.0.1", static_cast<uint16_t>(std::atoi(argv[1]))}};
  auto sequencer = locus::RedisSequencer::Open(server, locus::SequencerOptions());
  if (!sequencer.ok() || !(*sequencer)->Next("k").ok()) {
    std::fprintf(stderr, "redis_bench: no server on port %s\n", argv[1]);
    return 1;
  }
  if (std::string_view(argv[2]) == "sha") {
    std::puts(locus::redis::SequencerScripts::Get().take.sha().c_str());
    return 0;
  }
  double seconds = argc > 3 ? std::atof(argv[3]) : 1;
  double rate = Run(**sequencer, argv[2], seconds, argc > 4 ? std::atoi(argv[4]) : 1);
  if (rate < 0) {
    std::fputs("redis_bench: a call failed, or there is no such mode\n", stderr);
    return 1;
  }
  std::printf("%.0f\n", rate);
  return 0;
}
