// SPDX-License-Identifier: Apache-2.0
// XA transactions in the log of a real server, while its orders move.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/apply/two_servers.h"

namespace locus {
namespace {

using mysql::ChangeApplier;
using ::testing::AllOf;
using ::testing::HasSubstr;

class PreparedXaTest : public TwoServersTest {
 protected:
  void SetUp() override {
    TwoServersTest::SetUp();
    servers_[0]->Sql("CREATE OR REPLACE DATABASE far; CREATE TABLE far.items (a INT)");
    applier_ = OpenTo(1);
  }

  static std::string Prepare(const std::string& statements) {
    return absl::StrCat("XA START 'x', 'b', 7; ", statements,
                        "; XA END 'x', 'b', 7; XA PREPARE 'x', 'b', 7");
  }
  static void Run(const std::string& statements) {
    servers_[0]->Sql(absl::StrCat("USE ", kDatabase, "; ", statements));
  }
  void ExpectFollows(const std::string& statements) {
    Run(statements);
    const absl::Status status = Follow(*applier_, 0);
    EXPECT_TRUE(status.ok()) << statements << ": " << status;
  }

  std::unique_ptr<ChangeApplier> applier_;
  uint64_t sequence_ = 0;
};

TEST_F(PreparedXaTest, RowsThatDoNotMove_StopNothing) {
  for (const std::string end : {"XA COMMIT 'x', 'b', 7", "XA ROLLBACK 'x', 'b', 7"}) {
    for (const std::string& rows :
         {std::string("INSERT INTO far.items VALUES (1)"),
          std::string("INSERT INTO other VALUES (1)"),
          InsertIn(100, sequence_) + "; UPDATE items SET share = 1 WHERE order_id >> 47 = 100; "
                                     "DELETE FROM items WHERE order_id >> 47 = 100"}) {
      // At once, and with a transaction in between.
      ExpectFollows(absl::StrCat(Prepare(rows), "; ", end));
      ExpectFollows(Prepare(rows));
      ExpectFollows(InsertIn(5, sequence_));
      ExpectFollows(end);
    }
  }
  EXPECT_EQ(applier_->counts().rogue, 0u);
  EXPECT_EQ(Sum(1), Sum(0));
}

// The position is behind the first part, and nothing else says that it was harmless.
TEST_F(PreparedXaTest, AnotherApplierBetweenTheParts_PassesTheSecond) {
  for (const char* end : {"XA COMMIT 'x', 'b', 7", "XA ROLLBACK 'x', 'b', 7"}) {
    ExpectFollows(Prepare(InsertIn(100, sequence_)));
    applier_ = nullptr;
    applier_ = OpenTo(1);
    ExpectFollows(end);
    ExpectFollows(InsertIn(5, sequence_));
  }
  EXPECT_EQ(servers_[1]->Value("SELECT COUNT(*) FROM locus_shop.items"), "2");
  EXPECT_EQ(servers_[0]->Value("SELECT COUNT(*) FROM locus_shop.items"), "3");
}

TEST_F(PreparedXaTest, OnePhase_IsAnOrdinaryTransaction) {
  ExpectFollows(absl::StrCat("XA START 'x'; ", InsertIn(5, sequence_),
                             "; XA END 'x'; XA COMMIT 'x' ONE PHASE"));
  EXPECT_EQ(servers_[1]->Value("SELECT COUNT(*) FROM locus_shop.items"), "1");
}

TEST_F(PreparedXaTest, RowsThatMove_StopTheStreamUntilItBeginsAgain) {
  ExpectFollows(InsertIn(6, sequence_));
  for (const std::string& rows :
       {absl::StrCat("INSERT INTO far.items VALUES (1); ", InsertIn(100, sequence_), "; ",
                     InsertIn(5, sequence_)),
        std::string("UPDATE items SET share = 2"), std::string("DELETE FROM items")}) {
    for (const char* end : {"XA ROLLBACK 'x', 'b', 7", "XA COMMIT 'x', 'b', 7"}) {
      Run(Prepare(rows));
      const std::string before = Sum(1);
      // It stays so, also behind its end and for another applier.
      for (int i = 0; i < 3; ++i) {
        const absl::Status status = Follow(*applier_, 0);
        EXPECT_TRUE(absl::IsFailedPrecondition(status)) << rows << ": " << status;
        EXPECT_TRUE(stream::IsCannotPass(status)) << status;
        EXPECT_THAT(std::string(status.message()),
                    AllOf(HasSubstr("XA transaction X'78',X'62',7"), HasSubstr("\"items\""),
                          HasSubstr("XA COMMIT or XA ROLLBACK")));
        if (i == 0) applier_ = OpenTo(1);
        if (i == 1) Run(end);
      }
      EXPECT_EQ(Sum(1), before) << "nothing of it is applied";
      servers_[1]->Sql(absl::StrCat("UPDATE locus_shop.locus_checkpoint SET position = '",
                                    PositionOf(0).ToString(), "'"));
      applier_ = OpenTo(1);
    }
  }
}

// Markers of the tools: none of them prepares.
TEST_F(PreparedXaTest, MarkerOfATool_HidesNoRows) {
  ASSERT_NE(OpenTo(0), nullptr);
  Run(Prepare(
      absl::StrCat("UPDATE locus_checkpoint SET counter = counter + 1; ", InsertIn(5, sequence_))));
  const absl::Status status = Follow(*applier_, 0);
  EXPECT_TRUE(stream::IsCannotPass(status)) << status;
  Run("XA ROLLBACK 'x', 'b', 7");
}

}  // namespace
}  // namespace locus
