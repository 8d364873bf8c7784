// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_PREFLIGHT_PREFLIGHT_H_
#define LOCUS_MIGRATION_PREFLIGHT_PREFLIGHT_H_

#include <string>
#include <vector>

#include "locus/engine/mysql.h"
#include "locus/migration/move.h"
#include "migration/preflight/facts.h"

namespace locus::mysql {

struct PreflightOptions {
  Move move;
  MovePace pace;
  std::vector<std::string> administrators;  // accounts that may keep dangerous rights
  // Replicas that a failover may promote; one host each.
  std::vector<MysqlOptions> source_candidates, target_candidates;
};

// Reads the facts for preflight::Judge, by the mover's account. Changes nothing. Each server has
// the timeouts of its options; a question without an answer is a fact that could not be read. Looks
// for rows of the moving vnodes on the target, and for up to 1,000 values of each unique key that
// may collide.
preflight::Facts CollectFacts(const PreflightOptions& options);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_PREFLIGHT_PREFLIGHT_H_
