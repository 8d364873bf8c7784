// SPDX-License-Identifier: Apache-2.0
// The reports of a runner: the status that every command can read, and the samples of the history.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "migration/run/move_runner.h"
#include "src/base/os/check.h"

namespace locus::mysql {

using internal::Decision;
using internal::Gate;
using internal::MoveSight;
using nlohmann::ordered_json;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kBeatPause{1};
constexpr std::chrono::seconds kSamplePause{2}, kRestingPause{30};

// -1: it does not move.
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

// Why the move waits; empty: it does not, or has not begun.
std::string MoveRunner::WhyWaits(const Task& task) const {
  if (!task.worker) return "";
  const TaskWorker::Sight seen = task.worker->sight();
  return seen.done ? "" : seen.waiting;
}

std::string MoveRunner::TasksWait() const {
  for (const Task* task : {&copy_, &compare_, &clean_}) {
    const std::string why = WhyWaits(*task);
    if (!why.empty()) return absl::StrCat(" (", why, ")");
  }
  return "";
}

// Also for a worker without an error, for instance while the shard's commits wait for space.
std::string MoveRunner::WhyWaits(const Task& task, const RowProgress::Sight& seen) const {
  std::string why = WhyWaits(task);
  if (!why.empty() || !task.worker || task.worker->sight().done || !seen.stands_still()) return why;
  return absl::StrCat("no row for ",
                      absl::FormatDuration(absl::Floor(seen.idle, absl::Seconds(1))));
}

RowProgress::Sight MoveRunner::SightOf(const RowProgress& progress, const Task& task) const {
  RowProgress::Sight sight = progress.At(SteadyClock::now());
  const bool waits = !record_.wish.hold.empty() || !trouble_.empty() || !WhyWaits(task).empty();
  if (waits || !task.worker) sight.left = absl::InfiniteDuration();
  return sight;
}

MoveRunner::Kept MoveRunner::WaitsNow() const {
  if (kept_) return *kept_;
  const auto now = SteadyClock::now();
  auto since = [&](TimePoint begun) { return absl::FromChrono(now - begun); };
  return {seen_step_,
          seen_serial_,
          seen_share_,
          taken_back_,
          since(share_since_),
          since(gates_ok_at_) + kept_gates_fail_,
          busy_since_ == TimePoint() ? absl::ZeroDuration() : since(busy_since_)};
}

// Ages, not times: a move without a runner is not watched, and clocks of servers differ. The age of
// a token starts again from 0, because the streams that bring it start again.
void MoveRunner::TakeWaits() {
  kept_.reset();
  kept_gates_fail_ = absl::ZeroDuration();
  const ordered_json status = ordered_json::parse(record_.status, nullptr, false);
  if (!status.is_object()) return;
  auto number = [&](const char* path) -> uint64_t {
    const ordered_json::json_pointer at(path);
    if (!status.contains(at) || !status.at(at).is_number_unsigned()) return 0;
    return status.at(at).get<uint64_t>();
  };
  auto age = [&](const char* path) {
    return std::min(absl::Milliseconds(std::min<uint64_t>(number(path), INT64_MAX)),
                    absl::Hours(24 * 365));
  };
  if (record_.phase == internal::Phase::kCopying) {
    copied_.Begin(number("/copied/rows"), number("/copied/estimated"), SteadyClock::now());
  }
  if (!status.contains("waits")) return;
  Kept kept;
  kept.step = number("/waits/step");
  kept.serial = number("/waits/serial");
  kept.share = static_cast<uint32_t>(std::min<uint64_t>(number("/waits/share"), UINT32_MAX));
  kept.taken_back =
      static_cast<uint32_t>(std::min<uint64_t>(number("/waits/taken_back"), UINT32_MAX));
  kept.at_share = age("/waits/at_share_ms");
  kept.gates_fail = age("/waits/gates_fail_ms");
  kept.busy = age("/waits/busy_ms");
  kept_ = kept;
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
  auto progress = [&](const RowProgress& of, const Task& task) {
    const RowProgress::Sight seen = SightOf(of, task);
    const bool known = seen.left != absl::InfiniteDuration();
    return ordered_json{{"rows", seen.rows},
                        {"estimated", seen.estimated},
                        {"rows_per_second", seen.rows_per_second},
                        {"left_s", known ? absl::ToInt64Seconds(seen.left) : -1},
                        {"waiting", WhyWaits(task, seen)}};
  };
  ordered_json compared = progress(compared_.progress, compare_);
  compared["slices"] = compared_.slices.load();
  compared["differences"] = compared_.differences.load();
  compared["done"] = sight.compared;
  const Kept waits = WaitsNow();
  auto milliseconds = [](absl::Duration age) {
    return static_cast<uint64_t>(std::max<int64_t>(0, absl::ToInt64Milliseconds(age)));
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
      {"copied", progress(copied_, copy_)},
      {"compared", compared},
      {"deleted", {{"rows", cleaned_rows_.load()}}},
      {"band_waits_ms",
       {{"steps", waits_ms_.size()},
        {"p50", Quantile(waits_ms_, 0.5)},
        {"p99", Quantile(waits_ms_, 0.99)},
        {"max", Quantile(waits_ms_, 1)}}},
      {"gates", gates},
      {"waits",
       {{"step", waits.step},
        {"serial", waits.serial},
        {"share", waits.share},
        {"taken_back", waits.taken_back},
        {"at_share_ms", milliseconds(waits.at_share)},
        {"gates_fail_ms", milliseconds(waits.gates_fail)},
        {"busy_ms", milliseconds(waits.busy)}}},
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
  now.copied = SightOf(copied_, copy_);
  now.compared = SightOf(compared_.progress, compare_);
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
  // A move may wait for an operator for months.
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
      {"copied", copied_.At(now).rows},
      {"wait_ms", waits_ms_.empty() ? 0 : waits_ms_.back()},
  };
  return records_->Note(move_.name, "sample", sight.fences.share, sample.dump(), run_);
}

}  // namespace locus::mysql
