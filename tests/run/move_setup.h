// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_RUN_MOVE_SETUP_H_
#define LOCUS_TESTS_RUN_MOVE_SETUP_H_

#include <string>

#include "migration/run/move_runner.h"

namespace locus {

// The move of the tests: vnodes 0..99 and 200..299, two tables, two servers on this host. Shared
// with dying_runner, which is a process of its own.
inline Move TestMove(uint16_t source_port, uint16_t target_port) {
  Move move;
  move.name = "first";
  move.source = {1, "orders-a", {}};
  move.target = {2, "orders-b", {}};
  for (MoveShard* shard : {&move.source, &move.target}) {
    shard->server.hosts = {{"127.0.0.1", shard->id == 1 ? source_port : target_port}};
    shard->server.user = "mover";
    shard->server.password = "s3cret";
    shard->server.database = "locus_shop";
    shard->server.connect_timeout = absl::Seconds(10);
    shard->server.timeout = absl::Seconds(10);
  }
  move.ranges = {{0, 99}, {200, 299}};
  MovedTable orders, items;
  orders.guard.name = "orders";
  items.guard.name = "items";
  items.primary_key = {"order_id", "line"};
  move.tables = {orders, items};
  move.movers = {"mover@127.0.0.1"};
  return move;
}

inline mysql::RunnerOptions TestRunner(const std::string& name, const std::string& spool) {
  mysql::RunnerOptions options;
  options.name = name;
  options.spool = spool;
  options.take_over_after = absl::Seconds(1);
  // Machines of tests are slow and shared.
  options.gates.oldest_transaction = absl::Seconds(30);
  options.gates.lag = absl::Seconds(5);
  options.pace.accept_within = absl::Seconds(10);
  return options;
}

}  // namespace locus

#endif  // LOCUS_TESTS_RUN_MOVE_SETUP_H_
