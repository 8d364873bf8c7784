// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "gmock/gmock.h"
#include "routing/router/last_good_table.h"
#include "tests/router/router_follow_fixture.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

// Routers that keep a last-good file, and start from it.

namespace locus {

using internal::LastGoodTable;
using internal::ReadLastGoodTable;
using internal::WriteLastGoodTable;

namespace {

using ::testing::HasSubstr;
using Kind = RouterEvent::Kind;
using Source = RouterStats::Source;

class LastGoodRouterTest : public RouterFollowTest {
 protected:
  LastGoodRouterTest() {
    options_.last_good_file = file_;
    options_.open_timeout = absl::ZeroDuration();
    options_.longest_pause = absl::Milliseconds(50);
  }
  uint64_t EpochInFile() const {
    absl::StatusOr<LastGoodTable> table = ReadLastGoodTable(file_);
    return table.ok() ? table->table.epoch() : 0;
  }

  const std::string file_ = directory_ / "last-good";
};

TEST_F(LastGoodRouterTest, EachInstall_IsWritten) {
  Put(1);
  std::unique_ptr<Router> router = Open();
  for (uint64_t epoch : {1, 2, 3}) {
    Put(epoch);
    EXPECT_TRUE(WaitUntil([&] { return router->Stats().last_good_epoch == epoch; }));
    EXPECT_EQ(EpochInFile(), epoch);
  }
  EXPECT_EQ(ReadLastGoodTable(file_)->place, "memory");
  RouterStats stats = router->Stats();
  EXPECT_TRUE(stats.last_good_error.ok());
  EXPECT_EQ(stats.last_good_writes, 3u);
  EXPECT_EQ(stats.last_good_failures, 0u);
}

TEST_F(LastGoodRouterTest, SourceDownAtTheStart_BeginsFromTheFileAndReportsIt) {
  Put(7);
  Open();
  at_first_ = absl::UnavailableError("memory: down");
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 7);
  RouterStats stats = router->Stats();
  EXPECT_TRUE(stats.from_last_good_file);
  EXPECT_EQ(stats.installs, 1u);
  EXPECT_EQ(stats.age, absl::InfiniteDuration());
  EXPECT_EQ(stats.source, Source::kFailing);
  RouterEvent told = events_.all().back();
  EXPECT_EQ(told.kind, Kind::kStartedFromFile);
  EXPECT_EQ(told.epoch, 7u);
  EXPECT_EQ(told.status, at_first_);

  source_->Heal();
  EXPECT_TRUE(WaitUntil([&] { return !router->Stats().from_last_good_file; })) << "not confirmed";
  stats = router->Stats();
  EXPECT_EQ(stats.epoch, 7u);
  EXPECT_EQ(stats.installs, 1u);
  EXPECT_LT(stats.age, absl::Minutes(1));
}

TEST_F(LastGoodRouterTest, SourceNewerThanTheFile_IsInstalled) {
  Put(7);
  Open();
  Put(8);
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 8);
  EXPECT_FALSE(router->Stats().from_last_good_file);
  EXPECT_EQ(router->Stats().installs, 1u);
  EXPECT_TRUE(WaitUntil([&] { return EpochInFile() == 8; }));
  EXPECT_EQ(events_.Count(Kind::kStartedFromFile), 0);
}

TEST_F(LastGoodRouterTest, SourceOlderOrBadAtTheStart_IsRefusedAndTheFileUsed) {
  Put(7);
  Open();
  for (const std::string& document : {TableOfEpoch(6).ToJson(), std::string("no table")}) {
    place_->Put(document);
    std::unique_ptr<Router> router = Open();
    ExpectInForce(*router, 7);
    RouterStats stats = router->Stats();
    EXPECT_TRUE(stats.from_last_good_file);
    EXPECT_EQ(stats.refusals, 1u);
    EXPECT_EQ(stats.source, Source::kRefused);
    EXPECT_EQ(events_.all().back().kind, Kind::kStartedFromFile);
    Put(9);
    ASSERT_TRUE(Reaches(*router, 9));
    EXPECT_FALSE(router->Stats().from_last_good_file);
    ASSERT_TRUE(WaitUntil([&] { return EpochInFile() == 9; }));
    router.reset();
    ASSERT_TRUE(WriteLastGoodTable(file_, "memory", TableOfEpoch(7)).ok());
  }
}

TEST_F(LastGoodRouterTest, DamagedFile_IsDataLossOnlyWhereTheSourceFails) {
  Put(7);
  Open();
  ASSERT_EQ(truncate(file_.c_str(), 100), 0);
  at_first_ = absl::UnavailableError("memory: down");
  absl::Status status = TryOpen().status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(file_));
  EXPECT_THAT(std::string(status.message()), HasSubstr("memory: down"));
  at_first_ = absl::OkStatus();
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 7);
  EXPECT_TRUE(WaitUntil([&] { return router->Stats().last_good_error.ok(); }));
  EXPECT_EQ(EpochInFile(), 7u) << "written anew";
}

