// SPDX-License-Identifier: Apache-2.0
// Chunks of the copy: which rows they have, and what becomes of those that are not written.
#include <atomic>
#include <random>
#include <thread>

#include "gtest/gtest.h"
#include "migration/apply/row_copier.h"
#include "tests/apply/row_copier_fixture.h"
#include "tests/support/sanitizers.h"

namespace locus {
namespace {

using mysql::CopierOptions;

using CopiedChunksTest = RowCopierTest;

// Moved vnodes are often scattered, with a few rows each; every chunk is a durable commit.
TEST_F(CopiedChunksTest, RangesWithFewRows_AreCopiedTogether) {
  auto shop = SqlSession::Open(As(0, "locus")).value();
  CopierOptions options = Copying();
  options.ranges.clear();
  for (uint16_t vnode = 1; vnode < 100; vnode += 2) {
    options.ranges.push_back({vnode, vnode});
    if (vnode % 10 == 1) continue;  // no rows
    for (uint64_t sequence : {1, 2, 3}) {
      ASSERT_TRUE(shop->Run(absl::StrCat("INSERT INTO items (order_id, line) VALUES (",
                                         Number(IdOf(vnode, sequence)), ", 'a')"))
                      .ok());
    }
  }
  options.least_rows = options.most_rows = 50;  // in the middle of a range's rows
  auto applier = OpenTo(1);
  auto copier = MustOpen(options, *applier);
  int chunks = 0;
  while (*copier->CopyChunk()) ++chunks;
  EXPECT_EQ(chunks, 3);
  EXPECT_EQ(copier->rows(), 120u);
  EXPECT_EQ(Sum(1), Sum(0));
}

// In the order of the key, and in that of an index.
TEST_F(CopiedChunksTest, LastChunkIsNotWritten_ComesWithTheNextCall) {
  for (const char* index : {"", ", KEY (shard_gene)"}) {
    for (MariadbServer* server : servers_) {
      server->Sql(absl::StrCat("USE ", kDatabase,
                               "; DROP TABLE IF EXISTS walked, locus_copy; CREATE TABLE walked (id"
                               " BIGINT UNSIGNED PRIMARY KEY, shard_gene SMALLINT UNSIGNED NOT NULL"
                               " DEFAULT 5, cohort SMALLINT UNSIGNED NOT NULL DEFAULT 1, version"
                               " BIGINT UNSIGNED NOT NULL DEFAULT 1",
                               index, ")"));
    }
    servers_[0]->Sql("INSERT INTO locus_shop.walked (id) SELECT seq FROM seq_1_to_5");
    table_.guard = {.name = "walked", .key = GuardedTable::Key::kGeneAndCohort};
    table_.primary_key = {"id"};
    auto applier = OpenTo(1);
    CopierOptions options = Copying();
    int writes = 0;
    options.before_write = [&] {
      return ++writes == 1 ? absl::UnavailableError("a candidate lags") : absl::OkStatus();
    };
    auto copier = MustOpen(options, *applier);
    EXPECT_TRUE(absl::IsUnavailable(copier->CopyChunk().status()));
    for (bool more = true; more;) {
      auto chunk = copier->CopyChunk();
      ASSERT_TRUE(chunk.ok()) << chunk.status();
      more = *chunk;
    }
    EXPECT_EQ(servers_[1]->Value("SELECT COUNT(*) FROM locus_shop.walked"), "5") << index;
  }
}

TEST_F(CopiedChunksTest, Pause_IsAskedBeforeEachChunk) {
  auto shop = SqlSession::Open(As(0, "locus")).value();
  ASSERT_TRUE(shop->Run("INSERT INTO items (order_id, line) VALUES (1, 'a'), (2, 'b')").ok());
  auto applier = OpenTo(1);
  CopierOptions options = Copying();
  options.least_rows = options.most_rows = 1;
  int asked = 0;
  options.pause = [&] { return ++asked % 2 == 1 ? absl::Milliseconds(1) : absl::ZeroDuration(); };
  auto copier = MustOpen(options, *applier);
  while (*copier->CopyChunk()) continue;
  EXPECT_EQ(asked, 6);
}

// Keys of different lengths are looked for by one statement.
TEST_F(CopiedChunksTest, RowsDeletedBeforeTheyAreWritten_StayAway) {
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (const char* line : {"a", "bbbbbbbbbbbbbbbbbbbb", "c'\\\\", "dd"}) {
    ASSERT_TRUE(shop->Run(absl::StrCat("INSERT INTO items (order_id, line) VALUES (",
                                       Number(IdOf(5, 1)), ", \"", line, "\")"))
                    .ok());
  }
  ASSERT_TRUE(shop->Run(absl::StrCat("INSERT INTO items (order_id, line) VALUES (",
                                     Number(IdOf(5, 2)), ", 'stays')"))
                  .ok());
  auto applier = OpenTo(1), copying = OpenTo(1);
  CopierOptions options = Copying();
  options.before_write = [&] {
    auto deleted =
        shop->Run(absl::StrCat("DELETE FROM items WHERE order_id = ", Number(IdOf(5, 1))));
    return deleted.ok() ? Follow(*applier, 0) : deleted.status();
  };
  auto copier = MustOpen(options, *copying);
  while (*copier->CopyChunk()) continue;
  EXPECT_EQ(copier->rows(), 5u);
  EXPECT_EQ(servers_[1]->Value("SELECT COUNT(*) FROM locus_shop.items"), "1");
  EXPECT_EQ(Sum(1), Sum(0));
}

// The next chunk is read meanwhile, but rows of one that was refused are read anew.
TEST_F(CopiedChunksTest, ChunkIsNotWritten_ItsRowsAreReadAgain) {
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (uint64_t sequence : {1, 2, 3, 4}) {
    ASSERT_TRUE(shop->Run(absl::StrCat("INSERT INTO items (order_id, line) VALUES (",
                                       Number(IdOf(5, sequence)), ", 'a')"))
                    .ok());
  }
  auto applier = OpenTo(1);
  CopierOptions options = Copying();
  options.least_rows = options.most_rows = 2;
  int writes = 0;
  options.before_write = [&] {
    return ++writes == 2 ? absl::UnavailableError("a candidate lags") : absl::OkStatus();
  };
  auto copier = MustOpen(options, *applier);
  ASSERT_TRUE(*copier->CopyChunk());
  EXPECT_TRUE(absl::IsUnavailable(copier->CopyChunk().status()));
  ASSERT_TRUE(
      shop->Run(absl::StrCat("UPDATE items SET note = 'b' WHERE order_id = ", Number(IdOf(5, 3))))
          .ok());
  while (*copier->CopyChunk()) continue;
  EXPECT_EQ(copier->rows(), 4u);
  EXPECT_EQ(Sum(1), Sum(0)) << "without the stream";
}

// Each by a session of its own: rows are deleted and inserted again while the copy reaches them.
TEST_F(CopiedChunksTest, BesideTheStream_CopyBringsNothingBack) {
  std::mt19937_64 random(11);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  const int rounds = kUnderAsan || kUnderTsan ? 4 : 12;
  for (int round = 0; round < rounds; ++round) {
    for (size_t server : {0u, 1u}) {
      servers_[server]->Sql(
          "DELETE FROM locus_shop.items; DELETE FROM locus_shop.locus_tombstone WHERE tbl <> '';"
          "DROP TABLE IF EXISTS locus_shop.locus_copy,"
          " locus_shop.locus_checkpoint");
    }
    for (int i = 0; i < 60; ++i) ASSERT_TRUE(shop->Run(RandomStatement(random)).ok());
    start_ = PositionOf(0);
    auto applier = OpenTo(1), copying = OpenTo(1);
    absl::Status copied;
    std::atomic<bool> stop = false;
    std::thread writer([&] {
      auto session = SqlSession::Open(As(0, "locus")).value();
      std::mt19937_64 other(static_cast<uint64_t>(round));
      while (!stop) ASSERT_TRUE(session->Run(RandomStatement(other)).ok());
    });
    std::thread copy([&] {
      CopierOptions options = Copying();
      options.least_rows = 2;
      options.most_rows = 8;
      auto copier = MustOpen(options, *copying);
      for (bool more = true; more && copied.ok();) {
        auto chunk = copier->CopyChunk();
        copied = chunk.status();
        more = chunk.ok() && *chunk;
      }
      stop = true;
    });
    absl::Status followed;
    while (!stop && followed.ok()) followed = Follow(*applier, 0);
    copy.join();
    writer.join();
    ASSERT_TRUE(copied.ok()) << copied;
    ASSERT_TRUE(followed.ok()) << followed;
    ASSERT_TRUE(Follow(*applier, 0).ok());
    ASSERT_EQ(Sum(1), Sum(0)) << "round " << round;
  }
}

}  // namespace
}  // namespace locus
