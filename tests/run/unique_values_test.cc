// SPDX-License-Identifier: Apache-2.0
// A move of orders that hand a unique value from one to another all the while.
#include <atomic>
#include <random>
#include <thread>

#include "absl/time/clock.h"
#include "tests/run/move_fixture.h"

namespace locus {
namespace {

using internal::Phase;

constexpr uint64_t kOrders = 6000;

class UniqueValuesTest : public MoveFixture {
 protected:
  static std::string IdText(uint64_t i) {
    return Number(IdOf(static_cast<uint32_t>(i % 100), i / 100 + 1));
  }
  std::string Sum(size_t server) {
    return servers_[server]->Value(
        "SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT_WS(' ', order_id, slot, version)))) FROM"
        " locus_shop.orders");
  }
};

TEST_F(UniqueValuesTest, ValuesThatWanderWhileRowsAreCopied_HoldNothing) {
  for (size_t server : {0, 1}) Sql(server, "ALTER TABLE orders ADD slot INT UNIQUE");
  std::string rows;
  for (uint64_t i = 0; i < kOrders; ++i) {
    absl::StrAppend(&rows, i == 0 ? "" : ",", "(", IdText(i), ",", i, ")");
  }
  Sql(0, absl::StrCat("INSERT INTO orders (order_id, slot) VALUES ", rows));
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> exchanges = 0;
  std::thread writer([&] {
    auto shop = SqlSession::Open(servers_[0]->Account(kShop)).value();
    std::mt19937_64 random(5);
    while (!stop) {
      const std::string one = IdText(random() % kOrders), other = IdText(random() % kOrders);
      // At no moment two have it.
      const absl::Status done =
          shop->Run(absl::StrCat(
                        "BEGIN; SELECT slot INTO @a FROM orders WHERE order_id = ", one,
                        " FOR UPDATE; SELECT slot INTO @b FROM orders WHERE order_id = ", other,
                        " FOR UPDATE; UPDATE orders SET slot = NULL WHERE order_id"
                        " = ",
                        one, "; UPDATE orders SET slot = @a WHERE order_id = ", other,
                        " AND order_id <> ", one, "; UPDATE orders SET slot = IF(", one, " = ",
                        other, ", @a, @b) WHERE order_id = ", one, "; COMMIT"))
              .status();
      if (done.ok()) {
        ++exchanges;
      } else {
        shop->Run("ROLLBACK").IgnoreError();
      }
      // Not more than a stream on a slow machine follows.
      absl::SleepFor(absl::Milliseconds(5));
    }
  });
  Begin();
  mysql::RunnerOptions options = TestRunner("one", directory_ / "");
  options.pace.chunk_time = absl::Milliseconds(5);
  auto runner = StartRunner(options);
  WaitForPhase(Phase::kReady);
  stop = true;
  writer.join();
  EXPECT_GT(exchanges, 100u);
  EXPECT_EQ(Record().phase, Phase::kReady) << Record().wish.hold;
  EXPECT_TRUE(WaitUntil([&] { return Sum(0) == Sum(1); })) << Sum(0) << ", " << Sum(1);
}

}  // namespace
}  // namespace locus
