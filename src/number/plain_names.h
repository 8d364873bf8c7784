// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_NUMBER_PLAIN_NAMES_H_
#define LOCUS_SRC_NUMBER_PLAIN_NAMES_H_

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/sequence_type_store.h"
#include "locus/sequencer.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/mutex.h"

namespace locus::internal {

// Refuses names of types to a sequencer that counts without rules: its NameCheck.
// Thread safety: all methods may be called from any thread. They block as the types' store does.
class PlainNames {
 public:
  // How long a name that was found to be none of a type is not looked at again. Longer: a type that
  // was created in spite of its counter is noticed later.
  static constexpr absl::Duration kLooksEvery = absl::Minutes(1);
  // Names that are remembered. All are forgotten where there would be more.
  static constexpr size_t kMostNames = 16384;

  // Called once it is needed, by several threads at the same time if they need it, and again where
  // it failed. NOT_FOUND: the store has no table of types.
  using OpenTypes = std::function<absl::StatusOr<std::shared_ptr<SequenceTypeStore>>()>;
  explicit PlainNames(OpenTypes open, Clock& clock = Clock::System())
      : open_(std::move(open)), clock_(clock) {}

  // FAILED_PRECONDITION: the name is a type's, or of a counter of one. Otherwise an error of the
  // types' store: a name that cannot be looked at is not counted.
  absl::Status Check(const std::string& counter, Sequencer::NameLook look);

 private:
  absl::StatusOr<std::string> TypeOf(const std::string& counter, Sequencer::NameLook look);
  absl::StatusOr<std::shared_ptr<SequenceTypeStore>> Types(Sequencer::NameLook look);
  bool Knows(const std::string& name);
  void Keep(const std::string& name);

  const OpenTypes open_;
  Clock& clock_;
  const ForkGuard home_;
  Mutex mutex_;  // not while the store is opened or asked: other names would wait for it
  std::shared_ptr<SequenceTypeStore> types_ ABSL_GUARDED_BY(mutex_);
  // Until when the answer that there is no table of types counts for names in use; one of a counter
  // that begins is looked at all the same, since it may begin at the same time as its type.
  absl::Duration missing_until_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  std::unordered_map<std::string, absl::Duration> looked_at_ ABSL_GUARDED_BY(mutex_);
};

// FAILED_PRECONDITION: no counter of a type has this name. A NameCheck for SequencerOptions of
// types.
absl::Status CheckIsOfType(const std::string& counter);

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_PLAIN_NAMES_H_
