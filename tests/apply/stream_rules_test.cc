// SPDX-License-Identifier: Apache-2.0
// Which rows of a stream are applied, which runs may apply them, and how far it is known to be.
#include <thread>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/cut_over/token.h"
#include "migration/mysql/marker_tables.h"
#include "tests/apply/two_servers.h"

namespace locus {
namespace {

using mysql::ApplierOptions;
using mysql::ChangeApplier;
using ::testing::HasSubstr;

constexpr char kFenceNow[] =
    "SELECT GROUP_CONCAT(CONCAT_WS(' ', lo, own_lo, own_hi, step) ORDER BY lo) FROM"
    " locus_shop.locus_fence";

class StreamRulesTest : public TwoServersTest {
 protected:
  static std::unique_ptr<ChangeApplier> Open(const ApplierOptions& options,
                                             const stream::GtidPosition& start) {
    auto applier = ChangeApplier::Open(options, start);
    EXPECT_TRUE(applier.ok()) << applier.status();
    return *std::move(applier);
  }
  static std::string GenesOn(size_t server) {
    return servers_[server]->Value(
        "SELECT GROUP_CONCAT(order_id >> 47 ORDER BY order_id) FROM locus_shop.items");
  }
  // By a session of its own, as a coordinator does.
  static absl::Status TakeOver(size_t server, uint64_t run,
                               absl::Duration patience = absl::Seconds(30)) {
    std::string place;
    auto handle = mysql::LogInToAny(As(server, "mover"), "s3cret", place);
    if (!handle.ok()) return handle.status();
    return mysql::TakeOverRun(handle->get(), place, "first", run, patience);
  }
  static void Shop(const std::string& statements) {
    servers_[0]->Sql(absl::StrCat("USE ", kDatabase, "; ", statements));
  }
  uint64_t sequence_ = 0;
};

// However long a batch may be read: writers wait for the band of a token.
TEST_F(StreamRulesTest, TokensAndPings_EndTheirBatch) {
  MakeFence(0, "(0, 99, 0, 10000, 1, 1, NULL, NULL)");
  ASSERT_TRUE(TakeOver(0, 1).ok());
  auto applier = Open(OptionsTo(1), start_);
  mysql::BinlogReaderOptions options;
  options.server = As(0, "mover");
  options.stream.position = PositionOf(0);
  options.stream.wanted = [&](std::string_view database, std::string_view table) {
    return database == kDatabase && applier->Wants(table);
  };
  options.stop_at_end = true;
  for (const char* hurried : {"UPDATE locus_fence SET own_lo = 1, step = 2",
                              "UPDATE locus_run SET ping = ping + 1", "DO 1"}) {
    Shop(InsertIn(5, sequence_));
    Shop(InsertIn(5, sequence_));
    Shop(hurried);
  }
  auto reader = mysql::BinlogReader::Open(options);
  ASSERT_TRUE(reader.ok()) << reader.status();
  mysql::BatchLimits limits;
  limits.time = absl::Minutes(1);
  limits.last = ChangeApplier::Hurries;
  std::vector<size_t> sizes;
  size_t read = 0;
  for (bool ended = false; !ended;) {
    auto batch = mysql::ReadBatch(**reader, In(absl::Seconds(60)), limits);
    ASSERT_TRUE(batch.ok()) << batch.status();
    read += batch->transactions.size();
    ended = batch->ended;
    if (batch->idle && !ended) continue;  // a slow server's heartbeat ends a batch, too
    sizes.push_back(std::exchange(read, 0));
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{3, 3, 2}));
}

TEST_F(StreamRulesTest, VnodesThatDoNotMove_AreSkipped) {
  ApplierOptions options = OptionsTo(1);
  options.ranges = {{10, 12}, {15, 15}};
  options.peer = {};
  auto applier = Open(options, start_);
  for (uint32_t gene : {9u, 10u, 12u, 13u, 15u, 16u, 65535u}) Shop(InsertIn(gene, sequence_));
  Shop("UPDATE items SET note = 'n'; DELETE FROM items WHERE order_id >> 47 IN (9, 12)");
  // Nor need it be an order at all.
  Shop("INSERT INTO items (order_id, line) VALUES (18446744073709551615, 'x')");
  const absl::Status status = Follow(*applier, 0);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(GenesOn(1), "10,15");
  EXPECT_EQ(servers_[1]->Value(
                "SELECT GROUP_CONCAT(gene) FROM locus_shop.locus_tombstone WHERE tbl <> ''"),
            "12");
  EXPECT_EQ(applier->counts().rogue, 0u) << applier->rogue_text();
}

TEST_F(StreamRulesTest, StepOfManyRanges_IsOneTransactionOfBoth) {
  std::string source, target;
  ApplierOptions options = OptionsTo(1);
  options.ranges.clear();
  options.peer = {};
  for (uint32_t i = 0; i < internal::kMostRanges; ++i) {
    options.ranges.push_back({3 * i, 3 * i + 1});
    const char* comma = i == 0 ? "" : ", ";
    absl::StrAppend(&source, comma, "(", 3 * i, ", ", 3 * i + 1, ", 0, 10000, 4, 1, 'b', NULL)");
    absl::StrAppend(&target, comma, "(", 3 * i, ", ", 3 * i + 1, ", 0, 0, 4, 2, 'a', NULL)");
  }
  MakeFence(0, source + ", (60000, 60001, 0, 10000, 9, 1, 'b', NULL)");
  MakeFence(1, target + ", (60000, 60001, 0, 0, 9, 2, 'a', NULL)");
  auto applier = Open(options, start_);
  // A writer of a vnode that does not move holds its row; no other transaction waits for it.
  auto writer = SqlSession::Open(As(1, "locus")).value();
  ASSERT_TRUE(
      writer->Run("BEGIN; SELECT * FROM locus_fence WHERE lo = 60000 LOCK IN SHARE MODE").ok());
  ASSERT_TRUE(Follow(*applier, 0).ok());
  const std::string before = PositionOf(1).ToString();
  Shop(absl::StrCat("UPDATE locus_fence SET own_lo = 2500, step = step + 1, token = '",
                    internal::TokenText(2500, 77), "'"));
  const absl::Status status = Follow(*applier, 0);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(applier->counts().taken_over, internal::kMostRanges);
  EXPECT_EQ(servers_[1]->Value("SELECT COUNT(*) FROM locus_shop.locus_fence WHERE own_lo = 0 AND"
                               " own_hi = 2500 AND step = 5"),
            absl::StrCat(internal::kMostRanges));
  EXPECT_EQ(servers_[1]->Value("SELECT own_hi FROM locus_shop.locus_fence WHERE lo = 60000"), "0");
  const auto number = [](const std::string& gtid) { return std::stoull(gtid.substr(4)); };
  EXPECT_EQ(number(PositionOf(1).ToString()), number(before) + 1) << "one transaction";
}

TEST_F(StreamRulesTest, FenceOfOtherVnodes_StopsTheTakingOver) {
  MakeFence(0, "(0, 99, 0, 10000, 0, 1, 'b', NULL)");
  MakeFence(1, "(0, 98, 0, 0, 0, 2, 'a', NULL)");
  auto applier = OpenTo(1);
  Shop(absl::StrCat("UPDATE locus_fence SET own_lo = 1, step = 1, token = '",
                    internal::TokenText(1, 7), "'"));
  const absl::Status status = Follow(*applier, 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("has no row for vnodes 0-99"));
  EXPECT_EQ(servers_[1]->Value(kFenceNow), "0 0 0 0");
}

// The other shard accepted [2500, 10000) when it wrote a row of a cohort below.
TEST_F(StreamRulesTest, RogueWrite_IsCountedAndNotApplied) {
  MakeFence(0, "(0, 99, 0, 10000, 0, 1, 'b', NULL)");
  MakeFence(1, "(0, 99, 0, 0, 0, 2, 'a', NULL)");
  ApplierOptions options = OptionsTo(1);
  options.peer = {};
  auto applier = Open(options, start_);
  Shop(InsertIn(1, sequence_, 0, 2500));
  Shop(InsertIn(2, sequence_, 2500));
  Shop(absl::StrCat("UPDATE locus_fence SET own_lo = 2500, step = 1, token = '",
                    internal::TokenText(2500, 77), "'"));
  Shop(InsertIn(3, sequence_, 2500));
  const OrderId rogue = NextIn(4, sequence_, 0, 2500);
  Shop(absl::StrCat("INSERT INTO items (order_id, line) VALUES (", Number(rogue), ", 'l')"));
  ASSERT_TRUE(Follow(*applier, 0).ok());
  EXPECT_EQ(GenesOn(1), "1,2,3");
  EXPECT_EQ(applier->counts().rogue, 1u);
  EXPECT_THAT(applier->rogue_text(), HasSubstr(absl::StrCat("its cohort is ", rogue.cohort(),
                                                            ", the shard accepted 2500 to below"
                                                            " 10000")));
  // Another applier knows what the shard accepted where the stream goes on.
  applier = Open(options, start_);
  Shop("UPDATE items SET note = 'n' WHERE order_id >> 47 IN (3, 4)");
  Shop("DELETE FROM items WHERE order_id >> 47 = 4");
  ASSERT_TRUE(Follow(*applier, 0).ok());
  EXPECT_EQ(applier->counts().rogue, 2u);
  EXPECT_EQ(applier->counts().written, 1u);
  EXPECT_EQ(GenesOn(1), "1,2,3");
  EXPECT_THAT(applier->rogue_text(), HasSubstr("delete of row"));
  // The band was taken back: what the shard writes is its own again.
  Shop("UPDATE locus_fence SET own_lo = 0, step = 3, token = NULL");
  Shop(InsertIn(5, sequence_, 0, 2500));
  ASSERT_TRUE(Follow(*applier, 0).ok());
  EXPECT_EQ(applier->counts().rogue, 2u);
  EXPECT_EQ(GenesOn(1), "1,2,3,5");
}

// In a stream back the bands of the target grow by what its own applier writes.
TEST_F(StreamRulesTest, BandTakenOver_IsKnownToTheStreamBack) {
  MakeFence(0, "(0, 99, 0, 10000, 0, 1, 'b', NULL)");
  MakeFence(1, "(0, 99, 0, 0, 0, 2, 'a', NULL)");
  ApplierOptions there_options = OptionsTo(1), back_options = OptionsTo(0);
  there_options.peer = back_options.peer = {};
  auto there = Open(there_options, PositionOf(0)), back = Open(back_options, PositionOf(1));
  Shop(absl::StrCat("UPDATE locus_fence SET own_lo = 2500, step = 1, token = '",
                    internal::TokenText(2500, 77), "'"));
  ASSERT_TRUE(Follow(*there, 0).ok());
  EXPECT_EQ(servers_[1]->Value(kFenceNow), "0 0 2500 1");
  servers_[1]->Sql(absl::StrCat("USE ", kDatabase, "; ", InsertIn(6, sequence_, 0, 2500), "; ",
                                InsertIn(7, sequence_, 2500)));
  const absl::Status status = Follow(*back, 1);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(GenesOn(0), "6");
  EXPECT_EQ(back->counts().rogue, 1u) << back->rogue_text();
}

TEST_F(StreamRulesTest, FormerRun_WritesNothingMore) {
  ASSERT_TRUE(TakeOver(0, 1).ok());
  ASSERT_TRUE(TakeOver(1, 1).ok());
  auto former = OpenTo(1);
  ASSERT_EQ(former->CopyPosition("items").value(), "");
  Shop(InsertIn(1, sequence_));
  ASSERT_TRUE(Follow(*former, 0).ok());
  ASSERT_TRUE(TakeOver(1, 2).ok());
  Shop(InsertIn(2, sequence_));
  const auto refused = [](const absl::Status& status) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("another `locus move run` took over move \"first\""));
  };
  refused(Follow(*former, 0));
  refused(former->CopyPosition("items").status());
  refused(former->CopyPosition("others").status());  // of a table whose copy has not begun
  auto layout = std::make_shared<stream::TableLayout>();
  refused(former->ApplyCopied("items", layout, {}, "7"));
  refused(ChangeApplier::Open(OptionsTo(1), start_).status());
  // A run that never had the move here.
  ApplierOptions other = OptionsTo(1);
  other.run = 3;
  refused(ChangeApplier::Open(other, start_).status());
  EXPECT_EQ(GenesOn(1), "1");
  other.run = 2;
  auto next = Open(other, start_);
  ASSERT_TRUE(Follow(*next, 0).ok());
  EXPECT_EQ(GenesOn(1), "1,2");
  EXPECT_EQ(next->CopyPosition("items").value(), "");
}

