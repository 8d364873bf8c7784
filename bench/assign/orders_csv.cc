// SPDX-License-Identifier: Apache-2.0
// orders_csv ROWS: prints ROWS orders as CSV of three columns, uniform random uint64 buyers in the
// second; the same for everybody.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>

int main(int argc, char** argv) {
  uint64_t rows = 0;
  if (argc != 2 ||
      std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), rows).ec != std::errc()) {
    std::fputs("usage: orders_csv ROWS\n", stderr);
    return 2;
  }
  std::mt19937_64 random(1);
  std::puts("order,CustomerID,amount");
  for (uint64_t row = 1; row <= rows; ++row) {
    unsigned long long buyer = random();
    unsigned cents = static_cast<unsigned>(random() % 100000);
    std::printf("%llu,%llu,%u.%02u\n", static_cast<unsigned long long>(row), buyer, cents / 100,
                cents % 100);
  }
  return std::ferror(stdout) != 0 || std::fflush(stdout) != 0 ? 1 : 0;
}
