// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ROUTER_ROUTER_FOLLOW_FIXTURE_H_
#define LOCUS_TESTS_ROUTER_ROUTER_FOLLOW_FIXTURE_H_

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "locus/routing/router.h"
#include "locus/testing/memory_table_source.h"
#include "tests/source/table_place.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {

inline std::chrono::steady_clock::time_point In(absl::Duration duration) {
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(duration);
}
inline std::chrono::steady_clock::time_point Long() { return In(absl::Seconds(60)); }

// The events of a router.
class Events {
 public:
  auto Listener() {
    return [this](const RouterEvent& event) {
      std::lock_guard lock(mutex_);
      events_.push_back(event);
    };
  }
  std::vector<RouterEvent::Kind> kinds() const {
    std::lock_guard lock(mutex_);
    std::vector<RouterEvent::Kind> kinds;
    for (const RouterEvent& event : events_) kinds.push_back(event.kind);
    return kinds;
  }
  int Count(RouterEvent::Kind kind) const {
    std::vector<RouterEvent::Kind> all = kinds();
    return static_cast<int>(std::count(all.begin(), all.end(), kind));
  }
  std::vector<RouterEvent> all() const {
    std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<RouterEvent> events_;
};

// A place in memory and routers that follow it.
class RouterFollowTest : public ::testing::Test {
 protected:
  void Put(uint64_t epoch) { place_->Put(TableOfEpoch(epoch).ToJson()); }

  absl::StatusOr<std::unique_ptr<Router>> TryOpen() {
    auto source = std::make_unique<fakes::MemoryTableSource>(place_);
    source_ = source.get();
    source_->FailWith(at_first_);
    if (at_first_.ok()) source_->Heal();
    options_.on_event = events_.Listener();
    return Router::Open(std::move(source), options_);
  }
  // Fails the test where there is no router.
  std::unique_ptr<Router> Open() {
    absl::StatusOr<std::unique_ptr<Router>> router = TryOpen();
    EXPECT_TRUE(router.ok()) << router.status();
    return router.ok() ? *std::move(router) : nullptr;
  }
  // Makes faults that began meet the question under way.
  void Break(absl::Status status) {
    source_->FailWith(std::move(status));
    source_->LookNow();
  }
  static void ExpectInForce(const Router& router, uint64_t epoch) {
    EXPECT_EQ(router.epoch(), epoch);
    GeneRoute route = router.Route(ShardGene::FromUint16(uint16_t{0}));
    EXPECT_EQ(route.permyriad, TableOfEpoch(epoch).moves()[0].permyriad);
    EXPECT_EQ(router.Table()->FindShard(route.owner->id)->labels.at("epoch"), absl::StrCat(epoch));
  }
  static bool Reaches(Router& router, uint64_t epoch) {
    return WaitUntil([&] { return router.epoch() == epoch; });
  }

  TemporaryDirectory directory_;
  std::shared_ptr<fakes::MemoryTablePlace> place_ = std::make_shared<fakes::MemoryTablePlace>();
  absl::Status at_first_;                       // what the source answers from the start
  fakes::MemoryTableSource* source_ = nullptr;  // of the router opened last
  RouterOptions options_;
  Events events_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_ROUTER_ROUTER_FOLLOW_FIXTURE_H_
