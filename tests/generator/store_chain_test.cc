// SPDX-License-Identifier: Apache-2.0
#include "src/segment/store_chain.h"

#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "locus/testing/faulty_segment_store.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"
#include "tests/support/private_server.h"

namespace locus {

using internal::Counters;
using internal::SegmentWord;
using internal::StoreChain;

namespace {

// A caller may look between the two steps by which a section moves on, and find nothing. It waits
// then for a signal, which a store that stalls does not give.
TEST(StoreChainTest, LoaderLeavesAnOldSegment_WaitingCallersTryAgainAtOnce) {
  fakes::ManualClock clock;
  fakes::ManualExecutor executor;
  auto store = std::make_shared<fakes::FaultySegmentStore>(clock);
  ASSERT_TRUE(store->Create(SpaceName(), SpaceOptions(), clock.Now()).ok());
  OrderIdGenerator::Options options;
  options.clock = &clock;
  options.executor = &executor;
  Counters counters(SpaceOptions().section_size, OrderId::kMaxNarrowSequence + 1);
  internal::ResultSignal loaded;
  StoreChain::Assignment all;
  all.store = store;
  all.last_section = counters.sections() - 1;
  StoreChain chain(all, SpaceOptions(), options, counters, loaded);
  chain.Wake(counters.AskFor(0, Counters::kStarved));
  executor.RunReady();
  ASSERT_NE(counters.Take(0), Counters::kNone);
  ASSERT_EQ(counters.NextCount(0), 1);
  const SegmentWord old = counters.Current(0);

  std::atomic<int> attempts = 0;
  std::atomic<bool> done = false;
  std::thread caller([&] {
    loaded
        .RetryUntil(std::chrono::steady_clock::now() + std::chrono::minutes(1),
                    [&] {
                      ++attempts;
                      return done ? absl::OkStatus() : absl::UnavailableError("");
                    })
        .IgnoreError();
  });
  EXPECT_TRUE(WaitUntil([&] { return attempts == 2; }));  // it waits now
  store->Stall();
  clock.Advance(2 * options.horizon);
  std::thread loader([&] { executor.RunDelayed(); });
  EXPECT_TRUE(WaitUntil([&] { return counters.Current(0) != old; }));
  EXPECT_TRUE(WaitUntil([&] { return attempts > 2; }));
  done = true;
  store->Heal();
  loaded.Notify();
  loader.join();
  caller.join();
}

}  // namespace
}  // namespace locus
