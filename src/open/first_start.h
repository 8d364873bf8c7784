// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_OPEN_FIRST_START_H_
#define LOCUS_SRC_OPEN_FIRST_START_H_

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/open.h"
#include "src/base/run/mutex.h"

namespace locus::internal {

// The mark of SequencerUriOptions::marked: a counter of its own in the store, or in that of the
// ceiling. Its value is when it was set, in seconds of Unix time.
// Thread safety: all methods may be called from any thread. They block as the store does.
class FirstStart {
 public:
  // No counter of a type has this name, since it has an uppercase letter. OpenSequencer takes no
  // number of it.
  static constexpr const char* kName = "Locus.first-start";

  static constexpr size_t kMostNames = 16384;

  // Only the places and passwords of `options` are used. A password is asked for when the store is
  // needed first.
  FirstStart(std::string uri, const SequencerUriOptions& options);

  // FAILED_PRECONDITION: there is no mark. Otherwise errors of the store.
  absl::Status Check() ABSL_LOCKS_EXCLUDED(mutex_);
  // As Sequencer::NameCheck: asks the store when this process meets a counter, when one begins, and
  // after it found no mark. A counter that another process has begun since the store was lost is
  // refused like one that begins.
  absl::Status CheckCounter(const std::string& name, Sequencer::NameLook look)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets it; one that is there stays as it is.
  absl::StatusOr<absl::Time> Mark(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::StatusOr<std::shared_ptr<Sequencer>> Counters() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string uri_;
  const AskPassword password_;
  Mutex mutex_;  // held while the store is opened: a password is asked for once
  std::shared_ptr<Sequencer> counters_ ABSL_GUARDED_BY(mutex_);
  // Counters that were met while the mark was there. All are forgotten where there would be more
  // than kMostNames, and where the mark is gone.
  std::unordered_set<std::string> met_ ABSL_GUARDED_BY(mutex_);
};

// As OpenSequencer, for any name: of a type, and that of the mark.
absl::StatusOr<std::unique_ptr<Sequencer>> OpenUnchecked(std::string_view uri,
                                                         const AskPassword& ask);

}  // namespace locus::internal

#endif  // LOCUS_SRC_OPEN_FIRST_START_H_
