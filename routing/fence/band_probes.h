// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_FENCE_BAND_PROBES_H_
#define LOCUS_ROUTING_FENCE_BAND_PROBES_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "src/base/run/backoff.h"
#include "src/base/run/mutex.h"

namespace locus::internal {

// While orders are between two shards, no shard accepts them, and each of their writers would ask
// again and again. Here one writer of a process asks for all: the others sleep until it has an
// answer. Thread safety: all methods may be called from any thread.
class BandProbes {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // Asks the shards once, without waiting for locks. The ID of the shard that accepts the order;
  // nullopt: none does yet, or a shard did not answer.
  using Probe = std::function<std::optional<uint32_t>()>;

  // Waits until a shard accepts the orders of `band`; nullopt: none did by `deadline`. The first
  // caller of a band probes, after a pause of 5 ms that doubles up to 80 ms, less a random part;
  // where its deadline comes first, the caller that has waited longest continues the probing. The
  // others only wait: a probe's answer is for all callers of its band.
  std::optional<uint32_t> Wait(uint64_t band, TimePoint deadline, const Probe& probe);

  // Probes made, and callers that waited for another caller's.
  struct Counts {
    uint64_t probes = 0;
    uint64_t waits = 0;
  };
  Counts counts() const;

 private:
  struct Waiter {
    CondVar woken;
    bool elected = false;  // to probe
    std::optional<uint32_t> answer;
  };
  struct Band {
    std::deque<Waiter*> waiting;  // behind the one that probes
    Backoff pauses{{absl::Milliseconds(5), absl::Milliseconds(80), 0.5}};
  };

  std::optional<uint32_t> ProbeForAll(uint64_t band, TimePoint deadline, const Probe& probe);
  // Whether the caller is to probe; otherwise `answer` is what it waited for.
  bool WaitForAnother(Band& band, TimePoint deadline, std::optional<uint32_t>& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the probing of a caller: gives its answer to all, or its task to the next.
  void HandOver(uint64_t band, std::optional<uint32_t> answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::map<uint64_t, Band> bands_ ABSL_GUARDED_BY(mutex_);  // those that a caller probes
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_FENCE_BAND_PROBES_H_
