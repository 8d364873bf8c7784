// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/locusd.h"

#include "locus/engine/locusd_cluster.h"
#include "src/open/engine.h"
#include "src/open/opened.h"
#include "src/open/store_uri.h"

namespace locus::internal {
namespace {

void Fill(const StoreUri& uri, std::string_view token, LocusdOptions& options) {
  options.endpoints = uri.Endpoints();
  options.tls.enabled = !uri.settings.empty();
  options.tls.ca_file = uri.Setting("tls_ca");
  options.token = token;
}

template <typename Opened, typename Store>
absl::StatusOr<Opened> Open(const StoreUri& uri, std::string_view token, bool) {
  LocusdOptions options;
  Wiped wiped(options.token);
  Fill(uri, token, options);
  return As<Opened>(Store::Open(options));
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenCounters(const StoreUri& uri, std::string_view token,
                                                        const SequencerOptions& of_counters,
                                                        std::shared_ptr<Sequencer>) {
  LocusdOptions options;
  Wiped wiped(options.token);
  Fill(uri, token, options);
  return As<std::unique_ptr<Sequencer>>(LocusdSequencer::Open(options, of_counters));
}

}  // namespace

extern const Openers kLocusdOpeners = {
    .segments = Open<std::shared_ptr<SegmentStore>, LocusdSegmentStore>,
    .leases = Open<std::shared_ptr<WorkerLeaseStore>, LocusdWorkerLeaseStore>,
    .counters = OpenCounters,
    .types = Open<std::unique_ptr<SequenceTypeStore>, LocusdSequenceTypeStore>,
    .strict = Open<std::shared_ptr<StrictStore>, LocusdStrictStore>,
    .members = Open<std::unique_ptr<LocusdCluster>, LocusdCluster>,
};

}  // namespace locus::internal
