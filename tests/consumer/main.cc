// SPDX-License-Identifier: Apache-2.0
// A user's program: the next order ID of buyer 12345, and the shard that the order is on.
#include <chrono>
#include <iostream>
#include <utility>

#include "locus/engine/sqlite.h"
#include "locus/order_id_generator.h"
#include "locus/routing/router.h"
#include "locus/version.h"

int main(int, char** argv) {
  auto store = locus::SqliteSegmentStore::Open(argv[1], {.create = true}).value();
  auto generator =
      locus::OrderIdGenerator::Create(std::move(store), {.create_space = true}).value();
  locus::Router router(
      locus::RoutingTable::MakeEven({{"a", "db-a:3306"}, {"b", "db-b:3306"}}).value());
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  locus::OrderId id = generator->Next(locus::BuyerKey::Uint64(12345), deadline).value();
  std::cout << locus::Version() << ' ' << id << ' ' << router.Route(id).name << '\n';
}
