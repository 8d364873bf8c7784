// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/move/move_metrics.h"

#include "src/metrics/metrics.h"

namespace locus::cli {

using mysql::MoveProgress;
using mysql::RowProgress;

namespace {

// How far a copy or a comparison is.
void AddRows(metrics::MetricsText& text, const RowProgress::Sight& sight,
             const metrics::Gauge& rows, const metrics::Gauge& estimated,
             const metrics::Gauge& left, const metrics::MetricsText::Labels& labels) {
  text.Add(rows, sight.rows, labels);
  text.Add(estimated, sight.estimated, labels);
  text.Add(left, sight.left, labels);
}

}  // namespace

std::string MoveMetrics(const std::map<std::string, MoveProgress>& moves, absl::Time now) {
  metrics::MetricsText text;
  text.Add(metrics::locus_move_told_timestamp_seconds, now);
  text.Show(metrics::locus_move_acts);
  text.Show(metrics::locus_move_unbegun);
  for (const auto& [name, of] : moves) {
    const metrics::MetricsText::Labels labels = {{"move", name}};
    text.Add(metrics::locus_move_acts, of.acts, labels);
    text.Add(metrics::locus_move_unbegun, of.unbegun, labels);
    if (!of.looked) continue;  // nothing else is known yet
    text.Add(metrics::locus_move_held, of.held, labels);
    text.Add(metrics::locus_move_troubled, of.troubled, labels);
    text.Add(metrics::locus_move_over, of.over, labels);
    text.Add(metrics::locus_move_share_ratio, of.share / 1e4, labels);
    text.Add(metrics::locus_move_goal_ratio, of.goal / 1e4, labels);
    text.Add(metrics::locus_move_forth_lag_seconds, of.lag_forth, labels);
    text.Add(metrics::locus_move_back_lag_seconds, of.lag_back, labels);
    AddRows(text, of.copied, metrics::locus_move_copied_rows,
            metrics::locus_move_copied_estimated_rows, metrics::locus_move_copied_left_seconds,
            labels);
    AddRows(text, of.compared, metrics::locus_move_compared_rows,
            metrics::locus_move_compared_estimated_rows, metrics::locus_move_compared_left_seconds,
            labels);
    text.Add(metrics::locus_move_differences, of.differences, labels);
    text.Add(metrics::locus_move_state, 1, {{"move", name}, {"state", of.state}});
  }
  return text.ToString();
}

}  // namespace locus::cli
