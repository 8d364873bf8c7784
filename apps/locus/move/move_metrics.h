// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_MOVE_MOVE_METRICS_H_
#define LOCUS_APPS_LOCUS_MOVE_MOVE_METRICS_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "migration/run/move_runner.h"

namespace locus::cli {

// Moves by their names, as the text that Prometheus takes; `now` is told, so that an alert sees
// that nobody writes any more. Names begin with locus_move_.
std::string MoveMetrics(const std::map<std::string, mysql::MoveProgress>& moves, absl::Time now);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_MOVE_MOVE_METRICS_H_
