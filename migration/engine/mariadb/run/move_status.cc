// SPDX-License-Identifier: Apache-2.0
// What a runner says of its move: the status that every command can read, and the samples of its
// history.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "migration/engine/mariadb/run/move_runner.h"
#include "src/base/check.h"

namespace locus::mariadb {

using internal::Decision;
using internal::Gate;
using internal::MoveSight;
using nlohmann::ordered_json;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kBeatPause{1};
constexpr std::chrono::seconds kSamplePause{2}, kRestingPause{30};

// -1: it stands still.
double LagOf(const internal::StreamSight& stream) {
  return stream.lag == absl::InfiniteDuration() ? -1 : absl::ToDoubleMilliseconds(stream.lag);
}

double Quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<size_t>(part * static_cast<double>(values.size())))];
}

}  // namespace

// Why what is copied, compared or deleted does not go on.
std::string MoveRunner::TasksWait() const {
  for (const Task* task : {&copy_, &compare_, &clean_}) {
    if (!task->worker) continue;
    const TaskWorker::Sight seen = task->worker->sight();
    if (!seen.done && !seen.waiting.empty()) return absl::StrCat(" (", seen.waiting, ")");
  }
  return "";
}

std::string MoveRunner::StatusJson(const MoveSight& sight, const Decision& decision) {
  ordered_json gates = ordered_json::array();
  for (const Gate& gate : sight.gates) {
    gates.push_back({{"name", gate.name},
                     {"threshold", gate.threshold},
                     {"value", gate.value},
                     {"ok", gate.ok}});
  }
  auto stream = [&](const Direction& direction, const internal::StreamSight& seen) {
    ordered_json json = {{"lag_ms", LagOf(seen)}, {"passed", seen.passed}};
    if (!direction.worker) return json;
    const StreamWorker::Sight worker = direction.worker->sight();
    json["transactions"] = worker.counts.transactions;
    json["rows_written"] = worker.counts.written;
    json["rows_skipped"] = worker.counts.skipped;
    json["rogue"] = worker.counts.rogue;
    if (!worker.waiting.empty()) json["waiting"] = worker.waiting;
    if (!seen.broken.empty()) json["broken"] = seen.broken;
    if (seen.mend != internal::StreamSight::Mend::kFindings) {
      json["mend"] = std::string(ToString(seen.mend));
    }
    return json;
  };
  ordered_json json = {
      {"state", StateName(sight)},
      {"share", sight.fences.share},
      {"step", sight.step},
      {"goal", sight.wish.goal},
      {"waiting_for", trouble_.empty() ? absl::StrCat(decision.why, TasksWait()) : trouble_},
      {"next", NextCommand(sight)},
      {"forth", stream(forth_, sight.forth)},
      {"back", stream(back_, sight.back)},
      {"copied",
       {{"rows", copied_.rows.load()},
        {"estimated", copied_.estimated.load()},
        {"rows_per_second", copied_.rows_per_second.load()}}},
      {"compared",
       {{"rows", compared_.rows.load()},
        {"slices", compared_.slices.load()},
        {"differences", compared_.differences.load()},
        {"done", sight.compared}}},
      {"deleted", {{"rows", cleaned_rows_.load()}}},
      {"band_waits_ms",
       {{"steps", waits_ms_.size()},
        {"p50", Quantile(waits_ms_, 0.5)},
        {"p99", Quantile(waits_ms_, 0.99)},
        {"max", Quantile(waits_ms_, 1)}}},
      {"gates", gates},
  };
  if (!sight.unguarded.empty()) json["unguarded"] = sight.unguarded;
  if (!sight.differs.empty()) json["differs"] = sight.differs;
  if (sight.published) {
    json["published"] = {{"share", sight.published->share}, {"step", sight.published->step}};
  }
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

MoveProgress MoveRunner::Progress() const {
  internal::MutexLock lock(progress_mutex_);
  return progress_;
}

void MoveRunner::Tell(bool acts) {
  MoveProgress now;
  now.acts = acts;
  now.unbegun = unbegun_;
  now.looked = record_.run != 0;
  now.troubled = acts && !trouble_.empty();
  now.held = !record_.wish.hold.empty();
  now.over = record_.phase == internal::Phase::kDone || record_.phase == internal::Phase::kAborted;
  MoveSight sight = last_sight_;
  sight.phase = record_.phase;
  now.state = StateName(sight);
  now.share = last_sight_.fences.share;
  now.goal = record_.wish.goal;
  now.lag_forth = last_sight_.forth.lag;
  now.lag_back = last_sight_.back.lag;
  now.copied_rows = copied_.rows;
  now.compared_rows = compared_.rows;
  now.differences = compared_.differences;
  internal::MutexLock lock(progress_mutex_);
  progress_ = std::move(now);
}

absl::Status MoveRunner::Beat(const MoveSight& sight, const Decision& decision) {
  const auto now = SteadyClock::now();
  const std::string state = StateName(sight);
  const bool changed = state != last_state_;
  if (!changed && now - beat_at_ < kBeatPause) return absl::OkStatus();
  LOCUS_RETURN_IF_ERROR(records_->Beat(move_.name, run_, StatusJson(sight, decision)));
  beat_at_ = now;
  last_state_ = state;
  // A move that waits for people may do so for months.
  const bool rests = sight.phase == internal::Phase::kPlanned ||
                     sight.phase == internal::Phase::kFinalized ||
                     (sight.phase == internal::Phase::kReady &&
                      sight.fences.kind == internal::Situation::Kind::kAgreed &&
                      (!sight.wish.hold.empty() || sight.wish.goal == sight.fences.share));
  if (!changed && now - sample_at_ < (rests ? kRestingPause : kSamplePause)) {
    return absl::OkStatus();
  }
  sample_at_ = now;
  const ordered_json sample = {
      {"state", state},
      {"share", sight.fences.share},
      {"forth_ms", LagOf(sight.forth)},
      {"back_ms", LagOf(sight.back)},
      {"copied", copied_.rows.load()},
      {"wait_ms", waits_ms_.empty() ? 0 : waits_ms_.back()},
  };
  return records_->Note(move_.name, "sample", sight.fences.share, sample.dump(), run_);
}

}  // namespace locus::mariadb
