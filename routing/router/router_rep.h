// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ROUTER_ROUTER_REP_H_
#define LOCUS_ROUTING_ROUTER_ROUTER_REP_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "locus/routing/router.h"
#include "routing/router/epoch_waiters.h"
#include "routing/router/follow_rules.h"
#include "routing/router/table_follower.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/mutex.h"

// How a Router is made. Rep holds the words that Route reads, and installs tables under its mutex.
// A Router with a source has a TableFollower, whose thread asks the source: FollowSchedule decides
// when, and FollowRules what follows from an answer. It offers tables to Rep, and Rep installs the
// newer ones. LastGoodWriter then puts the table into the file of last_good_table.h, on a thread of
// its own. Callers of Refresh wait in EpochWaiters.

namespace locus {

// The state of a Router. The words and descriptions that it reads never move in memory.
class Router::Rep {
 public:
  // `clock` outlives it.
  explicit Rep(Clock& clock) : clock_(clock) {}

  absl::Status Install(RoutingTable table) ABSL_LOCKS_EXCLUDED(mutex_);
  // Installs the table if JudgeTable says so.
  internal::TableJudgement Offer(std::shared_ptr<const RoutingTable> table)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Counts the table in force as the first one, and lets `follower` continue from it.
  absl::Status Follow(std::unique_ptr<internal::TableFollower> follower)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Refresh(uint64_t min_epoch, std::chrono::steady_clock::time_point deadline);
  RouterStats Stats() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<const RoutingTable> Table() const ABSL_LOCKS_EXCLUDED(mutex_);

  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  const std::atomic<uint64_t>* words() const { return words_.data(); }
  const std::unique_ptr<RoutedShard[]>* blocks() const { return blocks_.data(); }
  bool forked() const { return process_.forked(); }
  bool waiting() const { return waiters_.waiting() > 0; }  // in Refresh, for a newer table

 private:
  using IndexById = std::unordered_map<uint32_t, uint64_t>;

  // The vnodes from the end of the run before it to end - 1 have the same word.
  struct Run {
    size_t end;
    uint64_t word;
  };

  // The index of the description of `shard`, or description_count_ if it has none.
  size_t Find(const Shard& shard) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckRoomFor(const RoutingTable& table) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static std::vector<Run> RunsOf(const RoutingTable& table, const IndexById& index_of);
  IndexById Describe(const std::vector<Shard>& shards) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetWords(std::vector<Run> runs) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status InstallNewer(std::shared_ptr<const RoutingTable> table)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::array<std::atomic<uint64_t>, ShardGene::kCount> words_{};
  // Written before a word that names the place is stored, never after.
  std::array<std::unique_ptr<RoutedShard[]>, kMaxDescriptions / kBlockSize> blocks_;
  // Released after the words of its table; pairs with the acquire in epoch().
  std::atomic<uint64_t> epoch_{0};
  const internal::ForkGuard process_;

  Clock& clock_;
  internal::EpochWaiters waiters_;  // in Refresh
  std::atomic<uint64_t> refreshes_{0};
  std::atomic<uint64_t> refresh_timeouts_{0};

  mutable internal::Mutex mutex_;
  std::vector<Run> runs_ ABSL_GUARDED_BY(mutex_) = {{ShardGene::kCount, 0}};  // what words_ holds
  size_t description_count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_multimap<size_t, size_t> indexes_by_hash_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const RoutingTable> in_force_ ABSL_GUARDED_BY(mutex_);  // nullptr: none yet
  absl::Time installed_at_ ABSL_GUARDED_BY(mutex_);
  uint64_t installs_ ABSL_GUARDED_BY(mutex_) = 0;

  // nullptr: the Router has no source. Last: it stops before what it installs into goes.
  std::unique_ptr<internal::TableFollower> follower_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ROUTER_ROUTER_REP_H_
