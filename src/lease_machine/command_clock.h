// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_LEASE_MACHINE_COMMAND_CLOCK_H_
#define LOCUS_SRC_LEASE_MACHINE_COMMAND_CLOCK_H_

#include <optional>

#include "absl/time/time.h"

namespace locus::lease_machine {

// The clock by which a leader gives its commands their times. Every node has one; each follower's
// follows the machine's time, so that a new leader goes on where the old one was, whatever its wall
// clock says.
//
// Between two readings it advances as CLOCK_BOOTTIME does, and is drawn towards the wall clock by
// at most 1/2000 of that. So, while leaders change among nodes that follow:
//   - it never falls, and its rate is that of CLOCK_BOOTTIME within 5 parts in 10,000; a change of
//     leaders makes it step forward by kMostStep at most. The deadline of WorkerLease allows for a
//     rate twice as far off and for twenty such steps within a lease: none ends before it;
//   - a change of leaders may set it back by as long as the new one took to apply the last command
//     of the old one. Leases then end later, and the time is made up for at that rate;
//   - a leader whose wall clock is off by an hour, either way, moves it by 1.8 s for each hour that
//     it leads. off() tells; the shell hands the leadership over where it is above kMostOff.
//
// A node that follows nobody, because it has just started and no leader was alive, cannot know how
// long all were down: its wall clock counts, as that of a database's server does. If that clock is
// ahead by an hour, leases end early and callers whose clocks are right are refused until an hour
// has passed or the clock is trusted again; if it is behind, the time stands still until it has
// caught up, and leases end late. No ID repeats: ceilings do not depend on any clock being right.
//
// Thread safety: none.
class CommandClock {
 public:
  static constexpr absl::Duration kMostOff = absl::Seconds(5);
  static constexpr absl::Duration kMostStep = absl::Milliseconds(50);

  // The machine of this node has just applied a command of another leader, or was restored from a
  // leader's snapshot, and has this time now. Not for what the node found on its own disk when it
  // started.
  void Follow(absl::Time machine, absl::Duration boot);

  // The time of a command that is proposed now. `machine`: the time of the leader's machine, which
  // has applied all entries of earlier terms. `boot`: CLOCK_BOOTTIME, which never falls.
  absl::Time Now(absl::Time machine, absl::Time wall, absl::Duration boot);

  // From the next Now on the wall clock counts: the time steps forward to it, or stands still until
  // it has caught up. For an operator, or a shell to which most nodes say that their clocks agree
  // with this one's.
  void Trust() { trusted_ = true; }

  // How far the wall clock was ahead of the last Now; negative: behind.
  absl::Duration off() const { return off_; }

 private:
  struct Reading {
    absl::Time time;
    absl::Duration boot;
  };
  std::optional<Reading> last_;
  bool trusted_ = true;  // until something is followed
  absl::Duration off_;
};

}  // namespace locus::lease_machine

#endif  // LOCUS_SRC_LEASE_MACHINE_COMMAND_CLOCK_H_
