// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "src/engine/zookeeper/segments.h"
#include "src/engine/zookeeper/session.h"
#include "src/engine/zookeeper/space_text.h"
#include "tests/engine/zookeeper/zookeeper_server.h"
#include "tests/segment/segment_store_contract.h"
#include "tests/segment/segment_words.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using internal::ZookeeperSegmentStoreAccess;
using zookeeper::Change;
using zookeeper::Session;

std::unique_ptr<ZookeeperSegmentStore> MustOpen(const ZookeeperOptions& options,
                                                Clock* clock = nullptr) {
  auto store = ZookeeperSegmentStoreAccess::Open(options, clock);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// Deletes a znode and all below it.
void DeleteTree(Session& session, const std::string& path) {
  auto children = session.Children(path, session.Deadline());
  ASSERT_TRUE(children.ok()) << children.status();
  if (!children->has_value()) return;
  for (const std::string& child : **children) DeleteTree(session, path + "/" + child);
  const Change gone{Change::Kind::kDelete, path, "", -1};
  ASSERT_TRUE(*session.Commit({&gone, 1}, session.Deadline()));
}

class ZookeeperUnderTest : public StoreUnderTest {
 public:
  std::unique_ptr<SegmentStore> Connect() override { return MustOpen(options_, &clock_); }
  void LoseSpaces() override { DeleteTree(*Session::Open(options_).value(), options_.prefix); }
  fakes::ManualClock& clock() override { return clock_; }
  bool has_own_clock() const override { return true; }

 private:
  const ZookeeperOptions options_ = FreshZookeeperPrefix();
  fakes::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Zookeeper, SegmentStoreContract,
                         ::testing::Values(Engine{
                             "zookeeper", [] { return std::make_unique<ZookeeperUnderTest>(); }}));

class ZookeeperSegmentStoreTest : public ::testing::Test {
 protected:
  // Writes past the store, as with zkCli.
  void Put(const std::string& path, const std::string& value) {
    auto session = Session::Open(options_).value();
    const bool there = session->Get(path, session->Deadline())->has_value();
    const Change change{there ? Change::Kind::kSet : Change::Kind::kCreate, path, value, -1};
    EXPECT_TRUE(*session->Commit({&change, 1}, session->Deadline()));
  }

  const ZookeeperOptions options_ = FreshZookeeperPrefix();
  std::unique_ptr<ZookeeperSegmentStore> store_ = MustOpen(options_);
};

TEST_F(ZookeeperSegmentStoreTest, UsualAllocation_IsAWriteAReadAndATransaction) {
  CreateSpace(*store_);
  uint64_t end = EndOf(Allocate(*store_));
  const uint64_t before = store_->Stats().requests;
  for (int i = 0; i < 10; ++i) {
    SegmentReply reply = Allocate(*store_, 0, end);
    EXPECT_EQ(FirstOf(reply), end);
    end = EndOf(reply);
  }
  // The clock's write, the space, the group, the transaction.
  EXPECT_EQ(store_->Stats().requests, before + 40);
  EXPECT_EQ(store_->Stats().conflicts, 0u);
  EXPECT_EQ(store_->Stats().sessions, 1u);
}

TEST_F(ZookeeperSegmentStoreTest, EverySectionOfTheSmallestSize_IsAllocatedInOneStep) {
  ZookeeperOptions patient = options_;
  patient.timeout = absl::Seconds(60);
  store_ = MustOpen(patient);
  SpaceOptions options;
  options.section_size = 1;
  ASSERT_TRUE(store_->Create(SpaceName(), options, absl::Now()).ok());
  std::vector<SegmentRequest> requests;
  for (uint32_t section = 0; section < 65536; ++section) {
    requests.push_back({static_cast<uint16_t>(section), 64, 0});
  }
  auto reply = store_->Allocate(SpaceName(), options, requests, absl::Now());
  ASSERT_TRUE(reply.ok()) << reply.status();
  for (const SegmentGrant& grant : reply->grants) EXPECT_EQ(grant.segment.length, 64u);
  auto other = MustOpen(patient);
  reply = other->Allocate(SpaceName(), options, requests, absl::Now());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(other->Show(SpaceName(), absl::Now())->sections.size(), 65536u);
}

TEST_F(ZookeeperSegmentStoreTest, ProcessesThatAllocateInTheSameSection_GetDifferentSegments) {
  CreateSpace(*store_);
  constexpr int kProcesses = 4, kAllocations = 25;
  std::vector<std::vector<uint64_t>> firsts(kProcesses);
  std::vector<std::thread> threads;
  for (auto& of_one : firsts) {
    threads.emplace_back([&of_one, options = options_]() mutable {
      options.timeout = absl::Seconds(60);
      auto store = MustOpen(options);
      for (int i = 0; i < kAllocations; ++i) of_one.push_back(FirstOf(Allocate(*store, 7)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& of_one : firsts) {
    EXPECT_TRUE(std::is_sorted(of_one.begin(), of_one.end()));
    all.insert(of_one.begin(), of_one.end());
  }
  EXPECT_EQ(all.size(), static_cast<size_t>(kProcesses * kAllocations));
}

// The contract suite owns the time: this is the server's, which is this host's.
TEST_F(ZookeeperSegmentStoreTest, LeadersClock_DecidesAndIsCheckedBothWays) {
  CreateSpace(*store_);
  const absl::Time before = absl::Now();
  const absl::Time granted_at = Allocate(*store_).granted_at;
  EXPECT_GE(granted_at, before - absl::Milliseconds(1));
  EXPECT_LE(granted_at, absl::Now() + absl::Milliseconds(1));
  SegmentRequest request;
  for (absl::Duration wrong : {absl::Seconds(62), absl::Seconds(-62)}) {
    const absl::Status status =
        store_->Allocate(SpaceName(), SpaceOptions(), {&request, 1}, absl::Now() + wrong).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(options_.hosts[0]));
  }
  const SpaceName other = SpaceName::Parse("other").value();
  EXPECT_TRUE(absl::IsFailedPrecondition(
      store_->Create(other, SpaceOptions(), absl::Now() + absl::Minutes(2))));
  EXPECT_TRUE(absl::IsNotFound(store_->ReadOptions(other).status()));
}

TEST_F(ZookeeperSegmentStoreTest, ValuesThatCannotBe_AreDataLossAndChangeNothing) {
  CreateSpace(*store_);
  const std::string space = options_.prefix + "/spaces/orders/space";
  const std::string group = options_.prefix + "/spaces/orders/heads/00";
  auto session = Session::Open(options_).value();
  const std::string good = (*session->Get(space, session->Deadline()))->value;
  for (const std::string& bad :
       {std::string(), std::string("1"), std::string("1 256"), good + " 7", good + "x",
        std::string("1 255 1672531200000000000 16384 16777216 1 1"),
        std::string("1 256 1672531200000000000 16384 16777216 99999999999999999 1"),
        std::string(2000, 'x')}) {
    Put(space, bad);
    const absl::Status status = TryAllocate(*store_).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << bad << ": " << status;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(space));
    EXPECT_LT(status.message().size(), 600u);
    EXPECT_TRUE(absl::IsDataLoss(store_->Create(SpaceName(), SpaceOptions(), absl::Now())));
  }
  Put(space, "2 anything");
  EXPECT_TRUE(absl::IsFailedPrecondition(TryAllocate(*store_).status())) << "a later version's";
  Put(space, good);
  for (const std::string& bad :
       {std::string("short"), std::string(56, '\x7F'), std::string(57, '\0'),
        std::string(7, '\0') + '\1' + std::string(48, '\0')}) {
    Put(group, bad);
    EXPECT_TRUE(absl::IsDataLoss(TryAllocate(*store_).status()));
    EXPECT_EQ((*session->Get(group, session->Deadline()))->value, bad);
  }
}

TEST_F(ZookeeperSegmentStoreTest, ForkedChild_IsRefused) {
  CreateSpace(*store_);
  const uint64_t end = EndOf(Allocate(*store_));
  ChildProcess child([&] {
    const bool refused =
        absl::IsFailedPrecondition(TryAllocate(*store_).status()) &&
        absl::IsFailedPrecondition(store_->ReadOptions(SpaceName()).status()) &&
        absl::IsFailedPrecondition(store_->Show(SpaceName(), absl::Now()).status()) &&
        absl::IsFailedPrecondition(
            store_->Raise(SpaceName(), 1, RaiseReach::kAnywhere, absl::Now()).status()) &&
        absl::IsFailedPrecondition(store_->DeclareRestored(SpaceName(), absl::Now())) &&
        absl::IsFailedPrecondition(store_->Create(SpaceName(), SpaceOptions(), absl::Now()));
    store_.reset();
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(FirstOf(Allocate(*store_)), end);
}

// --- Servers that die, stall and lose what they stored.

class ZookeeperSegmentLossTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start());
    options_ = server_.options();
    store_ = Open();
    ASSERT_TRUE(store_->Create(SpaceName(), SpaceOptions(), clock_.Now()).ok());
    // A further loss within max_lead of the last, which creation counts as, is not covered.
    clock_.Advance(absl::Hours(1));
  }
  std::unique_ptr<ZookeeperSegmentStore> Open() { return MustOpen(options_, &clock_); }

  // Once the session is connected again, or replaced.
  SegmentReply AllocateInTime(SegmentStore& store, uint64_t seen = 0) {
    const SegmentRequest request{0, 4096, seen};
    absl::StatusOr<SegmentReply> reply;
    EXPECT_TRUE(WaitUntil([&] {
      reply = store.Allocate(SpaceName(), SpaceOptions(), {&request, 1}, clock_.Now());
      return !absl::IsUnavailable(reply.status());
    }));
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *reply : SegmentReply{{SegmentGrant()}, {}, false};
  }
  uint64_t AllocateSome(SegmentStore& store) {
    uint64_t end = 0;
    for (int i = 0; i < 20; ++i) end = EndOf(AllocateInTime(store));
    return end;
  }
  void CopyData() {
    server_.KillHard();
    fs::copy(server_.data_directory(0), server_.directory() / "copy", fs::copy_options::recursive);
    ASSERT_TRUE(server_.Start());
  }
  void PutDataBack() {
    server_.KillHard();
    fs::remove_all(server_.data_directory(0));
    fs::copy(server_.directory() / "copy", server_.data_directory(0), fs::copy_options::recursive);
    ASSERT_TRUE(server_.Start());
  }

  ZookeeperServer server_;
  ZookeeperOptions options_;
  fakes::ManualClock clock_{absl::Now()};
  std::unique_ptr<ZookeeperSegmentStore> store_;
};

TEST_F(ZookeeperSegmentLossTest, KilledAndStartedAgain_LosesNothing) {
  const uint64_t end = AllocateSome(*store_);
  server_.KillHard();
  options_.connect_timeout = absl::Milliseconds(300);
  const SegmentRequest request{0, 64, 0};
  const absl::Status down =
      Open()->Allocate(SpaceName(), SpaceOptions(), {&request, 1}, clock_.Now()).status();
  EXPECT_TRUE(absl::IsUnavailable(down)) << down;
  EXPECT_THAT(std::string(down.message()), ::testing::HasSubstr(options_.hosts[0]));
  ASSERT_TRUE(server_.Start());
  const SegmentReply reply = AllocateInTime(*store_);
  EXPECT_FALSE(reply.loss_noticed);
  EXPECT_EQ(FirstOf(reply), end);
}

TEST_F(ZookeeperSegmentLossTest, StalledServer_IsUnavailableInTime) {
  options_.timeout = absl::Seconds(1);
  auto store = Open();
  const uint64_t end = AllocateSome(*store);
  server_.Stall();
  const SegmentRequest request{0, 64, 0};
  for (int i = 0; i < 3; ++i) {
    const absl::Time start = absl::Now();
    const absl::Status status =
        store->Allocate(SpaceName(), SpaceOptions(), {&request, 1}, clock_.Now()).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_LT(absl::Now() - start, absl::Seconds(60));
  }
  server_.Resume();
  EXPECT_GE(FirstOf(AllocateInTime(*store)), end);
}

TEST_F(ZookeeperSegmentLossTest, EmptiedEnsemble_IsNotFoundAndAnewAboveAllAllocations) {
  const uint64_t end = AllocateSome(*store_);
  ASSERT_TRUE(server_.RestartEmpty());
  absl::Status status;
  EXPECT_TRUE(WaitUntil([&] {
    status = store_->ReadOptions(SpaceName()).status();
    return !absl::IsUnavailable(status);
  }));
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  ASSERT_TRUE(store_->Create(SpaceName(), SpaceOptions(), clock_.Now()).ok());
  EXPECT_GE(FirstOf(AllocateInTime(*store_)), end);
  EXPECT_EQ(store_->Show(SpaceName(), clock_.Now())->losses, 1u) << "counted once";
}

TEST_F(ZookeeperSegmentLossTest, OldDataDirectoryPutBack_IsNoticedByAProcessThatSawMore) {
  CopyData();
  const uint64_t end = AllocateSome(*store_);
  PutDataBack();
  SegmentReply reply = AllocateInTime(*store_);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GE(FirstOf(reply), end);
  EXPECT_FALSE(AllocateInTime(*store_).loss_noticed) << "once";
  EXPECT_GE(store_->Stats().sessions, 2u) << "no server let the old session in again";
}

TEST_F(ZookeeperSegmentLossTest, OldDataDirectoryPutBack_IsNoticedByTheSeenSequences) {
  CopyData();
  const uint64_t end = AllocateSome(*store_);
  PutDataBack();
  auto fresh = Open();
  const SegmentReply reply = AllocateInTime(*fresh, end);
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GE(FirstOf(reply), end);
}

// Not covered (docs/run/engines-zookeeper.md).
TEST_F(ZookeeperSegmentLossTest, OldDataDirectoryPutBack_IsNotNoticedByANewProcess) {
  CopyData();
  const uint64_t end = AllocateSome(*store_);
  PutDataBack();
  auto fresh = Open();
  SegmentReply reply = AllocateInTime(*fresh);
  EXPECT_FALSE(reply.loss_noticed);
  EXPECT_LT(FirstOf(reply), end);
  // Which is why an operator says so.
  ASSERT_TRUE(fresh->DeclareRestored(SpaceName(), clock_.Now()).ok());
  EXPECT_GE(FirstOf(AllocateInTime(*fresh)), end);
}

// One of three members at a time, the leader too.
TEST(ZookeeperSegmentEnsembleTest, MembersKilled_RepeatNothing) {
  ZookeeperServer ensemble(3);
  ASSERT_TRUE(ensemble.Start());
  auto store = MustOpen(ensemble.options());
  absl::Status made;
  ASSERT_TRUE(WaitUntil([&] {
    made = store->Create(SpaceName(), SpaceOptions(), absl::Now());
    return !absl::IsUnavailable(made);
  }));
  ASSERT_TRUE(made.ok()) << made;
  uint64_t end = 0;
  auto allocation = [&] {
    absl::StatusOr<SegmentReply> reply;
    EXPECT_TRUE(WaitUntil([&] {
      reply = TryAllocate(*store);
      return !absl::IsUnavailable(reply.status());
    }));
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_FALSE(reply->loss_noticed);
    EXPECT_GE(FirstOf(*reply), end);
    end = EndOf(*reply);
  };
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 10; ++i) allocation();
    const int leader = ensemble.Leader();
    ASSERT_GE(leader, 0);
    const int member = round == 1 ? (leader + 1) % 3 : leader;
    ensemble.KillHard(member);
    for (int i = 0; i < 10; ++i) allocation();
    ASSERT_TRUE(ensemble.StartMember(member));
  }
  EXPECT_EQ(store->Show(SpaceName(), absl::Now())->losses, 1u) << "its creation";
}

}  // namespace
}  // namespace locus
