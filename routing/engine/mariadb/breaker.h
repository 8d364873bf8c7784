// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_MARIADB_BREAKER_H_
#define LOCUS_ROUTING_ENGINE_MARIADB_BREAKER_H_

#include <algorithm>
#include <chrono>

namespace locus {

// Decides who may try to reach a server that did not answer. Closed: everybody. After a failure
// open: nobody for a pause, then one (the probe), whose outcome closes it or begins a longer pause.
// Thread safety: none.
class Breaker {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;
  static constexpr Duration kFirstPause = std::chrono::milliseconds(50);

  explicit Breaker(Duration longest_pause) : longest_(std::max(longest_pause, kFirstPause)) {}

  bool open() const { return pause_ > Duration::zero(); }
  bool probing() const { return probing_; }
  // Whether a caller that needs the server is to be refused now.
  bool Refuses(TimePoint now) const { return open() && (probing_ || now < retry_at_); }
  // The caller is the probe; not while Refuses().
  void BeginProbe() { probing_ = true; }

  void OnSuccess() {
    pause_ = Duration::zero();
    probing_ = false;
  }
  // `part`, 0..1, is what is taken off the pause, of its half.
  void OnFailure(TimePoint now, double part) {
    // What fails beside a probe, or in the pause, was under way before and says nothing new.
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

}  // namespace locus

#endif  // LOCUS_ROUTING_ENGINE_MARIADB_BREAKER_H_
