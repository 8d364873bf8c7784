// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_GENERATOR_GENERATOR_FIXTURE_H_
#define LOCUS_TESTS_GENERATOR_GENERATOR_FIXTURE_H_

#include <chrono>
#include <memory>

#include "gtest/gtest.h"
#include "locus/order_id_generator.h"
#include "locus/testing/faulty_segment_store.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"

namespace locus {

// A generator whose clock, loader and store a test controls.
class GeneratorTest : public ::testing::Test {
 protected:
  GeneratorTest() : store_(std::make_shared<fakes::FaultySegmentStore>(clock_)) {
    options_.clock = &clock_;
    options_.executor = &executor_;
    options_.create_space = true;
  }
  std::unique_ptr<OrderIdGenerator> Make() {
    return OrderIdGenerator::Create(store_, options_).value();
  }
  // Takes one, running the loader where needed.
  OrderId Take(OrderIdGenerator& generator, BuyerKey buyer) {
    for (int i = 0; i < 100; ++i) {
      absl::StatusOr<OrderId> id = generator.TryNext(buyer);
      if (id.ok()) return *id;
      EXPECT_TRUE(absl::IsUnavailable(id.status())) << id.status();
      executor_.RunReady();
      clock_.Advance(absl::Milliseconds(10));
      executor_.RunDelayed();
    }
    ADD_FAILURE() << "no ID after 100 attempts";
    return OrderId();
  }

  fakes::ManualClock clock_;
  fakes::ManualExecutor executor_;
  std::shared_ptr<fakes::FaultySegmentStore> store_;
  OrderIdGenerator::Options options_;
};

inline std::chrono::steady_clock::time_point Soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}

inline const BuyerKey kBuyer = BuyerKey::Uint64(17850);

}  // namespace locus

#endif  // LOCUS_TESTS_GENERATOR_GENERATOR_FIXTURE_H_
