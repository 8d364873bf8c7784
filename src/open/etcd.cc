// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/etcd.h"

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/open/engine.h"
#include "src/open/fill.h"
#include "src/open/opened.h"

namespace locus::internal {

absl::Status Fill(const StoreUri& uri, std::string_view password, EtcdOptions& options) {
  options.endpoints = uri.Endpoints();
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

namespace {

template <typename Opened, typename Store>
absl::StatusOr<Opened> Open(const StoreUri& uri, std::string_view password, bool) {
  EtcdOptions options;
  Wiped wiped(options.password);
  LOCUS_RETURN_IF_ERROR(Fill(uri, password, options));
  return As<Opened>(Store::Open(options));
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenCounters(const StoreUri& uri,
                                                        std::string_view password,
                                                        const SequencerOptions& options,
                                                        std::shared_ptr<Sequencer>) {
  EtcdOptions server;
  Wiped wiped(server.password);
  LOCUS_RETURN_IF_ERROR(Fill(uri, password, server));
  return As<std::unique_ptr<Sequencer>>(EtcdSequencer::Open(server, options));
}

}  // namespace

extern const Openers kEtcdOpeners = {
    .segments = Open<std::shared_ptr<SegmentStore>, EtcdSegmentStore>,
    .leases = Open<std::shared_ptr<WorkerLeaseStore>, EtcdWorkerLeaseStore>,
    .counters = OpenCounters,
    .types = Open<std::unique_ptr<SequenceTypeStore>, EtcdSequenceTypeStore>,
    .strict = Open<std::shared_ptr<StrictStore>, EtcdStrictStore>,
};

}  // namespace locus::internal
