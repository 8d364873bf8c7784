// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_GUARD_SQL_H_
#define LOCUS_MIGRATION_FENCE_GUARD_SQL_H_

#include <string>
#include <string_view>

#include "locus/migration/fence.h"

namespace locus::internal {

// `name` between backticks.
std::string SqlName(std::string_view name);
// `text` as a literal of no meaning but its characters: CONVERT(X'...' USING utf8mb4).
std::string SqlText(std::string_view text);

// Gene and cohort of a row as SQL expressions. `row` is the prefix of the column: "NEW.", "OLD.",
// or nothing.
std::string GeneExpression(const GuardedTable& table, std::string_view row);
std::string CohortExpression(const GuardedTable& table, std::string_view row);

// The statement that makes the table locus_fence.
extern const char kCreateFence[];

// The map: which row of locus_fence each vnode has, so that guards read both by exact key and lock
// no gap. It has all 65,536 vnodes; NULL: no row.
extern const char kCreateVnodes[];
// Lets only sessions that keep the map change rows of locus_fence; such sessions run kKeepsMap.
// Earlier versions cut rows without it, and the map would then name a vnode's former row.
extern const char kProtectFence[];
extern const char kKeepsMap[];
// Points every vnode to the row of locus_fence that has it; the last one where rows overlap.
extern const char kMapVnodes[];

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_FENCE_GUARD_SQL_H_
