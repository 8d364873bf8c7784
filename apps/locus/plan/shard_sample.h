// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_PLAN_SHARD_SAMPLE_H_
#define LOCUS_APPS_LOCUS_PLAN_SHARD_SAMPLE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/routing/routing_table.h"

namespace locus::mysql {
class Pool;
}

namespace locus::cli {

// What of the orders of a shard is counted, per vnode.
enum class Counted {
  kRows,
  // The sum of `version`: it begins at 1 and each update adds 1, so what it rises by is how many
  // rows were inserted and how many were updated.
  kVersions,
};

// How a shard's orders are read.
struct ShardAccess {
  std::string user;
  std::string table_name;  // letters, digits, '_' and '$'
  absl::Duration timeout;  // for one count of one shard, 1 s to 1 h
};

struct ShardSample {
  std::vector<uint64_t> counts;                    // of each vnode, 65,536
  std::chrono::steady_clock::time_point taken_at;  // in the middle of the counting
};

// A shard in MariaDB, whose table of orders has the generated column shard_gene. Only reads.
// Thread safety: methods may be called from any thread, Open by one at a time.
class SampledShard {
 public:
  // Connects nothing. The password is that of LOCUS_SHARD_PASSWORD or LOCUS_SHARD_PASSWORD_FILE.
  // INVALID_ARGUMENT: the endpoint is not one of MariaDB; names the shard. FAILED_PRECONDITION:
  // this build has no MariaDB.
  static absl::StatusOr<SampledShard> Open(const Shard& shard, const ShardAccess& access);

  // One statement. UNAVAILABLE, FAILED_PRECONDITION, also where there is no such table or column,
  // and DATA_LOSS, where a gene is none; all name the shard.
  absl::StatusOr<ShardSample> Count(Counted counted) const;

  uint32_t id() const { return id_; }

 private:
  SampledShard(const Shard& shard, const ShardAccess& access, std::shared_ptr<mysql::Pool> pool)
      : id_(shard.id), name_(shard.name), table_name_(access.table_name), pool_(std::move(pool)) {}

  uint32_t id_;
  std::string name_;
  std::string table_name_;
  std::shared_ptr<mysql::Pool> pool_;  // shared: its type is known in the .cc only
};

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_PLAN_SHARD_SAMPLE_H_
