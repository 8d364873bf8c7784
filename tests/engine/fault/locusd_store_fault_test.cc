// SPDX-License-Identifier: Apache-2.0
// Threads take numbers of one counter and sequences of one section from a cluster of locusd, and
// alter one sequence type, while its leader is killed, or stopped for longer than an election, or
// all nodes are killed at once. Each call that begins after another one ended gets more than that,
// of a type a later version: so nothing comes twice, and nothing that was answered is forgotten.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd.h"
#include "tests/locusd/locusd_cluster.h"
#include "tests/support/taken_ranges.h"

namespace locus {
namespace {

int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// Calls until it is stopped, and notes what it got.
class Client {
 public:
  using Call = std::function<absl::StatusOr<TakenRange>()>;
  explicit Client(Call call) : thread_([this, call = std::move(call)] { Run(call); }) {}
  ~Client() { Stop(); }
  std::vector<TakenRange> Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return taken_;
  }
  size_t count() const { return count_; }

 private:
  void Run(const Call& call) {
    while (!stop_) {
      const int64_t began = Now();
      absl::StatusOr<TakenRange> taken = call();
      if (!taken.ok()) {
        EXPECT_TRUE(absl::IsUnavailable(taken.status())) << taken.status();
        continue;
      }
      taken->began = began;
      taken->ended = Now();
      taken_.push_back(*taken);
      ++count_;
    }
  }

