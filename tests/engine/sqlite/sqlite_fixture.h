// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_SQLITE_SQLITE_FIXTURE_H_
#define LOCUS_TESTS_ENGINE_SQLITE_SQLITE_FIXTURE_H_

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "locus/engine/sqlite.h"
#include "locus/testing/manual_clock.h"
#include "tests/support/temporary_directory.h"

namespace locus {

// Opens the store at `path`; fails the test when refused.
inline std::unique_ptr<SqliteSegmentStore> MustOpen(const std::string& path, bool create = true) {
  SqliteSegmentStore::Options options;
  options.create = create;
  options.busy_timeout = absl::Seconds(30);
  auto store = SqliteSegmentStore::Open(path, options);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// A directory for a store, a clock, and short words for allocations of one section.
class SqliteTest : public ::testing::Test {
 protected:
  SqliteTest() : path_(directory_ / "store.db") {}

  void CreateSpace(SegmentStore& store) {
    ASSERT_TRUE(store.Create(space_, SpaceOptions(), clock_.Now()).ok());
  }
  absl::StatusOr<SegmentReply> TryAllocate(SegmentStore& store, uint16_t section = 0,
                                           uint64_t seen = 0) {
    SegmentRequest request{section, 4096, seen};
    return store.Allocate(space_, SpaceOptions(), {&request, 1}, clock_.Now());
  }
  SegmentReply Allocate(SegmentStore& store, uint16_t section = 0, uint64_t seen = 0) {
    auto reply = TryAllocate(store, section, seen);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *reply : SegmentReply{{SegmentGrant()}, {}, false};
  }
  static uint64_t EndOf(const SegmentReply& reply) { return reply.grants[0].segment.end(); }
  static uint64_t FirstOf(const SegmentReply& reply) { return reply.grants[0].segment.first; }

  TemporaryDirectory directory_;
  const std::string path_;
  const std::string sidecar_ = path_ + "-locus";
  fakes::ManualClock clock_;
  SpaceName space_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_SQLITE_SQLITE_FIXTURE_H_
