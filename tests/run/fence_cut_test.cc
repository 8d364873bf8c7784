// SPDX-License-Identifier: Apache-2.0
// The rows of a move are cut out of the fence while clients write.
#include <atomic>
#include <thread>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/run/rebind.h"
#include "tests/run/fence_cut_fixture.h"

namespace locus::mysql {
namespace {

constexpr unsigned kDeadlock = 1213;

class FenceCutTest : public FenceCutFixture {};

// Also under REPEATABLE READ, the default, no writer locks the gap where the new rows belong.
TEST_F(FenceCutTest, CutBesideBusyWriters_NoneIsRefusedAndItComesToAnEnd) {
  std::atomic<bool> end = false;
  std::atomic<int> writes = 0;
  MakeFence(
      "(0, 99, 0, 10000, 0, @@server_id, NULL, NULL), (100, 65535, 0, 10000, 0, @@server_id, NULL,"
      " NULL)");
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
  EXPECT_EQ(Fence(), "0-9 0,10-19 1,20-39 0,40-49 1,50-99 0,100-65535 0");
  EXPECT_EQ(Map(), "0-9>0,10-19>10,20-39>0,40-49>40,50-99>0,100-65535>100");
}

// A transaction that stays open. Of a vnode of the next row, it once locked the gap where the new
// rows belong; of another vnode of the row that is cut, the regroup once waited for its end.
TEST_F(FenceCutTest, WriterThatStaysOpen_HoldsUpItsOwnVnodeOnly) {
  for (const char* level : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
    for (uint32_t kept : {300, 60, 15}) {
      SCOPED_TRACE(absl::StrCat(level, " ", kept));
      MakeFence(
          "(0, 99, 0, 10000, 0, @@server_id, NULL, NULL), (100, 65535, 0, 10000, 0, @@server_id,"
          " NULL, NULL)");
      auto holder = SqlSession::Open(server_->OptionsFor(kDatabase)).value();
      ASSERT_TRUE(
          holder->Run(absl::StrCat("SET SESSION TRANSACTION ISOLATION LEVEL ", level)).ok());
      ASSERT_TRUE(holder
                      ->Run(absl::StrCat("BEGIN; INSERT INTO orders VALUES (",
                                         Number(IdOf(kept, sequence_ += 1)), ", 0)"))
                      .ok());
      BandRows rows(move_, internal::Side::kSource, *link_);
      const absl::Status made = rows.Make(1, 7, absl::Milliseconds(150));
      if (kept != 15) {
        EXPECT_TRUE(made.ok()) << made;
      } else {
        EXPECT_TRUE(absl::IsUnavailable(made)) << made;
        EXPECT_EQ(rows.kept(), 1u);
        EXPECT_THAT(Map(), ::testing::HasSubstr(",10-14>10,15-15>0,16-19>10,"));
        // The next ones name the session, without its statement.
        std::string named;
        EXPECT_TRUE(WaitUntil([&] {
          named = std::string(rows.Make(1, 7, absl::Milliseconds(150)).message());
          return absl::StrContains(named, "session");
        })) << named;
        EXPECT_THAT(
            named, ::testing::HasSubstr(absl::StrCat(
                       "session ",
                       server_->Value("SELECT trx_mysql_thread_id FROM"
                                      " information_schema.INNODB_TRX WHERE trx_rows_modified > 0"),
                       " (")));
        EXPECT_THAT(named, ::testing::HasSubstr("its transaction began "));
        EXPECT_THAT(named, ::testing::Not(::testing::HasSubstr("INSERT")));
      }
      for (uint32_t gene : {5, 16, 30, 45, 61, 301}) EXPECT_TRUE(Accepts(gene)) << gene;
      EXPECT_TRUE(holder->Run("COMMIT").ok());
      EXPECT_TRUE(rows.Make(1, 7, absl::Milliseconds(150)).ok());
      EXPECT_EQ(Fence(), "0-9 0,10-19 1,20-39 0,40-49 1,50-99 0,100-65535 0");
    }
  }
}

// Eight writers whose transactions take a second, at any moment several on each vnode: none of
// these is free within fence_wait. Also where the row of the move takes the place of another one.
TEST_F(FenceCutTest, TransactionsOfASecond_RegroupEndsAndNoWriteIsLateOrRefusedFalsely) {
  constexpr unsigned kSignalled = 1644;
  const uint32_t kBusy[] = {15, 45, 60, 300};
  for (const std::vector<FencedRange>& ranges :
       {std::vector<FencedRange>{{10, 19}, {40, 49}}, {{0, 49}}}) {
    SCOPED_TRACE(ranges[0].lo);
    MakeFence("(0, 65535, 0, 10000, 0, @@server_id, NULL, NULL)");
    move_.ranges = ranges;
    std::atomic<bool> end = false, stepped = false;
    std::atomic<int> writes = 0, refused = 0, falsely = 0;
    std::vector<std::thread> threads;
    for (unsigned w = 0; w < 8; ++w) {
      threads.emplace_back([&, w] {
        auto session = SqlSession::Open(server_->OptionsFor(kDatabase)).value();
        if (w % 2 == 0) {
          EXPECT_TRUE(session->Run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").ok());
        }
        // Apart from each other, so that a vnode's transactions overlap.
        EXPECT_TRUE(session->Run(absl::StrCat("DO SLEEP(", w * 0.12, ")")).ok());
        uint64_t sequence = 100 * ranges[0].lo + w;
        while (!end) {
          const bool after = stepped;
          bool done = session->Run("BEGIN").ok();
          for (uint32_t gene : {kBusy[w % 2], kBusy[w % 4]}) {
            done = done && session
                               ->Run(absl::StrCat("INSERT INTO orders VALUES (",
                                                  Number(IdOf(gene, sequence += 16)), ", 0)"))
                               .ok();
          }
          if (done && session->Run("DO SLEEP(1)").ok() && session->Run("COMMIT").ok()) {
            ++writes;
            continue;
          }
          EXPECT_EQ(session->error(), kSignalled);
          ++(after || stepped ? refused : falsely);
          EXPECT_TRUE(session->Run("ROLLBACK").ok());
        }
      });
    }
    EXPECT_TRUE(WaitUntil([&] { return writes >= 8; }));
    BandRows rows(move_, internal::Side::kSource, *link_);
    absl::Status made = absl::UnavailableError("not yet");
    const absl::Time begun = absl::Now();
    EXPECT_TRUE(WaitUntil([&] {
      made = rows.Make(1, 7, absl::Milliseconds(150));
      return !absl::IsUnavailable(made);
    })) << made;
    EXPECT_TRUE(made.ok()) << made;
    EXPECT_LT(absl::Now() - begun, absl::Seconds(15));
    std::cout << "the regroup took " << absl::Now() - begun << "\n";
    EXPECT_EQ(falsely, 0);
    stepped = true;
    auto written = rows.Replace({10000, 10000, 2, 10000, 5}, 1, 7, absl::Seconds(5));
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_EQ(*written, BandRows::Written::kDone);
    const std::string count =
        "SELECT COUNT(*) FROM locus_bands.orders WHERE order_id >> 47 IN (15, 45)";
    const std::string before = server_->Value(count);
    EXPECT_TRUE(WaitUntil([&] { return refused > 100; }));
    end = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(server_->Value(count), before);
    server_->Sql("DELETE FROM locus_bands.locus_vnode");
  }
}

// 500 vnodes beside 16 writers; then a step, behind which none of their rows may come.
TEST_F(FenceCutTest, StepAfterARegroup_NoWriteIsLateAndNoneIsRefusedBefore) {
  constexpr unsigned kSignalled = 1644;
  MakeFence("(0, 65535, 0, 10000, 0, @@server_id, NULL, NULL)");
  move_.ranges = {{1000, 1499}};
  std::atomic<bool> end = false, stepped = false;
  std::atomic<int> writes = 0, refused = 0, falsely = 0;
  std::vector<std::thread> threads;
  for (unsigned w = 0; w < 16; ++w) {
    threads.emplace_back([&, w] {
      auto session = SqlSession::Open(server_->OptionsFor(kDatabase)).value();
      const char* const levels[] = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"};
      EXPECT_TRUE(
          session->Run(absl::StrCat("SET SESSION TRANSACTION ISOLATION LEVEL ", levels[w % 3]))
              .ok());
      uint64_t sequence = w;
      while (!end) {
        bool done = session->Run("BEGIN").ok();
        for (uint32_t i = 0; i < 4; ++i) {
          // The third is none of the moved vnodes.
          const uint32_t gene =
              static_cast<uint32_t>(i == 2 ? 40000 + w : 1000 + (sequence * 37 + i) % 500);
          done = done && session
                             ->Run(absl::StrCat("INSERT INTO orders VALUES (",
                                                Number(IdOf(gene, sequence += 16)), ", 0)"))
                             .ok();
        }
        const bool after = stepped;
        if (done && session->Run("COMMIT").ok()) {
          ++writes;
          continue;
        }
        if (session->error() == kSignalled) ++(after || stepped ? refused : falsely);
        EXPECT_TRUE(session->error() == kSignalled || session->error() == kDeadlock)
            << session->error();
        EXPECT_TRUE(session->Run("ROLLBACK").ok());
      }
    });
  }
  EXPECT_TRUE(WaitUntil([&] { return writes > 100; }));
  BandRows rows(move_, internal::Side::kSource, *link_);
  absl::Status made = absl::UnavailableError("not yet");
  const absl::Time begun = absl::Now();
  EXPECT_TRUE(WaitUntil([&] {
    made = rows.Make(1, 7, absl::Milliseconds(150));
    return !absl::IsUnavailable(made);
  }));
  RecordProperty("regroup_ms", static_cast<int>(absl::ToInt64Milliseconds(absl::Now() - begun)));
  EXPECT_TRUE(made.ok()) << made;
  EXPECT_EQ(falsely, 0);
  stepped = true;
  const internal::BandFence band = {10000, 10000, 2, 10000, 5};
  auto written = BandRows::Written::kBusy;
  EXPECT_TRUE(WaitUntil([&] {
    auto result = rows.Replace(band, 1, 7, absl::Milliseconds(150));
    EXPECT_TRUE(result.ok()) << result.status();
    written = result.value_or(BandRows::Written::kOutdated);
    return written != BandRows::Written::kBusy;
  }));
  EXPECT_EQ(written, BandRows::Written::kDone);
  const std::string count =
      "SELECT COUNT(*) FROM locus_bands.orders WHERE order_id >> 47 BETWEEN 1000 AND 1499";
  const std::string before = server_->Value(count);
  EXPECT_TRUE(WaitUntil([&] { return refused > 200; }));
  end = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server_->Value(count), before);
}

// A runner that dies between any two statements; the next one continues.
TEST_F(FenceCutTest, RegroupThatStopsAnywhere_AcceptsEveryWriteAndIsEndedLater) {
  for (int dies_at = 1;; ++dies_at) {
    // The move's first range begins with a row, its second has the end of one and all of another.
    MakeFence(
        "(10, 44, 0, 10000, 3, @@server_id, NULL, NULL), (45, 46, 0, 10000, 4, @@server_id, NULL,"
        " NULL), (47, 999, 0, 10000, 5, @@server_id, NULL, NULL)");
    int left = dies_at;
    link_->set_before_statement([&](const std::string&) {
      if (--left != 0) return;
      server_->Sql(
          "BEGIN NOT ATOMIC FOR s IN (SELECT id FROM information_schema.PROCESSLIST WHERE user ="
          " 'mover') DO EXECUTE IMMEDIATE CONCAT('KILL ', s.id); END FOR; END");
    });
    const absl::Status stopped =
        BandRows(move_, internal::Side::kSource, *link_).Make(9, 7, absl::Milliseconds(150));
    link_->set_before_statement(nullptr);
    for (uint32_t gene : {10, 19, 20, 39, 40, 44, 45, 46, 47, 49, 50, 999}) {
      EXPECT_TRUE(Accepts(gene)) << dies_at << ": " << gene << " " << Fence() << " " << Map();
    }
    EXPECT_FALSE(Accepts(9));
    EXPECT_FALSE(Accepts(1000));
    // Another move in between: of vnodes that the first one left half-way.
    if (dies_at % 2 == 0) {
      Move other = move_;
      other.ranges = {{15, 45}};
      absl::Status made = absl::UnavailableError("not yet");
      for (int i = 0; i < 3 && absl::IsUnavailable(made); ++i) {
        made = BandRows(other, internal::Side::kSource, *link_).Make(9, 7, absl::Seconds(1));
      }
      EXPECT_TRUE(made.ok()) << dies_at << ": " << made;
      EXPECT_THAT(Map(), ::testing::HasSubstr("15-45>15")) << dies_at;
    }
    absl::Status made = absl::UnavailableError("not yet");
    for (int i = 0; i < 3 && absl::IsUnavailable(made); ++i) {
      made = BandRows(move_, internal::Side::kSource, *link_).Make(9, 7, absl::Seconds(1));
    }
    EXPECT_TRUE(made.ok()) << dies_at << ": " << made;
    EXPECT_THAT(Fence(), ::testing::HasSubstr("10-19 9,20-39 ")) << dies_at;
    EXPECT_EQ(server_->Value("SELECT COUNT(*) FROM locus_bands.locus_fence a JOIN"
                             " locus_bands.locus_fence b ON a.lo < b.lo AND a.hi >= b.lo"),
              "0")
        << dies_at << ": " << Fence();
    EXPECT_THAT(Fence(), ::testing::HasSubstr("40-49 9,50-999 5")) << dies_at;
    EXPECT_EQ(server_->Value("SELECT COUNT(*) FROM locus_bands.locus_vnode v JOIN"
                             " locus_bands.locus_fence f ON v.vnode BETWEEN f.lo AND f.hi WHERE"
                             " v.fence = f.lo"),
              "990");
    if (left > 0) {
      EXPECT_TRUE(stopped.ok()) << stopped;
      EXPECT_GT(dies_at, 12);
      break;
    }
  }
}

// The way back: the vnodes have a row already, and no vnode changes.
TEST_F(FenceCutTest, MoveBack_UsesTheRowsThatAreThere) {
  MakeFence("(0, 65535, 0, 10000, 0, @@server_id, NULL, NULL)");
  ASSERT_TRUE(BandRows(move_, internal::Side::kSource, *link_).Make(1, 7, absl::Seconds(1)).ok());
  server_->Sql("UPDATE locus_bands.locus_fence SET own_lo = 10000, step = 8 WHERE lo IN (10, 40)");
  EXPECT_FALSE(Accepts(15));
  const std::string map = Map();
  ASSERT_TRUE(BandRows(move_, internal::Side::kTarget, *link_).Make(9, 7, absl::Seconds(1)).ok());
  EXPECT_EQ(Map(), map);
  EXPECT_EQ(Fence(), "0-9 0,10-19 9,20-39 0,40-49 9,50-65535 0");
  EXPECT_FALSE(Accepts(15));
  EXPECT_TRUE(Accepts(20));
}

// A row of an earlier move between the same shards is no trace of this one; a run that a rebind
// wrote down was later taken for one, and the move for one whose record is lost.
TEST_F(FenceCutTest, RebindBeforeTheStart_LeavesNoTraceOfTheMove) {
  MakeFence("(0, 65535, 0, 0, 3, @@server_id, 'orders-a', NULL)");
  const std::string runs = "SELECT COALESCE(SUM(run), 0) FROM locus_bands.locus_run";
  for (const char* before : {"7", "0"}) {
    MayBindUnbegun(move_, *link_, *link_, false).IgnoreError();
    const bool begun = before[0] == '7';
    if (begun) EXPECT_NE(server_->Value(runs), "7") << "its run may still obey a token";
    if (!begun) EXPECT_EQ(server_->Value(runs), "0");
    server_->Sql("DELETE FROM locus_bands.locus_run");
  }
}

// A map that names a row with another band: pointing the vnode elsewhere would accept an order
// twice, or nowhere.
// The lock that keeps regroups apart goes with the session that took it.
TEST_F(FenceCutTest, SessionThatEndsInARegroup_EndsItBeforeAnotherBegins) {
  MakeFence("(0, 65535, 0, 10000, 0, @@server_id, NULL, NULL)");
  Move second = move_;
  second.ranges = {{15, 25}};
  MysqlOptions options = server_->Account(kDatabase);
  options.user = "mover";
  auto other = ShardLink::Create(options).value();
  bool met = false;
  link_->set_before_statement([&](const std::string& statement) {
    if (met || !absl::StrContains(statement, "FROM locus_vnode ORDER BY vnode")) return;
    met = true;
    server_->Sql(absl::StrCat("KILL ", link_->session()));
    absl::Status done = absl::UnavailableError("not yet");
    EXPECT_TRUE(WaitUntil([&] {
      done = BandRows(second, internal::Side::kSource, *other).Make(5, 7, absl::Seconds(1));
      return !absl::IsUnavailable(done);
    }));
    EXPECT_TRUE(done.ok()) << done;
    EXPECT_EQ(Fence(), "0-9 0,10-14 1,15-25 5,26-39 0,40-49 1,50-65535 0");
  });
  BandRows rows(move_, internal::Side::kSource, *link_);
  const absl::Status ended = rows.Make(1, 7, absl::Seconds(1));
  link_->set_before_statement(nullptr);
  ASSERT_TRUE(met);
  EXPECT_TRUE(absl::IsUnavailable(ended)) << ended << Fence() << Map();
  EXPECT_EQ(Fence(), "0-9 0,10-14 1,15-25 5,26-39 0,40-49 1,50-65535 0") << Map();
  for (const uint32_t gene : {9u, 10u, 15u, 19u, 20u, 25u, 26u, 45u}) EXPECT_TRUE(Accepts(gene));
}

TEST_F(FenceCutTest, MapChangedByHand_IsRefused) {
  MakeFence(
      "(0, 99, 0, 10000, 0, @@server_id, NULL, NULL), (100, 199, 0, 2500, 4, @@server_id, NULL,"
      " NULL)");
  server_->Sql("UPDATE locus_bands.locus_vnode SET fence = 100 WHERE vnode = 12");
  const absl::Status made =
      BandRows(move_, internal::Side::kSource, *link_).Make(1, 7, absl::Seconds(1));
  EXPECT_TRUE(absl::IsFailedPrecondition(made)) << made;
  EXPECT_THAT(std::string(made.message()), ::testing::HasSubstr("vnode 12"));
}

// The row that is cut lets go of its orders after it was read: no vnode may go to a row that still
// accepts them.
TEST_F(FenceCutTest, RowThatChangesMeanwhile_NoVnodeLeavesIt) {
  MakeFence("(0, 65535, 0, 10000, 0, @@server_id, NULL, NULL)");
  bool changed = false;
  link_->set_before_statement([&](const std::string& statement) {
    if (changed || !absl::StrContains(statement, "SELECT vnode, fence FROM locus_vnode")) return;
    changed = true;
    server_->Sql("UPDATE locus_bands.locus_fence SET own_lo = 10000, step = 5 WHERE lo = 0");
  });
  const absl::Status made =
      BandRows(move_, internal::Side::kSource, *link_).Make(1, 7, absl::Milliseconds(150));
  EXPECT_TRUE(changed);
  EXPECT_TRUE(absl::IsAborted(made)) << made;
  for (uint32_t gene : {5, 15, 30, 45, 300}) EXPECT_FALSE(Accepts(gene)) << gene << " " << Map();
}

// A prepared branch has dropped its locks of the fence, and may still commit: the regroup does not
// meet it, and the step must not pass it.
TEST_F(FenceCutTest, PreparedTransactionOfAWriter_TheStepWaitsForItsEnd) {
  MakeFence("(0, 65535, 0, 10000, 0, @@server_id, NULL, NULL)");
  for (const char* end : {"COMMIT", "ROLLBACK"}) {
    auto session = SqlSession::Open(server_->OptionsFor(kDatabase)).value();
    ASSERT_TRUE(session
                    ->Run(absl::StrCat("XA START 'x'; INSERT INTO orders VALUES (",
                                       Number(IdOf(15, sequence_ += 1)),
                                       ", 0); XA END 'x'; XA PREPARE 'x'"))
                    .ok());
    BandRows rows(move_, internal::Side::kSource, *link_);
    ASSERT_TRUE(rows.Make(1, 7, absl::Milliseconds(150)).ok());
    const internal::BandFence band = {10000, 10000, 2, 10000, 5};
    auto written = rows.Replace(band, 1, 7, absl::Milliseconds(150));
    EXPECT_TRUE(absl::IsFailedPrecondition(written.status())) << written.status();
    EXPECT_THAT(std::string(written.status().message()), ::testing::HasSubstr("XA RECOVER"));
    EXPECT_TRUE(Accepts(16));
    ASSERT_TRUE(session->Run(absl::StrCat("XA ", end, " 'x'")).ok());
    written = rows.Replace(band, 1, 7, absl::Milliseconds(150));
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_EQ(*written, BandRows::Written::kDone);
    EXPECT_FALSE(Accepts(16));
    server_->Sql("UPDATE locus_bands.locus_fence SET own_lo = 0, step = 1 WHERE lo IN (10, 40)");
  }
}

// After a regroup vnodes behind the cut still name the row before it. Where that one may be bound
// to a promoted server and the row that has these vnodes may not, they must not be bound with it.
TEST_F(FenceCutTest, Rebind_BindsNoVnodeWithTheRowOfAnother) {
  MakeFence("(0, 65535, 0, 10000, 0, @@server_id, NULL, NULL)");
  ASSERT_TRUE(BandRows(move_, internal::Side::kSource, *link_).Make(1, 7, absl::Seconds(1)).ok());
  ASSERT_THAT(Map(), ::testing::HasSubstr("50-65535>0"));
  server_->Sql("UPDATE locus_bands.locus_fence SET server_id = 9, other = NULL");
  auto table =
      RoutingTable::Make(5,
                         {{.id = 1, .name = "orders-a", .endpoint = "mysql://h:1/d", .labels = {}},
                          {.id = 2, .name = "orders-b", .endpoint = "mysql://h:2/d", .labels = {}}},
                         {{49, 1}, {65535, 2}}, {});
  ASSERT_TRUE(table.ok()) << table.status();
  auto bound = RebindRows(*link_, 1, *table, {}, false);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->left.size(), 1u);
  for (uint32_t gene : {5, 15, 30, 45}) EXPECT_TRUE(Accepts(gene)) << gene;
  for (uint32_t gene : {50, 300, 65535}) EXPECT_FALSE(Accepts(gene)) << gene << " " << Map();
  EXPECT_TRUE(HasUnboundRows(*link_, {{60, 61}}).value());
  EXPECT_FALSE(HasUnboundRows(*link_, {{0, 49}}).value());
}

}  // namespace
}  // namespace locus::mysql
