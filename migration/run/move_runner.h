// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_MOVE_RUNNER_H_
#define LOCUS_MIGRATION_RUN_MOVE_RUNNER_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/migration/move.h"
#include "locus/routing/table_publisher.h"
#include "migration/cut_over/coordinator.h"
#include "migration/move/table_steps.h"
#include "migration/run/band_rows.h"
#include "migration/run/move_records.h"
#include "migration/run/pings.h"
#include "migration/run/row_progress.h"
#include "migration/run/shard_link.h"
#include "migration/run/stream_worker.h"
#include "migration/run/task_worker.h"
#include "src/base/run/backoff.h"

// How a move runs. MoveRunner is one loop. It looks at both shards (MoveSight, move_look.cc),
// decides (Decide, migration/cut_over/coordinator.h), and acts (move_act.cc). Two StreamWorkers
// apply the streams, and TaskWorkers copy, compare and delete rows, each on a thread of its own
// (move_tasks.cc). BandRows changes the fence rows of a step (move_step.cc). MoveRecords keeps the
// phase and the operator's wish in the source shard; commands write wishes there through
// MoveControl, from any host. Each shard is reached through a ShardLink. The loop decides only by
// what it reads from the shards, so any runner can take over.

namespace locus::mysql {

struct RunnerOptions {
  MovePace pace;
  MoveGates gates;
  // How long the runner of a move may be silent before another one takes over. Longer: a move waits
  // longer after its runner has died.
  absl::Duration take_over_after = absl::Seconds(10);
  // The replicas of either shard that a failover may promote, with an account that reads locus_run
  // there. Changes that one of them lacks are not applied to the other shard, so none of them may
  // be away for long.
  std::vector<MysqlOptions> source_candidates, target_candidates;
  // How long a shard may send nothing of its log, not even a heartbeat; 3 s to 1 h. Shorter: cut
  // networks are noticed earlier, and a server that looks for a position in silence is cut off.
  absl::Duration link_timeout = absl::Seconds(30);
  // For transactions that are larger than the memory of a stream.
  std::string spool = "/tmp";
  std::string name;  // of this process, for people: host and process number
  // For tests: called before each statement of the runner's own two connections.
  ShardLink::Hook before_statement;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// The state of a move as its runner knows it, for metrics. While another runner acts, it is the
// state that this one saw last.
struct MoveProgress {
  bool acts = false;      // it is this runner that acts
  bool unbegun = false;   // the move has no record yet, for which this runner waits
  bool looked = false;    // the rest is set
  bool troubled = false;  // the last round could not be finished: a shard does not answer, ...
  bool held = false;      // no step is made until a command resumes it
  bool over = false;      // DONE or ABORTED
  std::string state;      // that people see
  uint32_t share = 0, goal = 0;  // permyriad
  // Of the streams; infinite: one does not advance, or there is none.
  absl::Duration lag_forth = absl::InfiniteDuration(), lag_back = absl::InfiniteDuration();
  RowProgress::Sight copied, compared;  // `left` is infinite while they wait
  uint64_t differences = 0;
};

// Runs one move: looks, decides (Decide), acts, and looks again, until the move has ended. Any
// number of runners may wait for one move; one of them acts. It may be killed at any moment. Thread
// safety: none, but for Progress.
class MoveRunner {
 public:
  // Does not connect. Passwords are kept in memory that core dumps omit. `publisher` outlives it,
  // and may be shared by the runners of a process.
  static absl::StatusOr<std::unique_ptr<MoveRunner>> Create(const Move& move,
                                                            const RunnerOptions& options,
                                                            TablePublisher& publisher);
  ~MoveRunner();

  // Until the move is DONE or ABORTED (OK), or `stop`, which is looked at every 50 ms (CANCELLED).
  // Waits for the record of a move that was never begun (MoveRecords::Begin). DATA_LOSS: the record
  // of one that was begun is gone.
  absl::Status Run(const std::atomic<bool>& stop);

