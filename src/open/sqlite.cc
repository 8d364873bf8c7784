// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/sqlite.h"

#include "src/open/engine.h"
#include "src/open/opened.h"
#include "src/open/store_uri.h"

namespace locus::internal {
namespace {

template <typename Opened, typename Store>
absl::StatusOr<Opened> Open(const StoreUri& uri, std::string_view, bool create) {
  SqliteSegmentStore::Options options;
  options.create = create;
  return As<Opened>(Store::Open(uri.path, options));
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenCounters(const StoreUri& uri, std::string_view,
                                                        const SequencerOptions& options,
                                                        std::shared_ptr<Sequencer>) {
  return As<std::unique_ptr<Sequencer>>(SqliteSequencer::Open(uri.path, {}, options));
}

}  // namespace

extern const Openers kSqliteOpeners = {
    .segments = Open<std::shared_ptr<SegmentStore>, SqliteSegmentStore>,
    .leases = Open<std::shared_ptr<WorkerLeaseStore>, SqliteWorkerLeaseStore>,
    .counters = OpenCounters,
    .types = Open<std::unique_ptr<SequenceTypeStore>, SqliteSequenceTypeStore>,
    .strict = Open<std::shared_ptr<StrictStore>, SqliteStrictStore>,
};

}  // namespace locus::internal
