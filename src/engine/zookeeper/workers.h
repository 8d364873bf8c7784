// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ZOOKEEPER_WORKERS_H_
#define LOCUS_SRC_ENGINE_ZOOKEEPER_WORKERS_H_

#include <memory>

#include "locus/clock.h"
#include "locus/engine/zookeeper.h"

namespace locus::internal {

// For tests: a store whose time is that of `clock`, not the leader's.
class ZookeeperWorkerLeaseStoreAccess {
 public:
  static absl::StatusOr<std::unique_ptr<ZookeeperWorkerLeaseStore>> Open(
      const ZookeeperOptions& options, Clock* clock);
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_ENGINE_ZOOKEEPER_WORKERS_H_
