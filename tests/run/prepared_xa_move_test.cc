// SPDX-License-Identifier: Apache-2.0
// A whole move on a server whose clients use XA.
#include "absl/strings/match.h"
#include "migration/cut_over/wishes.h"
#include "migration/run/move_control.h"
#include "migration/run/prepared_xa.h"
#include "tests/run/move_fixture.h"

namespace locus {
namespace {

using internal::Phase;
using internal::Repair;
using internal::Wish;

class PreparedXaMoveTest : public MoveFixture {
 protected:
  // Prepared XA transactions outlive their session.
  void Prepare(size_t server, const std::string& name, const std::string& statement) {
    Sql(server, absl::StrCat("XA START '", name, "'; ", statement, "; XA END '", name,
                             "'; XA PREPARE '", name, "'"));
  }
  static std::string InsertIn(uint32_t gene, uint64_t& sequence) {
    return absl::StrCat("INSERT INTO orders (order_id, value) VALUES (",
                        Number(NextIn(gene, sequence, 0, 10000)), ", 1)");
  }
  void WaitForStatus(const std::string& text) {
    ASSERT_TRUE(WaitUntil([&] { return absl::StrContains(Record().status, text); }))
        << Record().status;
  }
};

TEST_F(PreparedXaMoveTest, StreamBeginsBehindPreparedTransactionsAndXaElsewhereStopsNothing) {
  uint64_t sequence = 0;
  servers_[0]->Sql("CREATE DATABASE far; CREATE TABLE far.t (a INT PRIMARY KEY)");
  Prepare(0, "old", InsertIn(5, sequence));
  Begin();
  auto runner = StartRunner("one");
  WaitForStatus("prepared XA transactions are older than the stream");
  // It does not wait for transactions prepared since then.
  Prepare(0, "new", "INSERT INTO far.t VALUES (1)");
  Sql(0, "XA COMMIT 'old'");
  WaitForPhase(Phase::kReady);
  EXPECT_EQ(OrdersOn(1), OrdersOn(0));
  EXPECT_EQ(OrdersOn(1).size(), 1u);
  // Neither is its end a reason to stop, nor others beside the steps.
  Sql(0, "XA COMMIT 'new'");
  std::atomic<bool> stop = false;
  std::thread others([&] {
    for (int i = 2; !stop; ++i) {
      servers_[0]->Sql(absl::StrCat("XA START 'o'; INSERT INTO far.t VALUES (", i,
                                    "); XA END 'o'; XA PREPARE 'o'; XA COMMIT 'o'"));
    }
  });
  Ask([&](Wish& wish) { wish.goal = 10000; });
  WaitForShare(10000);
  stop = true;
  others.join();
  EXPECT_EQ(Record().wish.hold, "");
}

TEST_F(PreparedXaMoveTest, RowsThatMove_AreHeldAndPassedByBeginningTheStreamAgain) {
  uint64_t sequence = 0;
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  Prepare(0, "x", InsertIn(5, sequence));
  ASSERT_TRUE(WaitUntil([&] {
    return absl::StrContains(Record().wish.hold, "the XA transaction X'78',X'',1 was prepared");
  })) << Record().status;
  WaitForStatus(R"("next":"repair --reseed source")");
  // Anew, behind its rows: so it waits for its end.
  auto control = mysql::MoveControl::Create(move_).value();
  auto asked = control->Change(
      "repair",
      [&](const internal::Standing& now) {
        return AskRepair(now, Repair{false, true, false});
      },
      false);
  ASSERT_TRUE(asked.ok()) << asked.status();
  WaitForStatus("prepared XA transactions are older than the stream");
  Sql(0, "XA COMMIT 'x'");
  WaitForPhase(Phase::kReady);
  EXPECT_EQ(OrdersOn(1), OrdersOn(0));
  EXPECT_EQ(OrdersOn(1).size(), 1u);
}

// A transaction is in the log before XA RECOVER lists it. The comment stands for such a statement,
// which nothing holds up that long.
TEST_F(PreparedXaMoveTest, StatementUnderWay_IsWaitedFor) {
  auto holder = SqlSession::Open(servers_[0]->OptionsFor(kShop)).value();
  ASSERT_TRUE(holder->Run("SELECT GET_LOCK('k', 0)").ok());
  std::thread prepares([&] { servers_[0]->Sql("SELECT GET_LOCK('k', 60) /* xa prepare */"); });
  EXPECT_TRUE(WaitUntil([&] {
    return Value(0,
                 "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User lock'") ==
           "1";
  }));
  auto left = mysql::WaitForPrepared(*link_, [](size_t) { return false; });
  EXPECT_TRUE(left.ok() && *left == 1) << left.status();
  left = mysql::WaitForPrepared(*link_, [&](size_t) {
    EXPECT_TRUE(holder->Run("DO RELEASE_LOCK('k')").ok());
    return true;
  });
  EXPECT_TRUE(left.ok() && *left == 0) << left.status();
  prepares.join();
}

}  // namespace
}  // namespace locus
