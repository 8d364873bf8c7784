// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_BAND_ROWS_H_
#define LOCUS_MIGRATION_RUN_BAND_ROWS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/migration/move.h"
#include "migration/cut_over/handover.h"
#include "migration/fence/regroup.h"
#include "migration/run/fence_regroup.h"
#include "migration/run/shard_link.h"
#include "routing/fence/fence_row.h"

namespace locus::mysql {

// The rows that a move has in the fence of one shard: one for each of its ranges, all alike.
// Thread safety: none.
class BandRows {
 public:
  // `link` outlives it.
  BandRows(const Move& move, internal::Side side, ShardLink& link)
      : move_(move), side_(side), link_(link) {}

  // The rows of the fence that touch the move's ranges now.
  absl::StatusOr<std::vector<internal::FenceRow>> Touching();
  // Makes the rows, at share 0 and `step`, each naming the other shard, and gives the vnodes to
  // them; nothing where that is done. When it returns OK, every write of these vnodes under way
  // holds one of them. Errors of RecutOf and RegroupFence, after which the next call continues;
  // FAILED_PRECONDITION as of Replace. Each call that writers hold up doubles `patience` for the
  // next, up to 8 times of it but not above 2 s, and the next ones name the sessions of these
  // writers.
  absl::Status Make(uint64_t step, uint64_t run, absl::Duration patience);
  // How many calls of Make in a row writers have held up.
  unsigned kept() const { return kept_; }
  // FAILED_PRECONDITION: a range has no row of its own, the rows differ from each other, or they
  // are bound to another server than the one that answers.
  absl::StatusOr<internal::BandFence> Read();
  // The same, for rows that are bound to any server.
  struct Seen {
    internal::BandFence row;
    uint32_t bound_to = 0;  // the server of a row that is not this one's; 0: all are
    uint32_t server = 0;    // that answers
  };
  absl::StatusOr<Seen> ReadUnbound();

  enum class Written {
    kDone,
    kOutdated,  // a row is not at `seen` any more: read again
    kBusy,      // writers under way kept the fence for longer than `patience`: nothing changed
  };
  // Whether no session keeps the rows locked for longer than `patience`, so that Replace, or the
  // token of the other shard, finds them free a moment later. Every writer of the vnodes waits
  // meanwhile.
  absl::StatusOr<bool> Free(absl::Duration patience);
  // Replaces what Read returned, at step `seen`, by `row`. Every writer of the vnodes waits
  // meanwhile. FAILED_PRECONDITION: another runner has taken the move over (`run` is not the
  // shard's), or the row gives up orders and an XA transaction that was prepared before has not
  // ended within `patience`: it has dropped its lock and may still commit.
  absl::StatusOr<Written> Replace(const internal::BandFence& row, uint64_t seen, uint64_t run,
                                  absl::Duration patience);
  // The text of LockHolders about the sessions that held up the last Free or Replace. Only known
  // where the call before was busy as well.
  const std::string& holders() const { return holders_; }

 private:
  const Move& move_;
  const internal::Side side_;
  ShardLink& link_;
  // Runs `work`, which waits for writers; whether they kept the fence.
  bool IsKept(const std::function<absl::Status()>& work, absl::Status& status);

  unsigned kept_ = 0;
  bool busy_ = false;  // Free or Replace, the last time
  std::string holders_;
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_BAND_ROWS_H_
