// SPDX-License-Identifier: Apache-2.0
// Order IDs for one machine: everything is kept in one SQLite file.
// usage: sqlite_only FILE BUYER...      prints an order ID for each buyer; creates a missing FILE
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "locus/engine/sqlite.h"
#include "locus/locus.h"

namespace {

// 3: retry later; 1: an operator must look at it.
int Fail(const absl::Status& status) {
  std::cerr << "sqlite_only: " << status.message() << "\n";
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ? 3 : 1;
}

// Decimal digits are a number, anything else is text: "123" and 123 are different buyers, so decide
// once which of the two your user IDs are. This program takes numbers only.
bool ParseBuyer(const char* text, uint64_t& buyer) {
  const char* end = text + std::strlen(text);
  auto [stopped, error] = std::from_chars(text, end, buyer);
  return error == std::errc() && stopped == end;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<locus::BuyerKey> buyers;
  for (int i = 2; i < argc; ++i) {
    uint64_t buyer;
    if (!ParseBuyer(argv[i], buyer)) {
      std::cerr << "sqlite_only: not a buyer number: " << argv[i] << "\n";
      return 2;
    }
    buyers.push_back(locus::BuyerKey::Uint64(buyer));
  }
  if (buyers.empty()) {
    std::cerr << "usage: sqlite_only FILE BUYER...\n";
    return 2;
  }

  auto store = locus::SqliteSegmentStore::Open(argv[1], {.create = true});
  if (!store.ok()) return Fail(store.status());

  // A short horizon suits a program that soon ends: sequences that it allocated and did not use are
  // a gap.
  locus::OrderIdGenerator::Options options;
  options.create_space = true;
  options.horizon = absl::Seconds(10);
  auto generator = locus::OrderIdGenerator::Create(*std::move(store), options);
  if (!generator.ok()) return Fail(generator.status());

  // One transaction allocates segments for all of them.
  std::vector<locus::OrderId> ids(buyers.size());
  auto filled = (*generator)->NextBatch(buyers, ids, absl::Seconds(10));
  if (!filled.ok()) return Fail(filled.status());
  for (size_t i = 0; i < *filled; ++i) {
    std::cout << buyers[i].uint64() << " " << ids[i] << "\n";
  }
  if (*filled < ids.size()) {
    return Fail(absl::DeadlineExceededError("the store did not answer in time for all buyers"));
  }
  return 0;
}
