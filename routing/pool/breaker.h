// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_POOL_BREAKER_H_
#define LOCUS_ROUTING_POOL_BREAKER_H_

#include <algorithm>
#include <chrono>

namespace locus::internal {

// Decides which callers may try to reach a server that did not answer. It starts closed: all
// callers may try. A failure opens it: no caller may try for a pause, then one may (the probe). The
// probe's outcome closes the breaker or starts a longer pause. Thread safety: none.
class Breaker {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;
  static constexpr Duration kFirstPause = std::chrono::milliseconds(50);

  explicit Breaker(Duration longest_pause) : longest_(std::max(longest_pause, kFirstPause)) {}

  bool open() const { return pause_ > Duration::zero(); }
  bool probing() const { return probing_; }
  // When the pause ends.
  TimePoint retry_at() const { return retry_at_; }
  // Whether a caller that needs the server must be refused now.
  bool Refuses(TimePoint now) const { return open() && (probing_ || now < retry_at_); }
  // The caller becomes the probe. Not while Refuses().
  void BeginProbe() { probing_ = true; }

  void OnSuccess() {
    pause_ = Duration::zero();
    probing_ = false;
  }
  // `part`, 0..1, shortens the pause by that part of its half, so that clients do not try together.
  void OnFailure(TimePoint now, double part) {
    // An attempt that fails during the pause began before it and says nothing new.
    if (open() && !probing_) return;
    pause_ = open() ? std::min(pause_ * 2, longest_) : kFirstPause;
    retry_at_ = now + pause_ - std::chrono::duration_cast<Duration>(pause_ * (part / 2));
    probing_ = false;
  }

 private:
  const Duration longest_;
  Duration pause_{};  // 0: closed
  TimePoint retry_at_;
  bool probing_ = false;
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_POOL_BREAKER_H_
