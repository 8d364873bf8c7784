// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_STRICT_STRICT_STORE_CONTRACT_H_
#define LOCUS_TESTS_STRICT_STRICT_STORE_CONTRACT_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "locus/strict_store.h"
#include "locus/testing/manual_clock.h"

namespace locus {

// One engine under the contract suite (strict_store_contract.cc), with a fresh store that has no
// set.
class StrictStoreUnderTest {
 public:
  virtual ~StrictStoreUnderTest() = default;
  // Another handle on the same stored state, like that of another process.
  virtual std::unique_ptr<StrictStore> Connect() = 0;
  // The store's time.
  virtual fakes::ManualClock& clock() = 0;
};

struct StrictEngine {
  std::string name;
  std::function<std::unique_ptr<StrictStoreUnderTest>()> make;
};
inline void PrintTo(const StrictEngine& engine, std::ostream* out) { *out << engine.name; }

class StrictStoreContract : public ::testing::TestWithParam<StrictEngine> {
 protected:
  StrictStoreContract();

  StrictOwner Owner(const std::string& name) const { return {name, name + ":7070", 1000}; }
  absl::StatusOr<StrictGrant> TryTake(const StrictOwner& owner, uint32_t section = 3,
                                      uint64_t seen = 0);
  StrictGrant Take(const StrictOwner& owner, uint32_t section = 3);
  StrictExtended Extend(const StrictOwner& owner, const StrictGrant& grant, uint64_t raise_to = 0);
  bool Release(const StrictOwner& owner, const StrictGrant& grant,
               const std::string& successor = "");
  StrictSetView Show();
  void Advance(absl::Duration by) { under_test_->clock().Advance(by); }

  StrictSetOptions options_;
  const SpaceName set_;
  std::unique_ptr<StrictStoreUnderTest> under_test_;
  std::unique_ptr<StrictStore> store_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_STRICT_STRICT_STORE_CONTRACT_H_
