// SPDX-License-Identifier: Apache-2.0
// Shards that are killed at points of a step, and started again on the same data, while orders are
// written.
#include <atomic>
#include <cstdlib>
#include <iostream>

#include "absl/strings/match.h"
#include "tests/run/live_orders.h"
#include "tests/run/move_fixture.h"

namespace locus {
namespace {

using internal::Phase;
using internal::Wish;

class KilledShardsTest : public MoveFixture {};

// The points are counted in the runner's statements, from the one that closes the fence of the
// donor: 0 is before it, 2 before its COMMIT, the later ones while the token is on its way.
// LOCUS_ALL_STATEMENTS=1: the first twelve, for each shard and in both directions; otherwise some.
TEST_F(KilledShardsTest, KilledAtAnyPointOfAStep_NothingAcknowledgedIsLost) {
  const bool all = std::getenv("LOCUS_ALL_STATEMENTS") != nullptr;
  std::vector<std::pair<int, size_t>> points;
  for (int point = 0; point < 12; ++point) {
    for (size_t shard : {0, 1}) {
      // One step forth and one back at each point.
      if (all) points.insert(points.end(), 2, {point, shard});
    }
  }
  if (!all) points = {{0, 0}, {2, 0}, {3, 1}, {4, 0}, {6, 1}, {9, 0}};
  Begin();
  std::atomic<int> left = -1;  // statements until the kill; -1: the fence was not closed yet
  std::atomic<int> victim = -1;
  std::atomic<int> point = 0;
  mysql::RunnerOptions options = TestRunner("one", directory_ / "");
  options.before_statement = [&](const std::string& statement) {
    if (victim < 0) return;
    if (left < 0 && !absl::StrContains(statement, "UPDATE locus_fence")) return;
    left = left < 0 ? point.load() : left - 1;
    if (left > 0) return;
    servers_[static_cast<size_t>(victim)]->SignalKill();
    left = -1;
    victim = -1;
  };
  auto runner = StartRunner(options);
  WaitForPhase(Phase::kReady);
  LiveOrders orders(*publisher_, 4, /*shards_die=*/true);
  uint32_t goal = 0;
  for (const auto& [at, shard] : points) {
    SCOPED_TRACE(absl::StrCat("shard ", shard, " before statement ", at));
    orders.WaitForWrites(20);
    point = at;
    goal = goal == 0 ? 5000 : 0;
    victim = static_cast<int>(shard);
    Ask([&](Wish& wish) {
      wish.goal = goal;
      wish.by = 5000;
    });
    ASSERT_TRUE(WaitUntil([&] { return victim < 0; })) << Record().status;
    servers_[shard]->KillHard();
    ASSERT_TRUE(servers_[shard]->Start());
    ASSERT_TRUE(WaitUntil([&] { return records_->Read(move_.name).ok(); }));
    WaitForShare(goal);
    if (HasFailure()) return;
  }
  orders.WaitForWrites(50);
  orders.Stop();
  runner->End();
  ASSERT_EQ(goal, 0u);
  EXPECT_EQ(OrdersOn(0), orders.Expected());
  std::cout << points.size() << " kills, " << orders.done() << " writes\n";
}

}  // namespace
}  // namespace locus
