// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_SPACE_STORE_H_
#define LOCUS_SRC_ENGINE_ETCD_SPACE_STORE_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "locus/engine/etcd.h"
#include "locus/segment_store.h"
#include "src/engine/etcd/allocation_plan.h"
#include "src/engine/etcd/connection.h"
#include "src/engine/etcd/turn.h"

namespace locus::etcd {

// The EtcdSegmentStore; tests open it with their own clock (Connection::Open).
// Thread safety: as SegmentStore; calls wait for each other, up to their timeout.
class SpaceStore final : public EtcdSegmentStore {
 public:
  static absl::StatusOr<std::unique_ptr<SpaceStore>> Open(const EtcdOptions& options,
                                                          Clock* store_clock = nullptr);
  ~SpaceStore() override;

  absl::Status Create(const SpaceName& name, const SpaceOptions& options,
                      absl::Time caller_now) override;
  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& name) override;
  absl::StatusOr<SegmentReply> Allocate(const SpaceName& name, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time caller_now) override;
  absl::StatusOr<SpaceView> Show(const SpaceName& name, absl::Time caller_now) override;
  absl::Status DeclareRestored(const SpaceName& name, absl::Time caller_now) override;
  absl::StatusOr<BaseRaise> Raise(const SpaceName& name, uint64_t to, RaiseReach reach,
                                  absl::Time caller_now) override;
  EtcdStats Stats() const override { return connection_->Stats(); }

 private:
  struct KnownSpace {
    bool known = false;  // image holds a record and every group
    SpaceImage image;
    Memory memory;
  };

  // One call of Allocate, over all its attempts.
  struct AllocateCall {
    const SpaceName& name;
    const SpaceOptions& options;
    std::span<const SegmentRequest> requests;
    absl::Time caller_now;
    TimePoint deadline;
    bool image_is_fresh = false;  // the space was read since the call began
  };
  enum class Written {
    kSound,
    kConflict,       // others wrote first; the image has their state
    kToLostCluster,  // the cluster is not the recorded one, or went back
  };

  SpaceStore(const EtcdOptions& options, std::unique_ptr<Connection> connection);

  std::string RecordKey(const SpaceName& name) const;
  std::string HeadsKey(const SpaceName& name) const;
  std::string GroupKey(const SpaceName& name, uint32_t group) const;
  // The same status, with the place and the key before its message.
  absl::Status At(const SpaceName& name, const absl::Status& status) const;
  absl::Status Busy() const;

  // Reads the whole space. NOT_FOUND.
  absl::StatusOr<TxnAnswer> Read(const SpaceName& name, KnownSpace& space, TimePoint deadline);
  absl::Status TakeRecord(const SpaceName& name, const std::vector<KeyValue>& found,
                          KnownSpace& space);
  absl::Status TakeGroup(const SpaceName& name, uint32_t group, const std::string& text,
                         KnownSpace& space);
  // Takes over what the transaction of an allocation read because others had written first.
  absl::Status TakeConflict(const SpaceName& name, const TxnAnswer& answer,
                            const std::set<uint32_t>& groups, KnownSpace& space);

  // Reads the space and checks for a loss. `lost`: the cluster's identity if there was one.
  absl::Status ReadAndVet(const SpaceName& name, KnownSpace& space,
                          std::optional<ClusterIdentity>& lost, TimePoint deadline);
  absl::StatusOr<absl::Time> TimeFor(const SpaceOptions& options, absl::Time caller_now,
                                     TimePoint deadline);
  // The transaction of the allocation. nullopt: the image must be read first.
  absl::StatusOr<std::optional<AllocationPlan>> PlanFor(const AllocateCall& call, KnownSpace& space,
                                                        const std::optional<ClusterIdentity>& lost);
  // Writes the plan in one transaction, unless another process has written its input since it was
  // read.
  absl::StatusOr<Written> Write(AllocateCall& call, AllocationPlan& plan, KnownSpace& space);
  Txn TxnFor(const SpaceName& name, const SpaceImage& image, const std::set<uint32_t>& groups,
             const AllocationPlan& plan) const;
  // Replaces the record by the result of `change`.
  template <typename Change>
  absl::Status Rewrite(const SpaceName& name, absl::Time caller_now, const Change& change);

  const std::string prefix_;
  std::unique_ptr<Connection> connection_;
  Turn turn_;
  std::map<std::string, KnownSpace> spaces_;  // used only by the caller that has the turn
};

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_SPACE_STORE_H_
