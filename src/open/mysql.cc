// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/mysql.h"

#include "src/base/os/check.h"
#include "src/open/engine.h"
#include "src/open/fill.h"
#include "src/open/opened.h"

namespace locus::internal {

void Fill(const StoreUri& uri, std::string_view password, MysqlOptions& options) {
  for (const StoreUri::Host& host : uri.hosts) options.hosts.push_back({host.name, host.port});
  options.user = uri.user;
  options.database = uri.path;
  options.tls_ca_file = uri.Setting("tls_ca");
  if (!uri.settings.empty()) options.tls = MysqlOptions::Tls::kAlways;
  options.password = password;
}

namespace {

template <typename Opened, typename Store>
absl::StatusOr<Opened> Open(const StoreUri& uri, std::string_view password, bool create) {
  MysqlOptions options;
  Wiped wiped(options.password);
  Fill(uri, password, options);
  if (create) LOCUS_RETURN_IF_ERROR(Store::CreateSchema(options));
  return As<Opened>(Store::Open(options));
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenCounters(const StoreUri& uri,
                                                        std::string_view password,
                                                        const SequencerOptions& options,
                                                        std::shared_ptr<Sequencer>) {
  MysqlOptions server;
  Wiped wiped(server.password);
  Fill(uri, password, server);
  return As<std::unique_ptr<Sequencer>>(MysqlSequencer::Open(server, options));
}

absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenTypes(const StoreUri& uri,
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

}  // namespace

extern const Openers kMysqlOpeners = {
    .segments = Open<std::shared_ptr<SegmentStore>, MysqlSegmentStore>,
    .leases = Open<std::shared_ptr<WorkerLeaseStore>, MysqlWorkerLeaseStore>,
    .counters = OpenCounters,
    .types = OpenTypes,
    .strict = Open<std::shared_ptr<StrictStore>, MysqlStrictStore>,
};

}  // namespace locus::internal
