// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_API_RATE_LIMIT_H_
#define LOCUS_SRC_HTTP_API_RATE_LIMIT_H_

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "src/base/run/mutex.h"

namespace locus::cluster_api {

struct RateLimitOptions {
  // Requests a second from one address, on average. 0: no limit. Of IPv6, the first 64 bits are the
  // address: the rest is the client's to choose.
  double per_second = 0;
  // Requests that may come at once after a pause. Fewer: clients that start together wait.
  double burst = 100;
  // Addresses that are remembered. Beyond, the one that was silent for longest is forgotten, and
  // has its burst again. About 200 bytes each.
  size_t addresses = 4096;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// A token bucket for each address.
// Thread safety: all methods may be called from any thread. Cost: O(1), under a lock.
class RateLimit {
 public:
  explicit RateLimit(const RateLimitOptions& options) : options_(options) {}

  // 0: the request may come in. Otherwise how long until one may. `now`: of a clock that never
  // falls.
  absl::Duration Take(std::string_view address, absl::Duration now);
  size_t remembered() const;
  const RateLimitOptions& options() const { return options_; }

 private:
  struct Bucket {
    std::string address;
    double tokens = 0;
    absl::Duration filled;  // when `tokens` was right
  };

  const RateLimitOptions options_;
  mutable internal::Mutex mutex_;
  std::list<Bucket> buckets_ ABSL_GUARDED_BY(mutex_);  // the last one asked first
  std::unordered_map<std::string_view, std::list<Bucket>::iterator> by_address_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_HTTP_API_RATE_LIMIT_H_
