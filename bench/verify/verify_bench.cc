// SPDX-License-Identifier: Apache-2.0
// Measures the comparison of two shards, for bench/verify/verify_bench.sh:
//
//   verify_bench SOURCE_PORT TARGET_PORT [ROUNDS]   on 127.0.0.1, by root; orders of locus_bench
//
//   verify     RowVerifier, all rows of both sides, slice by slice
//   crc32      the limit: SELECT COUNT(*), SUM(CRC32(CONCAT_WS(...))) of each side by hand, in one
//              statement, both at once: 32 bits, one snapshot of the whole table, no slices
//   checksum   CHECKSUM TABLE EXTENDED of each side, both at once
//
// Prints the median of each, in rows of one side.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "migration/verify/row_verifier.h"

namespace {

using locus::MysqlOptions;
using locus::mysql::RowVerifier;
using locus::mysql::VerifierOptions;
using Steady = std::chrono::steady_clock;

[[noreturn]] void Fail(const absl::Status& status) {
  std::fprintf(stderr, "verify_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

MysqlOptions OptionsOf(const char* port) {
  MysqlOptions options;
  options.hosts = {{"127.0.0.1", static_cast<uint16_t>(std::atoi(port))}};
  options.user = "root";
  options.database = "locus_bench";
  options.timeout = absl::Minutes(5);
  return options;
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

locus::mysql::VerifierCounts Verify(const MysqlOptions& source, const MysqlOptions& target) {
  VerifierOptions options;
  options.source = source;
  options.target = target;
  options.tables.emplace_back();
  options.tables[0].guard.name = "orders";
  options.ranges = {{0, 65535}};
  auto verifier = RowVerifier::Open(options);
  if (!verifier.ok()) Fail(verifier.status());
  for (bool more = true; more;) {
    auto slice = (*verifier)->VerifySlice();
    if (!slice.ok()) Fail(slice.status());
    more = *slice;
  }
  return (*verifier)->counts();
}

void AskBoth(const MysqlOptions& source, const MysqlOptions& target, const char* statement) {
  auto ask = [&](const MysqlOptions& options) {
    std::string place;
    auto handle = locus::mysql::LogInToAny(options, "", place);
    if (!handle.ok()) Fail(handle.status());
    const locus::mysql::Shape shape = locus::mysql::OneRow(2);
    auto answer = locus::mysql::Ask(
        handle->get(), place, {statement, {&shape, 1}, Steady::now() + std::chrono::minutes(5)});
    if (!answer.results.ok()) Fail(answer.results.status());
  };
  std::thread of_target(ask, target);
  ask(source);
  of_target.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: verify_bench SOURCE_PORT TARGET_PORT [ROUNDS]\n");
    return 2;
  }
  const MysqlOptions source = OptionsOf(argv[1]), target = OptionsOf(argv[2]);
  const int rounds = std::max(argc > 3 ? std::atoi(argv[3]) : 5, 1);
  auto counts = Verify(source, target);
  std::vector<double> verify, crc32, checksum;
  for (int round = 0; round < rounds; ++round) {
    verify.push_back(Seconds([&] { counts = Verify(source, target); }));
    crc32.push_back(Seconds([&] {
      AskBoth(source, target,
              "SELECT COUNT(*), SUM(CRC32(CONCAT_WS('#', order_id, buyer_id, status, amount, note,"
              " created_at, paid_at, version))) FROM orders");
    }));
    checksum.push_back(Seconds([&] { AskBoth(source, target, "CHECKSUM TABLE orders EXTENDED"); }));
  }
  const auto rows = static_cast<double>(counts.rows);
  std::printf("%.0f rows in %llu slices, %llu rechecked, %llu different\n", rows,
              static_cast<unsigned long long>(counts.slices),
              static_cast<unsigned long long>(counts.rechecked),
              static_cast<unsigned long long>(counts.differences));
  std::printf("verify    %9.0f rows/s\n", rows / Median(verify));
  std::printf("crc32     %9.0f rows/s\n", rows / Median(crc32));
  std::printf("checksum  %9.0f rows/s\n", rows / Median(checksum));
}
