// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_ID_PLACES_H_
#define LOCUS_APPS_LOCUSD_IDS_ID_PLACES_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "apps/locusd/ids/id_parts.h"
#include "apps/locusd/ids/id_settings.h"
#include "locus/engine/locusd_cluster.h"
#include "locus/key_ring.h"
#include "locus/routing/table_publisher.h"
#include "locus/worker_lease_store.h"

// Opens the parts of an ID service at the places that its settings name, with the passwords of
// their files. Errors of all: those of locus/routing/uri.h, of what is opened, and of the
// password's file.
namespace locus::locusd {

struct OpenedOrders {
  std::shared_ptr<OrderIdGenerator> orders;
  SpaceOptions space;
};
absl::StatusOr<OpenedOrders> OpenOrders(const IdSettings& settings,
                                        const std::function<void(const GeneratorEvent&)>& on_event);
absl::StatusOr<std::shared_ptr<SequenceSet>> OpenSequences(
    const SequenceSettings& settings, std::function<void(const SegmentSequenceEvent&)> on_event);
absl::StatusOr<std::shared_ptr<LeasedSnowflake<>>> OpenSnowflake(
    const SnowflakeSettings& settings, std::function<void(const WorkerLeaseEvent&)> on_lease,
    std::function<void(const SnowflakeRollback&)> on_rollback);
absl::StatusOr<std::shared_ptr<Router>> OpenRouter(
    const TableSettings& settings, std::function<void(const RouterEvent&)> on_event);
absl::StatusOr<std::unique_ptr<TablePublisher>> OpenPublisher(const TableSettings& settings);
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenLeases(const SnowflakeSettings& settings);
// The cluster of lease nodes, where the place is one.
absl::StatusOr<std::unique_ptr<LocusdCluster>> OpenCluster(const PlaceSettings& place);

// Whether the files that a place names can be used: its password, and the certificates of its URI.
absl::Status CheckPlace(const PlaceSettings& place);
// CheckPlace of all, and the key ring.
absl::Status CheckFiles(const IdSettings& settings);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_ID_PLACES_H_
