// SPDX-License-Identifier: Apache-2.0
// The store that a cluster of locusd keeps, raft://, while the network between its nodes and their
// clients is cut: three nodes, and three writers on hosts of their own (store_writer). With
// LOCUS_LONG_FAULTS many random cuts follow.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd.h"
#include "tests/proof/cluster.h"
#include "tests/proof/network.h"
#include "tests/proof/places.h"
#include "tests/proof/seeds.h"
#include "tests/proof/store_records.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::proof {
namespace {

using ::testing::IsEmpty;
using Kind = StoreRecord::Kind;

constexpr int kNodes = 3;
constexpr int kWriters = 3;
constexpr uint64_t kDiskBytes = 64 << 20;

int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

class StoreCutsTest : public ::testing::Test {
 protected:
  struct Writer {
    explicit Writer(const std::string& path) : records(path) {}
    Process process;
    StoreRecords records;
  };

  void SetUp() override {
    auto network = MakeNetwork(kNodes + kWriters, directory_.str());
    ASSERT_TRUE(network.ok()) << network.status();
    network_ = *std::move(network);
    cluster_ = std::make_unique<Cluster>(*network_, directory_.str(), secrets_, kNodes, kDiskBytes,
                                         0, "store = true\n");
    ASSERT_TRUE(cluster_->Begin(kNodes)) << cluster_->wrong().front();
    LocusdOptions options;
    options.endpoints = cluster_->EndpointsFromHere();
    options.token = secrets_.token;
    options.tls = {true, secrets_.authority};
    options.timeout = absl::Minutes(1);
    auto spaces = LocusdSegmentStore::Open(options);
    ASSERT_TRUE(spaces.ok()) << spaces.status();
    const absl::Status created = (*spaces)->Create(SpaceName(), {}, absl::Now());
    ASSERT_TRUE(created.ok()) << created;
    types_ = LocusdSequenceTypeStore::Open(options).value();
    SequenceType type;
    type.name = kType;
    const auto created_type = types_->Create(type);
    ASSERT_TRUE(created_type.ok()) << created_type.status();
    for (int i = 0; i < kWriters; ++i) StartWriter(i);
    ExpectToGoOn({0, 1, 2}, "before anything is cut");
  }

  void StartWriter(int number) {
    const std::string out = directory_ / absl::StrCat("writer-", number);
    writers_.push_back(std::make_unique<Writer>(out));
    Command command;
    command.words = {StoreWriterProgram(), out, secrets_.authority, secrets_.token_file};
    for (const std::string& endpoint : cluster_->Endpoints()) command.words.push_back(endpoint);
    command.log = out + ".log";
    network_->Put(HostOf(number), command);
    writers_.back()->process.Start(command);
  }
  static int HostOf(int writer) { return kNodes + writer; }

  // How many calls of this kind began since then and ended, of the writer.
  size_t Count(int writer, Kind kind, int64_t since) {
    StoreRecords& records = writers_[static_cast<size_t>(writer)]->records;
    records.ReadMore();
    size_t count = 0;
    for (const StoreRecord& record : records.all()) {
      count += record.kind == kind && record.taken.began >= since;
    }
    return count;
  }
  // From now on these writers get numbers and sequences, read the type, and one of them alters it.
  void ExpectToGoOn(const std::set<int>& writers, const std::string& when) {
    const int64_t since = Now();
    EXPECT_TRUE(WaitUntil([&] {
      cluster_->Supervise();
      bool all = true;
      size_t altered = 0;
      for (const int writer : writers) {
        for (const Kind kind : {Kind::kNumbers, Kind::kSegment, Kind::kRead}) {
          all = Count(writer, kind, since) >= 3 && all;
        }
        altered += Count(writer, Kind::kAltered, since);
      }
      return all && altered > 0;
    })) << when;
  }
  void HealAndExpectAllToGoOn(const std::string& what) {
    network_->HealAll();
    ExpectToGoOn({0, 1, 2}, absl::StrCat("healed after ", what));
    EXPECT_TRUE(WaitUntil([&] { return cluster_->Agrees(); })) << what;
  }
  int Leader() {
    const int leader = cluster_->WaitForLeader();
    EXPECT_GE(leader, 0);
    return leader;
  }

