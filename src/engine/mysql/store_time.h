// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MYSQL_STORE_TIME_H_
#define LOCUS_SRC_ENGINE_MYSQL_STORE_TIME_H_

#include "locus/clock.h"
#include "locus/engine/mysql.h"

namespace locus::internal {

// For tests that own the time: from now on `clock` gives the store's time, to the microsecond,
// instead of the server. It must outlive the store. Call it before other threads use the store.
class MysqlStoreTime {
 public:
  static void Tell(MysqlSegmentStore& store, Clock& clock);
  static void Tell(MysqlWorkerLeaseStore& store, Clock& clock);
  static void Tell(MysqlStrictStore& store, Clock& clock);
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_ENGINE_MYSQL_STORE_TIME_H_
