// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_LOCK_HOLDERS_H_
#define LOCUS_MIGRATION_RUN_LOCK_HOLDERS_H_

#include <atomic>
#include <string>
#include <thread>

#include "migration/run/shard_link.h"

namespace locus::mysql {

// Finds the sessions that keep locks which statements of `link` wait for during its life. The
// server shows them only during the wait, so another connection looks. Thread safety: none. Cost: a
// connection and a thread, where `watches`; otherwise nothing.
class LockHolders {
 public:
  LockHolders(ShardLink& link, bool watches);
  ~LockHolders();
  LockHolders(const LockHolders&) = delete;
  LockHolders& operator=(const LockHolders&) = delete;

  // Ends the watch. "session 12 (shop@10.0.0.7:4711, its transaction began 14 s ago); end it, ...";
  // empty: none was seen. Of statements it has nothing.
  std::string Text();

 private:
  void Watch(uint64_t session);

  ShardLink& link_;
  std::atomic<bool> stop_ = false;
  std::string seen_;    // of the thread, until it has ended
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_LOCK_HOLDERS_H_
