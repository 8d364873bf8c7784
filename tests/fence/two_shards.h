// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_FENCE_TWO_SHARDS_H_
#define LOCUS_TESTS_FENCE_TWO_SHARDS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "migration/fence/guard_sql.h"
#include "tests/fence/fence_fixture.h"

// Two shards on servers of their own. The first has all vnodes; 0..99 move to the second.

namespace locus {

inline std::vector<Shard> TwoShards(const MariadbServer& first, const MariadbServer& second,
                                    const std::string& database) {
  std::vector<Shard> shards;
  for (const MariadbServer* server : {&first, &second}) {
    const bool is_first = server == &first;
    shards.push_back({.id = is_first ? 1u : 2u,
                      .name = is_first ? "orders-a" : "orders-b",
                      .endpoint = absl::StrCat("mysql://127.0.0.1:", server->port(), "/", database),
                      .labels = {}});
  }
  return shards;
}

// Before step 1 nothing moves.
inline RoutingTable TableOfStep(const std::vector<Shard>& shards, uint32_t permyriad,
                                uint64_t epoch, uint64_t step) {
  std::vector<VnodeMove> moves;
  if (step > 0) moves.push_back({0, 99, 2, permyriad, step});
  return RoutingTable::Make(epoch, shards, {{65535, 1}}, std::move(moves)).value();
}

// As a coordinator prepares them: vnodes 0..99 have a row of their own on both.
inline void InstallFencesOfTwo(MariadbServer& first, MariadbServer& second,
                               const std::vector<Shard>& shards, const std::string& database) {
  for (MariadbServer* server : {&first, &second}) {
    MysqlOptions mover = server->Account(database);
    mover.user = "mover";
    const absl::Status installed =
        ShardFence::Create(mover, FenceOf({{.name = "orders"}}))
            ->Install(TableOfStep(shards, 0, 1, 0), server == &first ? 1 : 2);
    ASSERT_TRUE(installed.ok()) << installed;
  }
  const auto change = [&](MariadbServer& server, const char* statements) {
    server.Sql(absl::StrCat("USE ", database, "; ", internal::kKeepsMap, "; ", statements, "; ",
                            internal::kMapVnodes));
  };
  change(first,
         "UPDATE locus_fence SET lo = 100; INSERT INTO locus_fence VALUES (0, 99, 0, 10000, 0,"
         " @@server_id, 'orders-b', NULL)");
  change(second, "INSERT INTO locus_fence VALUES (0, 99, 0, 0, 0, @@server_id, 'orders-a', NULL)");
}

// Of the service's account.
inline std::unique_ptr<ShardPools> ShopPools() {
  ShardPoolsOptions options = PoolOptions();
  options.user = "shop";
  options.max_connections = 16;
  return MakePools(options);
}

}  // namespace locus

#endif  // LOCUS_TESTS_FENCE_TWO_SHARDS_H_