TEST_F(StreamRulesTest, TransactionUnderWay_IsWaitedForByTheNextRun) {
  auto applier = OpenTo(1);
  auto tool = SqlSession::Open(As(1, "mover")).value();
  ASSERT_TRUE(tool->Run("BEGIN; UPDATE locus_checkpoint SET counter = counter + 1").ok());
  absl::Status status = TakeOver(1, 2, absl::Milliseconds(300));
  EXPECT_FALSE(status.ok());
  std::thread next([&] { status = TakeOver(1, 2); });
  EXPECT_TRUE(WaitUntil([&] {
    return servers_[1]->Value(
               "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME ="
               " 'Innodb_row_lock_current_waits'") == "1";
  }));
  ASSERT_TRUE(tool->Run("COMMIT").ok());
  next.join();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(servers_[1]->Value("SELECT CONCAT(c.run, r.run) FROM locus_shop.locus_checkpoint c"
                               " JOIN locus_shop.locus_run r USING (move)"),
            "22");
}

TEST_F(StreamRulesTest, Ping_IsSeenBehindTheStream) {
  ASSERT_TRUE(TakeOver(0, 1).ok());
  ASSERT_TRUE(TakeOver(1, 1).ok());
  auto applier = OpenTo(1);
  ASSERT_TRUE(Follow(*applier, 0).ok());
  EXPECT_EQ(applier->counts().ping, 0u);
  Shop(
      "INSERT INTO locus_run VALUES ('other', 1, 9, 0); UPDATE locus_run SET ping = 5 WHERE move ="
      " 'first'");
  ASSERT_TRUE(Follow(*applier, 0).ok());
  EXPECT_EQ(applier->counts().ping, 5u);
  EXPECT_EQ(servers_[1]->Value("SELECT ping FROM locus_shop.locus_checkpoint"), "5");
  EXPECT_EQ(OpenTo(1)->counts().ping, 5u) << "another process knows it, too";
  // The row of a ping is no marker: what stands in the same transaction is applied.
  Shop("BEGIN; UPDATE locus_run SET ping = 6 WHERE move = 'first'; " + InsertIn(3, sequence_) +
       "; COMMIT");
  ASSERT_TRUE(Follow(*applier, 0).ok());
  EXPECT_EQ(applier->counts().ping, 6u);
  EXPECT_EQ(GenesOn(1), "3");
}

// Each raising of a checkpoint is in the log that the other stream reads.
TEST_F(StreamRulesTest, TwoIdleStreams_LeaveEachOtherAlone) {
  auto forth = OpenTo(1), back = OpenTo(0);
  auto both = [&] { return Follow(*forth, 0).ok() && Follow(*back, 1).ok(); };
  auto raised = [] {
    int64_t sum = 0;
    for (size_t server : {0, 1}) {
      sum += std::stoll(servers_[server]->Value("SELECT counter FROM locus_shop.locus_checkpoint"));
    }
    return sum;
  };
  Shop(InsertIn(3, sequence_));
  ASSERT_TRUE(both());
  ASSERT_TRUE(both());
  EXPECT_EQ(GenesOn(1), "3");
  const int64_t before = raised();
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(both());
  const auto took = std::chrono::steady_clock::now() - begun;
  // Each of them once a second.
  EXPECT_LE(raised() - before,
            2 + 2 * std::chrono::duration_cast<std::chrono::seconds>(took).count());
  // They know each other's logs to the end all the same.
  EXPECT_EQ(forth->position(), PositionOf(0));
  EXPECT_EQ(back->position(), PositionOf(1));
}

}  // namespace
}  // namespace locus
