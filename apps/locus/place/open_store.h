// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_PLACE_OPEN_STORE_H_
#define LOCUS_APPS_LOCUS_PLACE_OPEN_STORE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "locus/sequence_type_store.h"
#include "locus/sequencer.h"
#include "locus/strict_store.h"
#include "locus/typed_sequences.h"
#include "locus/worker_lease_store.h"
#include "src/open/store_uri.h"

// locus/open.h with the passwords of the command's environment.
namespace locus::cli {

using internal::StoreUri;

// `create`: whether a missing store is created, and an older schema brought up to date. Errors also
// of Password.
absl::StatusOr<std::shared_ptr<SegmentStore>> OpenStore(const StoreUri& uri, bool create);

absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenLeases(const StoreUri& uri, bool create);

// Sets of strict sequences. A NOT_FOUND says how the store is created.
absl::StatusOr<std::shared_ptr<StrictStore>> OpenStrict(const StoreUri& uri, bool create);

// `ceiling`: nullptr: none. A NOT_FOUND says how the store is created.
absl::StatusOr<std::unique_ptr<Sequencer>> OpenSequencer(const StoreUri& uri,
                                                         const StoreUri* ceiling,
                                                         const SequencerOptions& options);

// Marks the store, or that of the ceiling (MarkFirstStart). Creates its file or tables if they
// are missing.
absl::StatusOr<absl::Time> MarkFirstStart(const StoreUri& uri, const StoreUri* ceiling);

// The most that options of counters and of their types take.
inline constexpr uint64_t kHighestNumber = INT64_MAX;
inline constexpr absl::Duration kLongestTtl = absl::Hours(24 * 365 * 100);

// Sequence types. A NOT_FOUND says how the store is created.
absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenSequenceTypes(const StoreUri& uri,
                                                                     bool create);

// Counters by the names of their types. A NOT_FOUND says how the store is created.
absl::StatusOr<std::unique_ptr<TypedSequences>> OpenTypedSequences(const StoreUri& uri,
                                                                   const StoreUri* ceiling);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_PLACE_OPEN_STORE_H_
