// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_PLACE_OPEN_STORE_H_
#define LOCUS_APPS_LOCUS_PLACE_OPEN_STORE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "apps/locus/place/store_uri.h"
#include "locus/segment_store.h"
#include "locus/sequencer.h"

namespace locus {

// `create`: whether a missing store is created, and an older schema brought up to date. Errors of
// the engine, and of ReadPassword.
absl::StatusOr<std::shared_ptr<SegmentStore>> OpenStore(const StoreUri& uri, bool create);

// `ceiling`: the durable store of a CeilingSequencer; nullptr: none. NOT_FOUND: the store must be
// created first. INVALID_ARGUMENT: a ceiling for an engine that needs none, or on one that cannot
// hold it. Errors as above.
absl::StatusOr<std::unique_ptr<Sequencer>> OpenSequencer(const StoreUri& uri,
                                                         const StoreUri* ceiling,
                                                         const SequencerOptions& options);

}  // namespace locus

#endif  // LOCUS_APPS_LOCUS_PLACE_OPEN_STORE_H_
