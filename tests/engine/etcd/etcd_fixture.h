// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_ETCD_ETCD_FIXTURE_H_
#define LOCUS_TESTS_ENGINE_ETCD_ETCD_FIXTURE_H_

#include <memory>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/engine/etcd.h"
#include "src/engine/etcd/connection.h"
#include "tests/engine/etcd/etcd_server.h"
#include "tests/segment/segment_words.h"

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

inline std::unique_ptr<etcd::Connection> RawConnection(const EtcdOptions& options) {
  return etcd::Connection::Open(options).value();
}
// Puts a value past the engine, as with etcdctl.
inline void PutRaw(const EtcdOptions& options, const std::string& key, const std::string& value) {
  auto connection = RawConnection(options);
  etcd::Txn txn;
  auto answer = connection->Commit(txn.Put(key, value), connection->Deadline());
  ASSERT_TRUE(answer.ok()) << answer.status();
}

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_ETCD_ETCD_FIXTURE_H_
