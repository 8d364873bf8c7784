// SPDX-License-Identifier: Apache-2.0
// Every way to a number beside the others, for bench/choosing/choosing_bench.sh:
//
//   choosing_bench MARIADB_PORT REDIS_PORT REDIS_ALWAYS_PORT ETCD_PORT SECONDS
//
// Servers on 127.0.0.1, without passwords; of MariaDB the database locus_bench. Prints rows of the
// table of docs/start/choosing.md: numbers a second, median and 99th percentile of a call, with 1
// and with 16 clients. A client of a server has a connection of its own; clients of what counts in
// memory are threads of one process.
#include <hiredis/hiredis.h>
#include <mysql.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "locus/open.h"
#include "locus/order_id_generator.h"
#include "locus/segment_sequence.h"
#include "locus/snowflake.h"
#include "locus/strict_sequencer.h"
#include "locus/uuid.h"

namespace locus {
namespace {

using Steady = std::chrono::steady_clock;
constexpr int kMostClients = 16;
constexpr uint64_t kUsers = 1'000'000;

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "choosing_bench: %s\n", why.c_str());
  std::exit(1);
}
template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) Fail(value.status().ToString());
  return *std::move(value);
}

// A number for one of the users; an error ends the benchmark.
using Call = std::function<absl::Status(uint64_t user)>;

std::string Time(double ns) {
  if (ns < 1e3) return absl::StrFormat("%.0f ns", ns);
  if (ns < 1e6) return absl::StrFormat("%.3g us", ns / 1e3);
  return absl::StrFormat("%.3g ms", ns / 1e6);
}
std::string Grouped(double value) {
  const std::string digits = absl::StrFormat("%.0f", value);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

class Bench {
 public:
  explicit Bench(double seconds) : seconds_(seconds) {}

  // `prepare` makes the call of a client. `stride`: calls between two readings of the clock while
  // numbers are counted.
  void Run(const char* name, int stride, const std::function<Call(int client)>& prepare) {
    std::vector<Call> calls;
    for (int i = 0; i < kMostClients; ++i) calls.push_back(prepare(i));
    std::string row = absl::StrCat("| ", name);
    for (const int clients : {1, kMostClients}) {
      const double rate = Rate(calls, clients, stride);
      std::vector<float> took = Latencies(calls, clients);
      std::sort(took.begin(), took.end());
      absl::StrAppend(&row, " | ", Grouped(rate), " | ", Time(took[took.size() / 2]), " | ",
                      Time(took[took.size() * 99 / 100]));
    }
    std::printf("%s |\n", row.c_str());
    std::fflush(stdout);
  }

 private:
  // Random users, the same for all.
  static uint64_t NextUser(uint64_t& word) {
    word ^= word << 13;
    word ^= word >> 7;
    word ^= word << 17;
    return word % kUsers;
  }
  static uint64_t Seed(int client) { return 88172645463325252u + static_cast<uint64_t>(client); }
  static void Must(const absl::Status& called) {
    if (!called.ok()) Fail(called.ToString());
  }

  double Rate(const std::vector<Call>& calls, int clients, int stride) const {
    std::atomic<uint64_t> numbers{0};
    const Steady::time_point begun = Steady::now();
    InThreads(clients, [&](int client) {
      uint64_t word = Seed(client);
      uint64_t count = 0;
      const auto end = begun + std::chrono::duration<double>(seconds_);
      while (Steady::now() < end) {
        for (int i = 0; i < stride; ++i) Must(calls[static_cast<size_t>(client)](NextUser(word)));
        count += static_cast<uint64_t>(stride);
      }
      numbers += count;
    });
    return static_cast<double>(numbers) /
           std::chrono::duration<double>(Steady::now() - begun).count();
  }

  // In ns, of at least one and at most a million calls of each client.
  std::vector<float> Latencies(const std::vector<Call>& calls, int clients) const {
    constexpr size_t kMost = 1'000'000;
    std::vector<std::vector<float>> took(static_cast<size_t>(clients));
    const auto end = Steady::now() + std::chrono::duration<double>(seconds_);
    InThreads(clients, [&](int client) {
      uint64_t word = Seed(client);
      std::vector<float>& own = took[static_cast<size_t>(client)];
      own.reserve(kMost);
      Steady::time_point now;
      do {
        const uint64_t user = NextUser(word);
        const Steady::time_point start = Steady::now();
        Must(calls[static_cast<size_t>(client)](user));
        now = Steady::now();
        own.push_back(std::chrono::duration<float, std::nano>(now - start).count());
      } while (now < end && own.size() < kMost);
    });
    std::vector<float> all;
    for (const auto& some : took) all.insert(all.end(), some.begin(), some.end());
    return all;
  }

  static void InThreads(int count, const std::function<void(int)>& run) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([&run, i] { run(i); });
    for (std::thread& thread : threads) thread.join();
  }

  const double seconds_;
};

