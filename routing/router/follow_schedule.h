// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ROUTER_FOLLOW_SCHEDULE_H_
#define LOCUS_ROUTING_ROUTER_FOLLOW_SCHEDULE_H_

#include <cstdint>

#include "absl/time/time.h"
#include "src/base/run/backoff.h"

namespace locus::internal {

// Decides when a follower asks its source, and for how long it listens. Two kinds of questions
// alternate: one that listens for news until the table in force needs another confirmation, and,
// while callers wait for a newer table, a look that the source answers at once. Looks are spaced by
// a backoff that starts again with each newer table. Any number of callers share the looks. Does no
// I/O and reads no clock. Times are since boot. Thread safety: none.
class FollowSchedule {
 public:
  // Between two looks. Jitter keeps many processes, refused at one moment, from looking together.
  static constexpr absl::Duration kFirstWait = absl::Milliseconds(10);
  static constexpr absl::Duration kLongestWait = absl::Seconds(1);

  enum class Phase {
    kIdle,       // no question is under way
    kListening,  // one waits for news; a caller turns it into a look
    kResting,    // one waits for news until the next look may begin
    kLooking,    // one is answered at once; callers that come now share the look after it
    kStopped,    // no further question begins
  };

  // The next action of the following thread.
  struct Turn {
    bool ask = false;
    bool look = false;      // only with `ask`: have the source answer at once
    absl::Duration within;  // with `ask` how long to listen, otherwise how long to wait
  };

  // The action for a caller that waits for a newer table.
  enum class Nudge {
    kNone,  // a look will follow by itself
    kLook,  // have the source answer the question under way at once
    kWake,  // wake the following thread
  };

  explicit FollowSchedule(absl::Duration confirm_every) : confirm_every_(confirm_every) {}

  // The following thread has nothing to do. If the turn is to ask, the question is under way until
  // Finished. `waiting`: callers wait for a newer table.
  Turn Begin(absl::Duration now, bool waiting, uint64_t random_word);
  // The question was answered; do not ask again for `pause` unless callers wait. Returns how long
  // to wait until Begin, more than 0.
  absl::Duration Finished(absl::Duration now, absl::Duration pause, bool installed, bool waiting);

  // One more caller waits for a newer table.
  Nudge Want(absl::Duration now, uint64_t random_word);
  // True: a question is under way, and the source should answer it at once.
  bool Stop();

  Phase phase() const { return phase_; }

 private:
  // When the next question is due.
  absl::Duration Due(bool waiting) const;
  void BeginLook(absl::Duration now, uint64_t random_word);

  const absl::Duration confirm_every_;
  Phase phase_ = Phase::kIdle;
  // A caller came after the last look began. It may have left, but the source is asked
  // nevertheless.
  bool wanted_ = false;
  absl::Duration due_;
  absl::Duration next_look_ = -absl::InfiniteDuration();  // not before
  Backoff look_waits_{{.first = kFirstWait, .longest = kLongestWait}};
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_ROUTER_FOLLOW_SCHEDULE_H_
