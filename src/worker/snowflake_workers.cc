// SPDX-License-Identifier: Apache-2.0
#include "src/worker/snowflake_workers.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/run/mutex.h"

namespace locus::internal::snowflake_workers {
namespace {

struct Workers {
  struct Entry {
    bool claimed = false;
    int64_t last_time = 0;
  };
  Mutex mutex;
  std::map<SnowflakeWorker, Entry> entries ABSL_GUARDED_BY(mutex);
};

Workers& All() {
  static Workers* workers = new Workers;
  return *workers;
}

}  // namespace

absl::Status Claim(const SnowflakeWorker& worker) {
  Workers& all = All();
  MutexLock lock(all.mutex);
  Workers::Entry& entry = all.entries[worker];
  if (entry.claimed) {
    return absl::AlreadyExistsError(absl::StrCat("this process has a generator for worker ",
                                                 worker.node,
                                                 " with this epoch and layout already"));
  }
  entry.claimed = true;
  return absl::OkStatus();
}

int64_t LastTime(const SnowflakeWorker& worker) {
  Workers& all = All();
  MutexLock lock(all.mutex);
  return all.entries[worker].last_time;
}

void Release(const SnowflakeWorker& worker, int64_t last_time) {
  Workers& all = All();
  MutexLock lock(all.mutex);
  Workers::Entry& entry = all.entries[worker];
  LOCUS_CHECK(entry.claimed);
  entry.claimed = false;
  entry.last_time = std::max(entry.last_time, last_time);
}

}  // namespace locus::internal::snowflake_workers
