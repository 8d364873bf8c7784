// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_WORKER_WORKER_LEASE_STORE_CONTRACT_H_
#define LOCUS_TESTS_WORKER_WORKER_LEASE_STORE_CONTRACT_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/testing/manual_clock.h"
#include "locus/worker_lease_store.h"

namespace locus {

// One engine under the contract suite (worker_lease_store_contract.cc), with a fresh store that has
// no space.
class WorkerStoreUnderTest {
 public:
  virtual ~WorkerStoreUnderTest() = default;
  // Another handle on the same stored state, like that of another process.
  virtual std::unique_ptr<WorkerLeaseStore> Connect() = 0;
  // Deletes the whole stored state without the engine, like a lost disk.
  virtual void LoseAll() = 0;
  // The time of the store, and of callers whose clock is right.
  virtual fakes::ManualClock& clock() = 0;
  // Whether the store has a clock of its own, against which callers' clocks are checked both ways.
  virtual bool has_own_clock() const { return true; }
  // Clients need not trust each other: a renewal creates no space, and a release lowers no ceiling
  // below the last renewal.
  virtual bool is_open_to_many() const { return false; }
};

struct WorkerEngine {
  std::string name;
  std::function<std::unique_ptr<WorkerStoreUnderTest>()> make;
};
inline void PrintTo(const WorkerEngine& engine, std::ostream* out) { *out << engine.name; }

class WorkerLeaseStoreContract : public ::testing::TestWithParam<WorkerEngine> {
 protected:
  WorkerLeaseStoreContract() : under_test_(GetParam().make()), store_(under_test_->Connect()) {}

  void CreateSpace() { ASSERT_TRUE(store_->Create(space_, {.first_ever = true}, now()).ok()); }
  absl::Time now() { return under_test_->clock().Now(); }
  void Advance(absl::Duration by) { under_test_->clock().Advance(by); }

  // Requests of one holder, named by its nonce.
  WorkerAcquire Wish(const std::string& nonce) {
    WorkerAcquire wish;
    wish.range = {10, 13};
    wish.start = 10;
    wish.nonce = nonce;
    wish.holder = "{\"host\":\"" + nonce + "\"}";
    wish.caller_now = now();
    return wish;
  }
  absl::StatusOr<WorkerGrant> TryAcquire(const std::string& nonce,
                                         std::optional<uint64_t> preferred = std::nullopt);
  WorkerGrant Acquire(const std::string& nonce, std::optional<uint64_t> preferred = std::nullopt);
  WorkerRenew RenewalOf(const WorkerGrant& grant, const std::string& nonce);
  absl::StatusOr<WorkerGrant> Renew(const WorkerGrant& grant, const std::string& nonce);
  // By the holder, if Acquire granted it.
  absl::Status Release(const WorkerGrant& grant, absl::Time last_used);
  WorkerSpaceView Show();

  const WorkerLeaseTerm term_;
  const absl::Duration whole_ = term_.ttl + term_.max_skew;
  std::unique_ptr<WorkerStoreUnderTest> under_test_;
  std::unique_ptr<WorkerLeaseStore> store_;
  SpaceName space_;
  std::map<uint64_t, std::string> nonces_;  // by token and worker
};

}  // namespace locus

#endif  // LOCUS_TESTS_WORKER_WORKER_LEASE_STORE_CONTRACT_H_
