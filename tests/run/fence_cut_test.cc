// SPDX-License-Identifier: Apache-2.0
// The rows of a move are cut out of the fence while clients write.
#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "migration/engine/mariadb/run/band_rows.h"
#include "migration/engine/mariadb/session/marker_tables.h"
#include "migration/fence/guard_sql.h"
#include "tests/fence/fence_fixture.h"

namespace locus::mariadb {
namespace {

constexpr char kDatabase[] = "locus_bands";
constexpr unsigned kDeadlock = 1213;

class FenceCutTest : public FencedServerTest {
 protected:
  void SetUp() override {
    server_->Sql(absl::StrCat(
        "DROP DATABASE IF EXISTS ", kDatabase, "; CREATE DATABASE ", kDatabase, "; USE ", kDatabase,
        "; CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, note INT); ",
        internal::kCreateFence));
    for (const GuardTrigger& guard : GuardTriggersOf(FenceOf({{.name = "orders"}}))) {
      server_->Sql(absl::StrCat("USE ", kDatabase, "; CREATE TRIGGER ", guard.name, " BEFORE ",
                                guard.event, " ON orders FOR EACH ROW ", guard.body));
    }
    MariadbOptions options = server_->Account(kDatabase);
    options.user = "mover";
    link_ = ShardLink::Create(options).value();
    for (const std::string& create : CreateMarkerTables()) ASSERT_TRUE(link_->Run(create).ok());
    ASSERT_TRUE(
        link_->Run("INSERT INTO locus_run (move, run, ping, counter) VALUES ('first', 7, 0, 1)")
            .ok());
    move_.name = "first";
    move_.source.name = "orders-a";
    move_.target.name = "orders-b";
    move_.ranges = {{10, 19}, {40, 49}};
  }

  std::unique_ptr<ShardLink> link_;
  Move move_;
};

// Under REPEATABLE READ the guards lock the gap behind the row, where the new ones belong.
TEST_F(FenceCutTest, CutBesideBusyWriters_NoneIsRefusedAndItComesToAnEnd) {
  std::atomic<bool> end = false;
  std::atomic<int> writes = 0;
  auto fence = [] {
    server_->Sql(
        absl::StrCat("USE ", kDatabase, "; DELETE FROM locus_fence; INSERT INTO",
                     " locus_fence VALUES (0, 99, 0, 10000, 0, @@server_id, NULL, NULL), (100,",
                     " 65535, 0, 10000, 0, @@server_id, NULL, NULL)"));
  };
  fence();
  std::vector<std::thread> threads;
  for (unsigned w = 0; w < 16; ++w) {
    threads.emplace_back([&, w] {
      auto session = SqlSession::Open(server_->OptionsFor(kDatabase)).value();
      uint64_t sequence = w;
      while (!end) {
        bool done = session->Run("BEGIN").ok();
        // Half of them never meet the row that is cut, but lock the gap before their own row.
        for (uint32_t gene : w % 2 == 0 ? std::vector<uint32_t>{15, 45, 30}
                                        : std::vector<uint32_t>{300, 301, 302}) {
          done = done &&
                 session
                     ->Run(absl::StrCat("INSERT INTO orders VALUES (",
                                        Number(IdOf(gene, sequence += 16)), ", 0); DO SLEEP(0.01)"))
                     .ok();
        }
        if (done && session->Run("COMMIT").ok()) {
          ++writes;
          continue;
        }
        // Refused (1644) would mean that a client gives up an order that is accepted here.
        EXPECT_EQ(session->error(), kDeadlock);
        EXPECT_TRUE(session->Run("ROLLBACK").ok());
      }
    });
  }
  EXPECT_TRUE(WaitUntil([&] { return writes > 100; }));
  BandRows rows(move_, internal::Side::kSource, *link_);
  absl::Status made = absl::UnavailableError("not yet");
  EXPECT_TRUE(WaitUntil([&] {
    made = rows.Make(1, 7, absl::Milliseconds(150));
    return !absl::IsUnavailable(made);
  }));
  EXPECT_TRUE(made.ok()) << made;
  const int before = writes;
  EXPECT_TRUE(WaitUntil([&] { return writes > before + 100; }));
  end = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server_->Value("SELECT GROUP_CONCAT(lo, '-', hi, ' ', step ORDER BY lo) FROM"
                           " locus_bands.locus_fence"),
            "0-9 0,10-19 1,20-39 0,40-49 1,50-99 0,100-65535 0");
}

}  // namespace
}  // namespace locus::mariadb
