// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTING_FAULTS_H_
#define LOCUS_TESTING_FAULTS_H_

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "locus/internal/cxx20.h"

namespace locus::fakes {

// Faults that a test injects into the calls of a fake.
// Thread safety: all methods may be called from any thread.
class Faults {
 public:
  // Calls return `status` and change nothing, until Heal.
  void FailWith(absl::Status status) { Switch(Mode::kFail, std::move(status)); }
  // Calls are carried out but return `status`, until Heal: a lost answer.
  void LoseAnswersWith(absl::Status status) { Switch(Mode::kLoseAnswer, std::move(status)); }
  // Calls block before they are carried out, until Heal.
  void Stall() { Switch(Mode::kStall, absl::OkStatus()); }
  // Calls are carried out and return only after Heal: a late answer.
  void HoldAnswers() { Switch(Mode::kHoldAnswer, absl::OkStatus()); }
  void Heal() { Switch(Mode::kHealthy, absl::OkStatus()); }

  // How many calls there were, and how many of them block right now.
  int calls() const {
    return With([this] { return calls_; });
  }
  int blocked() const {
    return With([this] { return blocked_; });
  }

 protected:
  ~Faults() = default;

  // A fake calls these before and after it carries a call out. It returns their status, if any,
  // instead of its own.
  std::optional<absl::Status> Before() {
    std::unique_lock lock(mutex_);
    ++calls_;
    if (mode_ == Mode::kStall) BlockWhile(Mode::kStall, lock);
    if (mode_ == Mode::kFail) return Unshared();
    return std::nullopt;
  }
  std::optional<absl::Status> After() {
    std::unique_lock lock(mutex_);
    if (mode_ == Mode::kHoldAnswer) BlockWhile(Mode::kHoldAnswer, lock);
    if (mode_ == Mode::kLoseAnswer) return Unshared();
    return std::nullopt;
  }

 private:
  enum class Mode { kHealthy, kFail, kLoseAnswer, kStall, kHoldAnswer };

  void Switch(Mode mode, absl::Status status) {
    std::lock_guard lock(mutex_);
    mode_ = mode;
    status_ = std::move(status);
    changed_.notify_all();
  }
  // A copy that shares nothing: TSan does not see the reference counts of the packaged Abseil.
  absl::Status Unshared() const { return absl::Status(status_.code(), status_.message()); }
  template <typename Read>
  int With(Read read) const {
    std::lock_guard lock(mutex_);
    return read();
  }
  void BlockWhile(Mode mode, std::unique_lock<std::mutex>& lock) {
    ++blocked_;
    changed_.wait(lock, [&] { return mode_ != mode; });
    --blocked_;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Mode mode_ = Mode::kHealthy;
  absl::Status status_;
  int calls_ = 0;
  int blocked_ = 0;
};

}  // namespace locus::fakes

#endif  // LOCUS_TESTING_FAULTS_H_
