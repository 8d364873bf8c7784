// SPDX-License-Identifier: Apache-2.0
// Rows that were there before the stream began, copied while they are written.
#include "migration/engine/mariadb/row_copier.h"

#include <atomic>
#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/apply/copy_sql.h"
#include "tests/apply/two_servers.h"
#include "tests/support/sanitizers.h"

namespace locus {
namespace {

using internal::CopyKey;
using internal::CopyKeyIn;
using internal::CopyKeyText;
using mariadb::ChangeApplier;
using mariadb::CopierOptions;
using mariadb::RowCopier;
using ::testing::HasSubstr;

class RowCopierTest : public TwoServersTest {
 protected:
  CopierOptions Copying() const {
    CopierOptions options;
    options.source = As(0, "mover");
    options.table = table_;
    options.last = 99;
    return options;
  }
  std::unique_ptr<RowCopier> MustOpen(const CopierOptions& options, ChangeApplier& target) {
    auto copier = RowCopier::Open(options, target);
    EXPECT_TRUE(copier.ok()) << copier.status();
    return *std::move(copier);
  }
};

TEST_F(RowCopierTest, RowsOfEveryType_AreTheSame) {
  std::mt19937_64 random(1);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (int i = 0; i < 150; ++i) ASSERT_TRUE(shop->Run(RandomStatement(random)).ok());
  auto applier = OpenTo(1);
  CopierOptions options = Copying();
  options.least_rows = options.most_rows = 7;
  auto copier = MustOpen(options, *applier);
  while (true) {
    auto more = copier->CopyChunk();
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) break;
  }
  EXPECT_EQ(Sum(1), Sum(0));
  EXPECT_EQ(copier->rows(), applier->counts().written);
  EXPECT_FALSE(*copier->CopyChunk()) << "and none is left";
}

TEST_F(RowCopierTest, OtherVnodes_StayWhereTheyAre) {
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (uint32_t gene : {9u, 10u, 19u, 20u}) {
    ASSERT_TRUE(shop->Run(absl::StrCat("INSERT INTO items (order_id, line) VALUES (",
                                       Number(IdOf(gene, 5)), ", 'l')"))
                    .ok());
  }
  auto applier = OpenTo(1);
  CopierOptions options = Copying();
  options.first = 10;
  options.last = 19;
  auto copier = MustOpen(options, *applier);
  while (*copier->CopyChunk()) continue;
  EXPECT_EQ(servers_[1]->Value("SELECT GROUP_CONCAT(order_id >> 47) FROM locus_shop.items"),
            "10,19");
}

TEST_F(RowCopierTest, StoppedAnywhere_GoesOnWhereItStopped) {
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(shop->Run(absl::StrCat("INSERT INTO items (order_id, line, note) VALUES (", i / 3,
                                       ", X'0", i % 3, "FF', 'n", i, "')"))
                    .ok());
  }
  CopierOptions options = Copying();
  options.least_rows = options.most_rows = 9;
  uint64_t rows = 0;
  for (bool more = true; more;) {
    auto applier = OpenTo(1);
    auto copier = MustOpen(options, *applier);
    for (int chunks = 0; chunks < 2 && more; ++chunks) more = *copier->CopyChunk();
    rows += copier->rows();
  }
  EXPECT_EQ(rows, 100u) << "none twice";
  EXPECT_EQ(Sum(1), Sum(0));
}

// Copy and stream together, in any order, while the rows are changed and deleted.
TEST_F(RowCopierTest, WhileRowsAreWritten_CopyAndStreamEndUpTheSame) {
  std::mt19937_64 random(5);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(shop->Run(RandomStatement(random)).ok());
  start_ = PositionOf(0);  // the rows above are the copy's alone
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    auto session = SqlSession::Open(As(0, "locus")).value();
    std::mt19937_64 other(6);
    while (!stop) {
      auto done = session->Run(RandomStatement(other));
      ASSERT_TRUE(done.ok()) << done.status();
    }
  });
  auto applier = OpenTo(1);
  CopierOptions options = Copying();
  options.least_rows = options.most_rows = 3;
  auto copier = MustOpen(options, *applier);
  absl::Status failed;
  for (bool more = true; more && failed.ok();) {
    auto chunk = copier->CopyChunk();
    failed.Update(chunk.status());
    more = chunk.ok() && *chunk;
    failed.Update(Follow(*applier, 0, random() % 10));
  }
  stop = true;
  writer.join();
  ASSERT_TRUE(failed.ok()) << failed;
  ASSERT_TRUE(Follow(*applier, 0).ok());
  EXPECT_EQ(Sum(1), Sum(0));
}

TEST_F(RowCopierTest, CopiedRows_DoNotComeBack) {
  std::mt19937_64 random(8);
  auto shop = SqlSession::Open(As(0, "locus")).value();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(shop->Run(RandomStatement(random)).ok());
  auto there = OpenTo(1), back = OpenTo(0);
  auto copier = MustOpen(Copying(), *there);
  while (*copier->CopyChunk()) continue;
  ASSERT_TRUE(Follow(*back, 1).ok());
  EXPECT_EQ(back->counts().skipped + back->counts().written, 0u);
  EXPECT_GT(back->counts().own, 0u);
}

TEST_F(RowCopierTest, TableThatDiffers_IsRefused) {
  auto shop = SqlSession::Open(As(0, "mover")).value();
  ASSERT_TRUE(shop->Run("ALTER TABLE items ADD more INT; INSERT INTO items (order_id, line) VALUES"
                        " (1, 'a')")
                  .ok());
  auto applier = OpenTo(1);
  auto copier = MustOpen(Copying(), *applier);
  const absl::Status status = copier->CopyChunk().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the source has a column \"more\""));
}

TEST(CopyKeyTest, Text_IsReadAsWritten) {
  const CopyKey key = {uint64_t{7}, stream::Bytes{std::string("\0,x", 3)}, int64_t{-5},
                       stream::Bytes{""}};
  EXPECT_EQ(CopyKeyText(key), "7,x002c78,-5,x");
  EXPECT_EQ(CopyKeyIn(CopyKeyText(key), 4).value(), key);
  EXPECT_EQ(CopyKeyIn("", 4).value(), std::nullopt);
  for (const char* text : {"7", "7,8,9,10,11", "7,8,9,", "7,8,9,y", "7,8,9,x0", "7,8,9,xZZ",
                           "07,8,9,10", " 7,8,9,10", "99999999999999999999,8,9,10"}) {
    EXPECT_TRUE(absl::IsDataLoss(CopyKeyIn(text, 4).status())) << text;
  }
}

}  // namespace
}  // namespace locus
