// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_REGROUP_H_
#define LOCUS_MIGRATION_FENCE_REGROUP_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/migration/fence.h"
#include "routing/fence/fence_row.h"

// A regroup gives vnodes another row of the fence while clients write: the new row is made with the
// state of the old one, then the vnodes are pointed to it. Both rows accept the same, so it may
// stop anywhere. At its end every write of these vnodes under way holds the new row.
//
// Only these vnodes change. Others keep the row that they have, also where a row that begins before
// them is cut: of two rows that cover a vnode, the one that begins last says where it belongs, and
// locus_vnode may name the earlier one as long as both accept the same.

namespace locus::internal {

// The same rows without overlaps: a row ends before the next begins.
std::vector<FenceRow> Apart(std::vector<FenceRow> rows);

// Which rows of a fence give way so that each range has a row of its own.
struct Recut {
  std::vector<FenceRow> removed;
  // For vnodes beside the ranges: parts of removed rows.
  std::vector<FenceRow> inserted;
  uint64_t step = 0;  // the highest of the removed rows

  friend bool operator==(const Recut&, const Recut&) = default;
};
// `rows`: of one fence, ascending, apart. FAILED_PRECONDITION: where `owned`, a row over a range
// does not accept all cohorts, or none covers a vnode of it; otherwise, a row accepts some.
absl::StatusOr<Recut> RecutOf(const std::vector<FenceRow>& rows,
                              const std::vector<FencedRange>& ranges, bool owned);

struct Regroup {
  std::vector<FenceRow> stored;   // what StoredFence returned
  std::vector<FenceRow> removed;  // of Apart(stored): these give way
  std::vector<FenceRow> made;     // to these, which accept the same of their vnodes
  std::vector<FenceRow> rest;     // and these, to which no vnode need be pointed yet
};

// Whether a vnode may be pointed from one row, nullptr: from none, to another one.
bool AcceptSame(const FenceRow* from, const FenceRow& to);

// The work of a regroup, from rows as they were read. Each part is one transaction or more: 1. The
// rows that give way are locked as writers lock them, and are as they were read; Inserted(). 2.
// Each of WrongPointers(): both rows are locked so, AcceptSame, and the vnode is changed. Until
//    none is left.
// 3. Ends().
class RegroupPlan {
 public:
  explicit RegroupPlan(const Regroup& regroup);

  std::vector<FenceRow> Inserted() const;

  // Neighbouring vnodes that are to be pointed from one row to another; nullopt: from none.
  struct Pointing {
    uint32_t first = 0;
    uint32_t last = 0;
    std::optional<uint32_t> from;
    uint32_t to = 0;
  };
  // `map`: of each vnode, the `lo` of its row. FAILED_PRECONDITION: it names a row that does not
  // accept the same.
  absl::StatusOr<std::vector<Pointing>> WrongPointers(
      const std::vector<std::optional<uint32_t>>& map) const;

  struct End {
    FenceRow row;                     // as it is stored
    std::optional<FenceRow> becomes;  // nullopt: it is deleted
    bool may_stay = false;            // it only has to end earlier
  };
  std::vector<End> Ends() const;

 private:
  using ByLo = std::map<uint32_t, FenceRow>;
  static ByLo MapOf(const std::vector<FenceRow>& rows);
  // Whether the vnodes of others must leave this stored row.
  bool IsTaken(uint32_t lo) const { return made_.contains(lo) || !after_.contains(lo); }

  const ByLo stored_, made_;
  ByLo after_;  // apart
};

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_FENCE_REGROUP_H_
