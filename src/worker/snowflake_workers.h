// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_WORKER_SNOWFLAKE_WORKERS_H_
#define LOCUS_SRC_WORKER_SNOWFLAKE_WORKERS_H_

#include <compare>
#include <cstdint>

#include "absl/status/status.h"

namespace locus::internal {

// The workers of this process. Generators that make the same IDs have the same worker, even if they
// divide the middle bits differently.
struct SnowflakeWorker {
  int64_t epoch_millis = 0;
  int time_bits = 0;
  int sequence_bits = 0;
  int total_bits = 0;
  uint64_t node = 0;  // datacenter and worker, as in an ID

  friend auto operator<=>(const SnowflakeWorker&, const SnowflakeWorker&) = default;
};

// Ensures that a worker has one generator at a time and that the next one continues after it.
// Workers are remembered for the life of the process. Thread safety: may be called from any thread.
namespace snowflake_workers {

// ALREADY_EXISTS: it is claimed.
absl::Status Claim(const SnowflakeWorker& worker);
// The last time that generators of the claimed worker used; 0: none has been.
int64_t LastTime(const SnowflakeWorker& worker);
void Release(const SnowflakeWorker& worker, int64_t last_time);

}  // namespace snowflake_workers
}  // namespace locus::internal

#endif  // LOCUS_SRC_WORKER_SNOWFLAKE_WORKERS_H_
