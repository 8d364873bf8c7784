// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_STRICT_H_
#define LOCUS_SRC_ENGINE_ETCD_STRICT_H_

#include <map>
#include <memory>
#include <span>
#include <string>

#include "locus/engine/etcd.h"
#include "src/engine/etcd/allocation_plan.h"
#include "src/engine/etcd/connection.h"
#include "src/engine/etcd/strict_text.h"
#include "src/engine/etcd/turn.h"

namespace locus::etcd {

// The EtcdStrictStore; tests open it with their own clock (Connection::Open). A set S has, under
// PREFIX/strict/S/:
//
//   set              its StrictSet
//   section/NNNNNNN  the record of a section that was ever owned
//
// Every call reads the set and its sections, and writes the set together with the changed sections,
// if the set's text has not changed since it was read.
// Thread safety: as StrictStore; calls wait for each other, up to their timeout.
class SectionStore final : public EtcdStrictStore {
 public:
  static absl::StatusOr<std::unique_ptr<SectionStore>> Open(const EtcdOptions& options,
                                                            Clock* store_clock = nullptr);
  ~SectionStore() override;

  absl::Status Create(const SpaceName& name, const StrictSetOptions& options,
                      const StrictSetPast& past) override;
  absl::Status DeclareRestored(const SpaceName& name) override;
  absl::StatusOr<StrictReply<StrictGrant>> Take(const SpaceName& name,
                                                const StrictSetOptions& options,
                                                const StrictTake& request) override;
  absl::StatusOr<StrictReply<StrictExtended>> Extend(const SpaceName& name,
                                                     const StrictSetOptions& options,
                                                     const StrictExtend& request) override;
  absl::StatusOr<StrictReply<StrictExtended>> Release(const SpaceName& name,
                                                      const StrictSetOptions& options,
                                                      const StrictRelease& request) override;
  absl::StatusOr<StrictSetView> Show(const SpaceName& name) override;
  EtcdStats Stats() const override { return connection_->Stats(); }

 private:
  // A process's memory of a set between calls.
  struct Known {
    Memory memory;
    uint64_t losses = 0;
  };
  enum class Standing {
    kSound,
    kAgain,  // the set was lost; that is stored now, by this process or by another one
  };

  SectionStore(const EtcdOptions& options, std::unique_ptr<Connection> connection);

  std::string SetKey(const SpaceName& name) const;
  std::string SectionKey(const SpaceName& name, uint32_t section) const;
  absl::Status At(const std::string& key, const absl::Status& status) const;
  absl::Status OtherRanges(const SpaceName& name) const;
  absl::Status Busy() const;
  absl::StatusOr<strict::StoreTime> Time(TimePoint deadline);

  absl::StatusOr<StrictSet> SetIn(const SpaceName& name, const std::vector<KeyValue>& found) const;
  // Of one key, which names a section of the set; added to `records`.
  absl::Status TakeSection(const SpaceName& name, const StrictSet& set, const KeyValue& found,
                           std::map<uint32_t, strict::Record>& records) const;
  // The set, and its stored sections. NOT_FOUND: there is no such set.
  absl::StatusOr<TxnAnswer> Read(const SpaceName& name, std::span<const uint32_t> sections,
                                 StrictSet& set, std::map<uint32_t, strict::Record>& records,
                                 TimePoint deadline);
  // Writes `after` over `before`, and the changed sections of `batch` with it.
  absl::StatusOr<TxnAnswer> Write(const SpaceName& name, const StrictSet& before, StrictSet& after,
                                  const strict::Batch& batch, TimePoint deadline);

  // The cluster's identity, and `set` as read in the same request.
  absl::StatusOr<ClusterIdentity> Identify(const SpaceName& name, StrictSet& set,
                                           TimePoint deadline);
  // Whether the answer that `set` came with, or was written with, is to be relied on. A loss is
  // stored; `noticed`: by this call.
  absl::StatusOr<Standing> Settle(const SpaceName& name, const TxnAnswer& answer,
                                  const StrictSet& set, bool& noticed, TimePoint deadline);
  // Stores a loss of `set`. False: others have written it since.
  absl::StatusOr<bool> WriteLoss(const SpaceName& name, const StrictSet& set,
                                 const ClusterIdentity& identity, TimePoint deadline);

  template <typename Reply, typename Sections, typename Decide>
  absl::StatusOr<Reply> Plan(const SpaceName& name, const StrictSetOptions& options,
                             const Sections& sections, const Decide& decide);

  const std::string prefix_;
  std::unique_ptr<Connection> connection_;
  Turn turn_;
  std::map<std::string, Known> known_;  // used only by the caller that has the turn
};

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_STRICT_H_
