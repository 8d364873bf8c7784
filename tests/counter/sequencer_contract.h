// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_COUNTER_SEQUENCER_CONTRACT_H_
#define LOCUS_TESTS_COUNTER_SEQUENCER_CONTRACT_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "gtest/gtest.h"
#include "locus/sequencer.h"

namespace locus {

// One engine under the contract suite (sequencer_contract.cc), without any key.
class SequencerUnderTest {
 public:
  virtual ~SequencerUnderTest() = default;
  // Another handle on the same keys, like that of another process.
  virtual std::unique_ptr<Sequencer> Connect(const SequencerOptions& options) = 0;
  // Whether the engine keeps a key's version over wrap, Set and expiry, so that Return is exact.
  // An engine that cannot answers false from every Return.
  virtual bool can_return() const { return true; }
};

struct SequencerEngine {
  std::string name;
  std::function<std::unique_ptr<SequencerUnderTest>()> make;
};
inline void PrintTo(const SequencerEngine& engine, std::ostream* out) { *out << engine.name; }

class SequencerContract : public ::testing::TestWithParam<SequencerEngine> {
 protected:
  SequencerContract() : under_test_(GetParam().make()) {}

  std::unique_ptr<Sequencer> Connect(const SequencerOptions& options = {}) {
    return under_test_->Connect(options);
  }

  std::unique_ptr<SequencerUnderTest> under_test_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_COUNTER_SEQUENCER_CONTRACT_H_
