// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_WORKERS_H_
#define LOCUS_SRC_ENGINE_REDIS_WORKERS_H_

#include <memory>

#include "locus/clock.h"
#include "locus/engine/redis.h"

namespace locus::internal {

// For tests: a store whose time is that of `clock`, not the server's.
class RedisWorkerLeaseStoreAccess {
 public:
  static absl::StatusOr<std::unique_ptr<RedisWorkerLeaseStore>> Open(const RedisOptions& server,
                                                                     Clock* clock);
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_ENGINE_REDIS_WORKERS_H_
