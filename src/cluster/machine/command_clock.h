// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_COMMAND_CLOCK_H_
#define LOCUS_SRC_CLUSTER_MACHINE_COMMAND_CLOCK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "src/cluster/machine/clock_note.h"

namespace locus::cluster_machine {

// The clock that gives a leader's commands their times. Every node has one, and each follower's
// clock follows the leader's. So a new leader continues from the old one's time, whatever its wall
// clock shows.
//
// Between two readings it advances as CLOCK_BOOTTIME does, and is drawn towards the wall clock by
// at most 1/2000 of that. So, while leaders change among nodes that follow:
//   - it never falls, and its rate is that of CLOCK_BOOTTIME within 5 parts in 10,000; a change of
//     leaders makes it step forward by kMostStep at most. The deadline of WorkerLease allows for a
//     rate twice as far off and for twenty such steps within a lease: none ends before it;
//   - a change of leaders may set it back, by the age of the last command, if the new leader had
//     just started and had not yet heard the time from any node. Leases then end later, and the
//     time is made up for at that rate;
//   - where the wall clocks that are known disagree, their lower median, off by an hour either way,
//     moves it by 1.8 s for each hour. Where no majority of them is known, nothing moves it.
//
// A node asks the others for the cluster's time every second. The answer's time was right at some
// moment since the question, so the time is now between that time and that time plus what has
// passed since. A node that got such an answer, or led, knows the time exactly. A command that it
// applies only shows that the time is not earlier: the command, or the notice that it is committed,
// may have waited anywhere, for instance while this node was stopped.
//
// Before such an answer, a node that has just started knows the time as soon as it has heard
// another leader and has applied a command of that leader's term or of a later one. A leader
// proposes its time every few seconds, and steps down without a majority: when it was heard, its
// last command was a few seconds old. Commands of earlier terms prove nothing: all nodes may have
// been down since then.
//
// Until then the wall clocks of a majority count: if all nodes were down, no clock of the cluster
// shows for how long. A leader that has not heard a majority proposes nothing, however long that
// takes: without a majority it could commit nothing anyway. If a majority is known but does not
// agree, it waits for the others for kMostWait, then takes the lower median, of two the earlier
// one. So one node alone never sets the time against two that agree. If the median is behind the
// machine, the time rests until it has caught up. No ID repeats: ceilings do not depend on any
// clock being right.
//
// A leader draws the time towards the wall clock on which a majority of the voters agrees within
// kAgree, not towards its own. Where they contradict the cluster's time by more than that for
// kPatience, the time is corrected faster: it gains 1/16, which the deadline of a WorkerLease of 10
// s allows for, or runs at 1/16 of its rate where it is ahead. It never falls.
//
// Thread safety: none.
class CommandClock {
 public:
  static constexpr absl::Duration kMostOff = absl::Seconds(5);
  static constexpr absl::Duration kMostStep = absl::Milliseconds(50);
  // Between question and answer, for a node that does not know the time yet.
  static constexpr absl::Duration kMostPassed = absl::Seconds(1);

  static constexpr absl::Duration kAgree = absl::Seconds(1);
  static constexpr absl::Duration kPatience = absl::Seconds(30);
  // Since this node leads, for the clocks of the other voters, where a majority does not agree.
  static constexpr absl::Duration kMostWait = absl::Seconds(10);

  // This node follows another node, which leads in this term.
  void Hear(uint64_t term);
  // This node leads in this term, since now.
  void Lead(uint64_t term, absl::Duration boot);
  // This node's machine has just applied a command that a leader of this term proposed, or was
  // restored to a state whose last command is of this term. `machine`: its time now.
  void Applied(uint64_t term, absl::Time machine, absl::Duration boot);

