// SPDX-License-Identifier: Apache-2.0
// A move of shards whose guards were dropped.
#include "tests/run/live_move.h"

namespace locus {
namespace {

using internal::Phase;

class GuardsAgainTest : public LiveMoveFixture {};

TEST_F(GuardsAgainTest, FenceWithoutGuards_HasThemBeforeItIsPrepared) {
  MakeOldOrders({0, 200}, 20);
  for (size_t server : {0u, 1u}) {
    const ShardFence fence =
        ShardFence::Create(As(server, "mover"), mysql::FenceOptionsOf(move_)).value();
    const absl::Status installed =
        fence.Install(TableAt(1, {}), server == 0 ? move_.source.id : move_.target.id);
    ASSERT_TRUE(installed.ok()) << installed;
    EXPECT_EQ(fence.DropGuards(false)->size(), 6u);
  }
  // No guard can be made on the target meanwhile.
  auto reader = SqlSession::Open(As(1, "shop")).value();
  ASSERT_TRUE(reader->Run("BEGIN; SELECT * FROM orders").ok());
  Begin();
  auto runner = StartRunner("one");
  auto guards = [&](size_t server) {
    return Value(server,
                 "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA ="
                 " 'locus_shop' AND TRIGGER_NAME LIKE 'locus\\_guard\\_%'");
  };
  ASSERT_TRUE(WaitUntil([&] {
    return guards(0) == "6" && absl::StrContains(Record().status, "repeat the call");
  })) << guards(0)
      << " " << Record().status;
  EXPECT_EQ(Record().phase, Phase::kPlanned);
  EXPECT_NE(guards(1), "6");
  ASSERT_TRUE(reader->Run("COMMIT").ok());
  WaitForPhase(Phase::kReady);
  if (HasFatalFailure()) return;
  EXPECT_EQ(guards(1), "6");
  auto stale = SqlSession::Open(As(1, "shop")).value();
  EXPECT_FALSE(stale->Run("INSERT INTO orders (order_id) VALUES (7)").ok());
  runner->End();
}

}  // namespace
}  // namespace locus
