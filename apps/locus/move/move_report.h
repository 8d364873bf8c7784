// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_MOVE_MOVE_REPORT_H_
#define LOCUS_APPS_LOCUS_MOVE_MOVE_REPORT_H_

#include <string>
#include <vector>

#include "locus/migration/move.h"
#include "migration/run/move_records.h"

namespace locus::cli {

// A move, and what its source noted of it, the oldest first.
struct MoveHistory {
  Move move;
  std::vector<mysql::MoveEvent> events;
};

// A line an event, without the samples.
std::string ReportText(const std::vector<MoveHistory>& histories);

// A picture over time: for each move the share of the target, the lags of both streams, what each
// band waited, and marks where it held or went back.
std::string ReportSvg(const std::vector<MoveHistory>& histories);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_MOVE_MOVE_REPORT_H_
