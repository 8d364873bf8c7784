// SPDX-License-Identifier: Apache-2.0
#include "routing/router/last_good_writer.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "gmock/gmock.h"
#include "routing/router/table_follower.h"
#include "tests/router/router_follow_fixture.h"
#include "tests/support/no_more_threads.h"

namespace locus {

using internal::LastGoodWriter;
using internal::TableFollower;
using internal::TableJudgement;

namespace {

using ::testing::ElementsAre;
using Kind = RouterEvent::Kind;

std::shared_ptr<const RoutingTable> Shared(uint64_t epoch) {
  return std::make_shared<const RoutingTable>(TableOfEpoch(epoch));
}

// A file system whose writes a test can hold up or fail.
class Disk {
 public:
  LastGoodWriter::Write Write() {
    return [this](const RoutingTable& table) {
      std::unique_lock lock(mutex_);
      ++begun_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return !stalled_; });
      if (status_.ok()) written_.push_back(table.epoch());
      return absl::Status(status_.code(), status_.message());
    };
  }
  void Stall() { Set(true, absl::OkStatus()); }
  void Heal() { Set(false, absl::OkStatus()); }
  void Fail(absl::Status status) { Set(false, std::move(status)); }
  void AwaitBegun(int writes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_ >= writes; });
  }
  std::vector<uint64_t> written() const {
    std::lock_guard lock(mutex_);
    return written_;
  }

 private:
  void Set(bool stalled, absl::Status status) {
    std::lock_guard lock(mutex_);
    stalled_ = stalled;
    status_ = std::move(status);
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stalled_ = false;
  absl::Status status_;
  int begun_ = 0;
  std::vector<uint64_t> written_;
};

RouterStats StatsOf(const LastGoodWriter& writer) {
  RouterStats stats;
  writer.Fill(stats);
  return stats;
}

void IgnoreFailure(uint64_t, const absl::Status&) {}

TEST(LastGoodWriterTest, TablesThatComeDuringAWrite_OnlyTheNewestIsWritten) {
  Disk disk;
  LastGoodWriter writer(disk.Write(), IgnoreFailure);
  disk.Stall();
  writer.Put(Shared(1));
  disk.AwaitBegun(1);
  for (uint64_t epoch = 2; epoch <= 50; ++epoch) writer.Put(Shared(epoch));
  disk.Heal();
  ASSERT_TRUE(WaitUntil([&] { return StatsOf(writer).last_good_epoch == 50; }));
  EXPECT_THAT(disk.written(), ElementsAre(1, 50));
  EXPECT_EQ(StatsOf(writer).last_good_writes, 2u);
}

TEST(LastGoodWriterTest, Destroyed_WritesWhatIsStillPending) {
  Disk disk;
  disk.Stall();
  {
    LastGoodWriter writer(disk.Write(), IgnoreFailure);
    writer.Put(Shared(1));
    disk.AwaitBegun(1);
    writer.Put(Shared(2));
    disk.Heal();
  }
  EXPECT_EQ(disk.written().back(), 2u);
}

TEST(LastGoodWriterTest, Failure_IsReportedOnceAndRetriedWhenAsked) {
  Disk disk;
  disk.Fail(absl::UnavailableError("no space left"));
  std::atomic<int> reported = 0;
  LastGoodWriter writer(disk.Write(), [&](uint64_t epoch, const absl::Status& failure) {
    EXPECT_EQ(epoch, 1u);
    EXPECT_TRUE(absl::IsUnavailable(failure));
    ++reported;
  });
  writer.Put(Shared(1));
  for (uint64_t failures = 1; failures <= 3; ++failures) {
    ASSERT_TRUE(WaitUntil([&] { return StatsOf(writer).last_good_failures == failures; }));
    EXPECT_EQ(StatsOf(writer).last_good_error, absl::UnavailableError("no space left"));
    writer.Retry();
  }
  ASSERT_TRUE(WaitUntil([&] { return StatsOf(writer).last_good_failures == 4; }));
  EXPECT_EQ(reported, 1);
  disk.Heal();
  writer.Retry();
  ASSERT_TRUE(WaitUntil([&] { return StatsOf(writer).last_good_epoch == 1; }));
  EXPECT_TRUE(StatsOf(writer).last_good_error.ok());
  writer.Retry();  // nothing is left to write
  EXPECT_THAT(disk.written(), ElementsAre(1));
}

