// SPDX-License-Identifier: Apache-2.0
#include "src/base/os/fork_guard.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "src/base/os/wipe_on_fork.h"
#include "src/base/text/text.h"

namespace locus::internal {

namespace {

// Numbers given to this process and its ancestors; not wiped, so a child continues the count.
std::atomic<uint64_t> last_number{0};

// The number of this process; a child finds 0. No std::call_once and no guarded static: a fork in
// the middle of either would leave the child waiting for a thread that it does not have.
std::atomic<uint64_t>& NumberOfThisProcess() {
  static constinit std::atomic<WipeOnForkWords*> page{nullptr};
  WipeOnForkWords* current = page.load(std::memory_order_acquire);
  if (current == nullptr) [[unlikely]] {
    auto* made = new WipeOnForkWords(1);
    if (page.compare_exchange_strong(current, made, std::memory_order_acq_rel)) {
      current = made;
    } else {
      delete made;
    }
  }
  return (*current)[0];
}

}  // namespace

uint64_t ForkGuard::ThisProcess() {
  std::atomic<uint64_t>& number = NumberOfThisProcess();
  uint64_t value = number.load(std::memory_order_relaxed);
  if (value == 0) [[unlikely]] {
    uint64_t fresh = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
    // Another thread may be first; `value` is then its number.
    if (number.compare_exchange_strong(value, fresh, std::memory_order_relaxed)) value = fresh;
  }
  return value;
}

absl::Status ForkGuard::Refusal(std::string_view object) {
  return absl::FailedPreconditionError(
      absl::StrCat("this is a forked child: ", ToAbsl(object),
                   " belongs to the process that made it; make another one here"));
}

}  // namespace locus::internal
