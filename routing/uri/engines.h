// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_URI_ENGINES_H_
#define LOCUS_ROUTING_URI_ENGINES_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "locus/engine/locusd_cluster.h"
#include "locus/routing/table_publisher.h"
#include "locus/routing/table_source.h"
#include "locus/segment_store.h"
#include "locus/sequence_type_store.h"
#include "locus/sequencer.h"
#include "locus/strict_store.h"
#include "locus/worker_lease_store.h"
#include "routing/uri/store_uri.h"

// What each engine opens. An engine has a file of its own, which is compiled where the engine is;
// absent_engines.cc answers FAILED_PRECONDITION in the place of the others.
namespace locus::internal {

// FAILED_PRECONDITION: this build leaves the engine out.
absl::Status CheckBuilt(const StoreUri& uri);
absl::Status CheckHttpBuilt(std::string_view url);

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenMysqlStore(const StoreUri& uri,
                                                             std::string_view password,
                                                             bool create);
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenMysqlWorkerLeases(const StoreUri& uri,
                                                                        std::string_view password,
                                                                        bool create);
absl::StatusOr<std::unique_ptr<Sequencer>> OpenMysqlSequencer(const StoreUri& uri,
                                                              std::string_view password,
                                                              const SequencerOptions& options);
// Whether there is a row of a counter.
absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenMysqlSequenceTypes(const StoreUri& uri,
                                                                          std::string_view password,
                                                                          bool create);
absl::StatusOr<std::shared_ptr<StrictStore>> OpenMysqlStrict(const StoreUri& uri,
                                                             std::string_view password,
                                                             bool create);
absl::StatusOr<std::unique_ptr<TableSource>> OpenMysqlSource(const StoreUri& uri,
                                                             std::string_view password);
absl::StatusOr<std::unique_ptr<TablePublisher>> OpenMysqlPublisher(const StoreUri& uri,
                                                                   std::string_view password);
absl::Status CreateMysqlTablePlace(const StoreUri& uri, std::string_view password);

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenRedisStore(const StoreUri& uri,
                                                             std::string_view password);
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenRedisWorkerLeases(const StoreUri& uri,
                                                                        std::string_view password);
// `ceiling`: nullptr: none.
absl::StatusOr<std::unique_ptr<Sequencer>> OpenRedisSequencer(const StoreUri& uri,
                                                              std::string_view password,
                                                              const SequencerOptions& options,
                                                              std::shared_ptr<Sequencer> ceiling);
// The last number of a counter that Redis has under a ceiling; nullopt: none.
absl::StatusOr<std::optional<int64_t>> RedisValueUnderCeiling(const StoreUri& uri,
                                                              std::string_view password,
                                                              const std::string& name);
absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenRedisSequenceTypes(
    const StoreUri& uri, std::string_view password);

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenEtcdStore(const StoreUri& uri,
                                                            std::string_view password);
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenEtcdWorkerLeases(const StoreUri& uri,
                                                                       std::string_view password);
absl::StatusOr<std::unique_ptr<Sequencer>> OpenEtcdSequencer(const StoreUri& uri,
                                                             std::string_view password,
                                                             const SequencerOptions& options);
absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenEtcdSequenceTypes(const StoreUri& uri,
                                                                         std::string_view password);
absl::StatusOr<std::shared_ptr<StrictStore>> OpenEtcdStrict(const StoreUri& uri,
                                                            std::string_view password);
absl::StatusOr<std::unique_ptr<TableSource>> OpenEtcdSource(const StoreUri& uri,
                                                            std::string_view password);
absl::StatusOr<std::unique_ptr<TablePublisher>> OpenEtcdPublisher(const StoreUri& uri,
                                                                  std::string_view password);

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenZookeeperStore(const StoreUri& uri,
                                                                 std::string_view password);
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenZookeeperWorkerLeases(
    const StoreUri& uri, std::string_view password);

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenLocusdStore(const StoreUri& uri,
                                                              std::string_view token);
absl::StatusOr<std::unique_ptr<Sequencer>> OpenLocusdSequencer(const StoreUri& uri,
                                                               std::string_view token,
                                                               const SequencerOptions& of_counters);
absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenLocusdSequenceTypes(
    const StoreUri& uri, std::string_view password);
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenLocusdWorkerLeases(const StoreUri& uri,
                                                                         std::string_view token);
absl::StatusOr<std::shared_ptr<StrictStore>> OpenLocusdStrict(const StoreUri& uri,
                                                              std::string_view token);
absl::StatusOr<std::unique_ptr<LocusdCluster>> OpenLocusdCluster(const StoreUri& uri,
                                                                 std::string_view token);

absl::StatusOr<std::unique_ptr<TableSource>> OpenHttpSource(const std::string& url,
                                                            std::string_view token);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_URI_ENGINES_H_
