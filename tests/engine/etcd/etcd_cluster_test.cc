// SPDX-License-Identifier: Apache-2.0
// A cluster of three members that is done harm to while processes draw from it.
#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "tests/engine/etcd/etcd_fixture.h"
#include "tests/generator/drawing_processes.h"

namespace locus {
namespace {

class EtcdClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start());
    auto store = MustOpen(server_.options());
    absl::Status created;
    ASSERT_TRUE(WaitUntil([&] {
      created = store->Create(SpaceName(), SpaceOptions(), absl::Now());
      return !absl::IsUnavailable(created);
    })) << created;
    ASSERT_TRUE(created.ok()) << created;
  }

  // Of section 0, repeated while members elect.
  static SegmentReply AllocateInTime(SegmentStore& store, uint64_t seen = 0) {
    auto reply = TryAllocate(store, 0, seen);
    EXPECT_TRUE(WaitUntil([&] {
      if (absl::IsUnavailable(reply.status())) reply = TryAllocate(store, 0, seen);
      return !absl::IsUnavailable(reply.status());
    }));
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *reply : SegmentReply{{SegmentGrant()}, {}, false};
  }

  // Members are replaced as soon as they are lost, without the pause by which etcd makes sure.
  EtcdServer server_{3, {"--strict-reconfig-check=false"}};
};

DrawingProcesses::Options Drawing(absl::Duration horizon) {
  DrawingProcesses::Options options;
  options.horizon = horizon;
  options.rate = 10'000;
  return options;
}

TEST_F(EtcdClusterTest, LeaderKilledAgainAndAgain_NoIdTwice) {
  DrawingProcesses processes([&] { return MustOpen(server_.options()); },
                             Drawing(absl::Seconds(20)));
  ASSERT_TRUE(processes.WaitForEach(5000));
  for (int i = 0; i < 3; ++i) {
    int leader = -1;
    ASSERT_TRUE(WaitUntil([&] { return (leader = server_.Leader()) >= 0; }));
    server_.KillHard(leader);
    processes.KillAndRestart(i);
    ASSERT_TRUE(processes.WaitForEach(5000)) << "a new process is served by the others";
    ASSERT_TRUE(server_.StartMember(leader));
    ASSERT_TRUE(server_.WaitForLeader());
  }
  processes.Stop();
  EXPECT_EQ(processes.Repeated(), "");
  EXPECT_EQ(processes.losses(), 0u);
  std::cout << processes.drawn() << " order IDs, " << processes.store_failures()
            << " allocations failed\n";
}

TEST_F(EtcdClusterTest, MemberStalled_OthersServe) {
  // Each process begins with another member.
  for (int kept = 0; kept < 3; ++kept) {
    EtcdOptions options = server_.options();
    std::rotate(options.endpoints.begin(), options.endpoints.begin() + kept,
                options.endpoints.end());
    auto store = MustOpen(options);
    auto sequencer = MustOpenSequencer(options);
    uint64_t end = EndOf(AllocateInTime(*store));
    ASSERT_TRUE(WaitUntil([&] { return sequencer->Next("a").ok(); }));
    server_.Stall(kept);
    // A write to the stalled member may have been served: it is not repeated, and no caller is held
    // beyond its time. The calls after it go to the other members, once they have a leader; this
    // one as well, if the member was too slow for the allocation before.
    absl::Time begin = absl::Now();
    absl::Status status = TryAllocate(*store, 0, end).status();
    EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
    EXPECT_LT(absl::Now() - begin, options.call_timeout + absl::Seconds(30));
    EXPECT_TRUE(WaitUntil([&] { return TryAllocate(*store, 0, end).ok(); }));
    EXPECT_TRUE(WaitUntil([&] { return sequencer->Next("a").ok(); }));
    server_.Resume(kept);
    ASSERT_TRUE(server_.WaitForLeader());
  }
}

TEST_F(EtcdClusterTest, MemberWithoutLeader_IsPassedOver) {
  auto store = MustOpen(server_.options(0));
  uint64_t end = EndOf(AllocateInTime(*store));
  server_.KillHard(1);
  server_.KillHard(2);
  auto refused = [&] {
    absl::Time begin = absl::Now();
    absl::Status status = TryAllocate(*store).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_LT(absl::Now() - begin, absl::Seconds(4));
    return status.message().find("no leader") != absl::string_view::npos;
  };
  EXPECT_TRUE(WaitUntil(refused)) << "once the member has noticed";
  const std::vector<std::string> all = server_.options().endpoints;
  for (const auto& endpoints : {std::vector{all[0], all[1]}, {all[1], all[0]}}) {
    EtcdOptions options = server_.options();
    options.endpoints = endpoints;
    const absl::Status status = TryAllocate(*MustOpen(options)).status();
    EXPECT_NE(status.message().find("no leader"), absl::string_view::npos) << status;
  }
  ASSERT_TRUE(server_.StartMember(1));
  EXPECT_TRUE(WaitUntil([&] { return TryAllocate(*store, 0, end).ok(); }));
  ASSERT_TRUE(server_.StartMember(2));
}

