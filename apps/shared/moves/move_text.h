// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_SHARED_MOVES_MOVE_TEXT_H_
#define LOCUS_APPS_SHARED_MOVES_MOVE_TEXT_H_

#include <string>

#include "locus/migration/move.h"
#include "locus/routing/text_style.h"
#include "migration/move/table_steps.h"
#include "migration/run/move_control.h"

namespace locus::apps {

// What `locus move status` shows of one move. `file` is the move file, for the next command.
std::string StatusText(const Move& move, const mysql::MoveView& view,
                       const internal::TableSight& table, const std::string& file, TextStyle style);
std::string StatusJson(const Move& move, const mysql::MoveView& view,
                       const internal::TableSight& table, const std::string& file);

// What the move's state means, what the runner does in it, and what an operator may ask for.
std::string ExplainText(const Move& move, const mysql::MoveView& view);

// "0-99, 200-299 (200 vnodes)".
std::string VnodesText(const std::vector<FencedRange>& ranges);

}  // namespace locus::apps

#endif  // LOCUS_APPS_SHARED_MOVES_MOVE_TEXT_H_
