// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_MOVE_CONTROL_H_
#define LOCUS_MIGRATION_RUN_MOVE_CONTROL_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/migration/move.h"
#include "migration/cut_over/wishes.h"
#include "migration/run/band_rows.h"
#include "migration/run/move_records.h"
#include "migration/run/rebind.h"
#include "migration/run/repair_findings.h"
#include "migration/run/shard_link.h"

namespace locus::mysql {

// The state of a move as a command sees it, from any host.
struct MoveView {
  std::optional<MoveRecord> record;  // nullopt: it was never begun
  // The fences. nullopt: there is none, or the shard does not answer; then the reason is set.
  std::optional<internal::BandFence> source, target;
  std::string source_trouble, target_trouble;
  // How many sessions wait on each shard until its disk has space again.
  int64_t source_waits_for_space = 0, target_waits_for_space = 0;
  internal::Situation fences;  // of both; kImpossible where one is missing
  // The move's own tables, where they differ from this file's. Empty: they are the same.
  std::string other_tables;

  // Whether the share is known: both fences could be read.
  bool has_share() const { return source.has_value() && target.has_value(); }
  // The fences have stepped, and the record of the move is gone.
  bool lost_record() const {
    return !record && has_share() && fences.kind == internal::Situation::Kind::kAgreed &&
           fences.share > 0;
  }

  internal::Standing standing() const;
};

// Reads the state of a move from its shards, and writes an operator's wishes. Thread safety: none.
class MoveControl {
 public:
  // Does not connect. Passwords are kept in memory that core dumps omit.
  static absl::StatusOr<std::unique_ptr<MoveControl>> Create(const Move& move);

  const Move& move() const { return move_; }  // without passwords

  // UNAVAILABLE: the source, which has the record, does not answer.
  absl::StatusOr<MoveView> View();
  absl::StatusOr<std::vector<MoveEvent>> Events(size_t most);

  // The record of a move that has none yet, with the pace of its file. Errors of
  // MoveRecords::Begin.
  absl::Status Begin(const MovePace& pace);
  // Replaces the wish by the one that `ask` makes of it, and repeats that if another command
  // changed it meanwhile. Returns the wish that is now in force. Nothing is written where it stays
  // the same, or with `dry`. NOT_FOUND: the move was never begun.
  using Ask = std::function<absl::StatusOr<internal::Wish>(const internal::Standing&)>;
  // `what` is written to the history.
  enum class Needs {
    kFences,  // UNAVAILABLE: a shard of a move that has fences does not answer
    kRecord,  // what is asked does not depend on the share, which may be unknown
  };
  absl::StatusOr<internal::Wish> Change(const std::string& what, const Ask& ask, bool dry,
                                        Needs needs = Needs::kFences);

  // For a move that is DONE and kept nothing: rows that its cleanup left, or that came back since,
  // for instance when a shard was promoted or restored. Reads one row of each vnode range and
  // table.
  struct Remains {
    std::vector<std::string> marks;  // "orders-a: locus_moved_table", ...: a cleanup removes them
    std::string rows;  // where the source has rows again, which no cleanup deletes; empty: none
    // "40-49, 60-69": vnodes that a later move has used, or that `table` gives the source, or moves
    // again. The source's rows of them are not this move's, and are not looked at.
    std::string used;
  };
  absl::StatusOr<Remains> LookForRemains(const RoutingTable& table);
  // Has a runner clean up again, rows that were kept included. FAILED_PRECONDITION: a later move
  // has used the vnodes, or has them and has not ended. ABORTED: the move changed meanwhile: repeat
  // the call.
  absl::Status CleanAgain();

  // From now on nothing waits for this failover candidate, "host:port". NOT_FOUND: the move was
  // never begun.
  absl::Status DropCandidate(const std::string& candidate);

  // Whether the rows of this move, on both shards, may be bound to the servers that answer: where
  // the fences do not contradict each other, as a runner does. Where rows are bound to others, and
  // unless `dry`, its runs have ended when this returns. ABORTED: the move changed meanwhile:
  // repeat the call.
  struct Bindable {
    bool fits = false;
    bool contradict = false;
    std::string fences;  // what both accept; or that the move has not begun, or is over
  };
  absl::StatusOr<Bindable> MayBind(const RoutingTable& table, bool dry);

  // Objects that are lost, wrong, or in excess on either shard. NOT_FOUND: the move was never
  // begun.
  absl::StatusOr<std::vector<RepairFinding>> Findings();

 private:
  absl::Status EndRuns(uint32_t share);
  absl::Status MayCleanAgain();
  absl::StatusOr<bool> IsUsedLater(const FencedRange& range);
  explicit MoveControl(Move move) : move_(std::move(move)) {}

  const Move move_;
  std::unique_ptr<ShardLink> source_, target_;
  std::unique_ptr<MoveRecords> records_;
  std::unique_ptr<BandRows> source_bands_, target_bands_;
};

// RebindRows for a shard.
absl::StatusOr<RebindResult> RebindShard(const MoveShard& shard, const RoutingTable& table,
                                         const std::vector<FencedRange>& fitting, bool dry);

// The moves that a shard remembers as their source; empty where it has none. `unread`: why others
// of its records cannot be read.
absl::StatusOr<std::vector<MoveRecord>> MovesRemembered(const MysqlOptions& shard,
                                                        std::vector<std::string>& unread);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_MOVE_CONTROL_H_
