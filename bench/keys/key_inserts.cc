// SPDX-License-Identifier: Apache-2.0
// What the keys of a table do to InnoDB, for bench/keys/innodb_keys.sh:
//
//   key_inserts PORT KEYS ROWS [SAMPLES]
//
// Inserts ROWS rows with keys of one kind, by 4 connections and 1,000 rows a transaction, into a
// new table of the server on 127.0.0.1 (root, database locus_bench, on this host), then reads the
// pages of the table's file, and drops the table. Prints one JSON object, in one line.
#include <mysql.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "locus/engine/memory.h"
#include "locus/order_id_generator.h"
#include "locus/snowflake.h"
#include "locus/uuid.h"

namespace locus {
namespace {

constexpr int kConnections = 4;
constexpr uint64_t kBatch = 1000;
constexpr size_t kBodyBytes = 40;

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "key_inserts: %s\n", why.c_str());
  std::exit(1);
}
template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) Fail(value.status().ToString());
  return *std::move(value);
}

class Session {
 public:
  explicit Session(uint64_t port) : handle_(mysql_init(nullptr), &mysql_close) {
    if (mysql_real_connect(handle_.get(), "127.0.0.1", "root", "", "locus_bench",
                           static_cast<unsigned>(port), nullptr, 0) == nullptr) {
      Fail(mysql_error(handle_.get()));
    }
  }
  void Run(const std::string& statement) {
    if (mysql_real_query(handle_.get(), statement.data(), statement.size()) != 0) {
      Fail(absl::StrCat(statement.substr(0, 200), ": ", mysql_error(handle_.get())));
    }
  }
  // The last column of the first row.
  std::string Ask(const std::string& query) {
    Run(query);
    std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(
        mysql_store_result(handle_.get()), &mysql_free_result);
    MYSQL_ROW row = result == nullptr ? nullptr : mysql_fetch_row(result.get());
    if (row == nullptr) Fail(absl::StrCat(query, ": no row"));
    return row[mysql_num_fields(result.get()) - 1];
  }
  uint64_t AskNumber(const std::string& query) {
    uint64_t number = 0;
    const std::string text = Ask(query);
    if (!absl::SimpleAtoi(text, &number)) Fail(absl::StrCat(query, ": answered ", text));
    return number;
  }

 private:
  std::unique_ptr<MYSQL, decltype(&mysql_close)> handle_;
};

// The key of a row, as an SQL literal.
using MakeKey = std::function<std::string(int connection, uint64_t buyer)>;
struct Keys {
  const char* column;     // the key's column
  uint32_t vnodes = 0;    // of the buyers' genes, from 0 on; 0: any buyer
  bool wants_key = true;  // false: the server makes it
  std::function<MakeKey()> maker;
};

constexpr char kInteger[] = "BIGINT UNSIGNED NOT NULL";
constexpr char kBytes[] = "BINARY(16) NOT NULL";

MakeKey OrderIds() {
  auto store = std::make_shared<MemorySegmentStore>();
  std::shared_ptr<OrderIdGenerator> ids =
      Must(OrderIdGenerator::Create(store, {.create_space = true}));
  return [ids](int, uint64_t buyer) {
    return Must(ids->Next(BuyerKey::Uint64(buyer), absl::Minutes(1))).ToString();
  };
}

// Each connection is a process with a worker ID of its own.
MakeKey Snowflakes() {
  auto workers = std::make_shared<std::vector<std::unique_ptr<Snowflake<>>>>();
  for (uint64_t worker = 0; worker < kConnections; ++worker) {
    workers->push_back(Must(Snowflake<>::Create({.worker = worker})));
  }
  return [workers](int connection, uint64_t) {
    return absl::StrCat(Must((*workers)[static_cast<size_t>(connection)]->Next()));
  };
}

MakeKey Uuids(absl::StatusOr<Uuid> (*make)()) {
  return [make](int, uint64_t) {
    return absl::StrCat("x'", absl::BytesToHexString(Must(make()).ToBytes()), "'");
  };
}

Keys KeysNamed(const std::string& name) {
  if (name == "auto_increment") {
    return {"BIGINT UNSIGNED NOT NULL AUTO_INCREMENT", 0, false, [] { return MakeKey(); }};
  }
  if (name == "order_id") return {kInteger, 0, true, OrderIds};
  if (name == "order_id_16_shards") return {kInteger, ShardGene::kCount / 16, true, OrderIds};
  if (name == "snowflake") return {kInteger, 0, true, Snowflakes};
  if (name == "uuid_v7") return {kBytes, 0, true, [] { return Uuids(&Uuid::NewV7); }};
  if (name == "uuid_v4") return {kBytes, 0, true, [] { return Uuids(&Uuid::NewV4); }};
  Fail(absl::StrCat(
      "no keys named ", name,
      "; known: auto_increment order_id order_id_16_shards snowflake uuid_v7 uuid_v4"));
}

