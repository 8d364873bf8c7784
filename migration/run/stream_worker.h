// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_STREAM_WORKER_H_
#define LOCUS_MIGRATION_RUN_STREAM_WORKER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "locus/migration/move.h"
#include "migration/apply/change_applier.h"
#include "migration/mysql/binlog_reader.h"
#include "migration/run/candidate_watch.h"
#include "migration/run/shard_link.h"
#include "src/base/run/mutex.h"

namespace locus::mysql {

// A thread that follows the binary log of one shard of a move and applies it to the other. It
// connects again, for as long as it takes, where a shard does not answer, and ends at any other
// failure. Thread safety: all methods may be called from any thread.
class StreamWorker {
 public:
  // From the shard `from` to the shard `to`. `move` outlives it; its servers are not used. `spool`:
  // a directory for transactions that are larger than its memory. `candidates`: the replicas of
  // `from` which a failover may promote; changes that one of them lacks are not applied. `begins`:
  // where the stream has no checkpoint, it begins at the present end of the log. Otherwise that
  // ends it (FAILED_PRECONDITION), unless `from` has never accepted an order of the move: its
  // writes in between are not known. `link_timeout`: as of BinlogReaderOptions.
  StreamWorker(const Move& move, internal::Side recipient, uint64_t run,
               absl::Duration link_timeout, std::string spool, bool begins,
               std::unique_ptr<ShardLink> from, std::unique_ptr<ShardLink> to,
               std::vector<std::unique_ptr<ShardLink>> candidates);
  // Waits until the transaction under way has been applied or has failed.
  ~StreamWorker();

  struct Sight {
    uint64_t ping = 0;  // the last that passed; 0: none since it began
    std::chrono::steady_clock::time_point passed_at;
    ApplierCounts counts;
    std::chrono::steady_clock::time_point accepted_at;  // a token last gave its shard a band
    std::string unguarded;  // the last statement that changed triggers; empty: there was none
    std::string rogue;      // the last write that its shard did not own; empty: there was none
    std::string waiting;    // why it is not connected now; empty: it is
    absl::Status broken;    // why it has ended
  };
  Sight sight() const;

 private:
  void Work();
  absl::Status Follow();
  // Where there is no checkpoint, whether the stream may begin now, and waits until it can.
  absl::Status CheckCheckpoint(const internal::BandFence& peer);
  absl::Status EndPrepared();
  absl::Status Gather(BinlogReader& reader);
  absl::Status ReadOn(BinlogReader& reader, ChangeApplier& applier,
                      std::vector<stream::ChangeTransaction> batch, const absl::Status& conflict);
  void Show(const ChangeApplier& applier);

  const Move& move_;
  const internal::Side recipient_;
  const uint64_t run_;
  const absl::Duration link_timeout_;
  const std::string spool_;
  bool begins_;  // of the thread, once it runs
  CandidateWatch candidates_;
  const std::unique_ptr<ShardLink> from_, to_;
  uint64_t session_ = 0;  // of the last applier; of the thread alone, as the place
  std::string place_;
  uint64_t taken_over_ = 0;         // counts.taken_over of the applier; of the thread alone
  std::atomic<bool> stop_ = false;  // only says so; pairs with nothing
  mutable internal::Mutex mutex_;
  Sight sight_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_STREAM_WORKER_H_
