// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_RUN_SELDOM_H_
#define LOCUS_SRC_BASE_RUN_SELDOM_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace locus::internal {

// Lets a message through at most once per second, so that untrusted clients cannot fill a log.
// Thread safety: all methods may be called from any thread. Cost: no lock.
class Seldom {
 public:
  // How many messages were suppressed before this one; nullopt: suppress this one also.
  std::optional<uint64_t> Next() {
    const int64_t now = std::chrono::duration_cast<std::chrono::milliseconds>(
                            std::chrono::steady_clock::now().time_since_epoch())
                            .count();
    int64_t last = let_through_;
    if (now - last < 1000 || !let_through_.compare_exchange_strong(last, now)) {
      ++kept_back_;
      return std::nullopt;
    }
    return kept_back_.exchange(0);
  }

 private:
  std::atomic<int64_t> let_through_ = INT64_MIN / 2;  // ms
  std::atomic<uint64_t> kept_back_ = 0;
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_RUN_SELDOM_H_
