// SPDX-License-Identifier: Apache-2.0
// Clients that follow the fence, on two servers between which orders move by hand.
#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "gmock/gmock.h"
#include "tests/fence/fenced_transaction_fixture.h"
#include "tests/source/losing_relay.h"
#include "tests/support/sanitizers.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using Kind = FencedCall::Kind;

TEST_F(FencedTransactionTest, WithoutAFence_TheTableDecides) {
  const OrderId id = IdOf(kGene, 1);
  for (Kind kind : {Kind::kTransaction, Kind::kStatement}) {
    const OrderId one = IdOf(kGene, 10 + static_cast<uint64_t>(kind));
    EXPECT_TRUE(fenced_
                    ->Run(one, {.kind = kind}, In(absl::Seconds(20)),
                          [&](ShardConnection& c) { return Insert(c, one, 1); })
                    .ok());
    EXPECT_EQ(Value(0, "SELECT value FROM locus_shop.orders WHERE order_id = " + Number(one)), "1");
  }
  std::string value;
  const absl::Status missing = fenced_->Run(id, {.kind = Kind::kRead}, In(absl::Seconds(20)),
                                            [&](ShardConnection& c) { return Read(c, id, value); });
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      fenced_->Run(id, {.fence_first = true}, In(absl::Seconds(20)),
                   [&](ShardConnection& c) { return Insert(c, id, 1); })));
  EXPECT_TRUE(absl::IsInvalidArgument(
      fenced_->Run(id, {.kind = Kind::kStatement, .fence_first = true}, In(absl::Seconds(20)),
                   [&](ShardConnection& c) { return Insert(c, id, 1); })));
}

TEST_F(FencedTransactionTest, Transaction_IsWholeOrNotAtAll) {
  InstallFences();
  const OrderId one = IdOf(kGene, 1), two = IdOf(kGene, 2);
  const absl::Status status = fenced_->Run(one, [&](ShardConnection& connection) -> absl::Status {
    if (auto inserted = Insert(connection, one, 1); !inserted.ok()) return inserted;
    return absl::AbortedError("the service changed its mind");
  });
  EXPECT_EQ(status, absl::AbortedError("the service changed its mind")) << "and is asked once";
  EXPECT_EQ(fenced_->Stats().attempts, 1u);
  EXPECT_EQ(Value(0, "SELECT COUNT(*) FROM locus_shop.orders"), "0");
  EXPECT_TRUE(fenced_
                  ->Run(one,
                        [&](ShardConnection& connection) {
                          absl::Status inserted = Insert(connection, one, 1);
                          inserted.Update(Insert(connection, two, 2));
                          return inserted;
                        })
                  .ok());
  EXPECT_EQ(Value(0, "SELECT COUNT(*) FROM locus_shop.orders"), "2");
}

// The table never hears of the move.
TEST_F(FencedTransactionTest, StaleTable_TheShardThatTheFenceNamesIsTried) {
  InstallFences();
  Own(0, 10000, 10000, 1);
  Own(1, 0, 10000, 1);
  const OrderId id = IdOf(kGene, 1);
  for (Kind kind : {Kind::kTransaction, Kind::kStatement}) {
    const OrderId one = IdOf(kGene, 10 + static_cast<uint64_t>(kind));
    EXPECT_TRUE(fenced_
                    ->Run(one, {.kind = kind}, In(absl::Seconds(20)),
                          [&](ShardConnection& c) { return Insert(c, one, 1); })
                    .ok());
    EXPECT_EQ(Value(1, "SELECT value FROM locus_shop.orders WHERE order_id = " + Number(one)), "1");
    // By fenced SQL, where the guards are gone.
  }
  for (const char* trigger : {"insert", "update", "delete"}) {
    for (size_t server : {0, 1})
      Sql(server, absl::StrCat("DROP TRIGGER locus_guard_orders_", trigger));
  }
  EXPECT_TRUE(fenced_
                  ->Run(id, {.fence_first = true}, In(absl::Seconds(20)),
                        [&](ShardConnection& c) { return Insert(c, id, 3); })
                  .ok());
  EXPECT_EQ(Value(1, "SELECT value FROM locus_shop.orders WHERE order_id = " + Number(id)), "3");
  EXPECT_EQ(Value(0, "SELECT COUNT(*) FROM locus_shop.orders"), "0");
  EXPECT_EQ(fenced_->Stats().refusals, 3u);
}

