// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_RUN_BACKOFF_H_
#define LOCUS_SRC_BASE_RUN_BACKOFF_H_

#include <chrono>
#include <cstdint>

#include "absl/time/time.h"

namespace locus::internal {

// Computes the waits between attempts at something that fails: each twice as long as the one
// before, up to a limit, with a random part taken off so that callers that failed together do not
// retry together. Decides only: it reads no clock, draws no random number and does not sleep.
// Thread safety: none.
class Backoff {
 public:
  struct Policy {
    absl::Duration first;    // before the jitter
    absl::Duration longest;  // likewise; at least `first`
    // The share of each wait that is random, 0..1. 0: none. 1: from nothing to the whole wait,
    // for many callers that contend for one thing.
    double jitter = 0.5;
  };

  explicit Backoff(Policy policy);

  // The wait after one more failure: uniform in ((1 - jitter) × w, w], where w is
  // min(first × 2^failures, longest). The same random word always gives the same wait.
  absl::Duration Next(uint64_t random_word);
  // The attempt succeeded: the next wait is the first again.
  void Reset() { failures_ = 0; }

  // Calls of Next since the last Reset.
  int failures() const { return failures_; }

 private:
  Policy policy_;
  int failures_ = 0;
};

// Sleeps for the next wait of `backoff`. False, without having slept: the wait would not end before
// `deadline`. For callers that have a thread to block and no random numbers of their own.
bool SleepBeforeRetry(Backoff& backoff, std::chrono::steady_clock::time_point deadline);

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_RUN_BACKOFF_H_
