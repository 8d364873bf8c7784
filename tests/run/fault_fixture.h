// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_RUN_FAULT_FIXTURE_H_
#define LOCUS_TESTS_RUN_FAULT_FIXTURE_H_

#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "tests/run/live_orders.h"
#include "tests/run/move_fixture.h"

namespace locus {

// A move under live writers, which something then disturbs. LOCUS_LONG_FAULTS=1: for as long as
// such things last in practice; otherwise just beyond the timeouts of the move, which are short.
class FaultFixture : public MoveFixture {
 protected:
  static bool Long() { return std::getenv("LOCUS_LONG_FAULTS") != nullptr; }
  // Of one answer.
  static absl::Duration Patience() { return absl::Seconds(Long() ? 10 : 1); }
  // Longer than the tool waits for an answer, than a runner may be silent, and than a step may
  // take.
  static absl::Duration Outage() { return absl::Seconds(Long() ? 30 : 3); }

  void SetUp() override {
    MoveFixture::SetUp();
    if (HasFatalFailure()) return;
    for (MoveShard* shard : {&move_.source, &move_.target}) {
      shard->server.connect_timeout = shard->server.timeout = Patience();
    }
  }
  mysql::RunnerOptions OptionsOf(const std::string& name) {
    mysql::RunnerOptions options = TestRunner(name, directory_ / "");
    options.pace.accept_within = absl::Seconds(Long() ? 10 : 2);
    options.gates.patience = gate_patience_;
    return options;
  }
  std::unique_ptr<Running> StartFaulty(const mysql::RunnerOptions& options,
                                       TablePublisher& publisher) {
    auto running = std::make_unique<Running>();
    auto runner = mysql::MoveRunner::Create(move_, options, publisher);
    EXPECT_TRUE(runner.ok()) << runner.status();
    running->runner = *std::move(runner);
    running->thread =
        std::thread([raw = running.get()] { raw->status = raw->runner->Run(raw->stop); });
    return running;
  }
  // A runner, until the move is READY, then `writers`.
  void StartReady(size_t writers) {
    Begin();
    runner_ = StartFaulty(OptionsOf("one"), *publisher_);
    WaitForPhase(internal::Phase::kReady);
    orders_ = std::make_unique<LiveOrders>(*publisher_, writers, true);
    orders_->WaitForWrites(50);
  }
  // One step to there; also out of a hold.
  void AskFor(uint32_t share) {
    Ask([&](internal::Wish& wish) {
      wish.hold.clear();
      wish.goal = share;
      wish.by = 10000;
    });
  }
  void StepTo(uint32_t share) {
    AskFor(share);
    WaitForShare(share);
  }
  void WaitForHold(const std::string& why) {
    ASSERT_TRUE(WaitUntil([&] { return !Record().wish.hold.empty(); })) << Record().status;
    EXPECT_THAT(Record().wish.hold, ::testing::HasSubstr(why));
  }
  // For any hold.
  bool Published(uint32_t share) {
    return internal::SightOf(publisher_->Current().value(), leg_).share == share;
  }
  bool StatusSays(const std::string& what) { return absl::StrContains(Record().status, what); }

  // Stops the writers. Each order is on the shard that accepts it, with its last value.
  void ExpectEachOnItsOwner(uint32_t share) {
    orders_->WaitForWrites(50);
    orders_->Stop();
    std::map<std::string, std::string> expected[2];
    for (const auto& [id, value] : orders_->Expected()) {
      const uint32_t cohort = OrderId::FromInt64(std::stoll(id)).value().cohort();
      expected[cohort < share ? 1 : 0][id] = value;
    }
    for (size_t server : {0, 1}) {
      std::map<std::string, std::string> rows = OrdersOn(server);
      std::erase_if(rows, [&](const auto& row) {
        const uint32_t cohort = OrderId::FromInt64(std::stoll(row.first)).value().cohort();
        return (cohort < share ? 1u : 0u) != server;
      });
      EXPECT_EQ(rows, expected[server]) << "server " << server;
    }
  }
  // To the end of the move, whose last comparison must find both shards equal.
  void ExpectNothingLost() {
    StepTo(10000);
    if (HasFatalFailure()) return;
    orders_->WaitForWrites(50);
    Ask([](internal::Wish& wish) { wish.ending = internal::Ending::kFinalize; });
    WaitForPhase(internal::Phase::kFinalized);
    orders_->Stop();
    EXPECT_EQ(OrdersOn(1), orders_->Expected());
    EXPECT_EQ(Value(1,
                    "SELECT COUNT(*) FROM locus_shop.items JOIN locus_shop.orders USING (order_id,"
                    " value)"),
              absl::StrCat(orders_->Expected().size()));
  }

  absl::Duration gate_patience_ = absl::Minutes(1);
  std::unique_ptr<Running> runner_;
  std::unique_ptr<LiveOrders> orders_;  // ends first
};

}  // namespace locus

#endif  // LOCUS_TESTS_RUN_FAULT_FIXTURE_H_
