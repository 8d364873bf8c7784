// SPDX-License-Identifier: Apache-2.0
#include "src/base/check.h"
#include "src/engine/etcd/space_store.h"

namespace locus {

class EtcdSegmentStore::Rep {
 public:
  explicit Rep(std::unique_ptr<etcd::SpaceStore> store) : store_(std::move(store)) {}
  etcd::SpaceStore& store() { return *store_; }

 private:
  std::unique_ptr<etcd::SpaceStore> store_;
};

absl::StatusOr<std::unique_ptr<EtcdSegmentStore>> EtcdSegmentStore::Open(
    const EtcdOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto store, etcd::SpaceStore::Open(options));
  return std::unique_ptr<EtcdSegmentStore>(
      new EtcdSegmentStore(std::make_unique<Rep>(std::move(store))));
}

EtcdSegmentStore::EtcdSegmentStore(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

EtcdSegmentStore::~EtcdSegmentStore() {
  // The sockets belong to the parent: the child abandons them.
  if (rep_->store().connection().left()) rep_.release();
}

absl::Status EtcdSegmentStore::Create(const SpaceName& space, const SpaceOptions& options,
                                      absl::Time caller_now) {
  return rep_->store().Create(space, options, caller_now);
}

absl::StatusOr<SpaceOptions> EtcdSegmentStore::Open(const SpaceName& space) {
  return rep_->store().Open(space);
}

absl::StatusOr<LeaseReply> EtcdSegmentStore::Lease(const SpaceName& space,
                                                   std::span<const LeaseRequest> requests,
                                                   absl::Time caller_now) {
  return rep_->store().Lease(space, requests, caller_now);
}

absl::StatusOr<SpaceView> EtcdSegmentStore::Show(const SpaceName& space, absl::Time caller_now) {
  return rep_->store().Show(space, caller_now);
}

absl::Status EtcdSegmentStore::DeclareRestored(const SpaceName& space, absl::Time caller_now) {
  return rep_->store().DeclareRestored(space, caller_now);
}

absl::Status EtcdSegmentStore::Raise(const SpaceName& space, uint64_t to, absl::Time caller_now) {
  return rep_->store().Raise(space, to, caller_now);
}

EtcdStats EtcdSegmentStore::Stats() const { return rep_->store().connection().Stats(); }

}  // namespace locus