  std::atomic<bool> stop_ = false;
  std::atomic<size_t> count_ = 0;
  std::vector<TakenRange> taken_;  // of the thread, until it has ended
  std::thread thread_;
};

class LocusdStoreFaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GE(cluster_.WaitForLeader(), 0);
    auto creator = LocusdSegmentStore::Open(cluster_.Options());
    ASSERT_TRUE(creator.ok()) << creator.status();
    const absl::Status created = (*creator)->Create(SpaceName(), options_, absl::Now());
    ASSERT_TRUE(created.ok()) << created;
    type_store_ = LocusdSequenceTypeStore::Open(cluster_.Options()).value();
    SequenceType type;
    type.name = kType;
    const auto created_type = type_store_->Create(type);
    ASSERT_TRUE(created_type.ok()) << created_type.status();
    for (int i = 0; i < 2; ++i) types_.push_back(std::make_unique<Client>(TypeCall()));
    for (int i = 0; i < 3; ++i) numbers_.push_back(std::make_unique<Client>(NumberCall()));
    for (int i = 0; i < 2; ++i) sequences_.push_back(std::make_unique<Client>(SequenceCall()));
  }

  // Each has one handle, as a service does.
  Client::Call NumberCall() const {
    auto opened = LocusdSequencer::Open(cluster_.Options());
    EXPECT_TRUE(opened.ok()) << opened.status();
    return [sequencer =
                std::shared_ptr<Sequencer>(*std::move(opened))]() -> absl::StatusOr<TakenRange> {
      const absl::StatusOr<SequenceBatch> batch = sequencer->NextBatch("invoices", 3);
      if (!batch.ok()) return batch.status();
      return TakenRange{0, 0, static_cast<uint64_t>(batch->first),
                        static_cast<uint64_t>(batch->last())};
    };
  }
  Client::Call SequenceCall() const {
    auto opened = LocusdSegmentStore::Open(cluster_.Options());
    EXPECT_TRUE(opened.ok()) << opened.status();
    return [store = std::shared_ptr<SegmentStore>(*std::move(opened)),
            options = options_]() -> absl::StatusOr<TakenRange> {
      const SegmentRequest request{7, 64, 0};
      const auto reply = store->Allocate(SpaceName(), options, {&request, 1}, absl::Now());
      if (!reply.ok()) return reply.status();
      const Segment& segment = reply->grants[0].segment;
      if (segment.length == 0) return absl::UnavailableError("nothing fits");
      return TakenRange{0, 0, segment.first, segment.end() - 1};
    };
  }

  // Reads the type and alters what it read, until no other thread does so between.
  Client::Call TypeCall() const {
    auto opened = LocusdSequenceTypeStore::Open(cluster_.Options());
    EXPECT_TRUE(opened.ok()) << opened.status();
    return [store = std::shared_ptr<SequenceTypeStore>(
                *std::move(opened))]() -> absl::StatusOr<TakenRange> {
      while (true) {
        absl::StatusOr<SequenceType> type = store->Find(kType);
        if (!type.ok()) return type.status();
        type->step = 1 + type->step % 9;
        const absl::StatusOr<SequenceType> altered = store->Alter(*type);
        if (absl::IsAborted(altered.status())) continue;
        if (!altered.ok()) return altered.status();
        return TakenRange{0, 0, altered->version, altered->version};
      }
    };
  }

  // All clients make progress.
  void ExpectProgress() {
    std::vector<size_t> before;
    auto each = [this](auto what) {
      for (auto& client : numbers_) what(*client);
      for (auto& client : sequences_) what(*client);
      for (auto& client : types_) what(*client);
    };
    each([&](Client& client) { before.push_back(client.count()); });
    EXPECT_TRUE(WaitUntil([&] {
      size_t i = 0;
      bool all = true;
      each([&](Client& client) { all = client.count() >= before[i++] + 20 && all; });
      return all;
    }));
  }

  void TearDown() override {
    std::vector<TakenRange> numbers, sequences, versions;
    for (auto& client : numbers_) {
      for (const TakenRange& taken : client->Stop()) numbers.push_back(taken);
    }
    for (auto& client : sequences_) {
      for (const TakenRange& taken : client->Stop()) sequences.push_back(taken);
    }
    for (auto& client : types_) {
      for (const TakenRange& taken : client->Stop()) versions.push_back(taken);
    }
    EXPECT_EQ(FlawOf(versions), "");
    uint64_t altered = 0;
    for (const TakenRange& one : versions) altered = std::max(altered, one.last);
    const auto type = type_store_->Find(kType);
    ASSERT_TRUE(type.ok()) << type.status();
    EXPECT_GE(type->version, altered) << "an acknowledged alteration is gone";
    EXPECT_EQ(FlawOf(numbers), "");
    EXPECT_EQ(FlawOf(sequences), "");
    RecordProperty("numbers", static_cast<int>(numbers.size()));
    RecordProperty("sequences", static_cast<int>(sequences.size()));
    RecordProperty("alterations", static_cast<int>(versions.size()));
  }

  static constexpr char kType[] = "invoices";
  const SpaceOptions options_ = {};
  LocusdCluster cluster_{3, {.more_api = "store = true\n"}};
  std::unique_ptr<SequenceTypeStore> type_store_;
  std::vector<std::unique_ptr<Client>> numbers_, sequences_, types_;
};

TEST_F(LocusdStoreFaultTest, LeaderKilled_NothingTwiceAndNothingForgotten) {
  for (int round = 0; round < 3; ++round) {
    const int leader = cluster_.WaitForLeader();
    ASSERT_GE(leader, 0);
    cluster_.node(leader).process().KillHard();
    ExpectProgress();
    ASSERT_TRUE(cluster_.node(leader).Start());
  }
  ExpectProgress();
}

TEST_F(LocusdStoreFaultTest, LeaderStoppedBeyondAnElection_NothingTwiceAndNothingForgotten) {
  for (int round = 0; round < 3; ++round) {
    const int leader = cluster_.WaitForLeader();
    ASSERT_GE(leader, 0);
    cluster_.node(leader).process().Stall();
    ExpectProgress();  // so another node leads; this one still believes that it leads when it
                       // continues
    cluster_.node(leader).process().Resume();
    ExpectProgress();
  }
}

TEST_F(LocusdStoreFaultTest, AllKilledAtOnce_NothingTwiceAndNothingForgotten) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < cluster_.size(); ++i) cluster_.node(i).process().KillHard();
    for (int i = 0; i < cluster_.size(); ++i) ASSERT_TRUE(cluster_.node(i).Start());
    ExpectProgress();
  }
}

}  // namespace
}  // namespace locus