  // By any thread.
  MoveProgress Progress() const;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The state of one of two directions, besides its worker.
  struct Direction {
    std::unique_ptr<StreamWorker> worker;
    Pings pings;
    TimePoint sent_at;
    uint64_t sent = 0;  // the last ping
    bool held = false;  // the move has been held since the worker broke
  };
  // Work that one phase waits for.
  struct Task {
    std::unique_ptr<TaskWorker> worker;
    internal::Phase phase = internal::Phase::kPlanned;  // that it was begun in
    bool held = false;                                  // the move has been held since it failed
  };
  // Work that makes writers wait while it waits for others itself. After a failure it pauses before
  // the next try.
  struct Intrusion {
    internal::Backoff pauses;
    TimePoint next_at;
    absl::Status last;  // why it failed
  };
  struct Compared {
    RowProgress progress;
    std::atomic<uint64_t> slices = 0, differences = 0;
    internal::Mutex mutex;
    std::string first_difference ABSL_GUARDED_BY(mutex);
    std::vector<std::string> found ABSL_GUARDED_BY(mutex);  // differences, for the history
  };

  MoveRunner(Move move, RunnerOptions options, TablePublisher& publisher)
      : move_(std::move(move)),
        options_(std::move(options)),
        publisher_(publisher),
        steps_{internal::Backoff({options_.pace.fence_wait,
                                  std::max(options_.pace.fence_wait, kLongestStepPause), 0.5}),
               {},
               {}} {}

  absl::Status Standby(const std::atomic<bool>& stop);
  absl::Status CheckNeverBegun();
  absl::Status Serve(const std::atomic<bool>& stop);
  absl::Status Round();
  absl::Status BurnOtherRuns();
  void EndWorkers();

  // move_look.cc: looks.
  absl::Status MaintainWorkers();
  absl::StatusOr<std::vector<std::unique_ptr<ShardLink>>> CandidatesOf(internal::Side recipient);
  absl::Status SendPing(Direction& direction, ShardLink& shard);
  bool BandIsOnItsWay() const;
  absl::StatusOr<internal::MoveSight> Look();
  absl::Status LookAtFences(internal::MoveSight& sight);
  absl::Status LookAtGuards(internal::MoveSight& sight);
  absl::Status LookAtStreams(internal::MoveSight& sight);
  absl::Status LookAtTasks(internal::MoveSight& sight);
  void LookAtTable(internal::MoveSight& sight);
  std::string FirstDifference();
  absl::Status LookAtGates(internal::MoveSight& sight);
  absl::StatusOr<std::vector<internal::Gate>> ReadGates(const internal::MoveSight& sight);
  internal::Gate AskCommand(const internal::MoveSight& sight);

  // move_act.cc: acts.
  absl::Status Act(const internal::Decision& decision, const internal::MoveSight& sight);
  absl::Status EnterPhase(internal::Phase phase, const internal::MoveSight& sight);
  absl::Status Prepare();
  absl::Status PrepareShard(const MoveShard& shard, const RoutingTable& table, ShardLink& link);
  absl::Status InstallFence(const MoveShard& shard, const RoutingTable& table);
  absl::Status PrepareLocked(ShardLink& link, const std::function<absl::Status()>& work);
  absl::Status Rebind();
  absl::Status BindUnbegun();
  absl::Status EndStreams();
  absl::Status CleanUp();
  absl::Status CandidatesKnowTheEnd();
  absl::Status Sparingly(Intrusion& intrusion, const std::function<absl::Status()>& work);
  absl::Status Hold(const std::string& why, bool roll_back);
  absl::Status Note(const std::string& kind, const std::string& text);

  // move_tasks.cc: work on other threads.
  absl::Status Copy(const std::atomic<bool>& stop);
  absl::Status CopyTo(internal::Side recipient, const std::atomic<bool>& stop);
  absl::Status Compare(const std::atomic<bool>& stop);
  absl::Status Clean(const std::atomic<bool>& stop);

  // move_step.cc: gives fences their rows, and hands a band over.
  absl::Status PrepareFences();
  absl::StatusOr<bool> RegroupFences();
  absl::Status CandidatesHave(internal::Side side);
  absl::StatusOr<BandRows::Written> Write(internal::Side side, const internal::BandFence& row);
  absl::Status KeptFrom(internal::Side side) const;
  absl::StatusOr<bool> Change(internal::Side side, const std::optional<internal::BandFence>& row);
  absl::Status HoldBusyStep(const absl::Status& busy);
  absl::Status CheckGuards();
  absl::Status LetGo(uint32_t share);

  // move_repair.cc: repairs.
  absl::Status CheckTriggers(ShardLink& link);
  absl::Status Repair(const internal::Decision& decision, const internal::MoveSight& sight);
  absl::Status MendTriggers(ShardLink& link);
  absl::Status ForgetStream(internal::Side recipient);
  absl::Status NoteDifferences();

