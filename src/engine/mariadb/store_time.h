// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MARIADB_STORE_TIME_H_
#define LOCUS_SRC_ENGINE_MARIADB_STORE_TIME_H_

#include "locus/clock.h"
#include "locus/engine/mariadb.h"

namespace locus::internal {

// For tests that own the time: from now on `clock` gives the store's time, to the microsecond,
// instead of the server. It must outlive the store. Call it before other threads use the store.
class MariadbStoreTime {
 public:
  static void Tell(MariadbSegmentStore& store, Clock& clock);
  static void Tell(MariadbWorkerLeaseStore& store, Clock& clock);
  static void Tell(MariadbStrictStore& store, Clock& clock);
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_ENGINE_MARIADB_STORE_TIME_H_
