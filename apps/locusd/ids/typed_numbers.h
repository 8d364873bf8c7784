// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_RULED_NUMBERS_H_
#define LOCUS_APPS_LOCUSD_IDS_RULED_NUMBERS_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/executor.h"
#include "locus/number_generator.h"
#include "locus/typed_sequences.h"
#include "src/base/run/load_driver.h"
#include "src/base/run/mutex.h"

namespace locus::locusd {

// Numbers by sequence types of the store: a generator for each type and key, opened when it is
// first asked for, by threads of its own. Callers never wait for the store longer than they want
// to. Thread safety: all methods may be called from any thread.
class TypedNumbers {
 public:
  struct Options {
    // Generators; each costs a counter in the store for good, with a period one for each.
    size_t most = 1000;
    // The only types there are; empty: any.
    std::set<std::string> names = {};
    // Generators that are waited for at once.
    size_t most_waiting = 256;
    absl::Duration horizon = absl::Minutes(10);
    std::function<void(const SegmentSequenceEvent&)> on_event = {};
    std::function<void(const TypeSwitchEvent&)> on_type = {};
    // Opens the sequences of a store that had no table of sequence types at the start; called again
    // for each opening, one at a time, until it gives them. NOT_FOUND: it has none yet, and so no
    // types.
    std::function<absl::StatusOr<std::unique_ptr<TypedSequences>>()> open_later = {};
  };
  // A generator on its way.
  class Opening;

  // Without `sequences`, open_later must give some. Throws std::system_error: there are no threads.
  TypedNumbers(std::unique_ptr<TypedSequences> sequences, Options options);
  ~TypedNumbers();

  // nullptr: it is not open.
  std::shared_ptr<NumberGenerator> Find(const std::string& type, const std::string& key) const;
  // Begins to open one, or joins an opening that is under way; does not wait. An opening that every
  // caller has let go of before its turn is dropped. INVALID_ARGUMENT: a bad name or key.
  // NOT_FOUND: the service does not have the type. RESOURCE_EXHAUSTED: as Wait. UNAVAILABLE: as
  // many are waited for as may be.
  absl::StatusOr<std::shared_ptr<Opening>> Open(const std::string& type, const std::string& key);
  // Likewise asks whether the store has this type; Wait then gives nullptr if it does, or
  // NOT_FOUND.
  absl::StatusOr<std::shared_ptr<Opening>> Ask(const std::string& type);
  // What the store said last where it was asked: that it has the type, by Ask and LookFor, or that
  // the type was dropped, or is one more than the service counts by, by Open, too. Such a name is
  // none of a sequence.
  bool IsType(const std::string& type) const;
  // For the sequence `name` in use: finds out, for later calls and without waiting, whether there
  // is a type of its name now, or one that its name is a counter of.
  void LookFor(const std::string& name);
  // Waits until it is open. DEADLINE_EXCEEDED: it is not yet. NOT_FOUND: there is no such type, or
  // it was dropped (IsType).
  // RESOURCE_EXHAUSTED: there is, and the service has as many generators as it may. UNAVAILABLE:
  // the store does not answer. FAILED_PRECONDITION: somebody has to mend something.
  absl::StatusOr<std::shared_ptr<NumberGenerator>> Wait(
      const std::shared_ptr<Opening>& opening,
      std::chrono::steady_clock::time_point deadline) const;

  // All types of the store, by name; blocks as it does. NOT_FOUND: it has no table of sequence
  // types yet. Other errors: SequenceTypeStore::List.
  absl::StatusOr<std::vector<SequenceType>> List() const;

  // Calls `visit` for each that is open, with its type and key.
  void ForEach(const std::function<void(const std::string&, const std::string&,
                                        const NumberGenerator&)>& visit) const;

  // The NOT_FOUND for a type when the store has no table of sequence types.
  static absl::Status HasNoTable(const std::string& type);

 private:
  // Type and key. Without a key: whether there is the type.
  using Name = std::pair<std::string, std::optional<std::string>>;

  absl::Status Check(const std::string& type, const std::string& key) const;
  absl::Status IsFull(const Name& name) const;
  // Blocks as the store does, where they are not open yet. NOT_FOUND: it has no table of sequence
  // types.
  absl::StatusOr<TypedSequences*> Sequences() const;
  // `stays`: also without anybody who waits.
  absl::StatusOr<std::shared_ptr<Opening>> Join(const Name& name, bool stays);
  // Forgets what nobody waits for any more.
  void DropUnwanted() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // nullptr: there is the type, which was all that was asked, or all that may be: `is_full`.
  // NOT_FOUND and `is_dropped`: there was one.
  absl::StatusOr<std::shared_ptr<NumberGenerator>> Make(const Name& name, bool is_full,
                                                        bool& is_dropped);
  // Opens what was asked for. Of the driver.
  absl::Duration OpenAll();

  const Options options_;
  mutable internal::Mutex later_;  // also while they are opened, so that it is once
  mutable std::unique_ptr<TypedSequences> sequences_ ABSL_GUARDED_BY(later_);  // nullptr: not yet
  const std::unique_ptr<Executor> pool_;
  mutable internal::Mutex mutex_;
  mutable internal::CondVar opened_;
  std::map<Name, std::shared_ptr<NumberGenerator>> generators_ ABSL_GUARDED_BY(mutex_);
  std::map<Name, std::shared_ptr<Opening>> openings_ ABSL_GUARDED_BY(mutex_);  // not done yet
  std::deque<Name> asked_ ABSL_GUARDED_BY(mutex_);  // of openings_, those whose turn is to come
  std::set<std::string> types_ ABSL_GUARDED_BY(mutex_);  // of IsType
  std::unique_ptr<internal::LoadDriver> driver_;         // last: its end waits for work under way
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_RULED_NUMBERS_H_
