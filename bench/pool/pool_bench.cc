// SPDX-License-Identifier: Apache-2.0
// Measures ShardPools beside a counting semaphore around bare connections, for
// bench/pool/pool_bench.sh:
//
//   pool_bench PORT [SECONDS [ROUNDS [THREADS]]]     on 127.0.0.1, with the database locus_bench
//
// THREADS threads (64, 512 and 2,000 in turn) share 16 connections. Each takes a connection, runs
// one statement and gives it back.
//
//   pool        ShardPools::Take
//   semaphore   std::counting_semaphore and a stack of connections, each reset to the same session
//               as by ShardPools: the difference is what queueing costs
//   bare        the same without the reset: what leaving sessions as they are would save
//
// The three run in turns. Prints the median rate of each, their ratios, and the longest wait for a
// connection: a semaphore lets callers overtake, ShardPools does not. Exit 1: with a statement that
// takes 2 ms, as a durable write does, a rate of the pool is below 0.9 of the semaphore's. DO 1 is
// the worst case: a statement without work, where switching threads costs as much as the statement.
#include <mysql.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "locus/routing/engine/shard_pools.h"

namespace {

using Steady = std::chrono::steady_clock;

constexpr size_t kConnections = 16;
constexpr std::string_view kNothing = "DO 1";
constexpr std::string_view kWork = "DO SLEEP(0.002)";
constexpr std::string_view kSetUp =
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', autocommit = 1,"
    " max_statement_time = 60, innodb_lock_wait_timeout = 60";

[[noreturn]] void Die(const char* what, const char* why) {
  std::fprintf(stderr, "pool_bench: %s: %s\n", what, why);
  std::exit(1);
}

void Query(MYSQL* handle, std::string_view statement) {
  if (mysql_real_query(handle, statement.data(), statement.size()) != 0) {
    Die("query", mysql_error(handle));
  }
}

// Bare connections that a counting semaphore shares out.
class SemaphorePool {
 public:
  SemaphorePool(uint16_t port, bool reset) : reset_(reset) {
    for (size_t i = 0; i < kConnections; ++i) {
      MYSQL* handle = mysql_init(nullptr);
      if (mysql_real_connect(handle, "127.0.0.1", "root", "", "locus_bench", port, nullptr, 0) ==
          nullptr) {
        Die("connect", mysql_error(handle));
      }
      Query(handle, kSetUp);
      idle_.push_back(handle);
    }
  }
  ~SemaphorePool() {
    for (MYSQL* handle : idle_) mysql_close(handle);
  }

  template <typename Work>
  void Use(const Work& work) {
    semaphore_.acquire();
    MYSQL* handle;
    {
      std::lock_guard lock(mutex_);
      handle = idle_.back();
      idle_.pop_back();
    }
    work(handle);
    if (reset_) {
      if (mysql_reset_connection(handle) != 0) Die("reset", mysql_error(handle));
      Query(handle, kSetUp);
    }
    {
      std::lock_guard lock(mutex_);
      idle_.push_back(handle);
    }
    semaphore_.release();
  }

 private:
  const bool reset_;
  std::counting_semaphore<> semaphore_{kConnections};
  std::mutex mutex_;
  std::vector<MYSQL*> idle_;
};

class Pool {
 public:
  explicit Pool(uint16_t port) {
    locus::ShardPoolsOptions options;
    options.user = "root";
    options.max_connections = options.min_idle = kConnections;
    options.timeout = absl::Seconds(60);
    auto pools = locus::ShardPools::Create(options);
    if (!pools.ok()) Die("pools", pools.status().ToString().c_str());
    pools_ = *std::move(pools);
    shard_.id = 1;
    shard_.name = "bench";
    shard_.endpoint = "mysql://127.0.0.1:" + std::to_string(port) + "/locus_bench";
  }

  template <typename Work>
  void Use(const Work& work) {
    auto connection = pools_->Take(shard_, Steady::now() + std::chrono::minutes(1));
    if (!connection.ok()) Die("take", connection.status().ToString().c_str());
    work(connection->handle());
  }

 private:
  std::unique_ptr<locus::ShardPools> pools_;
  locus::Shard shard_;
};

struct Figures {
  double rate = 0;          // uses a second
  double longest_wait = 0;  // seconds
};

template <typename AnyPool>
Figures Measure(AnyPool& pool, size_t threads, double seconds, std::string_view statement) {
  std::atomic<bool> counts{false}, stop{false};
  std::atomic<uint64_t> uses{0};
  std::atomic<int64_t> longest{0};
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const Steady::time_point asked = Steady::now();
        pool.Use([&](MYSQL* handle) {
          const int64_t waited = (Steady::now() - asked).count();
          Query(handle, statement);
          if (!counts.load(std::memory_order_relaxed)) return;
          uses.fetch_add(1, std::memory_order_relaxed);
          int64_t before = longest.load(std::memory_order_relaxed);
          while (waited > before && !longest.compare_exchange_weak(before, waited)) {
          }
        });
      }
    });
  }
  // Threads and connections are all there before counting begins.
  std::this_thread::sleep_for(std::chrono::duration<double>(std::min(1.0, seconds / 2)));
  const Steady::time_point start = Steady::now();
  counts = true;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  counts = false;
  const std::chrono::duration<double> took = Steady::now() - start;
  stop = true;
  for (std::thread& thread : running) thread.join();
  return {static_cast<double>(uses) / took.count(), static_cast<double>(longest) / 1e9};
}

Figures Median(std::vector<Figures> rounds) {
  std::sort(rounds.begin(), rounds.end(),
            [](const Figures& a, const Figures& b) { return a.rate < b.rate; });
  Figures median = rounds[rounds.size() / 2];
  for (const Figures& round : rounds) {
    median.longest_wait = std::max(median.longest_wait, round.longest_wait);
  }
  return median;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: pool_bench PORT [SECONDS [ROUNDS [THREADS]]]\n", stderr);
    return 2;
  }
  const auto port = static_cast<uint16_t>(std::atoi(argv[1]));
  const double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  if (mysql_library_init(0, nullptr, nullptr) != 0) Die("start", "the client library does not");
  Pool pool(port);
  SemaphorePool semaphore(port, true), bare(port, false);
  std::vector<size_t> thread_counts = {64, 512, 2000};
  if (argc > 4) thread_counts = {static_cast<size_t>(std::atoi(argv[4]))};
  bool good = true;
  for (std::string_view statement : {kNothing, kWork}) {
    for (size_t threads : thread_counts) {
      std::vector<Figures> of_pool, of_semaphore, of_bare;
      for (int i = 0; i < rounds; ++i) {
        of_pool.push_back(Measure(pool, threads, seconds, statement));
        of_semaphore.push_back(Measure(semaphore, threads, seconds, statement));
        of_bare.push_back(Measure(bare, threads, seconds, statement));
      }
      const Figures p = Median(of_pool), s = Median(of_semaphore), b = Median(of_bare);
      std::printf(
          "%-16s %4zu threads: pool %6.0f /s, semaphore %6.0f /s (ratio %.2f), bare %6.0f /s"
          " (%.2f); longest wait %.2f s, %.2f s, %.2f s\n",
          std::string(statement).c_str(), threads, p.rate, s.rate, p.rate / s.rate, b.rate,
          p.rate / b.rate, p.longest_wait, s.longest_wait, b.longest_wait);
      std::fflush(stdout);
      if (statement == kWork) good = good && p.rate >= 0.9 * s.rate;
    }
  }
  return good ? 0 : 1;
}
