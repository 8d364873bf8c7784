// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_APPLY_FENCE_CHANGES_H_
#define LOCUS_MIGRATION_APPLY_FENCE_CHANGES_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/migration/fence.h"
#include "migration/apply/peer_bands.h"
#include "migration/cut_over/handover.h"
#include "migration/mysql/target_session.h"
#include "migration/stream/change.h"

// Reads changes of one shard's fence from its log, and takes bands over on the other shard.

namespace locus::mysql {

inline constexpr char kFence[] = "locus_fence";

// The number in a column of a tool's table. FAILED_PRECONDITION: the row has none of that name.
absl::StatusOr<uint64_t> NaturalIn(const stream::Row& row, const stream::TableLayout& layout,
                                   std::string_view name);

// A change of a row of locus_fence. Rows outside of `ranges` do not count. A row that was inserted
// or changed: `bands` becomes its band; a changed one with a token also becomes an entry of
// `tokens`, by the index of the range. A row that is gone accepts nothing.
absl::Status NoteFence(const stream::Change& change, const std::vector<FencedRange>& ranges,
                       internal::Bands& bands, std::map<size_t, internal::BandFence>& tokens);

// Where the other shard gave up bands, this one, the `recipient`, takes them over
// (internal::TakeOver). Returns how many. Must be called after all writes that the other shard
// allowed, in their transaction or a later one. FAILED_PRECONDITION: locus_fence has no row of that
// range.
absl::StatusOr<uint64_t> TakeOverBands(TargetSession& session, internal::Side recipient,
                                       const std::vector<FencedRange>& ranges,
                                       const std::map<size_t, internal::BandFence>& tokens);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_APPLY_FENCE_CHANGES_H_
