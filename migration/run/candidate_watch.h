// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_CANDIDATE_WATCH_H_
#define LOCUS_MIGRATION_RUN_CANDIDATE_WATCH_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/mysql.h"
#include "migration/run/shard_link.h"
#include "migration/stream/change_transaction.h"

namespace locus::mysql {

// "host:port", by which commands name a candidate.
std::string PlaceOfCandidate(const MysqlOptions& candidate);

// A replica that a failover may promote, and how it is reached.
struct Candidate {
  std::string place;  // PlaceOfCandidate
  std::unique_ptr<ShardLink> link;
};
// Does not connect.
absl::StatusOr<std::vector<Candidate>> CandidatesAt(const std::vector<MysqlOptions>& servers);

// Raises the ping of the run in locus_run of a shard, and returns it. FAILED_PRECONDITION: another
// runner has taken over.
absl::StatusOr<uint64_t> RaisePing(ShardLink& shard, const std::string& move, uint64_t run);

// Holds back changes that the failover candidates of a shard do not have yet. Otherwise, if a
// candidate were promoted, the other shard would have changes that the new primary lacks. A
// candidate has everything before a ping in the shard's log once it shows that ping itself, with
// the number of the run. GTIDs would not do: on a branch that a former promotion left behind, other
// changes have the same numbers. Thread safety: none.
class CandidateWatch {
 public:
  // Without candidates nothing is held back.
  CandidateWatch(std::vector<std::unique_ptr<ShardLink>> candidates, std::string move, uint64_t run)
      : move_(std::move(move)), run_(run), links_(std::move(candidates)) {}

  bool empty() const { return links_.empty(); }

  // Waits until every candidate has all that this session of the shard has seen committed; at once
  // where there are none. CANCELLED: `stop`. UNAVAILABLE: a candidate or the shard does not answer.
  absl::Status WaitForAll(ShardLink& shard, const std::atomic<bool>& stop);

  // The next transaction of the shard's log. Errors of ChangeTransaction.
  absl::Status Add(stream::ChangeTransaction transaction);
  // None waits any more; the log is read again.
  void Forget() {
    held_.clear();
    held_bytes_ = 0;
  }
  // How many transactions wait.
  size_t held() const { return held_.size(); }
  uint64_t held_bytes() const { return held_bytes_; }
  // Those from the first on that every candidate has. UNAVAILABLE: a candidate does not answer, and
  // all of them stay.
  absl::StatusOr<std::vector<stream::ChangeTransaction>> Release();

 private:
  struct Held {
    stream::ChangeTransaction transaction;
    uint64_t ping = 0;  // that the transaction is; 0: none
  };

  // The last ping that all of them have.
  absl::StatusOr<uint64_t> Confirmed();

  std::string move_;
  uint64_t run_;
  std::vector<std::unique_ptr<ShardLink>> links_;
  std::deque<Held> held_;
  uint64_t held_bytes_ = 0;
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_CANDIDATE_WATCH_H_