  // Whose wall clocks count, and which of them is this node. Until it is called, only its own does.
  void SetVoters(uint64_t self, std::vector<uint64_t> voters);
  // The answer of a node to a question of this one has come.
  void Told(uint64_t from, const ClockTold& told, absl::Duration boot);
  // Whether a leader may propose: it knows the time, or a wall clock to take (above).
  bool MayBegin(absl::Time own, absl::Duration boot) const;
  // The answer to another node's question, while this node does not lead: the cluster's time, if
  // this node knows it exactly.
  std::optional<absl::Time> Known(absl::Time machine, absl::Duration boot) const;
  bool exact() const { return exact_; }

  // Before a leader's first command, once all entries of earlier terms are applied. True once: this
  // node does not know the cluster's time, so another one, which may know it, is to lead. If all
  // nodes were down, the leadership returns, or moves to a node that has already tried this.
  bool ShouldYield(absl::Time machine);

  // The time of a command that is proposed now. `machine`: the time of the leader's machine, which
  // has applied all entries of earlier terms. `boot`: CLOCK_BOOTTIME, which never falls.
  absl::Time Now(absl::Time machine, absl::Time wall, absl::Duration boot);

  // The wall clock on which a majority of the voters agrees; nullopt: they do not.
  std::optional<absl::Time> Agreed(absl::Time wall, absl::Duration boot) const;
  // Sets the time to it at once, if it is later: an operator's decision, which ends leases early.
  void Advance(absl::Time wall, absl::Duration boot);
  // Whether Now has taken a time from wall clocks that the machine has not reached. Until a command
  // that leaps has brought it there, Known answers no other node.
  bool Leaps(absl::Time machine) const { return leapt_ && machine < *leapt_; }

  // How far the wall clock was ahead of the last Now; negative: behind.
  absl::Duration off() const { return off_; }
  // The same against the wall clock on which a majority agreed, where it did.
  absl::Duration astray() const { return astray_; }

 private:
  struct Reading {
    absl::Time time;
    absl::Duration boot;
  };
  void Follow(const Reading& machine);
  // The voters' wall clocks now, as far as they are known; ascending.
  std::vector<absl::Time> Walls(absl::Time own, absl::Duration boot) const;
  struct Judged {
    absl::Time wall;
    bool known = false;  // of a majority
    bool sure = false;   // which agrees
  };
  // `walls`: ascending.
  Judged JudgeOf(const std::vector<absl::Time>& walls, absl::Time own) const;
  absl::Time Drawn(absl::Time alone, absl::Duration passed, const Judged& judged) const;
  void NoteContradiction(absl::Time time, absl::Duration boot, const Judged& judged);
  // The time last_, moved on to `boot`.
  absl::Time Alone(absl::Duration boot) const { return last_->time + (boot - last_->boot); }

  std::optional<Reading> last_;
  bool trusted_ = true;             // until something is followed
  bool exact_ = false;              // last_ is right, within the error of the clocks' rates
  uint64_t known_ = 0;              // the term whose leader's clock last_ continues; 0: none
  bool yielded_ = false;            // ShouldYield said so
  uint64_t heard_ = 0;              // the term of the first other leader; 0: none yet
  uint64_t term_ = 0;               // the last one in which a leader is known
  uint64_t led_ = 0;                // the last term in which this node led
  absl::Duration led_since_;        // and since when
  uint64_t applied_term_ = 0;       // of the last command of another leader
  std::optional<Reading> applied_;  // and what the machine had then
  absl::Duration off_, astray_;
  uint64_t self_ = 0;
  std::vector<uint64_t> voters_;
  std::map<uint64_t, Reading> walls_;  // of other nodes
  // Since when a majority of the wall clocks agrees on another time than the cluster's.
  std::optional<absl::Duration> contradicted_since_;
  bool contradicted_ = false;  // for long enough
  // The time that came from a wall clock and not from last_; nullopt: last_ has continued since.
  std::optional<absl::Time> leapt_;
};

}  // namespace locus::cluster_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_COMMAND_CLOCK_H_