TEST_F(LastGoodRouterTest, FileThatCannotBeWritten_StopsNothingAndIsTriedAgain) {
  options_.last_good_file = directory_ / "missing/last-good";
  options_.confirm_every = absl::Milliseconds(100);
  Put(1);
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 1);
  EXPECT_TRUE(WaitUntil([&] { return !router->Stats().last_good_error.ok(); }));
  Put(2);
  ASSERT_TRUE(Reaches(*router, 2));
  EXPECT_TRUE(WaitUntil([&] { return events_.Count(Kind::kLastGoodFileFailed) > 0; }));
  EXPECT_GT(router->Stats().last_good_failures, 0u);
  ASSERT_EQ(mkdir((directory_ / "missing").c_str(), 0755), 0);
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().last_good_error.ok(); }));
  EXPECT_EQ(ReadLastGoodTable(options_.last_good_file)->table.epoch(), 2u);
}

// A table with an ID, of a shard of its own.
RoutingTable TableWithId(uint64_t epoch, const std::string& table_id) {
  RoutingTable table = TableOfEpoch(epoch);
  return RoutingTable::Make(epoch, table.shards(), table.ranges(), table.moves(), table_id).value();
}
constexpr char kOneId[] = "00000000000000a1";
constexpr char kOtherId[] = "00000000000000b2";

TEST_F(LastGoodRouterTest, FileOfAnotherPlace_LosesToALowerEpochOfTheSource) {
  ASSERT_TRUE(WriteLastGoodTable(file_, "etcd at staging", TableOfEpoch(40)).ok());
  Put(7);
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 7);
  EXPECT_FALSE(router->Stats().from_last_good_file);
  EXPECT_EQ(router->Stats().refusals, 0u);
  ASSERT_EQ(events_.Count(Kind::kLastGoodFileIgnored), 1);
  for (const RouterEvent& event : events_.all()) {
    if (event.kind != Kind::kLastGoodFileIgnored) continue;
    EXPECT_EQ(event.epoch, 40u);
    EXPECT_THAT(std::string(event.status.message()), HasSubstr("etcd at staging"));
  }
  EXPECT_TRUE(WaitUntil([&] { return EpochInFile() == 7; })) << "written anew";
  EXPECT_EQ(ReadLastGoodTable(file_)->place, "memory");
}

TEST_F(LastGoodRouterTest, FileOfAnotherPlaceAndNoSource_FailsSayingWhy) {
  ASSERT_TRUE(WriteLastGoodTable(file_, "etcd at staging", TableOfEpoch(40)).ok());
  at_first_ = absl::UnavailableError("memory: down");
  absl::Status status = TryOpen().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  for (const char* part : {"etcd at staging", "\"memory\"", "memory: down", "epoch 40"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
  EXPECT_EQ(EpochInFile(), 40u) << "untouched";
}

TEST_F(LastGoodRouterTest, FileOfFormatOne_NeedsTheSourceOnce) {
  std::string document = TableOfEpoch(40).ToJson();
  std::ofstream(file_) << "locus last good table 1 xxh64="
                       << absl::StrCat(absl::Hex(XXH64(document.data(), document.size(), 0),
                                                 absl::kZeroPad16))
                       << " bytes=" << document.size() << "\n"
                       << document;
  at_first_ = absl::UnavailableError("memory: down");
  absl::Status status = TryOpen().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("earlier version"));
  at_first_ = absl::OkStatus();
  Put(7);
  ExpectInForce(*Open(), 7);
  EXPECT_EQ(EpochInFile(), 7u);
  at_first_ = absl::UnavailableError("memory: down");
  ExpectInForce(*Open(), 7);
}

TEST_F(LastGoodRouterTest, PlaceMadeAgainWithAnotherTable_StartsFromTheSource) {
  ASSERT_TRUE(WriteLastGoodTable(file_, "memory", TableWithId(40, kOneId)).ok());
  place_->Put(TableWithId(7, kOtherId).ToJson());
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 7);
  EXPECT_EQ(router->Table()->table_id(), kOtherId);
  EXPECT_EQ(events_.Count(Kind::kLastGoodFileIgnored), 1);
  EXPECT_TRUE(WaitUntil([&] { return EpochInFile() == 7; }));
}

TEST_F(LastGoodRouterTest, StartedFromFileThenAnotherTable_IsRefusedByItsId) {
  ASSERT_TRUE(WriteLastGoodTable(file_, "memory", TableWithId(40, kOneId)).ok());
  place_->Put(TableWithId(41, kOtherId).ToJson());
  at_first_ = absl::UnavailableError("memory: down");
  std::unique_ptr<Router> router = Open();
  source_->Heal();
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().refusals == 1; }));
  RouterStats stats = router->Stats();
  EXPECT_TRUE(absl::IsFailedPrecondition(stats.last_refusals[0].reason));
  EXPECT_THAT(std::string(stats.last_refusals[0].reason.message()), HasSubstr(kOtherId));
  EXPECT_EQ(stats.source, Source::kRefused);
  EXPECT_EQ(stats.epoch, 40u);
  EXPECT_TRUE(stats.from_last_good_file);
}

TEST_F(LastGoodRouterTest, SameTableWithALowerEpoch_IsRefused) {
  ASSERT_TRUE(WriteLastGoodTable(file_, "memory", TableWithId(40, kOneId)).ok());
  place_->Put(TableWithId(7, kOneId).ToJson());
  std::unique_ptr<Router> router = Open();
  EXPECT_EQ(router->epoch(), 40u);
  EXPECT_TRUE(absl::IsAborted(router->Stats().last_refusals.at(0).reason));
}

}  // namespace
}  // namespace locus