// Nothing that finds no row raises a fence: the answer "no such order" is checked behind it.
TEST_F(FencedTransactionTest, NotFound_IsBelievedBehindTheFenceOnly) {
  InstallFences();
  const OrderId id = IdOf(kGene, 1), none = IdOf(kGene, 2);
  ASSERT_TRUE(fenced_->Run(id, [&](ShardConnection& c) { return Insert(c, id, 7); }).ok());
  Own(0, 10000, 10000, 1);
  CopyRows(0, 1, 0, 10000);
  servers_[0]->Sql(
      "SET SESSION sql_log_bin = 0; DROP TRIGGER locus_shop.locus_guard_orders_delete");
  Sql(0, "DELETE FROM orders");
  Own(1, 0, 10000, 1);
  for (Kind kind : {Kind::kTransaction, Kind::kStatement}) {
    EXPECT_TRUE(fenced_
                    ->Run(id, {.kind = kind}, In(absl::Seconds(20)),
                          [&](ShardConnection& c) {
                            return Update(c, id, 8 + static_cast<uint64_t>(kind));
                          })
                    .ok());
  }
  std::string value;
  auto read = [&](const OrderId& which, bool fence_first) {
    return fenced_->Run(which, {.kind = Kind::kRead, .fence_first = fence_first},
                        In(absl::Seconds(20)),
                        [&](ShardConnection& c) { return Read(c, which, value); });
  };
  EXPECT_TRUE(read(id, false).ok());
  EXPECT_EQ(value, absl::StrCat(8 + static_cast<uint64_t>(Kind::kStatement)));
  EXPECT_TRUE(absl::IsNotFound(read(none, false)));
  EXPECT_TRUE(absl::IsNotFound(read(none, true)));
  EXPECT_TRUE(read(id, true).ok());
  EXPECT_GT(fenced_->Stats().rereads, 0u);
}

TEST_F(FencedTransactionTest, BandBetweenTwoShards_OneAsksAndTheOthersWait) {
  InstallFences();
  Own(0, 10000, 10000, 1);  // on its way: neither accepts it
  constexpr int kWriters = 40;
  std::atomic<int> stored = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      const OrderId id = IdOf(static_cast<uint32_t>(i % 100), 1000 + static_cast<uint64_t>(i));
      stored += fenced_
                    ->Run(id, {}, In(absl::Seconds(120)),
                          [&](ShardConnection& c) { return Insert(c, id, 1); })
                    .ok();
    });
  }
  // Long enough for each of them to have asked ten times.
  ASSERT_TRUE(WaitUntil([&] {
    const FencedStats stats = fenced_->Stats();
    // The table does not show the move yet, so a vnode's writers wait together.
    return stats.refusals >= 2 * kWriters && stats.probes >= 10 * kWriters;
  }));
  EXPECT_EQ(fenced_->Stats().refusals, 2u * kWriters) << "each asks both shards once";
  EXPECT_EQ(stored, 0);
  Own(1, 0, 10000, 1);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stored, kWriters);
  EXPECT_EQ(fenced_->Stats().refusals, 2u * kWriters);
  EXPECT_EQ(Value(1, "SELECT COUNT(*) FROM locus_shop.orders"), absl::StrCat(kWriters));
}

TEST_F(FencedTransactionTest, MoveThatTheTableShows_HasOneProbeForAllItsVnodes) {
  InstallFences();
  ASSERT_TRUE(router_->Install(TableAt(0, 2, 1)).ok());
  Own(0, 10000, 10000, 1);
  constexpr int kWriters = 40;
  std::atomic<int> stored = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      const OrderId id = IdOf(static_cast<uint32_t>(i), 1000);
      stored += fenced_
                    ->Run(id, {}, In(absl::Seconds(120)),
                          [&](ShardConnection& c) { return Insert(c, id, 1); })
                    .ok();
    });
  }
  ASSERT_TRUE(WaitUntil([&] { return fenced_->Stats().band_waits == kWriters - 1; }));
  Own(1, 0, 10000, 1);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stored, kWriters);
  EXPECT_EQ(fenced_->Stats().refusals, 2u * kWriters);
}

