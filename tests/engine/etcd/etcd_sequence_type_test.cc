// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/etcd/etcd_fixture.h"
#include "tests/number/sequence_type_store_contract.h"

namespace locus {
namespace {

class EtcdTypesUnderTest : public SequenceTypeStoreUnderTest {
 public:
  std::shared_ptr<SequenceTypeStore> Connect() override {
    return EtcdSequenceTypeStore::Open(options_).value();
  }
  std::unique_ptr<Sequencer> Counters(const SequencerOptions& options) override {
    return EtcdSequencer::Open(options_, options).value();
  }

 private:
  const EtcdOptions options_ = FreshEtcdPrefix();
};

INSTANTIATE_TEST_SUITE_P(Etcd, SequenceTypeStoreContract,
                         ::testing::Values(SequenceTypeEngine{
                             "etcd", [] { return std::make_unique<EtcdTypesUnderTest>(); }}));

// More than one answer of etcd's gateway may have.
TEST(EtcdSequenceTypeTest, AnyNumberOfTypes_AreListed) {
  const EtcdOptions options = FreshEtcdPrefix();
  constexpr int kTypes = 24'000, kAtOnce = 100;
  auto connection = RawConnection(options);
  for (int i = 0; i < kTypes; i += kAtOnce) {
    etcd::Txn txn;
    for (int k = i; k < i + kAtOnce; ++k) {
      txn.Put(absl::StrCat(options.prefix, "/seq_type/t", k), "1 x");
    }
    const auto answer = connection->Commit(txn, connection->Deadline());
    ASSERT_TRUE(answer.ok()) << answer.status();
  }
  const auto all = EtcdSequenceTypeStore::Open(options).value()->ListAny();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->size(), size_t{kTypes});
}

}  // namespace
}  // namespace locus
