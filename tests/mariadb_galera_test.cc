// SPDX-License-Identifier: Apache-2.0
// Everything against a Galera cluster of three nodes, all of them written.
#include <atomic>

#include "absl/strings/str_cat.h"
#include "src/engine/mariadb/store_time.h"
#include "tests/galera_cluster.h"
#include "tests/mariadb_fixture.h"
#include "tests/segment_store_contract.h"
#include "tests/sequencer_contract.h"

namespace locus {
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
    absl::Status created = MariadbSegmentStore::CreateSchema(Cluster().OptionsFor(name_));
    EXPECT_TRUE(created.ok()) << created;
  }
  MariadbOptions Next() { return Cluster().OptionsFor(name_, handles_++ % GaleraCluster::kNodes); }
  MariadbOptions At(size_t node) { return Cluster().OptionsFor(name_, node); }

 private:
  static inline int made_ = 0;
  const std::string name_;
  std::atomic<size_t> handles_{0};
};

class GaleraUnderTest : public StoreUnderTest {
 public:
  std::unique_ptr<SegmentStore> Connect() override {
    auto store = MustOpen(database_.Next());
    MariadbStoreTime::Tell(*store, clock_);
    return store;
  }
  testing::ManualClock& clock() override { return clock_; }
  bool has_own_clock() const override { return true; }

 private:
  GaleraDatabase database_;
  testing::ManualClock clock_;
};

class GaleraSequencerUnderTest : public SequencerUnderTest {
 public:
  std::unique_ptr<Sequencer> Connect(const SequencerOptions& options) override {
    auto opened = MariadbSequencer::Open(database_.Next(), options);
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

TEST(MariadbGaleraTest, Identity_IsTheClustersWhateverNode) {
  GaleraDatabase database;
  CreateSpace(*MustOpen(database.At(0)));
  uint64_t end = 0;
  for (size_t node = 0; node < 2 * GaleraCluster::kNodes; ++node) {
    LeaseReply reply = Lease(*MustOpen(database.At(node % 3)), 0, end);
    EXPECT_FALSE(reply.loss_noticed);
    EXPECT_GE(FirstOf(reply), end);
    end = EndOf(reply);
  }
}

// What a process has seen at one node the next one may not have applied yet: that is no loss.
TEST(MariadbGaleraTest, NodeThatLags_IsNoLoss) {
  GaleraDatabase database;
  std::vector<std::unique_ptr<MariadbSegmentStore>> stores;
  for (size_t node = 0; node < 3; ++node) stores.push_back(MustOpen(database.At(node)));
  CreateSpace(*stores[0]);
  uint64_t end = 0;
  for (int i = 0; i < 90; ++i) {
    LeaseReply reply = Lease(*stores[i % 3], 0, end);
    EXPECT_FALSE(reply.loss_noticed) << i;
    EXPECT_GE(FirstOf(reply), end) << i;
    end = EndOf(reply);
  }
  EXPECT_EQ(stores[0]->Show(SpaceName(), absl::Now())->losses, 1u);
}

}  // namespace
}  // namespace locus
