// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_ID_PLACES_H_
#define LOCUS_APPS_LOCUSD_IDS_ID_PLACES_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/locusd/ids/id_parts.h"
#include "apps/locusd/ids/id_settings.h"
#include "locus/engine/locusd_cluster.h"
#include "locus/key_ring.h"
#include "locus/open.h"
#include "locus/routing/table_publisher.h"
#include "locus/worker_lease_store.h"

// Opens the parts of an ID service at the places that its settings name, with the passwords of
// their files. Errors of all: those of locus/open.h, of what is opened, and of the
// password's file.
namespace locus::locusd {

// Reads the password's file when the place asks for it; nullptr: the place has none.
AskPassword AskFor(const PlaceSettings& place);

struct OpenedOrders {
  std::shared_ptr<OrderIdGenerator> orders;
  SpaceOptions space;
};
absl::StatusOr<OpenedOrders> OpenOrders(const IdSettings& settings,
                                        const std::function<void(const GeneratorEvent&)>& on_event);
// UNAVAILABLE also: the store has no mark of its first start, which an operator sets while the
// service waits.
absl::StatusOr<std::shared_ptr<SequenceSet>> OpenSequences(
    const SequenceSettings& settings, size_t most_waiting,
    std::function<void(const SegmentSequenceEvent&)> on_event,
    std::function<void(const TypeSwitchEvent&)> on_type);
absl::StatusOr<std::shared_ptr<LeasedSnowflake<>>> OpenSnowflake(
    const SnowflakeSettings& settings, std::function<void(const WorkerLeaseEvent&)> on_lease,
    std::function<void(const SnowflakeRollback&)> on_rollback);
absl::StatusOr<std::shared_ptr<Router>> OpenRouter(
    const TableSettings& settings, std::function<void(const RouterEvent&)> on_event);
absl::StatusOr<std::unique_ptr<TablePublisher>> OpenPublisher(const TableSettings& settings);
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenLeases(const SnowflakeSettings& settings);
// Whether the place is a cluster of lease nodes.
bool IsCluster(const PlaceSettings& place);
// That cluster.
absl::StatusOr<std::unique_ptr<LocusdCluster>> OpenCluster(const PlaceSettings& place);

// What checks found of each key, "ids.keys"; OK, too.
using ToldOfKey = std::function<void(const std::string& key, const absl::Status& status)>;
// Whether the files that settings name can be used: the key ring, passwords, and the certificates
// of URIs.
void CheckFiles(const IdSettings& settings, const ToldOfKey& tell);
// Whether a place that is a file can be used: the routing table, as the start judges it (which may
// begin with the last-good file instead), and whether SQLite files are there or may be made.
void CheckLocalPlaces(const IdSettings& settings, const ToldOfKey& tell);
// Whether the files can be used that a place's URI names, and the file of its password.
absl::Status CheckUri(const PlaceSettings& place);
absl::Status CheckPassword(const PlaceSettings& place);
// Whether a place that is an SQLite file is there, or may be made; `made`: whether the start makes
// it.
absl::Status CheckSqlitePlace(const PlaceSettings& place, bool made);
// The keys of the places that have to be asked to know what is in them.
std::vector<std::string> KeysOfPlacesToAsk(const IdSettings& settings);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_ID_PLACES_H_
