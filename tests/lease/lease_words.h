// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_LEASE_LEASE_WORDS_H_
#define LOCUS_TESTS_LEASE_LEASE_WORDS_H_

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/segment_store.h"

// Short words for leases of one section, by the right time.
namespace locus {

inline absl::StatusOr<LeaseReply> TryLease(SegmentStore& store, uint16_t section = 0,
                                           uint64_t seen = 0) {
  LeaseRequest request{section, 4096, seen};
  return store.Lease(SpaceName(), SpaceOptions(), {&request, 1}, absl::Now());
}
// Fails the test when refused.
inline LeaseReply Lease(SegmentStore& store, uint16_t section = 0, uint64_t seen = 0) {
  auto reply = TryLease(store, section, seen);
  EXPECT_TRUE(reply.ok()) << reply.status();
  return reply.ok() ? *reply : LeaseReply{{LeaseGrant()}, {}, false};
}
inline uint64_t EndOf(const LeaseReply& reply) { return reply.grants[0].segment.end(); }
inline uint64_t FirstOf(const LeaseReply& reply) { return reply.grants[0].segment.first; }

inline void CreateSpace(SegmentStore& store) {
  absl::Status created = store.Create(SpaceName(), SpaceOptions(), absl::Now());
  ASSERT_TRUE(created.ok()) << created;
}

}  // namespace locus

#endif  // LOCUS_TESTS_LEASE_LEASE_WORDS_H_
