// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SEGMENT_SEGMENT_WORDS_H_
#define LOCUS_TESTS_SEGMENT_SEGMENT_WORDS_H_

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/segment_store.h"

// Short words for allocations of one section, by the right time.
namespace locus {

inline absl::StatusOr<SegmentReply> TryAllocate(SegmentStore& store, uint16_t section = 0,
                                                uint64_t seen = 0) {
  SegmentRequest request{section, 4096, seen};
  return store.Allocate(SpaceName(), SpaceOptions(), {&request, 1}, absl::Now());
}
// Fails the test when refused.
inline SegmentReply Allocate(SegmentStore& store, uint16_t section = 0, uint64_t seen = 0) {
  auto reply = TryAllocate(store, section, seen);
  EXPECT_TRUE(reply.ok()) << reply.status();
  return reply.ok() ? *reply : SegmentReply{{SegmentGrant()}, {}, false};
}
inline uint64_t EndOf(const SegmentReply& reply) { return reply.grants[0].segment.end(); }
inline uint64_t FirstOf(const SegmentReply& reply) { return reply.grants[0].segment.first; }

inline void CreateSpace(SegmentStore& store) {
  absl::Status created = store.Create(SpaceName(), SpaceOptions(), absl::Now());
  ASSERT_TRUE(created.ok()) << created;
}

}  // namespace locus

#endif  // LOCUS_TESTS_SEGMENT_SEGMENT_WORDS_H_
