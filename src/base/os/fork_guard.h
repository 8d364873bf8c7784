// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_OS_FORK_GUARD_H_
#define LOCUS_SRC_BASE_OS_FORK_GUARD_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"

namespace locus::internal {

// Remembers the process that made it, so that an object notices when a forked child uses its copy.
// A child must not touch its parent's threads, sockets and locks: a lock may be held by a thread
// that the child does not have. So check before taking any lock.
//
// Notices fork() and a bare clone(), also in children of children (MADV_WIPEONFORK, Linux 4.14). A
// process ID would not do: IDs come back, and differ between namespaces.
//
// A value of 8 bytes; a copy belongs to the same process. Thread safety: all methods may be called
// from any thread. Cost: forked() is two loads.
class ForkGuard {
 public:
  // Of the calling process.
  ForkGuard() : process_(ThisProcess()) {}

  bool forked() const { return process_ != ThisProcess(); }

  // OK in the process that made the guard, otherwise Refusal(object).
  absl::Status Check(std::string_view object) const {
    return forked() ? Refusal(object) : absl::OkStatus();
  }
  // The FAILED_PRECONDITION of a forked child. `object` with its article: "a generator".
  static absl::Status Refusal(std::string_view object);

 private:
  // A number that no other process of this family of forks has.
  static uint64_t ThisProcess();

  uint64_t process_;
};

// For destructors: a forked child leaks its copy instead of destroying it. T has forked().
template <typename T>
void AbandonIfForked(std::unique_ptr<T>& object) {
  if (object != nullptr && object->forked()) static_cast<void>(object.release());
}

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_OS_FORK_GUARD_H_
