// SPDX-License-Identifier: Apache-2.0
// Measures what the fence costs a write, for bench/guard/guard_bench.sh:
//
//   guard_bench writers PORT PID SECONDS ROUNDS WRITERS...
//   guard_bench orders PORT PID ROUNDS             on 127.0.0.1, by root; database locus_bench
//
// All orders are in the range of one row of locus_fence.
//
//   bare       a table without fence
//   guard      with the guard triggers; the client does nothing
//   versions   with the version triggers, which a move adds for its time
//   both       with both, as during a move
//   fenced     a table without triggers; before it writes the client reads the fence, locked
//
// They take turns, ROUNDS times; printed are medians, and medians of the ratios within a round, of
// the processor time of the server (PID) a transaction, which other work on the machine changes
// less than rates by the clock.
//
// writers: each has a connection and updates one order a transaction, START TRANSACTION, UPDATE,
// COMMIT, for SECONDS a turn; also writes a second. orders: one connection inserts orders of four
// rows by one statement, updates one row of each, and deletes all four by one statement. Then it
// inserts orders where something of each bucket of keys was deleted before.
#include <mysql.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <system_error>
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
const std::vector<std::string> kWays = {"bare", "guard", "versions", "both", "fenced"};
// Of each way, in turns of so many orders, of four rows each.
constexpr uint64_t kTurns = 10, kTurnOrders = 100, kRowsOfOrder = 4;

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
    locus::FenceOptions fence;
    fence.tables = {table.guard};
    fence.movers = {"mover@10.0.0.1"};
    const bool guarded = way == "guard" || way == "both";
    for (const auto& trigger : locus::GuardTriggersOf(fence)) {
      if (!guarded) break;
      session.Run(absl::StrCat("CREATE TRIGGER ", trigger.name, " BEFORE ", trigger.event, " ON ",
                               trigger.table, " FOR EACH ROW ", trigger.body));
    }
    if (way != "versions" && way != "both") continue;
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

// Of all threads: utime and stime of /proc/PID/stat are the same, in steps of 10 ms.
double ProcessorSecondsOf(const std::string& pid) {
  double nanoseconds = 0;
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"), gone)) {
    double ran = 0;
    if (std::ifstream(task.path() / "schedstat") >> ran) nanoseconds += ran;
  }
  if (nanoseconds == 0) Fail(absl::StrCat("there is no process ", pid));
  return nanoseconds / 1e9;
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
  // Before the sessions end, and with them threads of the server.
  const double spent = ProcessorSecondsOf(pid) - before;
  const double count = std::max(1.0, static_cast<double>(writes));
  return {count / std::chrono::duration<double>(Steady::now() - begun).count(),
          spent * 1e6 / count};
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// One connection, and what it has written by one of the ways.
class OrderWriter {
 public:
  OrderWriter(const char* port, const std::string& pid, std::string way)
      : session_(port), pid_(pid), way_(std::move(way)), table_("orders_" + way_) {}

  // Microseconds of the server's processors an order.
  double Insert() {
    const uint64_t begin = next_;
    next_ += kTurnOrders;
    return Measure(begin, [&](uint64_t order) {
      std::string insert = absl::StrCat("INSERT INTO ", table_, " VALUES ");
      for (uint64_t row = 0; row < kRowsOfOrder; ++row) {
        absl::StrAppend(&insert, row == 0 ? "" : ", ", "(", RowOf(order, row), ", UNHEX(MD5(",
                        order, ")), ", order * 7919, ", 0, ", order % 1000,
                        ".50, REPEAT('n', 90), NOW(6), 1)");
      }
      return insert;
    });
  }
  double Update(uint64_t turn) {
    return Measure(turn * kTurnOrders, [&](uint64_t order) {
      return absl::StrCat("UPDATE ", table_, " SET status = 1, version = version + 1 WHERE",
                          " order_id = ", RowOf(order, 0));
    });
  }
  double Delete(uint64_t turn) {
    return Measure(turn * kTurnOrders, [&](uint64_t order) {
      return absl::StrCat("DELETE FROM ", table_, " WHERE order_id BETWEEN ", RowOf(order, 0),
                          " AND ", RowOf(order, kRowsOfOrder - 1));
    });
  }