TEST_F(FencedTransactionTest, NoShardAcceptsUntilTheDeadline_IsAborted) {
  InstallFences();
  Own(0, 10000, 10000, 1);
  const OrderId id = IdOf(kGene, 1);
  const absl::Status status = fenced_->Run(id, {}, In(absl::Seconds(2)),
                                           [&](ShardConnection& c) { return Insert(c, id, 1); });
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("LOCUS_FENCED"));
}

// The lock of a fenced transaction keeps no new row away, also under REPEATABLE READ.
TEST_F(FencedTransactionTest, FenceFirst_LocksNoGap) {
  InstallFences();
  const OrderId id = IdOf(kGene, 1);
  const absl::Status status =
      fenced_->Run(id, {.fence_first = true}, In(absl::Seconds(20)), [&](ShardConnection& c) {
        Sql(0, absl::StrCat(internal::kKeepsMap,
                            "; SET innodb_lock_wait_timeout = 1; INSERT INTO locus_fence VALUES"
                            " (50, 60, 0, 10000, 0, @@server_id, NULL, NULL)"));
        return Insert(c, id, 1);
      });
  EXPECT_TRUE(status.ok()) << status;
}

// A shard whose fence was installed by an earlier version, one whose map is being made, and an
// account that may not read it.
TEST_F(FencedTransactionTest, FenceWithoutAMap_IsReadByItsRanges) {
  InstallFences();
  uint64_t sequence = 0;
  auto run = [&](uint32_t from, uint32_t to) {
    const OrderId id = NextIn(kGene, sequence, from, to);
    return fenced_->Run(id, {.kind = Kind::kRead, .fence_first = true}, In(absl::Seconds(2)),
                        [](ShardConnection&) { return absl::OkStatus(); });
  };
  auto judges = [&] {
    Own(0, 2500, 10000, 7);
    EXPECT_TRUE(run(2500, 10000).ok());
    EXPECT_TRUE(absl::IsAborted(run(0, 2500)));
  };
  judges();
  Sql(0,
      "CREATE OR REPLACE USER poor@'127.0.0.1' IDENTIFIED BY 's3cret'; GRANT SELECT ON"
      " locus_shop.locus_fence TO poor@'127.0.0.1'");
  ShardPoolsOptions options = PoolOptions();
  options.user = "poor";
  const auto poor_pools = MakePools(options);
  FencedTransactions poor(*router_, *poor_pools);
  EXPECT_TRUE(poor.Run(NextIn(kGene, sequence, 2500, 10000),
                       {.kind = Kind::kRead, .fence_first = true}, In(absl::Seconds(20)),
                       [](ShardConnection&) { return absl::OkStatus(); })
                  .ok());
  Sql(0, "DELETE FROM locus_vnode");
  judges();
  Sql(0, "DROP TABLE locus_vnode");
  judges();
}

// The fence knows no other shard, and the table no newer step: nothing to wait for but time.
TEST_F(FencedTransactionTest, RefusalThatNamesNoShard_IsNotRepeatedAtOnce) {
  InstallFences();
  ASSERT_TRUE(router_->Install(TableAt(0, 2, 1)).ok());
  Sql(0, "DELETE FROM locus_fence WHERE lo = 0");
  const OrderId id = IdOf(kGene, 1);
  const absl::Status status = fenced_->Run(id, {}, In(absl::Seconds(2)),
                                           [&](ShardConnection& c) { return Insert(c, id, 1); });
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_LT(fenced_->Stats().attempts, 60u);
}

TEST_F(FencedTransactionTest, ShardThatTheTableDoesNotHave_IsWaitedFor) {
  InstallFences();
  Own(0, 10000, 10000, 4);
  Own(1, 0, 10000, 4);
  // A table of the days before orders-b.
  Router old(RoutingTable::Make(1, {shards_[0]}, {{65535, 1}}).value());
  FencedTransactions fenced(old, *pools_);
  const OrderId id = IdOf(kGene, 1);
  absl::Status status;
  std::thread writer([&] {
    status = fenced.Run(id, {}, In(absl::Seconds(60)),
                        [&](ShardConnection& c) { return Insert(c, id, 1); });
  });
  ASSERT_TRUE(WaitUntil([&] { return fenced.Stats().refusals > 0; }));
  ASSERT_TRUE(old.Install(TableAt(0, 2, 3)).ok());
  writer.join();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(Value(1, "SELECT COUNT(*) FROM locus_shop.orders"), "1");
}

