// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/open_store.h"

#include "absl/strings/str_cat.h"
#include "locus/engine/sqlite.h"
#include "src/check.h"

namespace locus {

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenStore(const StoreUri& uri, bool create) {
  SqliteSegmentStore::Options options;
  options.create = create;
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<SegmentStore> store,
                         SqliteSegmentStore::Open(uri.path, options));
  return store;
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenSequencer(const StoreUri& uri,
                                                         const StoreUri* ceiling,
                                                         const SequencerOptions& options) {
  if (ceiling != nullptr) {
    return absl::InvalidArgumentError(
        "--ceiling is for a --store of redis: the other engines keep their numbers themselves");
  }
  absl::StatusOr<std::unique_ptr<Sequencer>> sequencer =
      SqliteSequencer::Open(uri.path, {}, options);
  if (!absl::IsNotFound(sequencer.status())) return sequencer;
  return absl::NotFoundError(absl::StrCat(sequencer.status().message(),
                                          "; `locus store init sqlite:", uri.path, "` makes one"));
}

}  // namespace locus