  void Judge() {
    for (auto& writer : writers_) {
      EXPECT_FALSE(writer->process.Ended().has_value()) << "a writer ended by itself";
      writer->process.Kill();
    }
    std::vector<StoreRecord> all;
    uint64_t altered = 0, numbers = 0, segments = 0, errors = 0;
    for (auto& writer : writers_) {
      writer->records.ReadMore();
      for (const StoreRecord& record : writer->records.all()) {
        numbers += record.kind == Kind::kNumbers;
        segments += record.kind == Kind::kSegment;
        errors += record.kind == Kind::kError;
        if (record.kind == Kind::kAltered) altered = std::max(altered, record.taken.last);
        all.push_back(record);
      }
    }
    EXPECT_THAT(WrongOf(all), IsEmpty());
    const auto type = types_->Find(kType);
    ASSERT_TRUE(type.ok()) << type.status();
    EXPECT_GE(type->version, altered) << "an alteration that was acknowledged is gone";
    cluster_->Supervise();
    cluster_->End();
    EXPECT_THAT(cluster_->wrong(), IsEmpty());
    std::cout << numbers << " batches of numbers, " << segments << " segments, " << errors
              << " calls without an answer\n";
  }

  TemporaryDirectory directory_;
  const Secrets secrets_{directory_.str()};
  std::unique_ptr<Network> network_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<SequenceTypeStore> types_;
  std::vector<std::unique_ptr<Writer>> writers_;
};

TEST_F(StoreCutsTest, CutOfEachKind_NothingTwiceNothingForgottenAndItRecovers) {
  // The leader, with a writer that reaches no other node.
  int leader = Leader();
  network_->CutOff({leader, HostOf(0)});
  const int64_t cut = Now();
  ExpectToGoOn({1, 2}, "the leader and a writer are cut off");
  EXPECT_TRUE(WaitUntil([&] { return Count(0, Kind::kError, cut) >= 3; }))
      << "calls at a minority do not end";
  for (const Kind kind : {Kind::kNumbers, Kind::kSegment, Kind::kRead, Kind::kAltered}) {
    EXPECT_EQ(Count(0, kind, cut), 0u) << "a minority answered: " << static_cast<char>(kind);
  }
  HealAndExpectAllToGoOn("a leader was cut off");

  // One direction: the leader is heard and hears no node; then the reverse.
  leader = Leader();
  for (int other = 0; other < kNodes; ++other) network_->Cut(other, leader);
  ExpectToGoOn({0, 1, 2}, "the leader hears no other node");
  HealAndExpectAllToGoOn("a leader heard nobody");
  leader = Leader();
  for (int other = 0; other < kNodes; ++other) network_->Cut(leader, other);
  ExpectToGoOn({0, 1, 2}, "no other node hears the leader");
  HealAndExpectAllToGoOn("nobody heard a leader");

  // A follower: clients that ask it are redirected, or move on by themselves.
  const int follower = (Leader() + 1) % kNodes;
  for (int other = 0; other < kNodes; ++other) {
    network_->Cut(follower, other);
    network_->Cut(other, follower);
  }
  ExpectToGoOn({0, 1, 2}, "a follower is cut off");
  HealAndExpectAllToGoOn("a follower was cut off");

  if (std::getenv("LOCUS_LONG_FAULTS") != nullptr) {
    const uint64_t seed = std::random_device()();
    std::cout << "seed " << seed << "\n";
    std::mt19937_64 random(seed);
    for (int round = 0; round < 150 && !HasFailure(); ++round) {
      const absl::Time until = absl::Now() + network_->CutAtRandom(random);
      WaitUntil([&] { return absl::Now() > until; });
      HealAndExpectAllToGoOn(absl::StrCat("random cuts, round ", round));
    }
  }
  Judge();
}

}  // namespace
}  // namespace locus::proof