std::shared_ptr<MYSQL> ConnectMariadb(uint64_t port) {
  std::shared_ptr<MYSQL> handle(mysql_init(nullptr), &mysql_close);
  if (mysql_real_connect(handle.get(), "127.0.0.1", "root", "", "locus_bench",
                         static_cast<unsigned>(port), nullptr, 0) == nullptr) {
    Fail(mysql_error(handle.get()));
  }
  return handle;
}
void RunSql(MYSQL* handle, const std::string& statement) {
  if (mysql_real_query(handle, statement.data(), statement.size()) != 0) {
    Fail(absl::StrCat(statement, ": ", mysql_error(handle)));
  }
}
// Each client runs the statement, whose number comes with the server's answer.
std::function<Call(int)> BySql(uint64_t port, const std::string& statement) {
  return [=](int) -> Call {
    return [handle = ConnectMariadb(port), statement](uint64_t) {
      RunSql(handle.get(), statement);
      if (mysql_insert_id(handle.get()) == 0) return absl::InternalError("no number");
      return absl::OkStatus();
    };
  };
}

void MeasureMariadb(Bench& bench, uint64_t port) {
  std::shared_ptr<MYSQL> handle = ConnectMariadb(port);
  RunSql(
      handle.get(),
      "CREATE OR REPLACE TABLE numbered (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY) "
      "ENGINE=InnoDB");
  RunSql(
      handle.get(),
      "CREATE OR REPLACE TABLE ticket (name VARCHAR(64) PRIMARY KEY, n BIGINT UNSIGNED NOT NULL) "
      "ENGINE=InnoDB");
  RunSql(handle.get(), "INSERT INTO ticket VALUES ('orders', 0)");
  bench.Run("AUTO_INCREMENT (MariaDB), the row's insert included", 1,
            BySql(port, "INSERT INTO numbered VALUES ()"));
  bench.Run("ticket table (MariaDB)", 1,
            BySql(port, "UPDATE ticket SET n = LAST_INSERT_ID(n + 1) WHERE name = 'orders'"));
}

void MeasureRedis(Bench& bench, const char* name, uint64_t port) {
  bench.Run(name, 1, [port](int) -> Call {
    std::shared_ptr<redisContext> context(redisConnect("127.0.0.1", static_cast<int>(port)),
                                          &redisFree);
    if (context == nullptr || context->err != 0) Fail("redis does not answer");
    return [context](uint64_t) {
      std::unique_ptr<redisReply, decltype(&freeReplyObject)> reply(
          static_cast<redisReply*>(redisCommand(context.get(), "INCR orders")), &freeReplyObject);
      if (reply == nullptr || reply->type != REDIS_REPLY_INTEGER) {
        return absl::InternalError("INCR gave no number");
      }
      return absl::OkStatus();
    };
  });
}

// A call that gave up, since other clients' writes came before its own again and again, is
// repeated; its time goes on.
void MeasureSequencer(Bench& bench, const char* name, const std::string& uri) {
  bench.Run(name, 1, [uri](int) -> Call {
    std::shared_ptr<Sequencer> sequencer = Must(OpenSequencer(uri));
    return [sequencer](uint64_t) {
      absl::Status called = absl::UnavailableError("");
      for (int i = 0; i < 20 && absl::IsUnavailable(called); ++i) {
        called = sequencer->Next("orders").status();
      }
      return called;
    };
  });
}

constexpr int kStride = 256;  // of what counts in memory

