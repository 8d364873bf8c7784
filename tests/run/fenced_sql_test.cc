// SPDX-License-Identifier: Apache-2.0
// The statements of docs/fenced.sql, as they stand there, by a client that does not know locus, on
// both shards of a move.
#include <fstream>
#include <sstream>

#include "absl/strings/str_split.h"
#include "tests/run/move_fixture.h"

namespace locus {
namespace {

using internal::Ending;
using internal::Phase;
using internal::Wish;
using ::testing::HasSubstr;

class FencedSqlTest : public MoveFixture {
 protected:
  static constexpr uint64_t kOrder = (uint64_t{7} << 47) + 4242;

  void SetUp() override {
    MoveFixture::SetUp();
    // Each begins behind an empty line and its comment.
    std::ostringstream page;
    page << std::ifstream(LOCUS_FENCED_SQL).rdbuf();
    for (const std::string& part : std::vector<std::string>(absl::StrSplit(page.str(), "\n\n"))) {
      if (part.find("\nSELECT") != std::string::npos) read_ = part;
      if (part.find("\nBEGIN") != std::string::npos) update_ = part;
    }
    ASSERT_NE(read_, "");
    ASSERT_NE(update_, "");
    for (size_t server : {0u, 1u}) {
      clients_[server] = SqlSession::Open(As(server, "shop")).value();
    }
  }
  absl::Status Run(size_t server, const std::string& statements) {
    return clients_[server]->Run(statements).status();
  }
  // "none", "no such order", or the value.
  std::string Read(size_t server, uint64_t order) {
    const auto results =
        clients_[server]->Run(absl::StrCat("SET @order_id = ", order, "; ", read_));
    EXPECT_TRUE(results.ok()) << results.status();
    if (!results.ok() || results->back().rows.empty()) return "none";
    return results->back().rows[0][1].value_or("no such order");
  }
  absl::Status Update(size_t server, uint64_t order, int value) {
    return Run(server,
               absl::StrCat("SET @order_id = ", order, ", @value = ", value, "; ", update_));
  }
  void Expect(size_t here) {
    SCOPED_TRACE(here);
    const size_t away = 1 - here;
    ++value_;
    EXPECT_EQ(Read(away, kOrder), "none");
    EXPECT_EQ(Read(away, kOrder + 1), "none");
    const absl::Status refused = Update(away, kOrder, 999);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr(away == 0 ? " orders-b" : "LOCUS_FENCED "));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("LOCUS_FENCED "));
    const absl::Status updated = Update(here, kOrder, value_);
    EXPECT_TRUE(updated.ok()) << updated;
    EXPECT_EQ(Read(here, kOrder), absl::StrCat(value_));
    EXPECT_EQ(Read(here, kOrder + 1), "no such order");
    EXPECT_TRUE(Update(here, kOrder + 1, 5).ok()) << "0 rows: it is nowhere";
    // Neither leaves a transaction or a lock behind.
    for (size_t server : {0u, 1u}) {
      const auto open = clients_[server]->Run("SELECT @@in_transaction");
      EXPECT_EQ(open->back().rows[0][0], "0");
    }
  }

  std::string read_, update_;
  std::unique_ptr<SqlSession> clients_[2];
  int value_ = 100;
};

TEST_F(FencedSqlTest, StatementsOfThePage_HoldOnBothShardsUntilAfterTheCleanup) {
  Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", kOrder, ", 1)"));
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  Expect(0);
  Ask([&](Wish& wish) { wish.goal = 10000; });
  WaitForShare(10000);
  Expect(1);
  Ask([&](Wish& wish) { wish.ending = Ending::kFinalize; });
  WaitForPhase(Phase::kFinalized);
  // A client without them meets old data here, and an UPDATE of 0 rows after the cleanup.
  Expect(1);
  EXPECT_NE(Value(0, absl::StrCat("SELECT value FROM locus_shop.orders WHERE order_id = ", kOrder)),
            absl::StrCat(value_));
  Ask([&](Wish& wish) { wish.ending = Ending::kCleanup; });
  WaitForPhase(Phase::kDone);
  runner->End();
  Expect(1);
  EXPECT_TRUE(Run(0, absl::StrCat("UPDATE orders SET value = 9 WHERE order_id = ", kOrder)).ok());
}

// A replica may lag: its fence may be as old as its rows.
TEST_F(FencedSqlTest, OnAReplica_NothingIsReadAndNothingWritten) {
  Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", kOrder, ", 1)"));
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  runner->End();
  EXPECT_EQ(Read(0, kOrder), "1");
  // A replica has the rows of the primary, and a number of its own.
  const std::string number = Value(0, "SELECT @@GLOBAL.server_id");
  Sql(0, "SET GLOBAL server_id = 7777");
  clients_[0] = SqlSession::Open(As(0, "shop")).value();
  EXPECT_EQ(Read(0, kOrder), "none");
  EXPECT_THAT(std::string(Update(0, kOrder, 2).message()), HasSubstr("LOCUS_FENCED"));
  Sql(0, absl::StrCat("SET GLOBAL server_id = ", number));
  EXPECT_EQ(Value(0, "SELECT value FROM locus_shop.orders"), "1");
}

// The read holds the order on its shard until COMMIT: the band cannot be handed over.
TEST_F(FencedSqlTest, ReadInATransaction_KeepsTheOrderHere) {
  Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", kOrder, ", 1)"));
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  ASSERT_TRUE(Run(0, "START TRANSACTION").ok());
  ASSERT_EQ(Read(0, kOrder), "1");
  Ask([&](Wish& wish) { wish.goal = 10000; });
  ASSERT_TRUE(WaitUntil([&] {
    return absl::StrContains(Record().status, "writers under way kept the fence");
  })) << Record().status;
  ASSERT_TRUE(Run(0, "COMMIT").ok());
  WaitForShare(10000);
  EXPECT_EQ(Read(0, kOrder), "none");
  runner->End();
}

// START TRANSACTION would commit what the client has written before.
TEST_F(FencedSqlTest, UpdateInATransaction_IsRefusedAndCommitsNothing) {
  Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", kOrder, ", 1)"));
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  for (const char* begin : {"START TRANSACTION", "SET autocommit = 0"}) {
    ASSERT_TRUE(Run(0, begin).ok());
    ASSERT_TRUE(Run(0, absl::StrCat("UPDATE orders SET value = 2 WHERE order_id = ", kOrder)).ok());
    const absl::Status refused = Update(0, kOrder, 3);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("end your transaction first"));
    ASSERT_TRUE(Run(0, "ROLLBACK; SET autocommit = 1").ok());
    EXPECT_EQ(Read(0, kOrder), "1");
  }
  EXPECT_TRUE(Update(0, kOrder, 3).ok());
  EXPECT_EQ(Read(0, kOrder), "3");
  runner->End();
}

}  // namespace
}  // namespace locus
