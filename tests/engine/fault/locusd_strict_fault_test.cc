// SPDX-License-Identifier: Apache-2.0
// Two owners of strict sequences whose sections a cluster of locusd keeps, and threads that draw
// from them and move the sections to and fro, while nodes of the cluster are killed, stopped beyond
// the end of the ownerships, and cut off. Each call that begins after another one of its uid ended
// gets more.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "apps/proof/strict/history.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd.h"
#include "locus/strict_sequencer.h"
#include "tests/locusd/locusd_cluster.h"

namespace locus {
namespace {

constexpr uint32_t kSections = 8;
constexpr int kOwners = 2;

int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

StrictSetOptions SetOptions() {
  StrictSetOptions options;
  options.uids = kSections * uint64_t{64};
  options.section_size = 64;
  options.step = 500;              // raised all the time
  options.ttl = absl::Seconds(6);  // a busy machine takes a second for a command
  return options;
}

class LocusdStrictFaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GE(cluster_.WaitForLeader(), 0);
    for (int i = 0; i < kOwners; ++i) {
      auto opened = LocusdStrictStore::Open(cluster_.Options(absl::Seconds(10)));
      ASSERT_TRUE(opened.ok()) << opened.status();
      const std::shared_ptr<StrictStore> store = *std::move(opened);
      const absl::Status created = store->Create(SpaceName(), SetOptions(), {.first_ever = true});
      ASSERT_TRUE(created.ok()) << created;
      StrictSequencerOptions of_owner;
      of_owner.options = SetOptions();
      of_owner.name = i == 0 ? "a" : "b";
      auto owner = StrictSequencer::Open(store, of_owner);
      ASSERT_TRUE(owner.ok()) << owner.status();
      owners_.push_back(*std::move(owner));
      stores_.push_back(store);
    }
    for (int i = 0; i < kOwners; ++i) movers_.emplace_back([this, i] { Move(i); });
    for (size_t i = 0; i < std::size(drawn_); ++i) drawers_.emplace_back([this, i] { Draw(i); });
  }

  // Takes what it can, and hands a section over now and then, to the other or to any owner.
  void Move(int number) {
    StrictSequencer& owner = *owners_[static_cast<size_t>(number)];
    std::vector<uint32_t> all(kSections);
    for (uint32_t i = 0; i < kSections; ++i) all[i] = i;
    for (uint32_t round = static_cast<uint32_t>(number); !stop_; ++round) {
      // Fails while the cluster has no leader; then it is tried again.
      if (!owner.Take(all).ok()) ++failed_;
      const std::vector<uint32_t> owned = owner.Owned();
      if (!owned.empty()) {
        const uint32_t section = owned[round % owned.size()];
        const char* successor = round % 3 == 0 ? "" : number == 0 ? "b" : "a";
        if (owner.HandOver({&section, 1}, successor).ok()) ++moved_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the other one takes it
    }
  }

  // All threads draw of the same uids, one after another of each.
  void Draw(size_t thread) {
    for (uint64_t i = thread; !stop_; ++i) {
      const uint64_t uid = (i % kSections) * 64 + i / kSections % 2;
      StrictSequencer& owner = *owners_[(i / 16) % kOwners];
      const int64_t called = Now();
      const absl::StatusOr<uint64_t> number = owner.TryNext(uid);
      const int64_t answered = Now();
      if (number.ok()) {
        drawn_[thread].push_back({uid, *number, called, answered});
        ++count_[uid / 64];
      } else {
        std::this_thread::yield();
      }
      if (i % 64 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // Numbers of each section are drawn, and sections move.
  void ExpectProgress() {
    std::vector<uint64_t> before(kSections);
    for (uint32_t i = 0; i < kSections; ++i) before[i] = count_[i];
    const uint64_t moved = moved_;
    EXPECT_TRUE(WaitUntil([&] {
      bool all = moved_ >= moved + 5;
      for (uint32_t i = 0; i < kSections; ++i) all = all && count_[i] >= before[i] + 100;
      return all;
    })) << moved_ - moved
        << " hand-overs, " << failed_ << " calls of Take failed";
  }

  // The present ones.
  static void WaitUntilOwnershipsEnded() {
    const int64_t ended = Now() + absl::ToInt64Nanoseconds(SetOptions().ttl);
    EXPECT_TRUE(WaitUntil([ended] { return Now() > ended; }));
  }

  void TearDown() override {
    stop_ = true;
    for (std::thread& thread : movers_) thread.join();
    for (std::thread& thread : drawers_) thread.join();
    std::vector<strict::Drawn> all;
    for (const auto& drawn : drawn_) all.insert(all.end(), drawn.begin(), drawn.end());
    const strict::Flaws flaws = strict::CheckHistory(all);
    EXPECT_EQ(flaws.repeated, "");
    EXPECT_EQ(flaws.order, "");
    const auto view = stores_.at(0)->Show(SpaceName());
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(view->losses, 0u) << "nothing that was answered is forgotten";
    RecordProperty("numbers", static_cast<int>(all.size()));
    RecordProperty("moved", static_cast<int>(moved_.load()));
  }

  LocusdCluster cluster_{3, {.more_api = "store = true\n"}};
  std::vector<std::shared_ptr<StrictStore>> stores_;
  std::vector<std::unique_ptr<StrictSequencer>> owners_;
  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> moved_ = 0, failed_ = 0;
  std::atomic<uint64_t> count_[kSections] = {};
  std::vector<strict::Drawn> drawn_[3];  // of its thread, until that has ended
  std::vector<std::thread> movers_, drawers_;
};

TEST_F(LocusdStrictFaultTest, LeaderKilled_NumbersRise) {
  for (int round = 0; round < 2; ++round) {
    const int leader = cluster_.WaitForLeader();
    ASSERT_GE(leader, 0);
    cluster_.node(leader).process().KillHard();
    ExpectProgress();
    ASSERT_TRUE(cluster_.node(leader).Start());
  }
  ExpectProgress();
}

// The node continues after the others have led for longer than an ownership lasts, and still
// believes that it leads.
TEST_F(LocusdStrictFaultTest, LeaderStoppedBeyondAnOwnership_NumbersRise) {
  const int leader = cluster_.WaitForLeader();
  ASSERT_GE(leader, 0);
  cluster_.node(leader).process().Stall();
  ExpectProgress();
  WaitUntilOwnershipsEnded();
  cluster_.node(leader).process().Resume();
  ExpectProgress();
}

// No leader for longer than an ownership: owners stop answering, and continue from the stored
// values.
TEST_F(LocusdStrictFaultTest, AllStoppedBeyondAnOwnership_NumbersRise) {
  ExpectProgress();
  for (int i = 0; i < cluster_.size(); ++i) cluster_.node(i).process().Stall();
  WaitUntilOwnershipsEnded();
  for (int i = 0; i < cluster_.size(); ++i) cluster_.node(i).process().Resume();
  ExpectProgress();
}

TEST_F(LocusdStrictFaultTest, AllKilledAtOnce_NumbersRise) {
  ExpectProgress();
  for (int i = 0; i < cluster_.size(); ++i) cluster_.node(i).process().KillHard();
  for (int i = 0; i < cluster_.size(); ++i) ASSERT_TRUE(cluster_.node(i).Start());
  ExpectProgress();
}

}  // namespace
}  // namespace locus
