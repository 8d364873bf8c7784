// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_GENERATOR_NAIVE_GENERATOR_H_
#define LOCUS_TESTS_GENERATOR_NAIVE_GENERATOR_H_

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "locus/order_id.h"
#include "locus/segment_store.h"

namespace locus {

// The naive twin of OrderIdGenerator: one map, one mutex, a store call wherever a section runs out.
// It knows nothing of words, cursors or prefetching; tests compare the fast one with it.
class NaiveGenerator {
 public:
  NaiveGenerator(SegmentStore& store, SpaceName space, uint64_t length)
      : store_(store), space_(std::move(space)), length_(length) {
    options_ = store_.ReadOptions(space_).value();
  }

  absl::StatusOr<OrderId> Next(ShardGene gene, absl::Time now) {
    std::lock_guard lock(mutex_);
    auto section = static_cast<uint16_t>(gene.value() / options_.section_size);
    Segment& segment = segments_[section];
    uint64_t sequence = std::max(next_[gene], segment.first);
    if (segment.length == 0 || sequence >= segment.end()) {
      SegmentRequest request{section, length_, segment.end()};
      auto reply = store_.Allocate(space_, options_, {&request, 1}, now);
      if (!reply.ok()) return reply.status();
      if (reply->grants[0].segment.length == 0) return absl::UnavailableError("lead used up");
      segment = reply->grants[0].segment;
      sequence = std::max(next_[gene], segment.first);
    }
    next_[gene] = sequence + 1;
    return OrderId::FromParts(gene, sequence);
  }

 private:
  SegmentStore& store_;
  const SpaceName space_;
  const uint64_t length_;
  SpaceOptions options_;
  std::mutex mutex_;
  std::map<uint16_t, Segment> segments_;
  std::map<ShardGene, uint64_t> next_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_GENERATOR_NAIVE_GENERATOR_H_
