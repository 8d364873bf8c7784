// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_MOVE_RECORDS_H_
#define LOCUS_MIGRATION_RUN_MOVE_RECORDS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/migration/move.h"
#include "migration/cut_over/coordinator.h"
#include "migration/run/shard_link.h"

namespace locus::mysql {

// The record of a move, a row of locus_move in its source: the operator's wish, how far the move
// has come, and its runner.
struct MoveRecord {
  std::string name;
  internal::Phase phase = internal::Phase::kPlanned;
  internal::Wish wish;
  uint64_t serial = 0;  // rises with each change of the wish
  uint64_t run = 0;     // the token of the runner; 0: it never had one
  std::string runner;   // host and process, for people
  // Since the runner's last sign of life, by the shard's clock.
  absl::Duration silent = absl::InfiniteDuration();
  // Failover candidates "host:port" that nothing waits for any more.
  std::vector<std::string> dropped;
  MoveLeg leg;         // shards and vnodes, as they were when it began
  std::string status;  // a JSON object of the runner's, or empty
  internal::Seeding seeding;

  // Whether it has some of these vnodes and has not ended.
  bool IsUnderWayWith(const std::vector<FencedRange>& ranges) const;
};
// For people: which move has not ended.
std::string NotEnded(const MoveRecord& record);

// One line of the move's history.
struct MoveEvent {
  absl::Time at;     // by the source's clock
  std::string kind;  // "phase", "step", "hold", "sample", ...
  uint32_t share = 0;
  std::string text;
};

// The rows of one shard about the moves of which it is the source. Commands write wishes here and
// read the runners' notes, so they work from any host. Thread safety: none.
class MoveRecords {
 public:
  // `link` outlives it.
  explicit MoveRecords(ShardLink& link) : link_(link) {}

  absl::Status CreateTables();

  // All of this shard, or the one of the name. NOT_FOUND: there is none; also where the tables are
  // missing.
  absl::StatusOr<std::vector<MoveRecord>> List();
  // The same without those that cannot be read, of which `unread` says why.
  absl::StatusOr<std::vector<MoveRecord>> ListReadable(std::vector<std::string>& unread);
  absl::StatusOr<MoveRecord> Read(const std::string& name);

  // Puts the record of a move that has none; OK where it has one of the same shards and vnodes.
  // Notes the tables of the move file (CheckTables), again while the move is PLANNED; no tables:
  // notes nothing. FAILED_PRECONDITION: it has a record of other shards or vnodes. Another move of
  // these vnodes has not ended. INVALID_ARGUMENT: it has begun with other tables.
  absl::Status Begin(const std::string& name, const MoveLeg& leg, const internal::Wish& wish,
                     const std::vector<MovedTable>& tables = {});
  // INVALID_ARGUMENT: the move was begun with other tables, or other columns of them. A runner with
  // fewer tables would leave rows behind.
  absl::Status CheckTables(const std::string& name, const std::vector<MovedTable>& tables);
  // Where the serial is still `seen`; ABORTED: it is not: read again. `run`: of the runner that
  // changes it; then also ABORTED where another one has taken over.
  absl::Status ChangeWish(const std::string& name, uint64_t seen, const internal::Wish& wish,
                          std::optional<uint64_t> run = std::nullopt);

  // A move that is DONE goes back to CLEANUP, and keeps nothing. `may`: asked while no move can
  // begin; its error ends it. Errors of ChangeWish.
  absl::Status CleanAgain(const MoveRecord& seen, const std::function<absl::Status()>& may);

  // Nothing waits for this candidate any more; to be called when it was fenced off.
  absl::Status DropCandidate(const std::string& name, const std::string& candidate);

  // Becomes the runner, if there is none, or if the runner has been silent for `patience`. Returns
  // whether it did.
  absl::StatusOr<bool> Claim(const std::string& name, uint64_t run, const std::string& runner,
                             absl::Duration patience);
  // Stores a sign of life of the runner. FAILED_PRECONDITION: another one has taken over.
  absl::Status Beat(const std::string& name, uint64_t run, const std::string& status);
  // Ends being the runner.
  absl::Status Release(const std::string& name, uint64_t run);
  // Where phase and serial are still those of `seen`. ABORTED: they are not, or another runner has
  // taken over: read again.
  absl::Status SetPhase(const MoveRecord& seen, internal::Phase to);
  // Likewise, after the repair that the wish of `seen` asks for: clears that, as a change of the
  // wish.
  absl::Status SetRepaired(const MoveRecord& seen, internal::Phase to,
                           const internal::Seeding& seeding);

  // Takes the move from its runner, before a promoted server is bound: the next runner has a number
  // that no runner on the old server's branch of the log has seen. The comparison starts again.
  // Before the first step (`share` 0) the copy is checked again as well, because the new server may
  // lack the end of it. Errors of SetPhase.
  absl::Status StartOver(const MoveRecord& seen, uint32_t share);

  // `run`: of the runner that notes it; nothing is noted where another one has taken over.
  absl::Status Note(const std::string& name, const std::string& kind, uint32_t share,
                    const std::string& text, std::optional<uint64_t> run = std::nullopt);
  // The newest `most`, oldest first.
  absl::StatusOr<std::vector<MoveEvent>> Events(const std::string& name, size_t most);

 private:
  // Has one such change at a time run `work`, so that of two moves of the same vnodes one sees the
  // other. UNAVAILABLE: another one is under way.
  absl::Status Alone(const std::function<absl::Status()>& work);
  absl::Status NoMove(const std::string& name) const;
  absl::Status BeginLocked(const std::string& name, const MoveLeg& leg, const internal::Wish& wish,
                           const std::vector<MovedTable>& tables);
  absl::Status NoteTables(const std::string& name, const std::vector<MovedTable>& tables);
  absl::StatusOr<MoveRecord> RecordIn(const Result::Row& row);
  // Where phase, serial and run are still those of `seen`, and `also` holds.
  absl::Status ChangeRow(const MoveRecord& seen, const std::string& assignments,
                         const std::string& also = "");
  ShardLink& link_;
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_MOVE_RECORDS_H_
