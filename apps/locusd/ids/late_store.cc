// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/late_store.h"

#include "src/base/os/check.h"

namespace locus::locusd {

absl::StatusOr<std::shared_ptr<SegmentStore>> LateStore::Opened() {
  internal::MutexLock lock(mutex_);
  if (store_ == nullptr) {
    LOCUS_ASSIGN_OR_RETURN(store_, open_());
  }
  return store_;
}

absl::Status LateStore::Create(const SpaceName& space, const SpaceOptions& options,
                               absl::Time caller_now) {
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<SegmentStore> store, Opened());
  return store->Create(space, options, caller_now);
}

absl::StatusOr<SpaceOptions> LateStore::ReadOptions(const SpaceName& space) {
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<SegmentStore> store, Opened());
  return store->ReadOptions(space);
}

absl::StatusOr<SegmentReply> LateStore::Allocate(const SpaceName& space,
                                                 const SpaceOptions& options,
                                                 std::span<const SegmentRequest> requests,
                                                 absl::Time caller_now) {
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<SegmentStore> store, Opened());
  return store->Allocate(space, options, requests, caller_now);
}

absl::StatusOr<SpaceView> LateStore::Show(const SpaceName& space, absl::Time caller_now) {
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<SegmentStore> store, Opened());
  return store->Show(space, caller_now);
}

absl::Status LateStore::DeclareRestored(const SpaceName& space, absl::Time caller_now) {
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<SegmentStore> store, Opened());
  return store->DeclareRestored(space, caller_now);
}

absl::StatusOr<BaseRaise> LateStore::Raise(const SpaceName& space, uint64_t to, RaiseReach reach,
                                           absl::Time caller_now) {
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<SegmentStore> store, Opened());
  return store->Raise(space, to, reach, caller_now);
}

}  // namespace locus::locusd
