// SPDX-License-Identifier: Apache-2.0
// The network between the runner of a move and its shards fails in every way, while the clients
// keep theirs.
#include <iostream>

#include "tests/run/fault_fixture.h"
#include "tests/support/fault_proxy.h"

namespace locus {
namespace {

using Fault = FaultProxy::Fault;

class NetworkCutTest : public FaultFixture {
 protected:
  void SetUp() override {
    FaultFixture::SetUp();
    if (HasFatalFailure()) return;
    for (size_t i : {0, 1}) {
      proxies_[i] = std::make_unique<FaultProxy>(servers_[i]->port());
      (i == 0 ? move_.source : move_.target).server.hosts = {{"127.0.0.1", proxies_[i]->port()}};
    }
  }
  void StartBehindProxies() {
    Begin();
    mysql::RunnerOptions options = OptionsOf("one");
    options.link_timeout = absl::Seconds(Long() ? 30 : 3);
    runner_ = StartFaulty(options, *publisher_);
    WaitForPhase(internal::Phase::kReady);
    orders_ = std::make_unique<LiveOrders>(*publisher_, 4, true);
    orders_->WaitForWrites(50);
  }
  // Until the fault has met the runner's connections.
  void Cut(size_t server, Fault fault) {
    const int before = proxies_[server]->met();
    proxies_[server]->set_fault(fault);
    if (fault == Fault::kStall) return;
    EXPECT_TRUE(WaitUntil([&] { return proxies_[server]->met() > before; }));
  }

  std::unique_ptr<FaultProxy> proxies_[2];
};

TEST_F(NetworkCutTest, ResetHalfClosedOrRefused_TheStepContinues) {
  StartBehindProxies();
  uint32_t share = 0;
  for (const Fault fault : {Fault::kReset, Fault::kHalfClose, Fault::kRefuse}) {
    for (size_t server : {0, 1}) {
      SCOPED_TRACE(absl::StrCat("fault ", static_cast<int>(fault), ", server ", server));
      AskFor(share = share == 0 ? 5000 : 0);
      Cut(server, fault);
      // Again and again, wherever in its work the runner is.
      EXPECT_FALSE(WaitUntil([&] { return runner_->status.ok(); }, absl::Milliseconds(500)));
      proxies_[server]->set_fault(Fault::kNone);
      WaitForShare(share);
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(orders_->faults(), 0u) << "the clients have a way of their own";
  ExpectNothingLost();
}

// Silent: the tool's transaction is still open on the shard.
TEST_F(NetworkCutTest, SilentForLongerThanAnyTimeout_TheStepContinues) {
  StartBehindProxies();
  uint32_t share = 0;
  for (const Fault fault : {Fault::kStall, Fault::kDrop}) {
    for (size_t server : {0, 1}) {
      SCOPED_TRACE(absl::StrCat("fault ", static_cast<int>(fault), ", server ", server));
      AskFor(share = share == 0 ? 5000 : 0);
      Cut(server, fault);
      EXPECT_FALSE(WaitUntil([&] { return runner_->status.ok(); }, Outage()));
      proxies_[server]->set_fault(Fault::kNone);
      WaitForShare(share);
      if (HasFailure()) return;
    }
  }
  ExpectNothingLost();
  std::cout << orders_->done() << " writes, " << orders_->faults() << " without an answer\n";
}

// The applier has locked a row that a client wants when the network fails.
TEST_F(NetworkCutTest, CutInsideATransaction_ItsLocksAreSoonFree) {
  auto link = mysql::ShardLink::Create(move_.target.server).value();
  Sql(1, "INSERT INTO orders (order_id, value) VALUES (7, 1)");
  const absl::Status cut = link->Transact([&]() -> absl::Status {
    auto locked = link->Run("UPDATE orders SET value = 2 WHERE order_id = 7");
    Cut(1, Fault::kDrop);
    return locked.status();
  });
  EXPECT_TRUE(absl::IsUnavailable(cut)) << cut;
  // Longer than the statement waits for a lock: it is the connection that ends.
  EXPECT_TRUE(WaitUntil([&] {
    return servers_[1]
        ->TrySql(
            "SET innodb_lock_wait_timeout = 1; UPDATE locus_shop.orders SET value = 3"
            " WHERE order_id = 7")
        .ok();
  }));
  EXPECT_EQ(Value(1, "SELECT value FROM locus_shop.orders WHERE order_id = 7"), "3");
}

}  // namespace
}  // namespace locus
