// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_RUN_LIVE_MOVE_H_
#define LOCUS_TESTS_RUN_LIVE_MOVE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/run/live_orders.h"
#include "tests/run/move_fixture.h"

namespace locus {

// Moves from their beginning to their end, under live writers.
class LiveMoveFixture : public MoveFixture {
 protected:
  // Orders from before the move: `count` of each of the genes, with values from 1 on.
  static uint64_t OldOrder(uint32_t gene, uint64_t number) {
    return (uint64_t{gene} << 47) + (uint64_t{999} << 32) + number;
  }
  void MakeOldOrders(const std::vector<uint32_t>& genes, uint64_t count) {
    for (uint32_t gene : genes) {
      Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) SELECT ", OldOrder(gene, 0),
                          " + seq, seq FROM seq_1_to_", count));
    }
  }
  static void AddOldOrders(const std::vector<uint32_t>& genes, uint64_t count,
                           std::map<std::string, std::string>& rows) {
    for (uint32_t gene : genes) {
      for (uint64_t i = 1; i <= count; ++i) {
        rows[absl::StrCat(OldOrder(gene, i))] = absl::StrCat(i);
      }
    }
  }
  // To each of the shares in turn, then finalized and cleaned up. Whether clients go on writing
  // while it is cleaned up: version triggers go then. `orders` have stopped in the end.
  enum class LastWrites { kBeforeCleanup, kBehindIt };
  void MoveUnderTraffic(size_t writers, const std::vector<uint32_t>& shares, LastWrites last,
                        std::unique_ptr<LiveOrders>& orders) {
    Begin();
    auto runner = StartRunner("one");
    ASSERT_TRUE(
        WaitUntil([&] { return Record().phase > internal::Phase::kPrepared; }, absl::Minutes(1)))
        << Record().status;
    orders = std::make_unique<LiveOrders>(*publisher_, writers);
    WaitForPhase(internal::Phase::kReady);
    for (uint32_t share : shares) {
      orders->WaitForWrites(100);
      Ask([&](internal::Wish& wish) { wish.goal = share; });
      WaitForShare(share);
      if (HasFatalFailure()) return;
    }
    orders->WaitForWrites(100);
    Ask([&](internal::Wish& wish) { wish.ending = internal::Ending::kFinalize; });
    WaitForPhase(internal::Phase::kFinalized);
    orders->WaitForWrites(100);
    if (last == LastWrites::kBeforeCleanup) orders->Stop();
    Ask([&](internal::Wish& wish) { wish.ending = internal::Ending::kCleanup; });
    WaitForPhase(internal::Phase::kDone);
    if (last == LastWrites::kBehindIt) {
      orders->WaitForWrites(100);
      orders->Stop();
    }
    runner->End();
    EXPECT_TRUE(runner->status.ok()) << runner->status;
  }
};

}  // namespace locus

#endif  // LOCUS_TESTS_RUN_LIVE_MOVE_H_