// A million buyers, or as many of them as have a gene below `vnodes`.
std::vector<uint64_t> Buyers(uint32_t vnodes) {
  std::vector<uint64_t> buyers;
  for (uint64_t buyer = 1; buyer <= 1'000'000; ++buyer) {
    if (vnodes == 0 || ShardGene::Of(BuyerKey::Uint64(buyer)).value() < vnodes) {
      buyers.push_back(buyer);
    }
  }
  return buyers;
}

struct Sample {
  uint64_t rows = 0;
  double seconds = 0;
  uint64_t pages_read = 0;
  uint64_t pages_written = 0;
};

// Of the server since it started.
Sample PagesSoFar(Session& session) {
  auto status = [&](const char* name) {
    return session.AskNumber(absl::StrCat("SHOW GLOBAL STATUS LIKE '", name, "'"));
  };
  Sample sample;
  sample.pages_read = status("Innodb_pages_read");
  sample.pages_written = status("Innodb_pages_written");
  return sample;
}

class Load {
 public:
  Load(uint64_t port, const Keys& keys, uint64_t rows, uint64_t samples)
      : port_(port),
        keys_(keys),
        make_(keys.maker()),
        buyers_(Buyers(keys.vnodes)),
        rows_(rows),
        sample_rows_(std::max(kBatch, rows / samples / kBatch * kBatch)) {}

  std::vector<Sample> Run() {
    begun_ = std::chrono::steady_clock::now();
    Session session(port_);
    Take(session, 0);
    std::vector<std::thread> threads;
    for (int i = 0; i < kConnections; ++i) threads.emplace_back([this, i] { Insert(i); });
    for (std::thread& thread : threads) thread.join();
    std::sort(samples_.begin(), samples_.end(),
              [](const Sample& a, const Sample& b) { return a.rows < b.rows; });
    return samples_;
  }

 private:
  void Insert(int connection) {
    Session session(port_);
    std::mt19937_64 random(static_cast<uint64_t>(connection) + 1);
    while (begun_rows_.fetch_add(kBatch) < rows_) {
      session.Run(Statement(connection, random));
      const uint64_t done = done_rows_.fetch_add(kBatch) + kBatch;
      if (done % sample_rows_ == 0) Take(session, done);
    }
  }

  std::string Statement(int connection, std::mt19937_64& random) {
    std::string statement = keys_.wants_key ? "INSERT INTO keyed (id, buyer, made, body) VALUES "
                                            : "INSERT INTO keyed (buyer, made, body) VALUES ";
    const int64_t now = absl::ToUnixMicros(absl::Now());
    std::string body(kBodyBytes, '\0');
    for (uint64_t row = 0; row < kBatch; ++row) {
      const uint64_t buyer = buyers_[random() % buyers_.size()];
      for (char& byte : body) byte = static_cast<char>(random());
      absl::StrAppend(&statement, row == 0 ? "(" : ",(");
      if (keys_.wants_key) absl::StrAppend(&statement, make_(connection, buyer), ",");
      absl::StrAppend(&statement, buyer, ",", now, ",x'", absl::BytesToHexString(body), "')");
    }
    return statement;
  }

  void Take(Session& session, uint64_t rows) {
    Sample sample = PagesSoFar(session);
    sample.rows = rows;
    sample.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    std::lock_guard lock(mutex_);
    samples_.push_back(sample);
  }

  const uint64_t port_;
  const Keys& keys_;
  const MakeKey make_;
  const std::vector<uint64_t> buyers_;
  const uint64_t rows_;
  const uint64_t sample_rows_;
  std::chrono::steady_clock::time_point begun_;
  std::atomic<uint64_t> begun_rows_{0};
  std::atomic<uint64_t> done_rows_{0};
  std::mutex mutex_;
  std::vector<Sample> samples_;
};

// What the pages of the clustered index hold. InnoDB's page format,
// storage/innobase/include/fil0fil.h and page0types.h: big-endian numbers at fixed places.
struct Pages {
  uint64_t all = 0;  // of the file, free ones included
  uint64_t leaves = 0;
  uint64_t records = 0;
  double fill = 0;                      // of the leaves: bytes in use of those that a page has
  std::array<uint64_t, 10> by_tenth{};  // leaves by their fill
};

