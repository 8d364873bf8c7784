// SPDX-License-Identifier: Apache-2.0
// A user's program: the next order ID of buyer 12345, and the shard that the order is on.
#include <iostream>
#include <utility>

#include "locus/engine/sqlite.h"
#include "locus/locus.h"
#include "locus/routing/metrics.h"
#include "locus/routing/router.h"

int main(int, char** argv) {
  auto store = locus::SqliteSegmentStore::Open(argv[1], {.create = true}).value();
  auto generator =
      locus::OrderIdGenerator::Create(std::move(store), {.create_space = true}).value();
  locus::Router router(
      locus::RoutingTable::MakeEven({{"a", "db-a:3306"}, {"b", "db-b:3306"}}).value());
  locus::OrderId id = generator->Next(locus::BuyerKey::Uint64(12345), absl::Seconds(30)).value();
  locus::PrometheusText metrics;
  metrics.Add(generator->Stats());
  if (metrics.ToString().find("locus_order_ids_total 1\n") == std::string::npos) return 1;
  std::cout << locus::Version() << ' ' << id << ' ' << router.Route(id).name << '\n';
}
