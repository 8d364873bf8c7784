// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/memory.h"
#include "tests/worker/worker_lease_store_contract.h"

namespace locus {
namespace {

// Another handle on one store, as another process has it.
class SharedStore : public WorkerLeaseStore {
 public:
  explicit SharedStore(std::shared_ptr<WorkerLeaseStore> store) : store_(std::move(store)) {}
  absl::Status Create(const SpaceName& space, const WorkerSpacePast& past,
                      absl::Time now) override {
    return store_->Create(space, past, now);
  }
  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& space,
                                      const WorkerAcquire& request) override {
    return store_->Acquire(space, request);
  }
  absl::StatusOr<WorkerGrant> Renew(const SpaceName& space, const WorkerRenew& request) override {
    return store_->Renew(space, request);
  }
  absl::Status Release(const SpaceName& space, const WorkerRelease& request) override {
    return store_->Release(space, request);
  }
  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& space) override {
    return store_->Show(space);
  }
  WorkerStoreFacts facts() const override { return store_->facts(); }

 private:
  std::shared_ptr<WorkerLeaseStore> store_;
};

class MemoryUnderTest : public WorkerStoreUnderTest {
 public:
  std::unique_ptr<WorkerLeaseStore> Connect() override {
    return std::make_unique<SharedStore>(store_);
  }
  void LoseAll() override { store_->PutBack(*nothing_); }
  fakes::ManualClock& clock() override { return clock_; }

 private:
  fakes::ManualClock clock_;
  std::shared_ptr<MemoryWorkerLeaseStore> store_ = std::make_shared<MemoryWorkerLeaseStore>(clock_);
  std::shared_ptr<const MemoryWorkerLeaseStore::Backup> nothing_ = store_->TakeBackup();
};

INSTANTIATE_TEST_SUITE_P(Memory, WorkerLeaseStoreContract,
                         ::testing::Values(WorkerEngine{
                             "memory", [] { return std::make_unique<MemoryUnderTest>(); }}));

}  // namespace
}  // namespace locus
