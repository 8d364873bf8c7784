// SPDX-License-Identifier: Apache-2.0
// Sequence types of a cluster, over its API.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd.h"
#include "tests/engine/locusd/api_cluster.h"
#include "tests/number/sequence_type_store_contract.h"

namespace locus {
namespace {

class TypesUnderTest : public SequenceTypeStoreUnderTest {
 public:
  std::shared_ptr<SequenceTypeStore> Connect() override {
    return LocusdSequenceTypeStore::Open(cluster_.options()).value();
  }
  std::unique_ptr<Sequencer> Counters(const SequencerOptions& options) override {
    return LocusdSequencer::Open(cluster_.options(), options).value();
  }

 private:
  ApiCluster cluster_{1, Clock::System()};
};

INSTANTIATE_TEST_SUITE_P(Locusd, SequenceTypeStoreContract,
                         ::testing::Values(SequenceTypeEngine{
                             "locusd", [] { return std::make_unique<TypesUnderTest>(); }}));

TEST(LocusdSequenceTypeTest, LeaderKilled_TypesStayAndChangeOnce) {
  ApiCluster cluster(3, Clock::System());
  auto types = LocusdSequenceTypeStore::Open(cluster.options()).value();
  SequenceType type;
  type.name = "invoices";
  type.step = 2;
  absl::StatusOr<SequenceType> stored = types->Create(type);
  ASSERT_TRUE(stored.ok()) << stored.status();
  for (int round = 0; round < 3; ++round) {
    const int leader = cluster.nodes().WaitForLeader();
    ASSERT_GE(leader, 0);
    cluster.Kill(leader);
    const uint64_t version = stored->version;
    stored->step = round + 3;
    stored = types->Alter(*stored);
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ(stored->version, version + 1);
    cluster.Start(leader);
  }
  const absl::StatusOr<SequenceType> read = types->Find("invoices");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->step, 5);
}

}  // namespace
}  // namespace locus
