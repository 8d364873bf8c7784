// SPDX-License-Identifier: Apache-2.0
// A user's program: what the fence of a shard that is not there answers.
#include <iostream>

#include "locus/migration/shard_fence.h"

int main() {
  locus::MysqlOptions server;
  server.hosts = {{"127.0.0.1", 1}};  // tcpmux: nobody listens there
  server.user = "mover";
  server.database = "shop";
  locus::FenceOptions options;
  options.tables.emplace_back().name = "orders";
  options.movers = {"mover@127.0.0.1"};
  auto fence = locus::ShardFence::Create(server, options).value();
  for (const absl::Status& status : {fence.Verify(), fence.Remove()}) std::cout << status << '\n';
}
