// SPDX-License-Identifier: Apache-2.0
// A user's program: what a table and a shard in a MariaDB that is not there answer.
#include <chrono>
#include <iostream>

#include "locus/routing/engine/mysql.h"
#include "locus/routing/engine/shard_pools.h"

int main() {
  locus::MysqlTableOptions options;
  options.mariadb.hosts = {{"127.0.0.1", 1}};  // tcpmux: nobody listens there
  options.mariadb.user = "shop";
  options.mariadb.database = "shop";
  auto source = locus::MysqlTableSource::Open(options).value();
  locus::ShardPoolsOptions shards;
  shards.user = "shop";
  auto pools = locus::ShardPools::Create(shards).value();
  locus::Shard shard;
  shard.id = 1;
  shard.name = "orders-a";
  shard.endpoint = "mysql://127.0.0.1:1/shop";
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (const absl::Status& status :
       {source->Next("", deadline).status(), pools->Take(shard, deadline).status()}) {
    std::cout << status << '\n';
  }
}
