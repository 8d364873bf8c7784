// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_WORKER_RENEWAL_H_
#define LOCUS_SRC_WORKER_RENEWAL_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "locus/worker_lease.h"
#include "locus/worker_lease_store.h"
#include "src/base/os/check.h"
#include "src/base/run/backoff.h"

namespace locus::worker {

inline constexpr absl::Duration kLongestInterval = absl::Seconds(10);  // between renewals
inline constexpr absl::Duration kFirstRetry = absl::Milliseconds(200);
inline constexpr absl::Duration kShortestRetry = absl::Milliseconds(100);

// How long after a renewal was sent the lease may be used: (1 - 10^-3)((ttl - e)/(1 + 10^-3) - u).
// WorkerLease says what the parts are.
inline absl::Duration UsableFor(absl::Duration ttl) {
  return ((ttl - WorkerLease::kLargestStep) * 1000 / 1001 - WorkerLease::kPause) * 999 / 1000;
}

inline absl::Duration RenewalInterval(absl::Duration ttl) {
  return std::min(ttl / 3, kLongestInterval);
}
// 0 to 1, less than 1.
inline double Share(uint64_t random_word) {
  return static_cast<double>(random_word >> 11) / 9007199254740992.0;  // 2^53
}

// Faults that the simulation injects to show that it detects them.
struct RenewalTraits {
  static constexpr bool kLateAnswerRevives = false;
  static constexpr bool kDeadlineFromAnswer = false;
};

// Decides for the holder of a worker ID: when to ask for a renewal, what follows from an answer,
// and when the lease is lost. At most one renewal is under way. All times are since boot. No I/O,
// no clock, no randomness of its own. Thread safety: none.
template <typename Traits = RenewalTraits>
class RenewalOf {
 public:
  enum class Act { kWait, kRenew, kLost };
  struct Turn {
    Act act = Act::kWait;
    absl::Duration wait;  // when to look again, unless something happens before
  };
  enum class Answer {
    kRenewed,
    kFailed,
    kLost,
    kIgnored,  // the lease was lost or given back before
  };

  // `sent`: before the acquire was sent that was answered with `grant`.
  RenewalOf(const WorkerLeaseTerm& term, const WorkerGrant& grant, absl::Duration sent,
            uint64_t random_word)
      : interval_(RenewalInterval(term.ttl)),
        usable_for_(UsableFor(term.ttl)),
        grant_(grant),
        // Holders that were started together must not renew together.
        due_(sent + interval_ * (0.1 + 0.9 * Share(random_word))),
        deadline_(sent + usable_for_),
        retries_({.first = std::min(kFirstRetry, interval_), .longest = interval_}) {}

  // The next action. kLost comes once; only kWait follows it.
  Turn Look(absl::Duration now) {
    if (state_ != State::kHeld) return {Act::kWait, absl::InfiniteDuration()};
    if (now >= deadline_) return {Lose(Expired(now)), absl::InfiniteDuration()};
    if (sent_.has_value()) return {Act::kWait, deadline_ - now};
    if (now >= due_) return {Act::kRenew, deadline_ - now};
    return {Act::kWait, std::min(due_, deadline_) - now};
  }

  // A renewal is about to be sent, as Look said.
  void Sent(absl::Duration now) { sent_ = now; }

  // The answer to it. An answer after the deadline changes nothing; an earlier one counts from the
  // time when the renewal was sent.
  Answer Answered(absl::Duration now, const absl::StatusOr<WorkerGrant>& answer,
                  uint64_t random_word) {
    LOCUS_CHECK(sent_.has_value());
    const absl::Duration sent = Traits::kDeadlineFromAnswer ? now : *sent_;
    sent_.reset();
    if (Traits::kLateAnswerRevives && state_ == State::kLost && answer.ok()) state_ = State::kHeld;
    if (state_ != State::kHeld) return Answer::kIgnored;
    if (!Traits::kLateAnswerRevives && now >= deadline_) {
      Lose(Expired(now));
      return Answer::kLost;
    }
    absl::Status status = answer.status();
    if (absl::IsAborted(status)) {
      Lose(status);
      return Answer::kLost;
    }
    if (status.ok()) status = CheckAnswer(*answer);
    last_ = status;
    if (!status.ok()) {
      TryAgain(now, random_word);
      return Answer::kFailed;
    }
    grant_.ceiling = std::max(grant_.ceiling, answer->ceiling);
    deadline_ = std::max(deadline_, sent + usable_for_);
    due_ = sent + interval_ * (0.9 + 0.1 * Share(random_word));
    retries_.Reset();
    return Answer::kRenewed;
  }

  // The process is not healthy: nothing was sent.
  void Unhealthy(absl::Duration now, uint64_t random_word) {
    last_ = absl::UnavailableError("the process reported that it is not healthy");
    TryAgain(now, random_word);
  }

  // The holder gives the lease back: nothing is renewed or lost from now on. False: it is lost.
  bool End() {
    if (state_ == State::kLost) return false;
    state_ = State::kEnded;
    return true;
  }

  bool held(absl::Duration now) const { return state_ == State::kHeld && now < deadline_; }
  // The grant with its highest ceiling.
  const WorkerGrant& grant() const { return grant_; }
  absl::Duration deadline() const { return deadline_; }
  // Of the last renewal.
  const absl::Status& last() const { return last_; }
  // Why the lease was lost. OK: it was not.
  const absl::Status& loss() const { return loss_; }

 private:
  enum class State { kHeld, kLost, kEnded };

  Act Lose(absl::Status why) {
    state_ = State::kLost;
    loss_ = std::move(why);
    return Act::kLost;
  }

  absl::Status Expired(absl::Duration now) const {
    const auto text = [](absl::Duration d) {
      return absl::FormatDuration(absl::Trunc(d, absl::Milliseconds(1)));
    };
    return absl::DeadlineExceededError(absl::StrCat(
        "worker ", grant_.worker, ", token ", grant_.token, ": not renewed for ",
        text(now - deadline_ + usable_for_), ", and a renewal lasts for ", text(usable_for_),
        last_.ok() ? ": this process or its machine was stopped, or a renewal had no answer"
                   : absl::StrCat("; the last renewal: ", last_.ToString())));
  }

  absl::Status CheckAnswer(const WorkerGrant& answer) const {
    if (answer.worker == grant_.worker && answer.token == grant_.token) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("the store renewed worker ", answer.worker, ", token ",
                                            answer.token, ", but was asked for ", grant_.worker,
                                            ", token ", grant_.token));
  }

  // The nearer the deadline, the shorter the wait, so that a store that recovers just before the
  // deadline is found.
  void TryAgain(absl::Duration now, uint64_t random_word) {
    const absl::Duration half = std::max((deadline_ - now) / 2, kShortestRetry);
    due_ = now + std::min(retries_.Next(random_word), half);
  }

  const absl::Duration interval_;
  const absl::Duration usable_for_;
  State state_ = State::kHeld;
  WorkerGrant grant_;
  absl::Duration due_;                  // of the next renewal
  absl::Duration deadline_;             // only rises
  std::optional<absl::Duration> sent_;  // of the renewal under way
  internal::Backoff retries_;
  absl::Status last_;
  absl::Status loss_;
};

using Renewal = RenewalOf<>;

}  // namespace locus::worker

#endif  // LOCUS_SRC_WORKER_RENEWAL_H_
