// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_CUT_OVER_COORDINATOR_H_
#define LOCUS_MIGRATION_CUT_OVER_COORDINATOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "migration/cut_over/handover.h"
#include "migration/cut_over/repair.h"

// Decides the next action of a move from one look at it. The coordinator looks, decides, acts, and
// looks again. It remembers nothing that another coordinator could not find out, so it may be
// killed at any moment. Phases are stored; everything about bands is read from the fences.

namespace locus::internal {

// The share, in permyriad, at which all cohorts are on the target.
inline constexpr uint32_t kWhole = 10000;

// How far a move has come. Only ever rises, except that kReady and kFinalizing fall back to
// kVerifying when the shards must be compared again, and all phases with streams to kStreaming when
// a stream begins again (RepairedPhase). Bands stay where they are meanwhile.
enum class Phase : uint8_t {
  kPlanned,     // nothing has been changed on a shard
  kPrepared,    // fences, triggers and tables exist; the stream's start is stored
  kStreaming,   // the stream from the source runs; a marker has to pass it before rows are copied
  kCopying,     // rows are copied
  kCatchingUp,  // all rows were copied; the stream brings what changed since
  kVerifying,   // both shards are compared
  kReady,       // equal, and the stream back runs: bands may step, in either direction
  kFinalizing,  // compared for the last time, at share 10000
  kFinalized,   // no way back: the streams have ended, the routing table names the new owner
  kCleanup,     // the rows of the source are deleted
  kDone,
  kAborting,  // at share 0: the copied rows of the target are deleted
  kAborted,
};
std::string_view ToString(Phase phase);
std::optional<Phase> PhaseNamed(std::string_view name);

// The operator's wish. A command changes the wish and nothing else.
enum class Ending : uint8_t { kNone, kFinalize, kCleanup, kAbort };
std::string_view ToString(Ending ending);
std::optional<Ending> EndingNamed(std::string_view name);

struct Wish {
  bool started = false;
  uint32_t goal = 0;  // the share to reach
  uint32_t by = 500;  // cohorts of one step towards a larger share
  absl::Duration dwell = absl::Seconds(60);
  std::string hold;  // why no step is made; empty: steps are made
  Ending ending = Ending::kNone;
  bool keep = false;   // cleanup leaves rows and tombstones where they are
  Repair repair = {};  // done before anything else; then the runner clears it

  friend bool operator==(const Wish&, const Wish&) = default;
};

// A condition of a step.
struct Gate {
  std::string name;
  std::string threshold;
  std::string value;
  bool ok = true;
  bool also_back = false;   // must also hold for steps to a smaller share
  bool rolls_back = false;  // its failure takes the move back to share 0
};

// One of the two streams.
struct StreamSight {
  bool passed = false;  // a marker has passed since the runner began
  absl::Duration lag =
      absl::InfiniteDuration();  // of the last marker; infinite: it does not advance
  std::string broken;            // why it ended for good; empty: it runs, or is being reconnected
  std::string waiting;           // why it waits now; empty: it does not
  // The command that mends a stream that stopped; kFindings: `locus move repair` finds the cause.
  enum class Mend : uint8_t { kFindings, kCompare, kReseed };
  Mend mend = Mend::kFindings;
};

// "", "compare", "reseed"; another text is "".
std::string_view ToString(StreamSight::Mend mend);
StreamSight::Mend MendNamed(std::string_view name);

// The state of a move, as one look saw it. Durations are by the runner's own clock.
struct MoveSight {
  Phase phase = Phase::kPlanned;
  Wish wish;
  Seeding seeding;

  Situation fences;   // of all ranges, which are always alike
  uint64_t step = 0;  // the higher of both rows'
  // Since this runner first saw the present step; since it saw the fences agree at this share.
  absl::Duration in_step = absl::ZeroDuration();
  absl::Duration at_share = absl::ZeroDuration();
  uint32_t taken_back = 0;  // steps in a row that had to be taken back

  StreamSight forth;  // from the source to the target
  StreamSight back;

  bool copied = false;
  // The comparison that the present phase waits for.
  bool compared = false;
  std::string differs;   // what it found; empty: nothing
  bool cleaned = false;  // the rows that kCleanup or kAborting delete are gone
  std::string failed;    // why copying, comparing or cleaning failed for good

  // The move in the routing table; nullopt: it could not be read.
  struct Published {
    bool under_way = false;  // the table has the move with exactly these vnodes
    bool ended = false;      // the target owns the vnodes, and nothing moves there
    bool begun = true;       // false: the source owns the vnodes and nothing moves there
    uint32_t share = 0;
    uint64_t step = 0;
  };
  std::optional<Published> published;

  std::vector<Gate> gates;
  absl::Duration gates_fail = absl::ZeroDuration();  // how long some gate has failed
  absl::Duration gate_patience = absl::Seconds(60);
  absl::Duration accept_within = absl::Seconds(2);

  // The error of a shard's triggers; empty: none that lasted longer than a moment.
  std::string unguarded;
  // Stops for good where the protocol was broken from outside.
  std::string alarm;
};

struct Decision {
  enum class Kind : uint8_t {
    kWait,
    kEnter,        // `phase`: do what it begins with, then store it
    kLetGo,        // the donor gives up the band to `share`
    kRefuse,       // take the step back, first half
    kRestore,      // second half
    kLevel,        // the rest
    kPublish,      // `share` and the step in the routing table
    kPublishEnd,   // the target owns the vnodes
    kPublishDrop,  // the move is no more; the source owns the vnodes
    kHold,         // store `why` as the wish's hold
    kRollBack,     // goal 0, with `why` as the reason
    kRepair,       // do what the wish's repair says, then store `phase` and that it is done
  };
  Kind kind = Kind::kWait;
  Phase phase = Phase::kPlanned;
  uint32_t share = 0;
  std::string why;  // also of kWait: what it waits for, for the status
};

Decision Decide(const MoveSight& sight);

// The phase of a move after a repair. A stream that begins again needs its rows copied again;
// writes from while triggers were missing are found by the comparison. `phase`: one with streams.
Phase RepairedPhase(Phase phase, const Repair& repair);
// In which directions rows are copied then.
Seeding RepairedSeeding(Phase phase, const Seeding& now, const Repair& repair);

// The state that people see: a phase, or STEP(p), HOLD(p), ROLLING_BACK(p), SWITCHED.
std::string StateName(const MoveSight& sight);

// Which stream of a move at READY has stopped, and why; empty: none.
std::string StreamThatStands(const MoveSight& sight);

// The next safe command, for people: "locus move step", "wait", ...; empty: none is needed.
std::string NextCommand(const MoveSight& sight);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_CUT_OVER_COORDINATOR_H_
