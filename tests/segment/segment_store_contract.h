// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SEGMENT_SEGMENT_STORE_CONTRACT_H_
#define LOCUS_TESTS_SEGMENT_SEGMENT_STORE_CONTRACT_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "gtest/gtest.h"
#include "locus/segment_store.h"
#include "locus/testing/manual_clock.h"

namespace locus {

// One engine under the contract suite (segment_store_contract.cc), with a fresh and empty store.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  // Another handle on the same stored state, like that of another process.
  virtual std::unique_ptr<SegmentStore> Connect() = 0;
  // Deletes every space with its allocations, without the engine, like a lost disk.
  virtual void LoseSpaces() = 0;
  // The time of the store, and of callers whose clock is right.
  virtual fakes::ManualClock& clock() = 0;
  // Whether the store has a clock of its own, against which callers' clocks are checked both ways.
  virtual bool has_own_clock() const = 0;
};

struct Engine {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>()> make;
};
inline void PrintTo(const Engine& engine, std::ostream* out) { *out << engine.name; }

class SegmentStoreContract : public ::testing::TestWithParam<Engine> {
 protected:
  SegmentStoreContract() : under_test_(GetParam().make()), store_(under_test_->Connect()) {}

  absl::Time now() { return under_test_->clock().Now(); }
  void Advance(absl::Duration by) { under_test_->clock().Advance(by); }
  // Of one section; fails the test when refused.
  SegmentGrant Allocate(uint16_t section, uint64_t length, uint64_t seen = 0);
  bool loss_noticed() const { return loss_noticed_; }

  std::unique_ptr<StoreUnderTest> under_test_;
  std::unique_ptr<SegmentStore> store_;
  SpaceName space_;
  bool loss_noticed_ = false;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SEGMENT_SEGMENT_STORE_CONTRACT_H_
