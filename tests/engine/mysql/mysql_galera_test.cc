// SPDX-License-Identifier: Apache-2.0
// Everything against a Galera cluster of three nodes, all of them written.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "locus/routing/engine/mysql.h"
#include "src/engine/mysql/store_time.h"
#include "tests/counter/sequencer_contract.h"
#include "tests/engine/mysql/galera_cluster.h"
#include "tests/engine/mysql/mariadb_fixture.h"
#include "tests/segment/segment_store_contract.h"

namespace locus {

using internal::MysqlStoreTime;

namespace {

GaleraCluster& Cluster() {
  static GaleraCluster& cluster = *[] {
    static GaleraCluster started;
    EXPECT_TRUE(started.Start());
    return &started;
  }();
  return cluster;
}

// A database with locus tables; each handle begins at another node.
class GaleraDatabase {
 public:
  GaleraDatabase() : name_(absl::StrCat("locus_", ++made_)) {
    Cluster().node(0).OptionsFor(name_);
    absl::Status created = MysqlSegmentStore::CreateSchema(Cluster().OptionsFor(name_));
    EXPECT_TRUE(created.ok()) << created;
  }
  MysqlOptions Next() { return Cluster().OptionsFor(name_, handles_++ % GaleraCluster::kNodes); }
  MysqlOptions At(size_t node) { return Cluster().OptionsFor(name_, node); }

 private:
  static inline int made_ = 0;
  const std::string name_;
  std::atomic<size_t> handles_{0};
};

class GaleraUnderTest : public StoreUnderTest {
 public:
  std::unique_ptr<SegmentStore> Connect() override {
    auto store = MustOpen(database_.Next());
    MysqlStoreTime::Tell(*store, clock_);
    return store;
  }
  void LoseSpaces() override {
    std::string db = database_.At(0).database;
    Cluster().node(0).Sql(absl::StrCat("DELETE FROM ", db, ".`sequence`; DELETE FROM ", db,
                                       ".locus_space; DELETE FROM ", db,
                                       ".sequence_type WHERE type_id LIKE 'space:%'"));
  }
  fakes::ManualClock& clock() override { return clock_; }
  bool has_own_clock() const override { return true; }

 private:
  GaleraDatabase database_;
  fakes::ManualClock clock_;
};

class GaleraSequencerUnderTest : public SequencerUnderTest {
 public:
  std::unique_ptr<Sequencer> Connect(const SequencerOptions& options) override {
    auto opened = MysqlSequencer::Open(database_.Next(), options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }

 private:
  GaleraDatabase database_;
};

INSTANTIATE_TEST_SUITE_P(Galera, SegmentStoreContract,
                         ::testing::Values(Engine{
                             "galera", [] { return std::make_unique<GaleraUnderTest>(); }}));
INSTANTIATE_TEST_SUITE_P(Galera, SequencerContract,
                         ::testing::Values(SequencerEngine{
                             "galera",
                             [] { return std::make_unique<GaleraSequencerUnderTest>(); }}));

TEST(MysqlGaleraTest, Identity_IsTheClustersWhateverNode) {
  GaleraDatabase database;
  CreateSpace(*MustOpen(database.At(0)));
  uint64_t end = 0;
  for (size_t node = 0; node < 2 * GaleraCluster::kNodes; ++node) {
    SegmentReply reply = Allocate(*MustOpen(database.At(node % 3)), 0, end);
    EXPECT_FALSE(reply.loss_noticed);
    EXPECT_GE(FirstOf(reply), end);
    end = EndOf(reply);
  }
}

// A node that repeats a failed statement by itself has already returned the first attempt's number.
TEST(MysqlGaleraTest, ConflictsBetweenNodes_GiveNoNumberTwice) {
  GaleraDatabase database;
  constexpr int kThreads = 6, kCalls = 150;
  std::vector<std::unique_ptr<MysqlSequencer>> at_node;
  for (size_t node = 0; node < 3; ++node) {
    at_node.push_back(MysqlSequencer::Open(database.At(node), {}).value());
  }
  std::vector<std::vector<int64_t>> given(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        auto next = at_node[t % 3]->Next("hot");
        if (next.ok()) given[t].push_back(*next);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int64_t> all;
  for (const auto& numbers : given) all.insert(all.end(), numbers.begin(), numbers.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_GT(all.size(), size_t{kThreads * kCalls / 2});
  uint64_t conflicts = 0;
  for (const auto& sequencer : at_node) conflicts += sequencer->Stats().conflicts;
  EXPECT_GT(conflicts, 0u) << "nothing was put to the test";
  std::cout << all.size() << " numbers, " << conflicts << " conflicts\n";
}

// The next node may not have applied yet all that a process has seen at the first: that is no loss.
TEST(MysqlGaleraTest, NodeThatLags_IsNoLoss) {
  GaleraDatabase database;
  std::vector<std::unique_ptr<MysqlSegmentStore>> stores;
  for (size_t node = 0; node < 3; ++node) stores.push_back(MustOpen(database.At(node)));
  CreateSpace(*stores[0]);
  uint64_t end = 0;
  for (int i = 0; i < 90; ++i) {
    SegmentReply reply = Allocate(*stores[i % 3], 0, end);
    EXPECT_FALSE(reply.loss_noticed) << i;
    EXPECT_GE(FirstOf(reply), end) << i;
    end = EndOf(reply);
  }
  EXPECT_EQ(stores[0]->Show(SpaceName(), absl::Now())->losses, 1u);
}

// A row lock of one node is none of another: what excludes is the certification of the head.
// In one of some thousand rounds a node carries out half of the loser's transaction.
TEST(MysqlGaleraTest, TablesPublishedAtTwoNodes_OneSucceeds) {
  constexpr int kRounds = 300;
  GaleraDatabase database;
  MysqlTableOptions at[2];
  std::unique_ptr<MysqlTablePublisher> publishers[2];
  for (size_t node = 0; node < 2; ++node) {
    at[node].mariadb = database.At(node);
    publishers[node] = MysqlTablePublisher::Open(at[node]).value();
  }
  ASSERT_TRUE(MysqlTablePublisher::CreateSchema(at[0]).ok());
  auto table = [](uint64_t epoch) {
    return RoutingTable::Make(epoch, {{1, "a", "mysql://a/orders", 100, {}}}, {{65535, 1}}).value();
  };
  uint64_t newest = 0;
  for (int round = 0; round < kRounds; ++round) {
    absl::Status published[2];
    std::thread other([&] { published[1] = publishers[1]->Publish(table(newest + 2), newest); });
    published[0] = publishers[0]->Publish(table(newest + 1), newest);
    other.join();
    ASSERT_NE(published[0].ok(), published[1].ok()) << published[0] << " " << published[1];
    bool first = published[0].ok();
    EXPECT_TRUE(absl::IsAborted(published[first])) << published[first];
    newest += first ? 1 : 2;
    for (auto& publisher : publishers) EXPECT_EQ(publisher->Current().value(), table(newest));
  }
  EXPECT_EQ(publishers[0]->History(2 * kRounds)->size(), size_t{kRounds});
}

}  // namespace
}  // namespace locus
