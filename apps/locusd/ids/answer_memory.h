// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_ANSWER_MEMORY_H_
#define LOCUS_APPS_LOCUSD_IDS_ANSWER_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/base/run/mutex.h"
#include "src/http/server.h"

namespace locus::locusd {

struct AnswerMemoryOptions {
  // How long an answer is kept from the time at which it was given.
  absl::Duration keep = absl::Minutes(10);
  // Of all keys, requests and answers together. Beyond, the oldest answers go, though they are
  // younger than `keep`.
  size_t most_bytes = size_t{64} << 20;
};

// The answers to requests that came with an idempotency key: a repetition gets the first answer,
// also while that is not known yet. In memory: a restart forgets them.
// Thread safety: all methods may be called from any thread. Cost: O(1) under a lock.
class AnswerMemory {
 public:
  using Take = std::function<void(const http::ServerAnswer&)>;

  explicit AnswerMemory(const AnswerMemoryOptions& options) : options_(options) {}

  // `key`: unique for its client. `request`: all that the answer depends on. `now`: of a clock that
  // never falls.
  //
  // True: the caller is the first; he answers his own client, and then calls Answer or Forget once.
  // False: `take` gets the answer, now or once it is there; where the first caller forgot the key,
  // an answer of his, too. INVALID_ARGUMENT: the key was used for another request; `take` is
  // dropped. RESOURCE_EXHAUSTED: too many repetitions wait already.
  absl::StatusOr<bool> Ask(const std::string& key, std::string_view request, absl::Duration now,
                           Take take);
  // Remembers the answer of the first caller.
  void Answer(const std::string& key, const http::ServerAnswer& answer, absl::Duration now);
  // Tells who waits, and remembers nothing: a refusal may be none next time.
  void Forget(const std::string& key, const http::ServerAnswer& answer);

  struct Stats {
    uint64_t repeated = 0;  // requests that got an answer of before
    uint64_t evicted = 0;   // answers that went before their time
    size_t answers = 0;
    size_t bytes = 0;
  };
  Stats stats() const;

 private:
  struct Entry {
    std::string request;  // its digest
    std::optional<http::ServerAnswer> answer;
    absl::Duration given;
    size_t bytes = 0;
    std::vector<Take> waiting;
    std::list<std::string>::iterator order;  // in order_, where `answer` is set
  };
  using Entries = std::unordered_map<std::string, Entry>;

  void Drop(Entries::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropOld(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const AnswerMemoryOptions options_;
  mutable internal::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::list<std::string> order_ ABSL_GUARDED_BY(mutex_);  // keys, the oldest answer first
  Stats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_ANSWER_MEMORY_H_
