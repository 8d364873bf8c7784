// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/memory.h"
#include "tests/strict/strict_store_contract.h"

namespace locus {
namespace {

// The store of all handles.
class Shared : public StrictStore {
 public:
  explicit Shared(std::shared_ptr<MemoryStrictStore> store) : store_(std::move(store)) {}
  absl::Status Create(const SpaceName& set, const StrictSetOptions& options,
                      const StrictSetPast& past) override {
    return store_->Create(set, options, past);
  }
  absl::Status DeclareRestored(const SpaceName& set) override {
    return store_->DeclareRestored(set);
  }
  absl::StatusOr<StrictReply<StrictGrant>> Take(const SpaceName& set,
                                                const StrictSetOptions& options,
                                                const StrictTake& request) override {
    return store_->Take(set, options, request);
  }
  absl::StatusOr<StrictReply<StrictExtended>> Extend(const SpaceName& set,
                                                     const StrictSetOptions& options,
                                                     const StrictExtend& request) override {
    return store_->Extend(set, options, request);
  }
  absl::StatusOr<StrictReply<StrictExtended>> Release(const SpaceName& set,
                                                      const StrictSetOptions& options,
                                                      const StrictRelease& request) override {
    return store_->Release(set, options, request);
  }
  absl::StatusOr<StrictSetView> Show(const SpaceName& set) override { return store_->Show(set); }

 private:
  const std::shared_ptr<MemoryStrictStore> store_;
};

class MemoryUnderTest : public StrictStoreUnderTest {
 public:
  std::unique_ptr<StrictStore> Connect() override { return std::make_unique<Shared>(store_); }
  fakes::ManualClock& clock() override { return clock_; }

 private:
  fakes::ManualClock clock_;
  std::shared_ptr<MemoryStrictStore> store_ = std::make_shared<MemoryStrictStore>(clock_);
};

INSTANTIATE_TEST_SUITE_P(Memory, StrictStoreContract,
                         ::testing::Values(StrictEngine{
                             "memory", [] { return std::make_unique<MemoryUnderTest>(); }}));

}  // namespace
}  // namespace locus
