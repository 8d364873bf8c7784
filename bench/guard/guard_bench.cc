// SPDX-License-Identifier: Apache-2.0
// Measures what the fence costs a write, for bench/guard/guard_bench.sh:
//
//   guard_bench PORT PID SECONDS ROUNDS WRITERS...  on 127.0.0.1, by root; database locus_bench
//
// Each writer has a connection and updates one order a transaction: START TRANSACTION, UPDATE,
// COMMIT. All orders are in the range of one row of locus_fence.
//
//   bare       a table without fence
//   guard      with the guard triggers; the client does nothing
//   versions   with the guard triggers and those that a move adds for its time
//   fenced     a table without triggers; before its UPDATE the client reads the fence, locked
//
// They take turns, for SECONDS each, ROUNDS times; printed are medians, and medians of the ratios
// within a round: of writes a second, and of the processor time of the server (PID) a write, which
// other work on the machine changes less.
#include <mysql.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locus/migration/moved_table.h"
#include "locus/shard_gene.h"
#include "migration/fence/guard_sql.h"
#include "routing/fence/fence_row.h"

namespace {

using locus::MovedTable;
using Steady = std::chrono::steady_clock;

constexpr uint64_t kOrders = 20'000;
const std::vector<std::string> kWays = {"bare", "guard", "versions", "fenced"};

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "guard_bench: %s\n", why.c_str());
  std::exit(1);
}

