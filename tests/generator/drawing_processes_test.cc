// SPDX-License-Identifier: Apache-2.0
#include "tests/generator/drawing_processes.h"

#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "tests/engine/sqlite/sqlite_fixture.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

TEST(DrawingProcessesTest, OneStore_NoIdTwice) {
  TemporaryDirectory directory;
  std::string path = directory / "store.db";
  ChildProcess creator([&] {
    return MustOpen(path)->Create(SpaceName(), SpaceOptions(), absl::Now()).ok() ? 0 : 1;
  });
  ASSERT_EQ(creator.Wait(), 0);
  DrawingProcesses::Options options;
  options.rate = 0;
  DrawingProcesses processes([&] { return MustOpen(path); }, options);
  ASSERT_TRUE(processes.WaitForEach(20000));
  processes.KillAndRestart(1);
  ASSERT_TRUE(processes.WaitForEach(20000));
  processes.Stop();
  EXPECT_EQ(processes.Repeated(), "");
  EXPECT_GE(processes.drawn(), 160000u);
}

// Each process allocates from a store of its own, so they repeat each other: the check must see it.
// The floor hardly rises, so it does not keep those apart that begin at different times.
TEST(DrawingProcessesTest, StoresThatKnowNothingOfEachOther_RepeatIsSeen) {
  SpaceOptions space;
  space.floor_rate = 1;
  absl::Time now = absl::Now();
  DrawingProcesses processes(
      [&]() -> absl::StatusOr<std::shared_ptr<SegmentStore>> {
        auto store = std::make_shared<MemorySegmentStore>();
        absl::Status created = store->Create(SpaceName(), space, now);
        if (!created.ok()) return created;
        return store;
      },
      DrawingProcesses::Options());
  ASSERT_TRUE(processes.WaitForEach(20000));
  processes.Stop();
  EXPECT_NE(processes.Repeated(), "");
}

}  // namespace
}  // namespace locus
