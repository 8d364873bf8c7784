// SPDX-License-Identifier: Apache-2.0
// Runners that die before any of their statements, while orders are written: the next one
// continues.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "absl/time/clock.h"
#include "tests/run/live_orders.h"
#include "tests/run/move_fixture.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

using internal::Phase;
using internal::Wish;
using ::testing::HasSubstr;
using ::testing::Not;

class DyingRunnerTest : public MoveFixture {
 protected:
  // A process that dies before its statement number `statement`; 0: never.
  std::unique_ptr<PrivateServer> StartDying(int statement) {
    auto process = std::make_unique<PrivateServer>(
        std::vector<std::string>{LOCUS_DYING_RUNNER, directory_ / "table.json", directory_ / "",
                                 absl::StrCat(servers_[0]->port()),
                                 absl::StrCat(servers_[1]->port()), absl::StrCat(statement)},
        directory_ / "runner.log");
    EXPECT_TRUE(process->Start([] { return true; }));
    return process;
  }
};

// LOCUS_ALL_STATEMENTS=1: every statement of a runner's first steps; otherwise some of them.
TEST_F(DyingRunnerTest, KilledBeforeAnyStatement_TheNextOneContinuesAndNothingIsLost) {
  const bool all = std::getenv("LOCUS_ALL_STATEMENTS") != nullptr;
  const int most = all ? 160 : 60, pause = all ? 1 : 7;
  Begin();
  {
    auto first = StartRunner("first");
    WaitForPhase(Phase::kReady);
    first->End();
  }
  LiveOrders orders(*publisher_, 4);
  uint32_t goal = 0;
  int died = 0;
  absl::Duration longest = absl::ZeroDuration();
  for (int statement = 1; statement <= most; statement += pause) {
    SCOPED_TRACE(absl::StrCat("statement ", statement));
    goal = goal == 0 ? 5000 : 0;
    Ask([&](Wish& wish) {
      wish.goal = goal;
      wish.by = 5000;
      wish.dwell = absl::ZeroDuration();
      wish.hold.clear();
    });
    const absl::Time begun = absl::Now();
    auto runner = StartDying(statement);
    ASSERT_TRUE(WaitUntil([&] { return !runner->running(); })) << Record().status;
    // It ended itself, and not because it could not continue.
    ASSERT_THAT(runner->LogTail(), Not(HasSubstr("the runner ended"))) << Record().status;
    longest = std::max(longest, absl::Now() - begun);
    ++died;
    if (HasFailure()) return;
  }
  // The last one lives, and ends what the others began.
  auto last = StartDying(0);
  WaitForShare(goal);
  orders.WaitForWrites(50);
  orders.Stop();
  // Half of the orders live on the source still, and reach the target by its stream.
  const std::map<std::string, std::string> expected = orders.Expected();
  WaitUntil([&] { return OrdersOn(goal == 0 ? 0 : 1) == expected; });
  last->KillHard();
  EXPECT_EQ(OrdersOn(goal == 0 ? 0 : 1), expected);
  std::cout << died << " runners died, after " << absl::FormatDuration(longest) << " at most, "
            << orders.done() << " writes\n";
}

}  // namespace
}  // namespace locus
