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

// Refuses names of types to a sequencer that counts without types: its NameCheck.
// Thread safety: all methods may be called from any thread. They block as the types' store does.
class PlainNames {
 public:
  // How long a name that belongs to no type is not checked again. Longer: a type that was created
  // in spite of its counter is noticed later.
  static constexpr absl::Duration kLooksEvery = absl::Minutes(1);
  // Names that are remembered. All are forgotten at the limit.
  static constexpr size_t kMostNames = 16384;

  // Called when it is first needed, possibly by several threads at once, and again after a failure.
  // NOT_FOUND: the store has no table of types.
  using OpenTypes = std::function<absl::StatusOr<std::shared_ptr<SequenceTypeStore>>()>;
  explicit PlainNames(OpenTypes open, Clock& clock = Clock::System())
      : open_(std::move(open)), clock_(clock) {}

  // FAILED_PRECONDITION: the name is a type's, or of a counter of one. Otherwise an error of the
  // types' store: a counter whose name cannot be checked does not count.
  absl::Status Check(const std::string& counter, Sequencer::NameLook look);

 private:
  absl::StatusOr<std::string> TypeOf(const std::string& counter, Sequencer::NameLook look);
  absl::StatusOr<std::shared_ptr<SequenceTypeStore>> Types(Sequencer::NameLook look);
  bool Knows(const std::string& name);
  void Keep(const std::string& name);

  const OpenTypes open_;
  Clock& clock_;
  const ForkGuard home_;
  Mutex mutex_;  // not held while the store is opened or called: other names would wait for it
  std::shared_ptr<SequenceTypeStore> types_ ABSL_GUARDED_BY(mutex_);
  // Until when the answer "there is no table of types" is valid for names in use. A counter that
  // begins is checked all the same, because its type may be created at the same time.
  absl::Duration missing_until_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  std::unordered_map<std::string, absl::Duration> looked_at_ ABSL_GUARDED_BY(mutex_);
};

// FAILED_PRECONDITION: no counter of a type has this name. A NameCheck for SequencerOptions of
// types.
absl::Status CheckIsOfType(const std::string& counter);

}  // namespace locus::internal

#endif  // LOCUS_SRC_NUMBER_PLAIN_NAMES_H_
