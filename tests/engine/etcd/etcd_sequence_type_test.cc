// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/etcd/etcd_fixture.h"
#include "tests/sequence_type/sequence_type_store_contract.h"

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

}  // namespace
}  // namespace locus
