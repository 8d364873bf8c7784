// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_POOL_SHARD_POOLS_FIXTURE_H_
#define LOCUS_TESTS_POOL_SHARD_POOLS_FIXTURE_H_

#include <mysql.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/engine/shard_pools.h"
#include "tests/engine/mysql/mariadb_server.h"

namespace locus {

inline ShardPools::TimePoint In(absl::Duration duration) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             absl::ToChronoNanoseconds(duration));
}

// A database of its own on `server`, as a routing table describes it.
inline Shard ShardOn(MariadbServer& server, uint32_t id, const std::string& settings = "") {
  std::string database = absl::StrCat("locus_shard", id);
  server.OptionsFor(database);
  Shard shard;
  shard.id = id;
  shard.name = absl::StrCat("orders-", id);
  shard.endpoint = absl::StrCat("mysql://127.0.0.1:", server.port(), "/", database, settings);
  return shard;
}

inline ShardPoolsOptions PoolOptions() {
  ShardPoolsOptions options;
  options.user = "locus";
  options.password = "s3cret";
  options.connect_timeout = options.timeout = absl::Seconds(10);
  options.max_connections = 4;
  options.longest_pause = absl::Milliseconds(200);
  return options;
}

// For a server that hangs, or a statement that does.
inline ShardPoolsOptions HastyPoolOptions() {
  ShardPoolsOptions options = PoolOptions();
  options.connect_timeout = options.timeout = absl::Seconds(1);
  return options;
}

inline std::unique_ptr<ShardPools> MakePools(const ShardPoolsOptions& options = PoolOptions()) {
  auto pools = ShardPools::Create(options);
  EXPECT_TRUE(pools.ok()) << pools.status();
  return *std::move(pools);
}

// The first column of the first row; "error N" where the statement failed, "" without a row.
inline std::string Ask(const ShardConnection& connection, const std::string& statement) {
  MYSQL* handle = connection.handle();
  if (mysql_real_query(handle, statement.data(), statement.size()) != 0) {
    return absl::StrCat("error ", mysql_errno(handle));
  }
  if (mysql_field_count(handle) == 0) return "";
  MYSQL_RES* rows = mysql_store_result(handle);
  if (rows == nullptr) return absl::StrCat("error ", mysql_errno(handle));
  MYSQL_ROW row = mysql_fetch_row(rows);
  std::string value = row == nullptr ? "" : row[0] == nullptr ? "NULL" : row[0];
  mysql_free_result(rows);
  return value;
}

inline ShardPoolStats StatsOf(const ShardPools& pools, const Shard& shard) {
  for (const ShardPoolStats& stats : pools.Stats()) {
    if (stats.shard == shard.id) return stats;
  }
  return {};
}

}  // namespace locus

#endif  // LOCUS_TESTS_POOL_SHARD_POOLS_FIXTURE_H_