Pages ReadPages(const std::string& path) {
  constexpr size_t kPage = 16384;
  constexpr size_t kUsable = kPage - 120 - 8;  // without headers and trailer
  auto number = [](const std::string& page, size_t at) {
    return static_cast<size_t>(static_cast<uint8_t>(page[at]) << 8 |
                               static_cast<uint8_t>(page[at + 1]));
  };
  std::ifstream in(path, std::ios::binary);
  if (!in) Fail(absl::StrCat("cannot read ", path));
  Pages pages;
  uint64_t used = 0;
  std::string page(kPage, '\0');
  while (in.read(page.data(), kPage)) {
    ++pages.all;
    constexpr size_t kIndexPage = 17855;
    if (number(page, 24) != kIndexPage || number(page, 64) != 0) continue;
    const size_t slots = number(page, 38);
    const size_t heap_top = number(page, 40);
    const size_t garbage = number(page, 46);
    const size_t bytes = heap_top - 120 - garbage + 2 * slots;
    ++pages.leaves;
    pages.records += number(page, 54);
    used += bytes;
    ++pages.by_tenth[std::min<size_t>(9, bytes * 10 / kUsable)];
  }
  if (pages.leaves > 0) {
    pages.fill = static_cast<double>(used) / static_cast<double>(pages.leaves * kUsable);
  }
  return pages;
}

// `flushed`: once all pages were written.
std::string ToJson(const std::string& name, const std::vector<Sample>& samples,
                   const Sample& flushed, uint64_t splits, const Pages& pages) {
  std::vector<std::string> lines;
  for (const Sample& sample : samples) {
    lines.push_back(absl::StrCat(
        "{\"rows\": ", sample.rows, ", \"seconds\": ", absl::SixDigits(sample.seconds),
        ", \"pages_read\": ", sample.pages_read - samples.front().pages_read,
        ", \"pages_written\": ", sample.pages_written - samples.front().pages_written, "}"));
  }
  return absl::StrCat(
      "{\"keys\": \"", name, "\", \"rows\": ", pages.records, ", \"splits\": ", splits,
      ", \"leaves\": ", pages.leaves, ", \"file_pages\": ", pages.all,
      ", \"fill\": ", absl::SixDigits(pages.fill), ", \"leaves_by_tenth\": [",
      absl::StrJoin(pages.by_tenth, ", "),
      "], \"pages_read\": ", flushed.pages_read - samples.front().pages_read,
      ", \"pages_written\": ", flushed.pages_written - samples.front().pages_written,
      ", \"samples\": [", absl::StrJoin(lines, ", "), "]}\n");
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  using namespace locus;
  uint64_t port = 0;
  uint64_t rows = 0;
  uint64_t samples = 40;
  if (argc < 4 || argc > 5 || !absl::SimpleAtoi(argv[1], &port) ||
      !absl::SimpleAtoi(argv[3], &rows) || rows == 0 || rows % kBatch != 0 ||
      (argc == 5 && (!absl::SimpleAtoi(argv[4], &samples) || samples == 0))) {
    std::fputs("usage: key_inserts PORT KEYS ROWS [SAMPLES]      ROWS: a multiple of 1,000\n",
               stderr);
    return 2;
  }
  if (mysql_library_init(0, nullptr, nullptr) != 0) Fail("the client library does not start");
  const Keys keys = KeysNamed(argv[2]);
  Session session(port);
  session.Run("DROP TABLE IF EXISTS keyed");
  session.Run(absl::StrCat("CREATE TABLE keyed (id ", keys.column,
                           " PRIMARY KEY, buyer BIGINT UNSIGNED NOT NULL, made BIGINT NOT NULL, "
                           "body BINARY(",
                           kBodyBytes, ") NOT NULL) ENGINE=InnoDB ROW_FORMAT=DYNAMIC"));
  session.Run("SET GLOBAL innodb_monitor_enable = 'index_page_splits'");
  const std::string splits_so_far =
      "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'index_page_splits'";
  const uint64_t before = session.AskNumber(splits_so_far);
  const std::vector<Sample> taken = Load(port, keys, rows, samples).Run();
  const uint64_t splits = session.AskNumber(splits_so_far) - before;
  session.Run("FLUSH TABLES keyed FOR EXPORT");  // all pages are in the file until UNLOCK
  const Sample flushed = PagesSoFar(session);
  const Pages pages =
      ReadPages(absl::StrCat(session.Ask("SELECT @@datadir"), "locus_bench/keyed.ibd"));
  session.Run("UNLOCK TABLES");
  session.Run("DROP TABLE keyed");
  if (pages.records != rows) {
    Fail(absl::StrCat(pages.records, " rows in the table's file, ", rows, " were inserted"));
  }
  std::fputs(ToJson(argv[2], taken, flushed, splits, pages).c_str(), stdout);
  return 0;
}
