// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/etcd.h"

#include "absl/strings/str_cat.h"
#include "locus/routing/engine/etcd.h"
#include "routing/uri/engines.h"
#include "routing/uri/opened.h"
#include "src/base/os/check.h"

namespace locus::internal {
namespace {

// INVALID_ARGUMENT: a password without a user. etcd would not be asked for it, and the caller would
// believe that it protects something.
absl::Status Fill(const StoreUri& uri, std::string_view password, EtcdOptions& options) {
  for (const StoreUri::Host& host : uri.hosts) {
    bool bracketed = host.name.find(':') != std::string::npos;
    options.endpoints.push_back(
        absl::StrCat(bracketed ? absl::StrCat("[", host.name, "]") : host.name, ":", host.port));
  }
  if (!uri.path.empty()) options.prefix = uri.path;
  options.user = uri.user;
  options.tls.enabled = !uri.settings.empty();
  options.tls.ca_file = uri.Setting("tls_ca");
  options.tls.certificate_file = uri.Setting("tls_cert");
  options.tls.key_file = uri.Setting("tls_key");
  options.password = password;
  if (!options.user.empty() || password.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a password is set, but ", uri.text,
      " names no user; write etcd://USER@HOST:PORT/PREFIX, or unset the "
      "password (LOCUS_PASSWORD or LOCUS_PASSWORD_FILE; for a routing table LOCUS_TABLE_PASSWORD "
      "or LOCUS_TABLE_PASSWORD_FILE)"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenEtcdStore(const StoreUri& uri,
                                                            std::string_view password) {
  EtcdOptions options;
  Wiped wiped(options.password);
  LOCUS_RETURN_IF_ERROR(Fill(uri, password, options));
  return As<std::shared_ptr<SegmentStore>>(EtcdSegmentStore::Open(options));
}

absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenEtcdWorkerLeases(const StoreUri& uri,
                                                                       std::string_view password) {
  EtcdOptions options;
  Wiped wiped(options.password);
  LOCUS_RETURN_IF_ERROR(Fill(uri, password, options));
  return As<std::shared_ptr<WorkerLeaseStore>>(EtcdWorkerLeaseStore::Open(options));
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenEtcdSequencer(const StoreUri& uri,
                                                             std::string_view password,
                                                             const SequencerOptions& options) {
  EtcdOptions server;
  Wiped wiped(server.password);
  LOCUS_RETURN_IF_ERROR(Fill(uri, password, server));
  return As<std::unique_ptr<Sequencer>>(EtcdSequencer::Open(server, options));
}

absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenEtcdSequenceTypes(
    const StoreUri& uri, std::string_view password) {
  EtcdOptions options;
  Wiped wiped(options.password);
  LOCUS_RETURN_IF_ERROR(Fill(uri, password, options));
  return As<std::unique_ptr<SequenceTypeStore>>(EtcdSequenceTypeStore::Open(options));
}

absl::StatusOr<std::shared_ptr<StrictStore>> OpenEtcdStrict(const StoreUri& uri,
                                                            std::string_view password) {
  EtcdOptions options;
  Wiped wiped(options.password);
  LOCUS_RETURN_IF_ERROR(Fill(uri, password, options));
  return As<std::shared_ptr<StrictStore>>(EtcdStrictStore::Open(options));
}

absl::StatusOr<std::unique_ptr<TableSource>> OpenEtcdSource(const StoreUri& uri,
                                                            std::string_view password) {
  EtcdTableOptions options;
  Wiped wiped(options.etcd.password);
  LOCUS_RETURN_IF_ERROR(Fill(uri, password, options.etcd));
  return As<std::unique_ptr<TableSource>>(EtcdTableSource::Open(options));
}

absl::StatusOr<std::unique_ptr<TablePublisher>> OpenEtcdPublisher(const StoreUri& uri,
                                                                  std::string_view password) {
  EtcdTableOptions options;
  Wiped wiped(options.etcd.password);
  LOCUS_RETURN_IF_ERROR(Fill(uri, password, options.etcd));
  return As<std::unique_ptr<TablePublisher>>(EtcdTablePublisher::Open(options));
}

}  // namespace locus::internal
