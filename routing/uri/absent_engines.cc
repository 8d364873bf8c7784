// SPDX-License-Identifier: Apache-2.0
// The engines that this build leaves out: LOCUS_WITHOUT_* comes from CMake.
#include "absl/strings/str_cat.h"
#include "routing/uri/engines.h"
#include "src/base/text/text.h"

namespace locus::internal {

namespace {

[[maybe_unused]] absl::Status Absent(std::string_view place, std::string_view option) {
  return absl::FailedPreconditionError(
      absl::StrCat(ToAbsl(place), ": this locus was built without the engine; build it with -D",
                   ToAbsl(option), "=ON"));
}

}  // namespace

absl::Status CheckBuilt(const StoreUri& uri) {
  switch (uri.engine) {
#ifdef LOCUS_WITHOUT_MYSQL
    case StoreUri::Engine::kMysql:
      return Absent(uri.text, "LOCUS_MYSQL");
#endif
#ifdef LOCUS_WITHOUT_REDIS
    case StoreUri::Engine::kRedis:
    case StoreUri::Engine::kRedisSentinel:
      return Absent(uri.text, "LOCUS_REDIS");
#endif
#ifdef LOCUS_WITHOUT_ETCD
    case StoreUri::Engine::kEtcd:
      return Absent(uri.text, "LOCUS_ETCD");
#endif
#ifdef LOCUS_WITHOUT_ZOOKEEPER
    case StoreUri::Engine::kZookeeper:
      return Absent(uri.text, "LOCUS_ZOOKEEPER");
#endif
#ifdef LOCUS_WITHOUT_LOCUSD
    case StoreUri::Engine::kLocusd:
      return Absent(uri.text, "LOCUS_LOCUSD");
#endif
    default:
      return absl::OkStatus();
  }
}

absl::Status CheckHttpBuilt([[maybe_unused]] std::string_view url) {
#ifdef LOCUS_WITHOUT_HTTP
  return Absent(url, "LOCUS_HTTP");
#else
  return absl::OkStatus();
#endif
}

#ifdef LOCUS_WITHOUT_MYSQL
absl::StatusOr<std::shared_ptr<SegmentStore>> OpenMysqlStore(const StoreUri& uri, std::string_view,
                                                             bool) {
  return Absent(uri.text, "LOCUS_MYSQL");
}
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenMysqlWorkerLeases(const StoreUri& uri,
                                                                        std::string_view, bool) {
  return Absent(uri.text, "LOCUS_MYSQL");
}
absl::StatusOr<std::unique_ptr<Sequencer>> OpenMysqlSequencer(const StoreUri& uri, std::string_view,
                                                              const SequencerOptions&) {
  return Absent(uri.text, "LOCUS_MYSQL");
}
absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenMysqlSequenceTypes(const StoreUri& uri,
                                                                          std::string_view, bool) {
  return Absent(uri.text, "LOCUS_MYSQL");
}
absl::StatusOr<std::shared_ptr<StrictStore>> OpenMysqlStrict(const StoreUri& uri, std::string_view,
                                                             bool) {
  return Absent(uri.text, "LOCUS_MYSQL");
}
absl::StatusOr<std::unique_ptr<TableSource>> OpenMysqlSource(const StoreUri& uri,
                                                             std::string_view) {
  return Absent(uri.text, "LOCUS_MYSQL");
}
absl::StatusOr<std::unique_ptr<TablePublisher>> OpenMysqlPublisher(const StoreUri& uri,
                                                                   std::string_view) {
  return Absent(uri.text, "LOCUS_MYSQL");
}
absl::Status CreateMysqlTablePlace(const StoreUri& uri, std::string_view) {
  return Absent(uri.text, "LOCUS_MYSQL");
}
#endif

#ifdef LOCUS_WITHOUT_ZOOKEEPER
absl::StatusOr<std::shared_ptr<SegmentStore>> OpenZookeeperStore(const StoreUri& uri,
                                                                 std::string_view) {
  return Absent(uri.text, "LOCUS_ZOOKEEPER");
}
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenZookeeperWorkerLeases(const StoreUri& uri,
                                                                            std::string_view) {
  return Absent(uri.text, "LOCUS_ZOOKEEPER");
}
#endif

#ifdef LOCUS_WITHOUT_LOCUSD
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenLocusdWorkerLeases(const StoreUri& uri,
                                                                         std::string_view) {
  return Absent(uri.text, "LOCUS_LOCUSD");
}
absl::StatusOr<std::shared_ptr<SegmentStore>> OpenLocusdStore(const StoreUri& uri,
                                                              std::string_view) {
  return Absent(uri.text, "LOCUS_LOCUSD");
}
absl::StatusOr<std::unique_ptr<Sequencer>> OpenLocusdSequencer(const StoreUri& uri,
                                                               std::string_view,
                                                               const SequencerOptions&) {
  return Absent(uri.text, "LOCUS_LOCUSD");
}
absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenLocusdSequenceTypes(const StoreUri& uri,
                                                                           std::string_view) {
  return Absent(uri.text, "LOCUS_LOCUSD");
}
absl::StatusOr<std::shared_ptr<StrictStore>> OpenLocusdStrict(const StoreUri& uri,
                                                              std::string_view) {
  return Absent(uri.text, "LOCUS_LOCUSD");
}
absl::StatusOr<std::unique_ptr<LocusdCluster>> OpenLocusdCluster(const StoreUri& uri,
                                                                 std::string_view) {
  return Absent(uri.text, "LOCUS_LOCUSD");
}
#endif

#ifdef LOCUS_WITHOUT_REDIS
absl::StatusOr<std::shared_ptr<SegmentStore>> OpenRedisStore(const StoreUri& uri,
                                                             std::string_view) {
  return Absent(uri.text, "LOCUS_REDIS");
}
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenRedisWorkerLeases(const StoreUri& uri,
                                                                        std::string_view) {
  return Absent(uri.text, "LOCUS_REDIS");
}
absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenRedisSequenceTypes(const StoreUri& uri,
                                                                          std::string_view) {
  return Absent(uri.text, "LOCUS_REDIS");
}
absl::StatusOr<std::optional<int64_t>> RedisValueUnderCeiling(const StoreUri& uri, std::string_view,
                                                              const std::string&) {
  return Absent(uri.text, "LOCUS_REDIS");
}
absl::StatusOr<std::unique_ptr<Sequencer>> OpenRedisSequencer(const StoreUri& uri, std::string_view,
                                                              const SequencerOptions&,
                                                              std::shared_ptr<Sequencer>) {
  return Absent(uri.text, "LOCUS_REDIS");
}
#endif

#ifdef LOCUS_WITHOUT_ETCD
absl::StatusOr<std::shared_ptr<SegmentStore>> OpenEtcdStore(const StoreUri& uri, std::string_view) {
  return Absent(uri.text, "LOCUS_ETCD");
}
absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenEtcdWorkerLeases(const StoreUri& uri,
                                                                       std::string_view) {
  return Absent(uri.text, "LOCUS_ETCD");
}
absl::StatusOr<std::unique_ptr<Sequencer>> OpenEtcdSequencer(const StoreUri& uri, std::string_view,
                                                             const SequencerOptions&) {
  return Absent(uri.text, "LOCUS_ETCD");
}
absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenEtcdSequenceTypes(const StoreUri& uri,
                                                                         std::string_view) {
  return Absent(uri.text, "LOCUS_ETCD");
}
absl::StatusOr<std::shared_ptr<StrictStore>> OpenEtcdStrict(const StoreUri& uri, std::string_view) {
  return Absent(uri.text, "LOCUS_ETCD");
}
absl::StatusOr<std::unique_ptr<TableSource>> OpenEtcdSource(const StoreUri& uri, std::string_view) {
  return Absent(uri.text, "LOCUS_ETCD");
}
absl::StatusOr<std::unique_ptr<TablePublisher>> OpenEtcdPublisher(const StoreUri& uri,
                                                                  std::string_view) {
  return Absent(uri.text, "LOCUS_ETCD");
}
#endif

#ifdef LOCUS_WITHOUT_HTTP
absl::StatusOr<std::unique_ptr<TableSource>> OpenHttpSource(const std::string& url,
                                                            std::string_view) {
  return Absent(url, "LOCUS_HTTP");
}
#endif

}  // namespace locus::internal
