// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/memory.h"
#include "tests/number/sequence_type_store_contract.h"

namespace locus {
namespace {

class MemoryUnderTest : public SequenceTypeStoreUnderTest {
 public:
  std::shared_ptr<SequenceTypeStore> Connect() override { return types_; }
  std::unique_ptr<Sequencer> Counters(const SequencerOptions& options) override {
    return MemorySequencer::Create(options).value();
  }

 private:
  const std::shared_ptr<MemorySequenceTypeStore> types_ =
      std::make_shared<MemorySequenceTypeStore>();
};

INSTANTIATE_TEST_SUITE_P(Memory, SequenceTypeStoreContract,
                         ::testing::Values(SequenceTypeEngine{
                             "memory", [] { return std::make_unique<MemoryUnderTest>(); }}));

}  // namespace
}  // namespace locus
