// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ETCD_FIXTURE_H_
#define LOCUS_TESTS_ETCD_FIXTURE_H_

#include <memory>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/engine/etcd.h"
#include "src/engine/etcd/connection.h"
#include "tests/etcd_server.h"

namespace locus {

// Fails the test when refused.
inline std::unique_ptr<EtcdSegmentStore> MustOpen(const EtcdOptions& options) {
  auto store = EtcdSegmentStore::Open(options);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}
inline std::unique_ptr<EtcdSequencer> MustOpenSequencer(const EtcdOptions& options,
                                                        const SequencerOptions& sequencer = {}) {
  auto opened = EtcdSequencer::Open(options, sequencer);
  EXPECT_TRUE(opened.ok()) << opened.status();
  return *std::move(opened);
}

// Short words for leases of one section, by the right time.
inline absl::StatusOr<LeaseReply> TryLease(SegmentStore& store, uint16_t section = 0,
                                           uint64_t seen = 0) {
  LeaseRequest request{section, 4096, seen};
  return store.Lease(SpaceName(), {&request, 1}, absl::Now());
}
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

inline std::unique_ptr<etcd::Connection> RawConnection(const EtcdOptions& options) {
  return etcd::Connection::Open(options).value();
}
// Puts a value past the engine, as somebody with etcdctl does.
inline void PutRaw(const EtcdOptions& options, const std::string& key, const std::string& value) {
  auto connection = RawConnection(options);
  etcd::Txn txn;
  auto answer = connection->Commit(txn.Put(key, value), connection->Deadline());
  ASSERT_TRUE(answer.ok()) << answer.status();
}

}  // namespace locus

#endif  // LOCUS_TESTS_ETCD_FIXTURE_H_
