// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_WORKERS_H_
#define LOCUS_SRC_ENGINE_ETCD_WORKERS_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "locus/engine/etcd.h"
#include "src/engine/etcd/allocation_plan.h"
#include "src/engine/etcd/connection.h"
#include "src/engine/etcd/turn.h"
#include "src/engine/etcd/worker_space_text.h"
#include "src/worker/worker_rules.h"

namespace locus::etcd {

// The EtcdWorkerLeaseStore; tests open it with their own clock (Connection::Open). A space S has,
// under PREFIX/workers/S/:
//
//   space           its WorkerSpace
//   id/NNNNNNNNNN   the record of a worker ID that was ever granted (src/worker/record_text.h)
//   held/NNNNNNNNNN its holder's text; attached to an etcd lease, and deleted with it
//
// Thread safety: as WorkerLeaseStore; calls wait for each other, up to their timeout.
class WorkerStore final : public EtcdWorkerLeaseStore {
 public:
  static absl::StatusOr<std::unique_ptr<WorkerStore>> Open(const EtcdOptions& options,
                                                           Clock* store_clock = nullptr);
  ~WorkerStore() override;

  absl::Status Create(const SpaceName& name, const WorkerSpacePast& past,
                      absl::Time caller_now) override;
  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& name, const WorkerAcquire& request) override;
  absl::StatusOr<WorkerGrant> Renew(const SpaceName& name, const WorkerRenew& request) override;
  absl::Status Release(const SpaceName& name, const WorkerRelease& request) override;
  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& name) override;
  WorkerStoreFacts facts() const override {
    return {.engine = "etcd", .durable = true, .notices_loss = true};
  }
  EtcdStats Stats() const override { return connection_->Stats(); }

 private:
  // A record, exactly as stored in etcd.
  struct Stored {
    int64_t revision = 0;  // 0: there is none
    std::string text;
    WorkerRecord record;
    const WorkerRecord* get() const { return revision == 0 ? nullptr : &record; }
  };
  // A space as this process last read or wrote it.
  struct Image {
    std::string text;  // empty: it does not exist, or was not read
    WorkerSpace space;
    Memory memory;
    std::map<uint64_t, Stored> own;  // records that this process wrote last
    bool raised = false;             // this call stored a loss
  };
  struct EtcdLease {
    int64_t id = 0;  // 0: none
    absl::Duration for_terms;
    absl::Duration used_until;  // since boot
  };
  enum class Read { kSound, kAgain };

  WorkerStore(const EtcdOptions& options, std::unique_ptr<Connection> connection);

  std::string SpaceKey(const SpaceName& name) const;
  std::string RecordKey(const SpaceName& name, uint64_t worker) const;
  std::string HeldKey(const SpaceName& name, uint64_t worker) const;
  absl::Status At(const std::string& key, const absl::Status& status) const;
  absl::Status Busy() const;

  absl::Status TakeSpace(const SpaceName& name, const std::vector<KeyValue>& found, Image& image);
  absl::StatusOr<Stored> TakeRecord(const SpaceName& name, const KeyValue& found) const;
  // Finds out whether the cluster has lost stored state, and if so stores that no ID is granted for
  // a while. kAgain: it did, or others did meanwhile.
  absl::StatusOr<Read> Settle(const SpaceName& name, const TxnAnswer& answer, Image& image,
                              const WorkerLeaseTerm& term, TimePoint deadline);
  // The cluster's identity, and `image` as read in the same request.
  absl::StatusOr<ClusterIdentity> Identify(const SpaceName& name, Image& image, TimePoint deadline);

  // One attempt each. nullopt: others wrote first, or a loss was stored.
  absl::StatusOr<std::optional<WorkerGrant>> TryAcquire(const SpaceName& name,
                                                        const WorkerAcquire& request, Image& image,
                                                        TimePoint deadline);
  absl::StatusOr<std::optional<WorkerGrant>> TryRenew(const SpaceName& name,
                                                      const WorkerRenew& request, Image& image,
                                                      bool& fresh, TimePoint deadline);
  // Stores the outcome, unless the space or the record is not as it was read. `held`: the holder's
  // key is put with it.
  absl::StatusOr<Read> Write(const SpaceName& name, uint64_t worker, const Stored& before,
                             const worker::Outcome& outcome, const WorkerLeaseTerm& term,
                             Image& image, TimePoint deadline);
  absl::StatusOr<int64_t> LeaseFor(const WorkerLeaseTerm& term, TimePoint deadline);
  absl::StatusOr<TimeSpan> TimeFor(const WorkerLeaseTerm& term, absl::Time caller_now,
                                   TimePoint deadline);
  // Repeats `attempt` with pauses until it has a grant, fails, or `deadline`.
  absl::StatusOr<WorkerGrant> Repeatedly(
      Image& image, TimePoint deadline,
      const std::function<absl::StatusOr<std::optional<WorkerGrant>>()>& attempt);

  const std::string prefix_;
  std::unique_ptr<Connection> connection_;
  Turn turn_;
  // Used only by the caller that has the turn.
  std::map<std::string, Image> images_;
  EtcdLease lease_;
  std::map<std::string, int64_t> held_;  // the etcd lease of each holder's key
};

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_WORKERS_H_
