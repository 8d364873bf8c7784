// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/locusd.h"

#include "absl/strings/str_cat.h"
#include "locus/engine/locusd_cluster.h"
#include "routing/uri/engines.h"
#include "routing/uri/opened.h"

namespace locus::internal {
namespace {

void Fill(const StoreUri& uri, std::string_view token, LocusdOptions& options) {
  for (const StoreUri::Host& host : uri.hosts) {
    const bool bracketed = host.name.find(':') != std::string::npos;
    options.endpoints.push_back(
        absl::StrCat(bracketed ? absl::StrCat("[", host.name, "]") : host.name, ":", host.port));
  }
  options.tls.enabled = !uri.settings.empty();
  options.tls.ca_file = uri.Setting("tls_ca");
  options.token = token;
}

}  // namespace

absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenLocusdWorkerLeases(const StoreUri& uri,
                                                                         std::string_view token) {
  LocusdOptions options;
  Wiped wiped(options.token);
  Fill(uri, token, options);
  return As<std::shared_ptr<WorkerLeaseStore>>(LocusdWorkerLeaseStore::Open(options));
}

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenLocusdStore(const StoreUri& uri,
                                                              std::string_view token) {
  LocusdOptions options;
  Wiped wiped(options.token);
  Fill(uri, token, options);
  return As<std::shared_ptr<SegmentStore>>(LocusdSegmentStore::Open(options));
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenLocusdSequencer(
    const StoreUri& uri, std::string_view token, const SequencerOptions& of_counters) {
  LocusdOptions options;
  Wiped wiped(options.token);
  Fill(uri, token, options);
  return As<std::unique_ptr<Sequencer>>(LocusdSequencer::Open(options, of_counters));
}

absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenLocusdSequenceTypes(const StoreUri& uri,
                                                                           std::string_view token) {
  LocusdOptions options;
  Wiped wiped(options.token);
  Fill(uri, token, options);
  return As<std::unique_ptr<SequenceTypeStore>>(LocusdSequenceTypeStore::Open(options));
}

absl::StatusOr<std::shared_ptr<StrictStore>> OpenLocusdStrict(const StoreUri& uri,
                                                              std::string_view token) {
  LocusdOptions options;
  Wiped wiped(options.token);
  Fill(uri, token, options);
  return As<std::shared_ptr<StrictStore>>(LocusdStrictStore::Open(options));
}

absl::StatusOr<std::unique_ptr<LocusdCluster>> OpenLocusdCluster(const StoreUri& uri,
                                                                 std::string_view token) {
  LocusdOptions options;
  Wiped wiped(options.token);
  Fill(uri, token, options);
  return LocusdCluster::Open(options);
}

}  // namespace locus::internal