 private:
  // Behind the orders that SetUp made.
  static uint64_t RowOf(uint64_t order, uint64_t row) {
    return (order % 100) << 47 | (kOrders + 1 + order * kRowsOfOrder + row);
  }

  template <typename Statement>
  double Measure(uint64_t begin, const Statement& statement) {
    const double before = ProcessorSecondsOf(pid_);
    for (uint64_t order = begin; order < begin + kTurnOrders; ++order) {
      session_.Run("START TRANSACTION");
      if (way_ == "fenced") {
        const auto gene = locus::ShardGene::FromUint16(static_cast<uint16_t>(order % 100));
        session_.Run(locus::internal::SelectFence(gene, true));
      }
      session_.Run(statement(order));
      session_.Run("COMMIT");
    }
    return (ProcessorSecondsOf(pid_) - before) * 1e6 / kTurnOrders;
  }

  Session session_;
  const std::string pid_, way_, table_;
  uint64_t next_ = 0;  // the order that Insert makes next
};

void MeasureOrders(const char* port, const char* pid, int rounds) {
  constexpr const char* kWrites[] = {"insert", "update", "delete", "insert after deletions"};
  Session session(port);
  // By write and way: of each round the median of its turns, and what it is of bare.
  std::map<std::string, std::map<std::string, std::vector<double>>> micros, ratios;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::unique_ptr<OrderWriter>> writers;
    for (const std::string& way : kWays) {
      session.Run(absl::StrCat("DELETE FROM orders_", way, " WHERE order_id & 140737488355327 > ",
                               kOrders));
      writers.push_back(std::make_unique<OrderWriter>(port, pid, way));
    }
    session.Run("DELETE FROM locus_tombstone WHERE tbl <> ''");
    session.Run("UPDATE locus_tombstone SET version = 0");
    for (const std::string write : kWrites) {
      if (write == "insert after deletions") session.Run("UPDATE locus_tombstone SET version = 2");
      std::vector<std::vector<double>> turns(kWays.size());
      for (uint64_t turn = 0; turn < kTurns; ++turn) {
        for (size_t i = 0; i < kWays.size(); ++i) {
          turns[i].push_back(write == "update"   ? writers[i]->Update(turn)
                             : write == "delete" ? writers[i]->Delete(turn)
                                                 : writers[i]->Insert());
        }
      }
      for (size_t i = 0; i < kWays.size(); ++i) {
        const double median = Median(turns[i]);
        micros[write][kWays[i]].push_back(median);
        ratios[write][kWays[i]].push_back(median / micros[write]["bare"].back());
      }
    }
  }
  for (const char* write : kWrites) {
    for (const std::string& way : kWays) {
      std::printf("%-22s  %-9s %6.0f us an order  %5.2f of bare\n", write, way.c_str(),
                  Median(micros[write][way]), Median(ratios[write][way]));
    }
  }
}

void MeasureWriters(const char* port, const char* pid, double seconds, int rounds,
                    unsigned writers) {
  struct Seen {
    std::vector<double> rates, micros, rate_ratios, micros_ratios;
  };
  std::map<std::string, Seen> seen;
  for (int round = 0; round < rounds; ++round) {
    Cost bare;
    for (const std::string& way : kWays) {
      const Cost cost = Measure(port, pid, way, writers, seconds);
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

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "orders" && argc == 5) {
    SetUp(argv[2]);
    MeasureOrders(argv[2], argv[3], std::atoi(argv[4]));
  } else if (what == "writers" && argc > 6) {
    SetUp(argv[2]);
    for (int i = 6; i < argc; ++i) {
      MeasureWriters(argv[2], argv[3], std::atof(argv[4]), std::atoi(argv[5]),
                     static_cast<unsigned>(std::atoi(argv[i])));
    }
  } else {
    std::fprintf(stderr,
                 "usage: guard_bench writers PORT PID SECONDS ROUNDS WRITERS... | orders PORT PID"
                 " ROUNDS\n");
    return 2;
  }
}
