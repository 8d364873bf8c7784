// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/mariadb.h"
#include "locus/routing/engine/mariadb.h"
#include "routing/uri/engines.h"
#include "routing/uri/opened.h"
#include "src/base/check.h"

namespace locus::internal {
namespace {

void Fill(const StoreUri& uri, std::string_view password, MariadbOptions& options) {
  for (const StoreUri::Host& host : uri.hosts) options.hosts.push_back({host.name, host.port});
  options.user = uri.user;
  options.database = uri.path;
  options.tls_ca_file = uri.Setting("tls_ca");
  if (!uri.settings.empty()) options.tls = MariadbOptions::Tls::kAlways;
  options.password = password;
}

}  // namespace

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenMysqlStore(const StoreUri& uri,
                                                             std::string_view password,
                                                             bool create) {
  MariadbOptions options;
  Wiped wiped(options.password);
  Fill(uri, password, options);
  if (create) LOCUS_RETURN_IF_ERROR(MariadbSegmentStore::CreateSchema(options));
  return As<std::shared_ptr<SegmentStore>>(MariadbSegmentStore::Open(options));
}

absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenMysqlWorkerLeases(const StoreUri& uri,
                                                                        std::string_view password,
                                                                        bool create) {
  MariadbOptions options;
  Wiped wiped(options.password);
  Fill(uri, password, options);
  if (create) LOCUS_RETURN_IF_ERROR(MariadbWorkerLeaseStore::CreateSchema(options));
  return As<std::shared_ptr<WorkerLeaseStore>>(MariadbWorkerLeaseStore::Open(options));
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenMysqlSequencer(const StoreUri& uri,
                                                              std::string_view password,
                                                              const SequencerOptions& options) {
  MariadbOptions server;
  Wiped wiped(server.password);
  Fill(uri, password, server);
  return As<std::unique_ptr<Sequencer>>(MariadbSequencer::Open(server, options));
}

absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenMysqlSequenceTypes(const StoreUri& uri,
                                                                          std::string_view password,
                                                                          bool create) {
  MariadbOptions options;
  Wiped wiped(options.password);
  Fill(uri, password, options);
  auto types = As<std::unique_ptr<SequenceTypeStore>>(MariadbSequenceTypeStore::Open(options));
  if (!create || !absl::IsNotFound(types.status())) return types;
  // Only now: an account that only uses the table needs no CREATE.
  LOCUS_RETURN_IF_ERROR(MariadbSequenceTypeStore::CreateSchema(options));
  return As<std::unique_ptr<SequenceTypeStore>>(MariadbSequenceTypeStore::Open(options));
}

absl::StatusOr<std::shared_ptr<StrictStore>> OpenMysqlStrict(const StoreUri& uri,
                                                             std::string_view password,
                                                             bool create) {
  MariadbOptions options;
  Wiped wiped(options.password);
  Fill(uri, password, options);
  if (create) LOCUS_RETURN_IF_ERROR(MariadbStrictStore::CreateSchema(options));
  return As<std::shared_ptr<StrictStore>>(MariadbStrictStore::Open(options));
}

absl::StatusOr<std::unique_ptr<TableSource>> OpenMysqlSource(const StoreUri& uri,
                                                             std::string_view password) {
  MariadbTableOptions options;
  Wiped wiped(options.mariadb.password);
  Fill(uri, password, options.mariadb);
  return As<std::unique_ptr<TableSource>>(MariadbTableSource::Open(options));
}

absl::StatusOr<std::unique_ptr<TablePublisher>> OpenMysqlPublisher(const StoreUri& uri,
                                                                   std::string_view password) {
  MariadbTableOptions options;
  Wiped wiped(options.mariadb.password);
  Fill(uri, password, options.mariadb);
  return As<std::unique_ptr<TablePublisher>>(MariadbTablePublisher::Open(options));
}

absl::Status CreateMysqlTablePlace(const StoreUri& uri, std::string_view password) {
  MariadbTableOptions options;
  Wiped wiped(options.mariadb.password);
  Fill(uri, password, options.mariadb);
  return MariadbTablePublisher::CreateSchema(options);
}

}  // namespace locus::internal
