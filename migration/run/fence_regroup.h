// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_FENCE_REGROUP_H_
#define LOCUS_MIGRATION_RUN_FENCE_REGROUP_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "migration/fence/regroup.h"
#include "migration/run/shard_link.h"
#include "routing/fence/fence_row.h"

// Carries out the plans of migration/fence/regroup.h on a shard.

namespace locus::mysql {

// UNAVAILABLE: writers under way kept rows of the fence for longer than `patience`. `holders`: the
// text of LockHolders about them.
absl::Status KeptFence(const std::string& place, absl::Duration patience,
                       const std::string& holders = "");
// Put before a statement that waits for the writers of fence rows: all others queue behind it.
std::string Within(absl::Duration patience);
// Whether this error of the server means that writers kept a row for longer.
bool IsBusy(unsigned error);

// All rows of the fence as they are stored, ascending. A row may reach past the start of the next
// one, so callers that ask for a range use Apart, or OwnRows.
absl::StatusOr<std::vector<internal::FenceRow>> StoredFence(ShardLink& link);

// The row that a range has for itself: it begins and ends with the range, once rows are Apart.
struct OwnRow {
  internal::FenceRow row;
  uint32_t token_share = 0;  // 0 and 0: it has no token
  uint64_t token_nonce = 0;
  uint32_t server = 0;  // that answers
};
// One for each of these ranges, which ascend. FAILED_PRECONDITION: a range has none, for instance
// because a later move has used a part of it. `locking`: in a transaction, the rows that begin in
// the ranges, or just behind, stay as they are.
absl::StatusOr<std::vector<OwnRow>> OwnRows(ShardLink& link, const std::vector<FencedRange>& ranges,
                                            bool locking = false);

// Whether the fence has its whole map: it may be one of an earlier version, whose guards find rows
// by their ranges.
absl::StatusOr<bool> HasMap(ShardLink& link);
// Makes it where it is not so. Within RegroupAlone.
absl::Status MakeMap(ShardLink& link);

// How long writers are waited for.
struct RegroupPatience {
  // A writer of one vnode that is pointed to another row; writers of others do not wait meanwhile.
  // Also for the writers of a row of `made` that takes the place of a stored one.
  absl::Duration wait = absl::ZeroDuration();
  unsigned turn = 0;   // of several such vnodes, which is the first: another one at each call
  bool names = false;  // finds out which sessions kept them, on another connection
};
// Has one regroup of a shard at a time run `work`. UNAVAILABLE: another one is under way.
absl::Status RegroupAlone(ShardLink& link, const std::function<absl::Status()>& work);
// Within RegroupAlone. `check`: called in each transaction that changes the fence; its error ends
// the regroup. ABORTED: a row has changed since it was read. UNAVAILABLE: writers under way kept
// vnodes (`kept` becomes true), or there are more of them than one call points to new rows: the
// next call continues. FAILED_PRECONDITION: the map names a row that does not accept the same.
absl::Status RegroupFence(ShardLink& link, const internal::Regroup& regroup,
                          const std::function<absl::Status()>& check,
                          const RegroupPatience& patience, bool& kept);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_FENCE_REGROUP_H_
