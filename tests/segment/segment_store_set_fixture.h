// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SEGMENT_SEGMENT_STORE_SET_FIXTURE_H_
#define LOCUS_TESTS_SEGMENT_SEGMENT_STORE_SET_FIXTURE_H_

#include <memory>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "locus/order_id_generator.h"
#include "locus/segment_store_set.h"
#include "locus/testing/faulty_segment_store.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"

namespace locus {

// A buyer of each section, with the default sections of 256 vnodes.
inline BuyerKey BuyerOf(uint32_t section) {
  static const std::vector<BuyerKey> buyers = [] {
    std::vector<BuyerKey> found(256, BuyerKey::Uint64(0));
    std::set<uint32_t> missing;
    for (uint32_t i = 0; i < 256; ++i) missing.insert(i);
    for (uint64_t key = 0; !missing.empty(); ++key) {
      BuyerKey buyer = BuyerKey::Uint64(key);
      uint32_t of = ShardGene::Of(buyer).value() / 256u;
      if (missing.erase(of) > 0) found[of] = buyer;
    }
    return found;
  }();
  return buyers[section];
}

// Four stores that fail on demand, and sets of them.
class SegmentStoreSetTest : public ::testing::Test {
 protected:
  SegmentStoreSetTest() {
    options_.clock = &clock_;
    options_.executor = &executor_;
    for (int i = 0; i < 4; ++i)
      stores_.push_back(std::make_shared<fakes::FaultySegmentStore>(clock_));
  }

  // Sections 0-99 in the first, 100-199 in the second, the rest in the third.
  SegmentStoreSet Thirds(uint32_t layout = 1) {
    return SegmentStoreSet::Create(
               {{99, stores_[0], "a"}, {199, stores_[1], "b"}, {255, stores_[2], "c"}}, layout)
        .value();
  }
  // The first two alone, elsewhere divided.
  SegmentStoreSet Halves(uint32_t layout) {
    return SegmentStoreSet::Create({{150, stores_[0], "a"}, {255, stores_[1], "b"}}, layout)
        .value();
  }
  absl::Status Establish(const SegmentStoreSet& set,
                         SegmentStoreSet::Earlier earlier = SegmentStoreSet::Earlier::kNothingInUse,
                         std::span<const std::shared_ptr<SegmentStore>> retired = {}) {
    return set.Establish(space_, SpaceOptions(), clock_.Now(), earlier, retired);
  }
  absl::StatusOr<std::unique_ptr<OrderIdGenerator>> Open(const SegmentStoreSet& set) {
    return OrderIdGenerator::Create(set, options_);
  }
  std::unique_ptr<OrderIdGenerator> OpenAlone(size_t store) {
    return OrderIdGenerator::Create(stores_[store], options_).value();
  }
  void PassTime(absl::Duration by = absl::Milliseconds(10)) {
    executor_.RunReady();
    clock_.Advance(by);
    executor_.RunDelayed();
  }
  absl::StatusOr<OrderId> TryTake(OrderIdGenerator& generator, BuyerKey buyer) {
    absl::StatusOr<OrderId> id;
    for (int i = 0; i < 100; ++i) {
      id = generator.TryNext(buyer);
      if (!absl::IsUnavailable(id.status())) return id;
      PassTime();
    }
    return id;
  }
  // Takes `count` of each of some sections; false: an ID came twice, or none did.
  ::testing::AssertionResult TakeAll(OrderIdGenerator& generator, int count = 200) {
    for (uint32_t section = 0; section < 256; section += 5) {
      for (int i = 0; i < count; ++i) {
        absl::StatusOr<OrderId> id = TryTake(generator, BuyerOf(section));
        if (!id.ok()) return ::testing::AssertionFailure() << section << ": " << id.status();
        if (!ids_.insert(*id).second) return ::testing::AssertionFailure() << *id << " twice";
      }
    }
    return ::testing::AssertionSuccess();
  }
  // Takes of a section in both for some days; whether an ID came twice.
  bool RepeatWithinDays(OrderIdGenerator& one, OrderIdGenerator& other, uint32_t section) {
    bool repeated = false;
    for (int day = 0; day < 3; ++day) {
      for (int i = 0; i < 1000; ++i) {
        repeated |= !ids_.insert(TryTake(one, BuyerOf(section)).value()).second;
        repeated |= !ids_.insert(TryTake(other, BuyerOf(section)).value()).second;
      }
      for (int hour = 0; hour < 24; ++hour) PassTime(absl::Hours(1));
    }
    return repeated;
  }
  uint64_t BaseOf(size_t store, const char* space) {
    return stores_[store]->Show(SpaceName::Parse(space).value(), clock_.Now())->base;
  }

  fakes::ManualClock clock_;
  fakes::ManualExecutor executor_;
  std::vector<std::shared_ptr<fakes::FaultySegmentStore>> stores_;
  OrderIdGenerator::Options options_;
  SpaceName space_;
  std::set<OrderId> ids_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SEGMENT_SEGMENT_STORE_SET_FIXTURE_H_
