// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_ID_PARTS_H_
#define LOCUS_APPS_LOCUSD_IDS_ID_PARTS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "locus/leased_snowflake.h"
#include "locus/order_id_generator.h"
#include "locus/order_no_codec.h"
#include "locus/routing/router.h"
#include "locus/segment_sequence.h"
#include "locus/sequencer.h"
#include "src/base/mutex.h"

namespace locus::locusd {

// Sequences by the name of their counter.
// Thread safety: all methods may be called from any thread.
class SequenceSet {
 public:
  SequenceSet() = default;
  // Each name below `most` gets its sequence when it is first asked for; each costs a counter in
  // the store for good.
  SequenceSet(std::shared_ptr<Sequencer> counters, size_t most)
      : counters_(std::move(counters)), most_(most) {}

  // Of this name. NOT_FOUND: there is none, and the set makes none, or has as many as it may have.
  // INVALID_ARGUMENT: a bad name.
  absl::StatusOr<SegmentSequence*> Find(const std::string& name);
  // Calls `visit` for each.
  void ForEach(const std::function<void(const std::string&, const SegmentSequence&)>& visit) const;

 private:
  const std::shared_ptr<Sequencer> counters_;
  const size_t most_ = 0;
  mutable internal::Mutex mutex_;
  std::map<std::string, std::unique_ptr<SegmentSequence>> sequences_ ABSL_GUARDED_BY(mutex_);
};

// What an ID service works with. What is not there is not offered.
struct IdParts {
  // How a buyer key that arrives as text is meant.
  enum class Buyers { kUint64, kText };

  Buyers buyers = Buyers::kUint64;
  std::unique_ptr<OrderIdGenerator> orders;
  std::optional<OrderNoCodec> numbers;
  std::unique_ptr<Router> router;
  std::unique_ptr<LeasedSnowflake<>> snowflake;
  std::unique_ptr<SequenceSet> sequences = std::make_unique<SequenceSet>();
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_ID_PARTS_H_