void MeasureSegments(Bench& bench, const std::string& uri) {
  std::shared_ptr<Sequencer> sequencer = Must(OpenSequencer(uri));
  std::shared_ptr<SegmentSequence> sequence = Must(SegmentSequence::Create(sequencer, "segments"));
  bench.Run("segments of a counter (`SegmentSequence` on MariaDB)", kStride, [&](int) -> Call {
    return [sequence](uint64_t) { return sequence->Next(absl::Seconds(30)).status(); };
  });
  OrderIdGenerator::Options options;
  options.create_space = true;
  std::shared_ptr<OrderIdGenerator> ids =
      Must(OrderIdGenerator::Create(Must(OpenSegmentStore(uri, {.create = true})), options));
  if (const absl::Status warm = ids->Warm(absl::Minutes(1)); !warm.ok()) Fail(warm.ToString());
  bench.Run("segments of order IDs (`OrderIdGenerator` on MariaDB)", kStride, [&](int) -> Call {
    return [ids](uint64_t user) {
      return ids->Next(BuyerKey::Uint64(user), absl::Seconds(30)).status();
    };
  });
}

void MeasureSnowflake(Bench& bench) {
  bench.Run("Snowflake, one worker ID for all clients", kStride, [](int) -> Call {
    static Snowflake<>* all = Must(Snowflake<>::Create({.worker = 1})).release();
    return [](uint64_t) { return all->Next().status(); };
  });
  bench.Run("Snowflake, a worker ID for each client", kStride, [](int client) -> Call {
    std::shared_ptr<Snowflake<>> own =
        Must(Snowflake<>::Create({.worker = static_cast<uint64_t>(client) + 2}));
    return [own](uint64_t) { return own->Next().status(); };
  });
}

void MeasureStrict(Bench& bench, const std::string& uri) {
  StrictSequencerOptions options;
  options.options.uids = kUsers;
  options.name = "choosing";
  std::shared_ptr<StrictStore> store = Must(OpenStrictStore(uri, {.create = true}));
  if (const absl::Status made = store->Create(options.set, options.options, {.first_ever = true});
      !made.ok()) {
    Fail(made.ToString());
  }
  std::shared_ptr<StrictSequencer> sequencer = Must(StrictSequencer::Open(store, options));
  std::vector<uint32_t> sections(options.options.sections());
  std::iota(sections.begin(), sections.end(), 0);
  Must(sequencer->Take(sections));
  bench.Run("strict (`StrictSequencer` on MariaDB), a counter for each of 1,000,000 users", kStride,
            [&](int) -> Call {
              return [sequencer](uint64_t user) {
                const absl::StatusOr<uint64_t> number = sequencer->TryNext(user);
                if (number.ok()) return absl::OkStatus();
                return sequencer->Next(user, Steady::now() + std::chrono::seconds(30)).status();
              };
            });
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  using namespace locus;
  std::array<uint64_t, 4> ports{};
  double seconds = 0;
  bool good = argc == 6 && absl::SimpleAtod(argv[5], &seconds) && seconds > 0;
  for (size_t i = 0; good && i < ports.size(); ++i) good = absl::SimpleAtoi(argv[i + 1], &ports[i]);
  if (!good) {
    std::fputs(
        "usage: choosing_bench MARIADB_PORT REDIS_PORT REDIS_ALWAYS_PORT ETCD_PORT SECONDS\n",
        stderr);
    return 2;
  }
  if (mysql_library_init(0, nullptr, nullptr) != 0) Fail("the client library does not start");
  const std::string mariadb = absl::StrCat("mysql://root@127.0.0.1:", ports[0], "/locus_bench");
  Must(OpenSegmentStore(mariadb, {.create = true}));  // makes the tables
  Bench bench(seconds);
  MeasureMariadb(bench, ports[0]);
  MeasureSequencer(bench, "`Sequencer` on MariaDB", mariadb);
  MeasureRedis(bench, "Redis INCR, flushed each second", ports[1]);
  MeasureRedis(bench, "Redis INCR, flushed at each write", ports[2]);
  MeasureSequencer(bench, "`Sequencer` on Redis, flushed each second",
                   absl::StrCat("redis://127.0.0.1:", ports[1], "/0"));
  MeasureSequencer(bench, "etcd, one member (`Sequencer`)",
                   absl::StrCat("etcd://127.0.0.1:", ports[3], "/bench"));
  MeasureSegments(bench, mariadb);
  MeasureSnowflake(bench);
  MeasureStrict(bench, mariadb);
  bench.Run("UUIDv7", kStride,
            [](int) -> Call { return [](uint64_t) { return Uuid::NewV7().status(); }; });
  return 0;
}
