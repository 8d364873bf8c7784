// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_GUARD_DROP_H_
#define LOCUS_MIGRATION_FENCE_GUARD_DROP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "locus/routing/routing_table.h"
#include "migration/cut_over/coordinator.h"

// Whether the guards of a shard may be dropped. Without them the shard accepts every write of a
// client that has an old routing table and does not read the fence before each.

namespace locus::internal {

struct GuardDropFacts {
  // A shard's record of a move of which it is the source.
  struct RememberedMove {
    std::string name;
    Phase phase = Phase::kPlanned;
    uint32_t source = 0, target = 0;
  };
  uint32_t shard = 0;                 // whose guards
  std::vector<RememberedMove> moves;  // of all shards
  // Why a shard could not be asked, or a record not be read.
  std::vector<std::string> unheard;
  std::optional<absl::Time> published;  // when the table in force was; nullopt: unknown
};

// Every reason against it; empty: none. `grace`: how long ago the table in force must have been
// published, by then no client may have an older one; zero: at any time.
std::vector<std::string> ReasonsToKeepGuards(const RoutingTable& table, const GuardDropFacts& facts,
                                             absl::Duration grace, absl::Time now);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_FENCE_GUARD_DROP_H_
