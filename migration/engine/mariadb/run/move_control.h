// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_ENGINE_MARIADB_RUN_MOVE_CONTROL_H_
#define LOCUS_MIGRATION_ENGINE_MARIADB_RUN_MOVE_CONTROL_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/migration/move.h"
#include "migration/cut_over/wishes.h"
#include "migration/engine/mariadb/run/band_rows.h"
#include "migration/engine/mariadb/run/move_records.h"
#include "migration/engine/mariadb/run/rebind.h"
#include "migration/engine/mariadb/run/repair_findings.h"
#include "migration/engine/mariadb/run/shard_link.h"

namespace locus::mariadb {

// What a command sees of a move, from any host.
struct MoveView {
  std::optional<MoveRecord> record;  // nullopt: it was never begun
  // The fences; nullopt: not there, or the shard does not answer: then why.
  std::optional<internal::BandFence> source, target;
  std::string source_trouble, target_trouble;
  internal::Situation fences;  // of both; kImpossible where one is missing

  internal::Standing standing() const;
};

// Reads what a move's shards know of it, and writes what an operator wants. Thread safety: none.
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
  // Replaces the wish by what `ask` makes of it, again where somebody else changed it meanwhile;
  // returns the wish that is now in force. Nothing is written where it stays the same, or with
  // `dry`. NOT_FOUND: the move was never begun.
  using Ask = std::function<absl::StatusOr<internal::Wish>(const internal::Standing&)>;
  // `what` stands in the history.
  absl::StatusOr<internal::Wish> Change(const std::string& what, const Ask& ask, bool dry);

  // Nothing waits for this failover candidate, "host:port", any more. NOT_FOUND: the move was never
  // begun.
  absl::Status DropCandidate(const std::string& candidate);

  // RebindRows for both shards. The rows of this move are bound where both fences do not contradict
  // each other, as a runner does. ABORTED: the move changed meanwhile: repeat the call.
  struct Rebound {
    RebindResult source, target;
    bool contradict = false;
    std::string fences;  // what both accept
  };
  absl::StatusOr<Rebound> Rebind(const RoutingTable& table, bool dry);

  // What is lost, wrong, or in excess on either shard. NOT_FOUND: the move was never begun.
  absl::StatusOr<std::vector<RepairFinding>> Findings();

 private:
  absl::Status EndRuns(uint32_t share);
  explicit MoveControl(Move move) : move_(std::move(move)) {}

  const Move move_;
  std::unique_ptr<ShardLink> source_, target_;
  std::unique_ptr<MoveRecords> records_;
  std::unique_ptr<BandRows> source_bands_, target_bands_;
};

// The moves that a shard remembers as their source. Empty where it has none.
absl::StatusOr<std::vector<MoveRecord>> MovesRemembered(const MariadbOptions& shard);

}  // namespace locus::mariadb

#endif  // LOCUS_MIGRATION_ENGINE_MARIADB_RUN_MOVE_CONTROL_H_
