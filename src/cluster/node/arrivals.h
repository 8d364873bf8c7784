// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_NODE_ARRIVALS_H_
#define LOCUS_SRC_CLUSTER_NODE_ARRIVALS_H_

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace locus::cluster_node {

// How many requests come at about the same time. Thread safety: none.
class Arrivals {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Requests that come within this time of the first one count as simultaneous.
  static constexpr std::chrono::milliseconds kWithin{20};

  void Note(Time now) {
    if (now - since_ >= kWithin) {
      before_ = now - since_ < 2 * kWithin ? count_ : 0;
      count_ = 0;
      since_ = now;
    }
    ++count_;
  }
  // In the last such time or the one just before it, whichever had more.
  size_t most() const { return std::max(count_, before_); }

 private:
  size_t count_ = 0;   // since since_
  size_t before_ = 0;  // in the time before
  Time since_;
};

}  // namespace locus::cluster_node

#endif  // LOCUS_SRC_CLUSTER_NODE_ARRIVALS_H_