TEST_F(EtcdClusterTest, MembersWipedOneByOne_LoseNothing) {
  auto store = MustOpen(server_.options());
  uint64_t end = EndOf(AllocateInTime(*store));
  for (int member = 0; member < 3; ++member) {
    // As an operator replaces a broken disk: remove the member, add it, start it empty.
    server_.KillHard(member);
    ASSERT_TRUE(WaitUntil([&] { return server_.Leader() >= 0; }));
    ASSERT_TRUE(server_.ReplaceMember(member));
    ASSERT_TRUE(server_.WaitForLeader());
    SegmentReply reply = AllocateInTime(*store, end);
    EXPECT_FALSE(reply.loss_noticed);
    EXPECT_GE(FirstOf(reply), end);
    end = EndOf(reply);
    auto fresh = MustOpen(server_.options(member));
    ASSERT_TRUE(WaitUntil([&] { return fresh->ReadOptions(SpaceName()).ok(); }))
        << "it just joined";
    reply = Allocate(*fresh);
    EXPECT_FALSE(reply.loss_noticed) << "seen from the new member";
    EXPECT_EQ(FirstOf(reply), end);
    end = EndOf(reply);
  }
  absl::StatusOr<SpaceView> view;
  ASSERT_TRUE(WaitUntil([&] {
    view = store->Show(SpaceName(), absl::Now());
    return view.ok();
  })) << view.status();
  EXPECT_EQ(view->losses, 1u);
}

// Two members are lost, and the third had not heard of their last allocations. It keeps its log, so
// a new process cannot notice.
TEST_F(EtcdClusterTest, LaggingMemberForcedToBeTheCluster_IsNoticedByEarlierClients) {
  int leader = -1;
  ASSERT_TRUE(WaitUntil([&] { return (leader = server_.Leader()) >= 0; }));
  int lagging = (leader + 1) % 3;
  EtcdOptions options = server_.options();
  std::swap(options.endpoints[0], options.endpoints[static_cast<size_t>(leader)]);
  auto store = MustOpen(options);
  AllocateInTime(*store);
  // A linearizable read from that member: it knows of the space and the first allocation.
  ASSERT_TRUE(
      WaitUntil([&] { return MustOpen(server_.options(lagging))->ReadOptions(SpaceName()).ok(); }));
  server_.Stall(lagging);
  uint64_t end = 0;
  for (int i = 0; i < 20; ++i) end = EndOf(AllocateInTime(*store));
  server_.KillHard((leader + 2) % 3);
  server_.KillHard(leader);
  ASSERT_TRUE(server_.ForceNewCluster(lagging));
  SegmentReply silent = AllocateInTime(*MustOpen(server_.options(lagging)));
  EXPECT_FALSE(silent.loss_noticed);
  EXPECT_LT(FirstOf(silent), end) << "what the docs warn of";
  SegmentReply reply;
  ASSERT_TRUE(WaitUntil([&] {
    auto allocated = TryAllocate(*store);
    if (allocated.ok()) reply = *allocated;
    return allocated.ok();
  }));
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GE(FirstOf(reply), end);
}

TEST_F(EtcdClusterTest, SnapshotRestoredWhileProcessesDraw_NoIdTwice) {
  DrawingProcesses processes([&] { return MustOpen(server_.options()); },
                             Drawing(absl::Seconds(20)));
  ASSERT_TRUE(processes.WaitForEach(5000));
  std::string snapshot = server_.directory() / "snapshot.db";
  ASSERT_TRUE(server_.SaveSnapshot(snapshot));
  ASSERT_TRUE(processes.WaitForEach(10'000));
  ASSERT_TRUE(server_.RestoreSnapshot(snapshot));
  processes.KillAndRestart(0);
  processes.KillAndRestart(1);
  ASSERT_TRUE(processes.WaitForEach(20'000));
  // The store counts: a process may be killed after it raised base and before it noted that.
  auto store = MustOpen(server_.options());
  absl::StatusOr<SpaceView> view;
  EXPECT_TRUE(WaitUntil([&] {
    view = store->Show(SpaceName(), absl::Now());
    return view.ok() && view->losses > 1;
  }));
  processes.Stop();
  EXPECT_EQ(processes.Repeated(), "");
  ASSERT_TRUE(WaitUntil([&] {
    view = store->Show(SpaceName(), absl::Now());
    return view.ok();
  })) << view.status();
  EXPECT_EQ(view->losses, 2u) << "noticed by many, raised once";
}

// Numbers of one key while the leader dies: what was answered is unique, and rises.
TEST_F(EtcdClusterTest, SequencerWhileLeadersDie_NoNumberTwice) {
  std::vector<std::vector<int64_t>> given(3);
  std::atomic<bool> stop{false};
  std::atomic<int> unavailable{0}, numbers_given{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      auto sequencer = MustOpenSequencer(server_.options());
      while (!stop) {
        auto number = sequencer->Next("a");
        if (number.ok()) {
          given[t].push_back(*number);
          ++numbers_given;
        } else {
          EXPECT_TRUE(absl::IsUnavailable(number.status())) << number.status();
          ++unavailable;
        }
      }
    });
  }
  for (int i = 0; i < 3; ++i) {
    int leader = -1, before = numbers_given;
    EXPECT_TRUE(WaitUntil([&] { return numbers_given > before + 100; }));
    EXPECT_TRUE(WaitUntil([&] { return (leader = server_.Leader()) >= 0; }));
    if (leader < 0) break;
    server_.KillHard(leader);
    before = numbers_given;
    EXPECT_TRUE(WaitUntil([&] { return numbers_given > before + 100; })) << "from the others";
    EXPECT_TRUE(server_.StartMember(leader));
    EXPECT_TRUE(server_.WaitForLeader());
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  std::set<int64_t> all;
  size_t count = 0;
  for (const auto& numbers : given) {
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    all.insert(numbers.begin(), numbers.end());
    count += numbers.size();
  }
  EXPECT_EQ(all.size(), count) << "each number once";
  EXPECT_GT(count, 600u);
  std::cout << count << " numbers, " << unavailable << " calls unavailable\n";
}

}  // namespace
}  // namespace locus
