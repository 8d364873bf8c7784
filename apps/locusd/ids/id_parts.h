// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_ID_PARTS_H_
#define LOCUS_APPS_LOCUSD_IDS_ID_PARTS_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/locusd/ids/typed_numbers.h"
#include "locus/leased_snowflake.h"
#include "locus/order_id_generator.h"
#include "locus/order_no_codec.h"
#include "locus/routing/router.h"
#include "locus/segment_sequence.h"
#include "locus/sequencer.h"
#include "src/base/run/mutex.h"

namespace locus::locusd {

// Sequences by the name of their counter, and numbers by sequence types of the same store.
// Thread safety: all methods may be called from any thread.
class SequenceSet {
 public:
  // Each name below `most` gets its sequence when it is first asked for; each costs a counter in
  // the store for good. `names`: the only ones there are; empty: any. `typed`: nullptr: the store
  // keeps no sequence types.
  SequenceSet(std::shared_ptr<Sequencer> counters, size_t most, std::set<std::string> names = {},
              SegmentSequence::Options options = {}, std::unique_ptr<TypedNumbers> typed = nullptr)
      : counters_(std::move(counters)),
        most_(most),
        names_(std::move(names)),
        options_(std::move(options)),
        typed_(std::move(typed)) {}

  // That of the name, where it was made; nullptr: it was not. `look`: whether it is time to look
  // for a type of that name, which is said to one caller every half minute.
  SegmentSequence* Known(const std::string& name, bool& look);
  // NOT_FOUND: there is none of the name, and the set makes none. INVALID_ARGUMENT: a bad name.
  absl::Status Check(const std::string& name) const;
  // Of this name. Also NOT_FOUND: the set has as many as it may have.
  absl::StatusOr<SegmentSequence*> Find(const std::string& name);
  // Calls `visit` for each.
  void ForEach(const std::function<void(const std::string&, const SegmentSequence&)>& visit) const;

  // nullptr: the store keeps no sequence types.
  TypedNumbers* typed() const { return typed_.get(); }

 private:
  struct Made {
    std::unique_ptr<SegmentSequence> sequence;
    std::chrono::steady_clock::time_point looked;  // for a type of that name
  };

  const std::shared_ptr<Sequencer> counters_;
  const size_t most_;
  const std::set<std::string> names_;
  const SegmentSequence::Options options_;
  const std::unique_ptr<TypedNumbers> typed_;
  mutable internal::Mutex mutex_;
  std::map<std::string, Made> sequences_ ABSL_GUARDED_BY(mutex_);
};

// Whether a place may give it another time, without anybody's help: it did not answer, or all that
// it has is taken (worker IDs).
bool IsAway(const absl::Status& status);

// As IdPart::Missing.
absl::Status WhyMissing(std::string_view what, const absl::Status& why_not);

// A part of an ID service that is there, is not offered, or could not be opened yet.
template <typename T>
class IdPart {
 public:
  // Not offered.
  IdPart() = default;
  IdPart(std::shared_ptr<T> part) : part_(std::move(part)) {}  // NOLINT
  IdPart(std::unique_ptr<T> part) : part_(std::move(part)) {}  // NOLINT
  static IdPart NotYet(absl::Status why) {
    IdPart part;
    part.why_not_ = std::move(why);
    return part;
  }

  explicit operator bool() const { return part_ != nullptr; }
  T* operator->() const { return part_.get(); }
  T& operator*() const { return *part_; }
  const std::shared_ptr<T>& get() const { return part_; }
  // What a request gets that needs the part, which is not there: NOT_FOUND: the service does not
  // offer `what`. UNAVAILABLE: its place IsAway. FAILED_PRECONDITION: somebody has to
  // mend something.
  absl::Status Missing(std::string_view what) const { return WhyMissing(what, why_not_); }
  // Not OK: it is configured, and could not be opened yet.
  const absl::Status& why_not() const { return why_not_; }

 private:
  std::shared_ptr<T> part_;
  absl::Status why_not_;
};

// What an ID service works with. Unchanged once requests use it: a reload makes another one, which
// shares what stays. Const: the parts may be called from any thread.
struct IdParts {
  // How a buyer key that arrives as text is meant.
  enum class Buyers { kUint64, kText };

  Buyers buyers = Buyers::kUint64;
  IdPart<OrderIdGenerator> orders;
  IdPart<const OrderNoCodec> order_no_codec;
  IdPart<Router> router;
  IdPart<LeasedSnowflake<>> snowflake;
  IdPart<SequenceSet> sequences;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_ID_PARTS_H_