  void Tell(bool acts);
  absl::Status Beat(const internal::MoveSight& sight, const internal::Decision& decision);
  std::string TasksWait() const;
  std::string WhyWaits(const Task& task) const;
  std::string WhyWaits(const Task& task, const RowProgress::Sight& seen) const;
  RowProgress::Sight SightOf(const RowProgress& progress, const Task& task) const;
  // The state from which a runner that takes over continues.
  struct Kept {
    uint64_t step = 0, serial = 0;  // of the wish
    uint32_t share = UINT32_MAX, taken_back = 0;
    absl::Duration at_share, gates_fail, busy;
  };
  Kept WaitsNow() const;
  void TakeWaits();
  void TakeOver(const Kept& kept);
  std::string StatusJson(const internal::MoveSight& sight, const internal::Decision& decision);

  const Move move_;              // without passwords
  const RunnerOptions options_;  // without candidates
  TablePublisher& publisher_;

  std::vector<Candidate> source_candidates_, target_candidates_;
  std::unique_ptr<ShardLink> source_, target_;
  std::unique_ptr<BandRows> source_bands_, target_bands_;
  std::unique_ptr<MoveRecords> records_;
  uint64_t run_ = 0;
  MoveRecord record_;
  bool begun_ = false;    // this runner has seen the record
  bool unbegun_ = false;  // at the last look there was none, and no trace of one

  std::vector<std::string> dropped_;  // candidates, that the streams know of
  Direction forth_, back_;
  Task copy_, compare_, clean_;
  RowProgress copied_;
  Compared compared_;
  std::atomic<uint64_t> cleaned_rows_ = 0;
  std::atomic<double> copy_lag_ms_ = 0;  // of the streams that the copy waits for, in the last look
  std::atomic<bool> copies_forth_ = true, copies_back_ = false;  // for the task that copies
  std::atomic<bool> keep_ = false;  // the wish's, for the task that cleans

  // Of the last look.
  internal::BandFence source_row_, target_row_;
  uint64_t seen_serial_ = 0;
  TimePoint asked_at_;  // the wish of that serial was first seen
  uint64_t seen_step_ = 0;
  uint32_t seen_share_ = UINT32_MAX;
  TimePoint step_since_, share_since_, gates_ok_at_, gates_read_at_, table_read_at_, beat_at_;
  std::vector<internal::Gate> gates_;
  std::optional<internal::MoveSight::Published> published_;
  uint32_t taken_back_ = 0;
  std::optional<Kept> kept_;        // of the former runner, until the fences were read
  absl::Duration kept_gates_fail_;  // likewise, until both streams have passed
  int unguarded_rounds_ = 0;        // in a row
  std::string unguarded_;           // as MoveSight's
  int unguarded_looks_ = 0;         // in a row
  TimePoint guards_read_at_, bound_at_;
  // A trigger makes users of its table wait for up to a second.
  static constexpr internal::Backoff::Policy kTriggerPauses{absl::Seconds(2), absl::Seconds(30),
                                                            0.5};
  Intrusion prepares_{internal::Backoff(kTriggerPauses), {}, {}};
  Intrusion mends_{internal::Backoff(kTriggerPauses), {}, {}};
  Intrusion removes_{internal::Backoff(kTriggerPauses), {}, {}};
  // A step makes writers of the vnodes wait for up to fence_wait.
  static constexpr absl::Duration kLongestStepPause = absl::Seconds(5);
  Intrusion steps_;
  // The same for the end of a step, for which a band waits.
  Intrusion changes_{internal::Backoff({absl::Milliseconds(50), absl::Seconds(1), 0.5}), {}, {}};
  TimePoint busy_since_, busy_at_;  // steps have been kept from the fence, the first and the last
  std::string alarm_;
  uint64_t alarm_serial_ = 0;  // of the wish that was in force when it was raised
  internal::MoveSight last_sight_;
  std::string trouble_;     // why the last round could not be finished; empty: it was
  std::string last_state_;  // that was noted
  bool step_open_ = false;  // this runner's step has made a donor give up a band that is on its way
  bool step_forth_ = true;  // to the target
  TimePoint let_go_at_;
  std::vector<double> waits_ms_;  // of bands, each step's
  TimePoint sample_at_;

  mutable internal::Mutex progress_mutex_;
  MoveProgress progress_ ABSL_GUARDED_BY(progress_mutex_);
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_MOVE_RUNNER_H_