TEST(LastGoodWriterTest, Destroyed_TriesAFailedWriteOnceMore) {
  Disk disk;
  disk.Fail(absl::UnavailableError("no space left"));
  {
    LastGoodWriter writer(disk.Write(), IgnoreFailure);
    writer.Put(Shared(1));
    ASSERT_TRUE(WaitUntil([&] { return StatsOf(writer).last_good_failures == 1; }));
    disk.Heal();
  }
  EXPECT_THAT(disk.written(), ElementsAre(1));
}

TEST(LastGoodWriterTest, NoThreadAtFirst_RetryStartsIt) {
  Disk disk;
  LastGoodWriter writer(disk.Write(), IgnoreFailure);
  {
    NoMoreThreads none;
    writer.Put(Shared(1));
    EXPECT_FALSE(writer.started());
    writer.Retry();
    EXPECT_FALSE(writer.started());
  }
  writer.Retry();
  EXPECT_TRUE(writer.started());
  EXPECT_TRUE(WaitUntil([&] { return StatsOf(writer).last_good_epoch == 1; }));
}

TEST(LastGoodWriterTest, DestroyedWithoutAThread_WritesAllTheSame) {
  Disk disk;
  NoMoreThreads none;
  {
    LastGoodWriter writer(disk.Write(), IgnoreFailure);
    writer.Put(Shared(1));
  }
  EXPECT_THAT(disk.written(), ElementsAre(1));
}

// The disk may never answer again, and the process has to end.
TEST(LastGoodWriterTest, DestroyedWhileTheDiskStalls_LeavesTheWriteToItself) {
  auto disk = std::make_shared<Disk>();
  std::atomic<int> reported = 0;
  disk->Stall();
  {
    LastGoodWriter writer([disk, write = disk->Write()](const RoutingTable& t) { return write(t); },
                          [&](uint64_t, const absl::Status&) { ++reported; },
                          std::chrono::milliseconds(20));
    writer.Put(Shared(1));
    disk->AwaitBegun(1);
    writer.Put(Shared(2));
  }
  EXPECT_THAT(disk->written(), ElementsAre());
  disk->Fail(absl::UnavailableError("no space left"));
  disk->AwaitBegun(2);  // the newest is still tried, once
  EXPECT_TRUE(WaitUntil([&] { return disk.use_count() == 1; })) << "the thread ends";
  EXPECT_EQ(reported, 0) << "no caller is left to hear it";
}

class StalledDiskTest : public RouterFollowTest {};

TEST_F(StalledDiskTest, WriteThatDoesNotReturn_DelaysNoInstallAndNoConfirmation) {
  Disk disk;
  options_.last_good_file = directory_ / "last-good";
  options_.confirm_every = absl::Milliseconds(100);
  std::atomic<uint64_t> in_force = 0;
  auto offer = [&](std::shared_ptr<const RoutingTable> table) {
    in_force = table->epoch();
    return TableJudgement{TableJudgement::Kind::kInstall, table->epoch(), absl::OkStatus()};
  };
  Put(1);
  TableFollower follower(
      std::make_unique<fakes::MemoryTableSource>(place_), options_, offer, [] { return false; },
      disk.Write());
  disk.Stall();
  ASSERT_TRUE(follower.Open().ok());
  ASSERT_TRUE(follower.Start().ok());
  disk.AwaitBegun(1);
  for (uint64_t epoch = 2; epoch <= 20; ++epoch) {
    Put(epoch);
    ASSERT_TRUE(WaitUntil([&] { return in_force == epoch; }));
  }
  auto stats = [&] {
    RouterStats filled;
    follower.Fill(20, filled);
    return filled;
  };
  uint64_t reads = stats().reads;
  ASSERT_TRUE(WaitUntil([&] { return stats().reads > reads + 2; })) << "it confirms no more";
  EXPECT_EQ(stats().last_good_writes, 0u);
  disk.Heal();
  ASSERT_TRUE(WaitUntil([&] { return stats().last_good_epoch == 20; }));
  EXPECT_THAT(disk.written(), ElementsAre(1, 20));
}

}  // namespace
}  // namespace locus
