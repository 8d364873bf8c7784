// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_NUMBER_SEQUENCE_TYPE_STORE_CONTRACT_H_
#define LOCUS_TESTS_NUMBER_SEQUENCE_TYPE_STORE_CONTRACT_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "gtest/gtest.h"
#include "locus/sequence_type_store.h"

namespace locus {

// One engine under the contract suite (sequence_type_store_contract.cc), without any type.
class SequenceTypeStoreUnderTest {
 public:
  virtual ~SequenceTypeStoreUnderTest() = default;
  // Another handle on the same types, like that of another process.
  virtual std::shared_ptr<SequenceTypeStore> Connect() = 0;
  // The counters of the same place.
  virtual std::unique_ptr<Sequencer> Counters(const SequencerOptions& options) = 0;
};

struct SequenceTypeEngine {
  std::string name;
  std::function<std::unique_ptr<SequenceTypeStoreUnderTest>()> make;
};
inline void PrintTo(const SequenceTypeEngine& engine, std::ostream* out) { *out << engine.name; }

class SequenceTypeStoreContract : public ::testing::TestWithParam<SequenceTypeEngine> {
 protected:
  SequenceTypeStoreContract() : under_test_(GetParam().make()), store_(under_test_->Connect()) {}

  std::unique_ptr<SequenceTypeStoreUnderTest> under_test_;
  std::shared_ptr<SequenceTypeStore> store_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_NUMBER_SEQUENCE_TYPE_STORE_CONTRACT_H_