class Session {
 public:
  explicit Session(const char* port) : handle_(mysql_init(nullptr)) {
    if (mysql_real_connect(handle_, "127.0.0.1", "root", "", "locus_bench",
                           static_cast<unsigned>(std::atoi(port)), nullptr, 0) == nullptr) {
      Fail(mysql_error(handle_));
    }
  }
  ~Session() { mysql_close(handle_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // False: it lost against another transaction, and was rolled back.
  bool Run(const std::string& statement) {
    if (mysql_real_query(handle_, statement.data(), statement.size()) == 0) {
      if (MYSQL_RES* rows = mysql_store_result(handle_)) mysql_free_result(rows);
      return true;
    }
    constexpr unsigned kDeadlock = 1213, kLockWait = 1205;
    if (mysql_errno(handle_) != kDeadlock && mysql_errno(handle_) != kLockWait) {
      Fail(absl::StrCat(mysql_error(handle_), ": ", statement));
    }
    return false;
  }

 private:
  MYSQL* const handle_;
};

// Order IDs of vnodes 0 to 99.
uint64_t OrderAt(uint64_t index) { return (index % 100) << 47 | (index + 1); }

MovedTable TableOf(const std::string& way) {
  MovedTable table;
  table.guard.name = absl::StrCat("orders_", way);
  return table;
}

void SetUp(const char* port) {
  Session session(port);
  session.Run(locus::internal::kCreateFence);
  session.Run("INSERT INTO locus_fence VALUES (0, 99, 0, 10000, 1, @@server_id, NULL, NULL)");
  session.Run(locus::internal::kCreateVnodes);
  session.Run(locus::internal::kMapVnodes);
  for (const std::string& create : locus::CreateTombstones()) session.Run(create);
  for (const std::string& way : kWays) {
    const MovedTable table = TableOf(way);
    session.Run(absl::StrCat(
        "CREATE TABLE ", table.guard.name,
        " (order_id BIGINT UNSIGNED PRIMARY KEY, order_no VARBINARY(16), buyer_id BIGINT UNSIGNED,"
        " status TINYINT UNSIGNED, amount DECIMAL(12,2), note VARCHAR(200) CHARACTER SET utf8mb4,"
        " created_at TIMESTAMP(6), version BIGINT UNSIGNED NOT NULL)"));
    std::string values;
    for (uint64_t i = 0; i < kOrders; ++i) {
      absl::StrAppend(&values, values.empty() ? "" : ", ", "(", OrderAt(i), ", UNHEX(MD5(", i,
                      ")), ", i * 7919, ", 0, ", i % 1000, ".50, REPEAT('n', 90), NOW(6), 1)");
      if (i % 1000 != 999) continue;
      session.Run(absl::StrCat("INSERT INTO ", table.guard.name, " VALUES ", values));
      values.clear();
    }
    if (way != "guard" && way != "versions") continue;
    locus::FenceOptions fence;
    fence.tables = {table.guard};
    fence.movers = {"mover@10.0.0.1"};
    for (const auto& trigger : locus::GuardTriggersOf(fence)) {
      session.Run(absl::StrCat("CREATE TRIGGER ", trigger.name, " BEFORE ", trigger.event, " ON ",
                               trigger.table, " FOR EACH ROW ", trigger.body));
    }
    if (way == "guard") continue;
    for (const auto& trigger : locus::VersionTriggersOf(table, fence.movers)) {
      session.Run(absl::StrCat("CREATE TRIGGER ", trigger.name, " ", trigger.timing, " ",
                               trigger.event, " ON ", trigger.table, " FOR EACH ROW ",
                               trigger.body));
    }
  }
}

struct Cost {
  double rate = 0;    // writes a second
  double micros = 0;  // of the server's processors, a write
};

double ProcessorSecondsOf(const char* pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string word;
  // Behind the name, which is in parentheses, utime and stime are words 12 and 13.
  while (file >> word && word.back() != ')') continue;
  double ticks = 0, user = 0;
  for (int i = 1; i <= 11; ++i) file >> word;
  if (!(file >> user >> ticks)) Fail(absl::StrCat("there is no process ", pid));
  return (user + ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Cost Measure(const char* port, const char* pid, const std::string& way, unsigned writers,
             double seconds) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (unsigned i = 0; i < writers; ++i) sessions.push_back(std::make_unique<Session>(port));
  std::atomic<uint64_t> writes = 0;
  const double before = ProcessorSecondsOf(pid);
  const auto begun = Steady::now();
  const auto end =
      begun + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds));
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < writers; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937_64 random(i);
      Session& session = *sessions[i];
      while (Steady::now() < end) {
        const uint64_t id = OrderAt(random() % kOrders);
        bool done = session.Run("START TRANSACTION");
        if (way == "fenced") {
          const auto gene = locus::ShardGene::FromUint16(static_cast<uint16_t>(id >> 47));
          done = done && session.Run(locus::internal::SelectFence(gene, true));
        }
        done = done &&
               session.Run(absl::StrCat("UPDATE orders_", way,
                                        " SET status = status + 1 & 7, version = version +"
                                        " 1 WHERE order_id = ",
                                        id)) &&
               session.Run("COMMIT");
        if (done) writes.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double count = std::max(1.0, static_cast<double>(writes));
  return {count / std::chrono::duration<double>(Steady::now() - begun).count(),
          (ProcessorSecondsOf(pid) - before) * 1e6 / count};
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: guard_bench PORT PID SECONDS ROUNDS WRITERS...\n");
    return 2;
  }
  const char* port = argv[1];
  const double seconds = std::atof(argv[3]);
  const int rounds = std::atoi(argv[4]);
  SetUp(port);
  for (int i = 5; i < argc; ++i) {
    const unsigned writers = static_cast<unsigned>(std::atoi(argv[i]));
    struct Seen {
      std::vector<double> rates, micros, rate_ratios, micros_ratios;
    };
    std::map<std::string, Seen> seen;
    for (int round = 0; round < rounds; ++round) {
      Cost bare;
      for (const std::string& way : kWays) {
        const Cost cost = Measure(port, argv[2], way, writers, seconds);
        if (way == "bare") bare = cost;
        seen[way].rates.push_back(cost.rate);
        seen[way].micros.push_back(cost.micros);
        seen[way].rate_ratios.push_back(cost.rate / bare.rate);
        seen[way].micros_ratios.push_back(cost.micros / bare.micros);
      }
    }
    for (const std::string& way : kWays) {
      std::printf(
          "%3u writers  %-9s %8.0f writes/s  %5.2f of bare  %6.0f us a write  %5.2f of bare\n",
          writers, way.c_str(), Median(seen[way].rates), Median(seen[way].rate_ratios),
          Median(seen[way].micros), Median(seen[way].micros_ratios));
    }
  }
}
