// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_ENGINE_MARIADB_RUN_FENCE_REGROUP_H_
#define LOCUS_MIGRATION_ENGINE_MARIADB_RUN_FENCE_REGROUP_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "migration/engine/mariadb/run/shard_link.h"
#include "routing/fence/fence_row.h"

// A regroup gives vnodes another row of the fence while clients write: the new row is made with the
// state of the old one, then the vnodes are pointed to it in small batches, each within a bounded
// time. Both rows accept the same, so it may stop anywhere: until its end, rows may overlap. At its
// end every write under way holds the row that its vnode then has.

namespace locus::mariadb {

// UNAVAILABLE: writers under way kept rows of the fence for longer than `patience`.
absl::Status KeptFence(const std::string& place, absl::Duration patience);
// Put before a statement that waits for the writers of fence rows: all others queue behind it.
std::string Within(absl::Duration patience);
// Whether this error of the server means that writers kept a row for longer.
bool IsBusy(unsigned error);

// All rows of the fence as they are stored, ascending.
absl::StatusOr<std::vector<internal::FenceRow>> StoredFence(ShardLink& link);
// The same rows without overlaps: where a regroup has stopped, a row ends before the next begins.
std::vector<internal::FenceRow> Apart(std::vector<internal::FenceRow> rows);

struct Regroup {
  std::vector<internal::FenceRow> stored;   // what StoredFence returned
  std::vector<internal::FenceRow> removed;  // of Apart(stored): these give way
  std::vector<internal::FenceRow> made;     // to these, which accept the same of their vnodes
};
// Has one regroup of a shard at a time run `work`. UNAVAILABLE: another one is under way.
absl::Status RegroupAlone(ShardLink& link, const std::function<absl::Status()>& work);
// Within RegroupAlone. `check`: called in each transaction that changes the fence; its error ends
// the regroup. ABORTED: a row has changed since it was read. UNAVAILABLE: writers under way kept a
// row for longer than `patience`, or there are more vnodes than one call points to new rows: the
// next call goes on. FAILED_PRECONDITION: the map names a row that does not accept the same.
absl::Status RegroupFence(ShardLink& link, const Regroup& regroup,
                          const std::function<absl::Status()>& check, absl::Duration patience);

}  // namespace locus::mariadb

#endif  // LOCUS_MIGRATION_ENGINE_MARIADB_RUN_FENCE_REGROUP_H_
