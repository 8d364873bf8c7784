// SPDX-License-Identifier: Apache-2.0
// Measures reading a binary log, for bench/stream/stream_bench.sh:
//
//   stream_bench PORT [ROUNDS]     on 127.0.0.1, by root; reads the table orders in the whole log
//
//   read     BinlogReader from the first event to the last, every value decoded
//   skip     the same where no table is wanted: what the link, the checksums and the events cost
//   decode   the values only, of transactions that lie in memory
//
// Prints the median of each.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <vector>

#include "migration/mysql/binlog_reader.h"

namespace {

using locus::mysql::BinlogReader;
using locus::mysql::BinlogReaderOptions;
using locus::stream::Change;
using locus::stream::ChangeKind;
using locus::stream::ChangeTransaction;
using Steady = std::chrono::steady_clock;

[[noreturn]] void Fail(const absl::Status& status) {
  std::fprintf(stderr, "stream_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

uint64_t RowsOf(ChangeTransaction& transaction, Change& change) {
  uint64_t rows = 0;
  for (;;) {
    absl::StatusOr<bool> more = transaction.Next(change);
    if (!more.ok()) Fail(more.status());
    if (!*more) return rows;
    if (change.kind != ChangeKind::kStatement) ++rows;
  }
}

// Every transaction of the log.
void ReadLog(uint16_t port, bool wanted, const std::function<void(ChangeTransaction)>& use) {
  BinlogReaderOptions options;
  options.server.hosts = {{"127.0.0.1", port}};
  options.server.user = "root";
  options.server.database = "mysql";
  options.stop_at_end = true;
  options.stream.wanted = [wanted](std::string_view, std::string_view table) {
    return wanted && table == "orders";
  };
  auto reader = BinlogReader::Open(options);
  if (!reader.ok()) Fail(reader.status());
  for (;;) {
    auto item = (*reader)->Next(Steady::now() + std::chrono::minutes(1));
    if (!item.ok()) Fail(item.status());
    if (std::holds_alternative<BinlogReader::End>(*item)) return;
    if (auto* transaction = std::get_if<ChangeTransaction>(&*item)) use(std::move(*transaction));
  }
}

double Seconds(const std::function<void()>& work) {
  const Steady::time_point start = Steady::now();
  work();
  return std::chrono::duration<double>(Steady::now() - start).count();
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: stream_bench PORT [ROUNDS]\n");
    return 2;
  }
  const uint16_t port = static_cast<uint16_t>(std::atoi(argv[1]));
  const int rounds = std::max(argc > 2 ? std::atoi(argv[2]) : 5, 1);
  Change change;
  std::vector<ChangeTransaction> held;
  uint64_t rows = 0, bytes = 0;
  ReadLog(port, true, [&](ChangeTransaction transaction) {
    rows += RowsOf(transaction, change);
    bytes += transaction.bytes();
    held.push_back(std::move(transaction));
  });
  std::vector<double> read, skip, decode;
  for (int round = 0; round < rounds; ++round) {
    read.push_back(Seconds([&] {
      ReadLog(port, true, [&](ChangeTransaction transaction) { RowsOf(transaction, change); });
    }));
    skip.push_back(Seconds([&] { ReadLog(port, false, [](ChangeTransaction) {}); }));
    decode.push_back(Seconds([&] {
      for (ChangeTransaction& transaction : held) {
        if (absl::Status status = transaction.Rewind(); !status.ok()) Fail(status);
        RowsOf(transaction, change);
      }
    }));
  }
  std::printf("%llu rows in %zu transactions, %.0f bytes a row\n",
              static_cast<unsigned long long>(rows), held.size(),
              static_cast<double>(bytes) / static_cast<double>(rows));
  const auto count = static_cast<double>(rows);
  std::printf("read    %9.0f rows/s\n", count / Median(read));
  std::printf("skip    %9.0f rows/s\n", count / Median(skip));
  std::printf("decode  %9.0f rows/s\n", count / Median(decode));
}
