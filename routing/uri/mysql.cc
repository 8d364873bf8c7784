// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/mysql.h"

#include "locus/routing/engine/mysql.h"
#include "routing/uri/engines.h"
#include "routing/uri/opened.h"
#include "src/base/os/check.h"

namespace locus::internal {
namespace {

void Fill(const StoreUri& uri, std::string_view password, MysqlOptions& options) {
  for (const StoreUri::Host& host : uri.hosts) options.hosts.push_back({host.name, host.port});
  options.user = uri.user;
  options.database = uri.path;
  options.tls_ca_file = uri.Setting("tls_ca");
  if (!uri.settings.empty()) options.tls = MysqlOptions::Tls::kAlways;
  options.password = password;
}

}  // namespace

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenMysqlStore(const StoreUri& uri,
                                                             std::string_view password,
                                                             bool create) {
  MysqlOptions options;
  Wiped wiped(options.password);
  Fill(uri, password, options);
  if (create) LOCUS_RETURN_IF_ERROR(MysqlSegmentStore::CreateSchema(options));
  return As<std::shared_ptr<SegmentStore>>(MysqlSegmentStore::Open(options));
}

absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenMysqlWorkerLeases(const StoreUri& uri,
                                                                        std::string_view password,
                                                                        bool create) {
  MysqlOptions options;
  Wiped wiped(options.password);
  Fill(uri, password, options);
  if (create) LOCUS_RETURN_IF_ERROR(MysqlWorkerLeaseStore::CreateSchema(options));
  return As<std::shared_ptr<WorkerLeaseStore>>(MysqlWorkerLeaseStore::Open(options));
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenMysqlSequencer(const StoreUri& uri,
                                                              std::string_view password,
                                                              const SequencerOptions& options) {
  MysqlOptions server;
  Wiped wiped(server.password);
  Fill(uri, password, server);
  return As<std::unique_ptr<Sequencer>>(MysqlSequencer::Open(server, options));
}

absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenMysqlSequenceTypes(const StoreUri& uri,
                                                                          std::string_view password,
                                                                          bool create) {
  MysqlOptions options;
  Wiped wiped(options.password);
  Fill(uri, password, options);
  auto types = As<std::unique_ptr<SequenceTypeStore>>(MysqlSequenceTypeStore::Open(options));
  if (!create || !absl::IsNotFound(types.status())) return types;
  // Only now: an account that only uses the table needs no CREATE.
  LOCUS_RETURN_IF_ERROR(MysqlSequenceTypeStore::CreateSchema(options));
  return As<std::unique_ptr<SequenceTypeStore>>(MysqlSequenceTypeStore::Open(options));
}

absl::StatusOr<std::shared_ptr<StrictStore>> OpenMysqlStrict(const StoreUri& uri,
                                                             std::string_view password,
                                                             bool create) {
  MysqlOptions options;
  Wiped wiped(options.password);
  Fill(uri, password, options);
  if (create) LOCUS_RETURN_IF_ERROR(MysqlStrictStore::CreateSchema(options));
  return As<std::shared_ptr<StrictStore>>(MysqlStrictStore::Open(options));
}

absl::StatusOr<std::unique_ptr<TableSource>> OpenMysqlSource(const StoreUri& uri,
                                                             std::string_view password) {
  MysqlTableOptions options;
  Wiped wiped(options.mariadb.password);
  Fill(uri, password, options.mariadb);
  return As<std::unique_ptr<TableSource>>(MysqlTableSource::Open(options));
}

absl::StatusOr<std::unique_ptr<TablePublisher>> OpenMysqlPublisher(const StoreUri& uri,
                                                                   std::string_view password) {
  MysqlTableOptions options;
  Wiped wiped(options.mariadb.password);
  Fill(uri, password, options.mariadb);
  return As<std::unique_ptr<TablePublisher>>(MysqlTablePublisher::Open(options));
}

absl::Status CreateMysqlTablePlace(const StoreUri& uri, std::string_view password) {
  MysqlTableOptions options;
  Wiped wiped(options.mariadb.password);
  Fill(uri, password, options.mariadb);
  return MysqlTablePublisher::CreateSchema(options);
}

}  // namespace locus::internal
