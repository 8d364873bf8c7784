// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/engine/mariadb/store_time.h"
#include "tests/child_process.h"
#include "tests/mariadb_fixture.h"
#include "tests/segment_store_contract.h"

namespace locus {
namespace {

class MariadbUnderTest : public StoreUnderTest {
 public:
  std::unique_ptr<SegmentStore> Connect() override {
    auto store = MustOpen(options_);
    MariadbStoreTime::Tell(*store, clock_);
    return store;
  }
  testing::ManualClock& clock() override { return clock_; }
  bool has_own_clock() const override { return true; }

 private:
  const MariadbOptions options_ = FreshMariadbDatabase();
  testing::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Mariadb, SegmentStoreContract,
                         ::testing::Values(Engine{
                             "mariadb", [] { return std::make_unique<MariadbUnderTest>(); }}));

TEST_F(MariadbTest, StoreTime_IsTheServersClock) {
  auto store = MustOpen(options_);
  CreateSpace(*store);
  absl::Time before = absl::Now();
  LeaseReply many = Lease(*store);
  LeaseReply at_once = Lease(*store);
  absl::Time after = absl::Now();
  for (const LeaseReply& reply : {many, at_once}) {
    EXPECT_GE(reply.granted_at, before - absl::Microseconds(1));
    EXPECT_LE(reply.granted_at, after);
  }
}

}  // namespace
}  // namespace locus