TEST_F(FencedTransactionTest, FenceOfAnotherServer_IsWaitedFor) {
  InstallFences();
  Sql(0, "UPDATE locus_fence SET server_id = 77");
  const OrderId id = IdOf(kGene, 1);
  absl::Status status;
  std::thread writer([&] {
    status = fenced_->Run(id, {}, In(absl::Seconds(60)),
                          [&](ShardConnection& c) { return Insert(c, id, 1); });
  });
  ASSERT_TRUE(WaitUntil([&] { return fenced_->Stats().attempts > 2; }));
  Sql(0, "UPDATE locus_fence SET server_id = @@server_id");
  writer.join();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(FencedTransactionTest, Deadlocks_AreRepeated) {
  InstallFences();
  const OrderId one = IdOf(kGene, 1), two = IdOf(kGene, 2);
  for (const OrderId& id : {one, two}) {
    ASSERT_TRUE(fenced_->Run(id, [&](ShardConnection& c) { return Insert(c, id, 0); }).ok());
  }
  std::atomic<int> failed = 0;
  auto raise = [&](const OrderId& first, const OrderId& second) {
    for (int i = 0; i < 100; ++i) {
      failed +=
          !fenced_
               ->Run(first, {}, In(absl::Seconds(60)),
                     [&](ShardConnection& connection) {
                       absl::Status status;
                       for (const OrderId* id : {&first, &second}) {
                         status.Update(Execute(
                             connection, "UPDATE orders SET value = value + 1 WHERE order_id = " +
                                             Number(*id)));
                       }
                       return status;
                     })
               .ok();
    }
  };
  std::thread forth([&] { raise(one, two); });
  std::thread back([&] { raise(two, one); });
  forth.join();
  back.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(Value(0, "SELECT SUM(value) FROM locus_shop.orders"), "400");
}

TEST_F(FencedTransactionTest, AnswerOfTheCommitLost_IsUnknown) {
  LosingRelay relay(servers_[0]->port());
  shards_[0].endpoint = absl::StrCat("mysql://127.0.0.1:", relay.port(), "/", kDatabase);
  Router router(TableAt(0, 1, 0));
  FencedTransactions fenced(router, *pools_);
  const OrderId id = IdOf(kGene, 1);
  auto insert = [&](ShardConnection& c) { return Insert(c, id, 1); };
  relay.LoseAnswersTo("COMMIT");
  absl::Status status = fenced.Run(id, {}, In(absl::Seconds(20)), insert);
  EXPECT_TRUE(absl::IsUnknown(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("repeat it with the same order ID"));
  EXPECT_EQ(Value(0, "SELECT COUNT(*) FROM locus_shop.orders"), "1") << "it was stored";
  relay.LoseAnswersTo("");
  EXPECT_TRUE(absl::IsAlreadyExists(fenced.Run(id, {}, In(absl::Seconds(20)), insert)));

  // Before COMMIT nothing can have been stored: the library repeats the work itself.
  const OrderId next = IdOf(kGene, 2);
  relay.LoseAnswersTo(Number(next));
  absl::Status repeated;
  std::thread writer([&] {
    repeated = fenced.Run(next, {}, In(absl::Seconds(60)),
                          [&](ShardConnection& c) { return Insert(c, next, 2); });
  });
  EXPECT_TRUE(WaitUntil([&] { return relay.lost() >= 2; }));
  relay.LoseAnswersTo("");
  writer.join();
  EXPECT_TRUE(repeated.ok()) << repeated;

  // One statement that commits itself.
  const OrderId last = IdOf(kGene, 3);
  relay.LoseAnswersTo(Number(last));
  status = fenced.Run(last, {.kind = Kind::kStatement}, In(absl::Seconds(20)),
                      [&](ShardConnection& c) { return Insert(c, last, 3); });
  EXPECT_TRUE(absl::IsUnknown(status)) << status;
  EXPECT_EQ(fenced.Stats().unknown_commits, 2u);
}

// Writers with a table that follows, and with one that never does, while vnodes go there and back.
// The client library refuses the COMMIT, which the server never sees.
TEST_F(FencedTransactionTest, ResultLeftUnread_CommitsNothingAndIsNotUnknown) {
  const OrderId id = IdOf(kGene, 1);
  const absl::Status status =
      fenced_->Run(id, {}, In(absl::Seconds(20)), [&](ShardConnection& c) -> absl::Status {
        absl::Status inserted = Insert(c, id, 1);
        if (inserted.ok()) EXPECT_EQ(mysql_query(c.handle(), "SELECT 1"), 0);
        return inserted;
      });
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("left a result of"));
  EXPECT_TRUE(WaitUntil(
      [&] { return Value(0, "SELECT COUNT(*) FROM information_schema.INNODB_TRX") == "0"; }));
  EXPECT_EQ(Value(0, "SELECT COUNT(*) FROM locus_shop.orders"), "0");
  EXPECT_EQ(fenced_->Stats().unknown_commits, 0u);
  const absl::Status between =
      fenced_->Run(id, {}, In(absl::Seconds(20)), [&](ShardConnection& c) -> absl::Status {
        EXPECT_EQ(mysql_query(c.handle(), "SELECT 1"), 0);
        return Insert(c, id, 1);
      });
  EXPECT_TRUE(absl::IsFailedPrecondition(between)) << between;
}

TEST_F(FencedTransactionTest, MoveByHandUnderLiveWriters_EveryAcknowledgedWriteIsThereOnce) {
  InstallFences();
  Router stale(TableAt(0, 1, 0));
  FencedTransactions stale_fenced(stale, *pools_);
  constexpr int kWriters = 6;
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> written = 0, failed = 0;
  std::vector<std::map<OrderId, uint64_t>> kept(kWriters);  // by writer: the last acknowledged
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      FencedTransactions& fenced = writer % 2 == 0 ? *fenced_ : stale_fenced;
      auto& mine = kept[static_cast<size_t>(writer)];
      for (uint64_t i = 1; !stop; ++i) {
        const OrderId id = IdOf(static_cast<uint32_t>(i % 100),
                                (static_cast<uint64_t>(writer) << 32) + i % 40 * 7 + i / 400);
        const bool is_new = !mine.contains(id);
        const FencedCall call{.kind = i % 3 == 0 ? Kind::kStatement : Kind::kTransaction};
        const absl::Status status =
            fenced.Run(id, call, In(absl::Seconds(60)), [&](ShardConnection& connection) {
              return is_new ? Insert(connection, id, i) : Update(connection, id, i);
            });
        if (status.ok()) {
          mine[id] = i;
          ++written;
        } else {
          ADD_FAILURE() << writer << ": " << id << " " << status;
          ++failed;
        }
      }
    });
  }
  uint64_t step = 0, epoch = 1;
  uint32_t at = 0;
  for (uint32_t next : {500u, 2500u, 10000u, 3000u, 0u, 7000u, 10000u}) {
    const uint64_t before = written;
    ASSERT_TRUE(WaitUntil([&] { return written > before + 100 || failed > 0; }));
    Step(at, next, ++step);
    at = next;
    ASSERT_TRUE(router_->Install(TableAt(at, ++epoch, step)).ok());
  }
  const uint64_t before = written;
  ASSERT_TRUE(WaitUntil([&] { return written > before + 100 || failed > 0; }));
  stop = true;
  for (std::thread& thread : threads) thread.join();

  std::map<std::string, std::string> there;
  auto rows = servers_[1]->Sql("SELECT order_id, value FROM locus_shop.orders");
  for (const auto& row : rows[0].rows) there[*row[0]] = *row[1];
  size_t expected = 0;
  for (const auto& mine : kept) {
    expected += mine.size();
    for (const auto& [id, value] : mine) {
      ASSERT_EQ(there[Number(id)], absl::StrCat(value)) << id << " of " << written;
    }
  }
  EXPECT_EQ(there.size(), expected);
  EXPECT_GT(fenced_->Stats().refusals + stale_fenced.Stats().refusals, 0u);
}

}  // namespace
}  // namespace locus
