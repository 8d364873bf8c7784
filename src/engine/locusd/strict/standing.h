// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_LOCUSD_STRICT_STANDING_H_
#define LOCUS_SRC_ENGINE_LOCUSD_STRICT_STANDING_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "src/base/run/backoff.h"
#include "src/base/run/mutex.h"

namespace locus::locusd {

// A client's view of its sequence-nodes, by address: which of them did not answer last time, which
// answered UNAVAILABLE as owners, and when to look for other owners.
// Thread safety: all methods may be called from any thread.
class Standing {
 public:
  // A node that did not answer is asked for a table after all others, until it answers again.
  void NoteSilent(const std::string& address);
  void NoteAnswered(const std::string& address);
  // An owner answered UNAVAILABLE; or it gave numbers, or named another owner. Either is an answer.
  void NoteRefuses(const std::string& address);
  void NoteServes(const std::string& address);

  // Whether to look for other owners now: true for one caller, some 200 to 400 ms after the last
  // one. The first owner that refuses also makes callers wait so long, since nodes whose store is
  // away refuse all clients at once.
  bool LooksNow();
  // Picks one of these nodes at random: mostly one that answers and does not refuse, but now and
  // then any, because the others may be back. "" if there is none.
  std::string PickFrom(const std::set<std::string>& addresses) const;

  // Puts those last that did not answer, and of these the one that was asked latest at the end:
  // where all are silent, a call that has time for one only asks another one than the call before.
  void SilentLast(std::vector<std::string>& addresses) const;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  TimePoint NextLook() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Between two looks.
  static constexpr internal::Backoff::Policy kLooks = {.first = absl::Milliseconds(400),
                                                       .longest = absl::Milliseconds(400)};

  mutable internal::Mutex mutex_;
  // With the turn in which it was silent the last time.
  std::map<std::string, uint64_t> silent_ ABSL_GUARDED_BY(mutex_);
  uint64_t turns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<std::string> refusing_ ABSL_GUARDED_BY(mutex_);
  internal::Backoff looks_ ABSL_GUARDED_BY(mutex_){kLooks};
  TimePoint look_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::locusd

#endif  // LOCUS_SRC_ENGINE_LOCUSD_STRICT_STANDING_H_
