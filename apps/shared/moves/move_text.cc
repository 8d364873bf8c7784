// SPDX-License-Identifier: Apache-2.0
#include "apps/shared/moves/move_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "routing/table/ring_runs.h"
#include "src/base/text/text.h"

namespace locus::apps {

using internal::BandFence;
using internal::Phase;
using internal::TableSight;
using internal::ToAbsl;
using internal::WithThousands;
using mysql::MoveView;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr uint32_t kWhole = 10000;
constexpr size_t kBarCells = 40;
// Of a runner; then its figures are old.
constexpr absl::Duration kSilent = absl::Seconds(10);

// The runner's figures; empty where it has told none, or what it told cannot be read.
json FiguresOf(const MoveView& view) {
  if (!view.record) return json::object();
  json figures = json::parse(view.record->status, nullptr, false);
  return figures.is_object() ? figures : json::object();
}

// A number at a path of the figures; `missing` where there is none.
double NumberAt(const json& figures, const std::string& path, double missing) {
  const json::json_pointer at(path);
  if (!figures.contains(at) || !figures.at(at).is_number()) return missing;
  return figures.at(at).get<double>();
}
std::string TextAt(const json& figures, const std::string& path) {
  const json::json_pointer at(path);
  if (!figures.contains(at) || !figures.at(at).is_string()) return "";
  return internal::Printable(figures.at(at).get<std::string>());
}

uint64_t Whole(double number) { return static_cast<uint64_t>(std::max(number, 0.0)); }

// The cohorts that a shard accepts, as a bar of the ring of cohorts.
std::string Bar(const BandFence& band, TextStyle style) {
  std::string bar;
  for (size_t i = 0; i < kBarCells; ++i) {
    const uint64_t cohort = (2 * i + 1) * kWhole / (2 * kBarCells);
    const bool own = cohort >= band.own_lo && cohort < band.own_hi;
    bar += style.utf8 ? (own ? "█" : "░") : (own ? "#" : ".");
  }
  return bar;
}

std::string BandLine(const std::string& name, const std::optional<BandFence>& band,
                     const std::string& trouble, size_t width, TextStyle style) {
  std::string line = absl::StrFormat("  %-*s ", static_cast<int>(width), name);
  if (!band) return absl::StrCat(line, trouble.empty() ? "no fence yet" : trouble, "\n");
  const uint32_t own = band->own_hi > band->own_lo ? band->own_hi - band->own_lo : 0;
  return absl::StrCat(line, Bar(*band, style),
                      absl::StrFormat(" %6.2f %%  step %d\n", own / 100.0, band->step));
}

std::string Milliseconds(double value, bool over) {
  if (value >= 0) return absl::StrFormat("%.0f ms", value);
  return over ? "ended" : "stands still";
}

void AppendLine(std::string& out, absl::string_view term, absl::string_view text) {
  absl::StrAppend(&out, absl::StrFormat("  %-9s ", term), text, "\n");
}

void AppendSpace(std::string& out, const std::string& shard, int64_t waiting) {
  if (waiting == 0) return;
  AppendLine(out, "DISK FULL",
             absl::StrCat(shard, ": ", waiting,
                          " sessions wait for space to commit; make room on that server, and all "
                          "goes on by itself within a minute"));
}

// Why nothing is known of when it ends; empty: because it has just begun.
std::string WhyNoEnd(const MoveView& view, const json& task) {
  if (view.record->silent > kSilent) return "no runner";
  if (view.source_waits_for_space + view.target_waits_for_space > 0) return "a disk is full";
  if (std::string why = TextAt(task, "/waiting"); !why.empty()) return why;
  return view.record->wish.hold.empty() ? "" : "held";
}

// Rows of about so many, how fast, and how long it still takes. `task`: a member of the figures.
std::string ProgressText(const MoveView& view, const json& task) {
  const double rows = NumberAt(task, "/rows", 0), all = NumberAt(task, "/estimated", 0);
  std::string text = absl::StrCat(WithThousands(Whole(rows)), " rows");
  if (all > 0) {
    absl::StrAppend(&text, " of about ", WithThousands(Whole(all)),
                    absl::StrFormat(" (%.0f %%)", std::min(100.0, 100 * rows / all)));
  }
  const std::string why = WhyNoEnd(view, task);
  if (!why.empty()) return absl::StrCat(text, ", waits: ", why);
  const double rate = NumberAt(task, "/rows_per_second", 0);
  if (rate <= 0) return text;
  absl::StrAppend(&text, ", ", WithThousands(Whole(rate)), " rows/s");
  const double left = NumberAt(task, "/left_s", -1);
  if (left >= 0) {
    absl::StrAppend(&text, ", ", absl::FormatDuration(absl::Seconds(Whole(left))), " left");
  }
  return text;
}

json TaskIn(const json& figures, const char* name) {
  const auto task = figures.find(name);
  return task != figures.end() && task->is_object() ? *task : json::object();
}

// The server's estimate of the rows may be twice what there was, so that it is left out afterwards.
// A runner counts what it copied itself: where it copied nothing, an earlier one did.
std::string CopiedText(const MoveView& view, const json& figures) {
  const json copied = TaskIn(figures, "copied");
  if (view.record->phase <= Phase::kCopying) return ProgressText(view, copied);
  const double rows = NumberAt(copied, "/rows", 0);
  return rows == 0 ? "all rows" : absl::StrCat(WithThousands(Whole(rows)), " rows");
}

std::string ComparedText(const MoveView& view, const json& figures) {
  const json compared = TaskIn(figures, "compared");
  const bool under_way =
      (view.record->phase == Phase::kVerifying || view.record->phase == Phase::kFinalizing) &&
      compared.value("done", json(false)) != json(true);
  return absl::StrCat(
      under_way ? ProgressText(view, compared)
                : absl::StrCat(WithThousands(Whole(NumberAt(compared, "/rows", 0))), " rows"),
      ", ", WithThousands(Whole(NumberAt(compared, "/differences", 0))), " differences");
}

std::string TableText(const TableSight& table) {
  switch (table.kind) {
    case TableSight::Kind::kUnderWay:
      return absl::StrCat("share ", table.share, " at step ", table.step);
    case TableSight::Kind::kEnded:
      return "the target owns the vnodes";
    case TableSight::Kind::kAbsent:
      return "the source owns the vnodes; the move is not in the table";
    case TableSight::Kind::kOther:
      break;
  }
  return "something else than this move: look at `locus table history`";
}

std::string NextText(const MoveView& view, const std::string& file) {
  if (view.lost_record()) {
    return "restore locus_move of the source from a backup: it has lost the record of this move";
  }
  if (!view.record)
    return absl::StrCat("locus move preflight ", file, ", then locus move start ", file);
  if (!view.other_tables.empty()) {
    return absl::StrCat("put the [[tables]] of ", file, " back as they were");
  }
  if (view.source_waits_for_space > 0 || view.target_waits_for_space > 0) {
    return "make room on the server that is named above";
  }
  internal::MoveSight sight;
  sight.phase = view.record->phase;
  sight.wish = view.record->wish;
  sight.fences = view.fences;
  const json figures = FiguresOf(view);
  sight.forth.broken = TextAt(figures, "/forth/broken");
  sight.back.broken = TextAt(figures, "/back/broken");
  sight.forth.mend = internal::MendNamed(TextAt(figures, "/forth/mend"));
  sight.back.mend = internal::MendNamed(TextAt(figures, "/back/mend"));
  sight.unguarded = TextAt(figures, "/unguarded");
  auto standing = [&](internal::StreamSight& stream, const std::string& path) {
    stream.waiting = TextAt(figures, path + "/waiting");
    // -1: it stands still.
    if (NumberAt(figures, path + "/lag_ms", 0) >= 0) stream.lag = absl::ZeroDuration();
  };
  standing(sight.forth, "/forth");
  standing(sight.back, "/back");
  const std::string command = NextCommand(sight);
  if (view.record->silent > kSilent && sight.phase < Phase::kDone) {
    return absl::StrCat("locus move run ", file);
  }
  if (sight.phase == Phase::kDone || sight.phase == Phase::kAborted) return "nothing: it is over";
  if (!command.empty()) return absl::StrCat("locus move ", command, " ", file);
  const std::string stands = internal::StreamThatStands(sight);
  return stands.empty() ? "wait" : absl::StrCat("wait for ", stands);
}

std::string StateOf(const MoveView& view) {
  if (view.lost_record()) return absl::StrCat("LOST at share ", view.fences.share);
  if (!view.record) return "not begun";
  // Where a shard does not answer, a share would be a guess.
  if (view.record->phase >= Phase::kPrepared && view.record->phase < Phase::kFinalized &&
      !view.has_share()) {
    return absl::StrCat(ToAbsl(ToString(view.record->phase)),
                        view.record->wish.hold.empty() ? "" : ", held", ", share not known");
  }
  internal::MoveSight sight;
  sight.phase = view.record->phase;
  sight.wish = view.record->wish;
  sight.fences = view.fences;
  return StateName(sight);
}

void AppendFigures(std::string& out, const MoveView& view) {
  const json figures = FiguresOf(view);
  if (figures.empty()) return;
  const bool ended = view.record->phase > Phase::kCopying;
  // A runner that began behind the copy knows nothing of it.
  if (!ended || NumberAt(figures, "/copied/rows", 0) > 0) {
    AppendLine(out, "copied", CopiedText(view, figures));
  }
  const bool over = view.record->phase >= Phase::kFinalized;
  AppendLine(out, "lag",
             absl::StrCat(
                 "from the source ", Milliseconds(NumberAt(figures, "/forth/lag_ms", -1), over),
                 ", from the target ", Milliseconds(NumberAt(figures, "/back/lag_ms", -1), over)));
  AppendLine(out, "compared", ComparedText(view, figures));
  if (const double deleted = NumberAt(figures, "/deleted/rows", 0); deleted > 0) {
    AppendLine(out, "deleted", absl::StrCat(WithThousands(Whole(deleted)), " rows"));
  }
  AppendLine(out, "rogue",
             absl::StrCat(Whole(NumberAt(figures, "/forth/rogue", 0)) +
                              Whole(NumberAt(figures, "/back/rogue", 0)),
                          " writes past the guards"));
  AppendLine(out, "waits",
             absl::StrFormat("of %d steps: p50 %.0f ms, p99 %.0f ms, max %.0f ms",
                             Whole(NumberAt(figures, "/band_waits_ms/steps", 0)),
                             NumberAt(figures, "/band_waits_ms/p50", 0),
                             NumberAt(figures, "/band_waits_ms/p99", 0),
                             NumberAt(figures, "/band_waits_ms/max", 0)));
  if (figures.contains("gates") && figures["gates"].is_array()) {
    const char* term = "gates";
    for (const json& gate : figures["gates"]) {
      const bool ok = gate.is_object() && gate.value("ok", json(false)) == json(true);
      AppendLine(out, term,
                 absl::StrCat(ok ? "ok     " : "CLOSED ", TextAt(gate, "/name"), ": ",
                              TextAt(gate, "/value"), " (", TextAt(gate, "/threshold"), ")"));
      term = "";
    }
  }
  // Just after the runner has entered a state, the figures are still those of the state before.
  if (TextAt(figures, "/state") != StateOf(view)) return;
  for (const char* stream : {"/forth", "/back"}) {
    const std::string why = TextAt(figures, absl::StrCat(stream, "/waiting"));
    if (!why.empty()) AppendLine(out, "stream", why);
  }
  if (std::string why = TextAt(figures, "/waiting_for"); !why.empty()) {
    AppendLine(out, "waits for", why);
  }
}

}  // namespace

std::string VnodesText(const std::vector<FencedRange>& ranges) {
  uint64_t vnodes = 0;
  std::vector<std::string> texts;
  for (const FencedRange& range : ranges) {
    vnodes += range.hi - range.lo + 1;
    if (texts.size() < 8) texts.push_back(absl::StrCat(range.lo, "-", range.hi));
  }
  if (ranges.size() > texts.size()) texts.push_back("...");
  return absl::StrCat(absl::StrJoin(texts, ", "), " (", WithThousands(vnodes), " vnodes)");
}

std::string StatusText(const Move& move, const MoveView& view, const TableSight& table,
                       const std::string& file, TextStyle style) {
  std::string out =
      absl::StrCat("move ", move.name, ": ", move.source.name, style.utf8 ? " → " : " -> ",
                   move.target.name, ", vnodes ", VnodesText(move.ranges), "\n");
  std::string state = StateOf(view);
  if (view.record) {
    const internal::Wish& wish = view.record->wish;
    absl::StrAppend(&state, ", goal ", wish.goal, " by ", wish.by, ", dwell ",
                    absl::FormatDuration(wish.dwell));
    if (wish.ending != internal::Ending::kNone) {
      absl::StrAppend(&state, ", then ", ToAbsl(ToString(wish.ending)));
    }
    if (wish.repair.any()) {
      absl::StrAppend(&state, ", repair of ", internal::RepairText(wish.repair));
    }
  }
  AppendLine(out, "state", state);
  if (view.record && !view.record->wish.hold.empty()) {
    AppendLine(out, "HELD", internal::Printable(view.record->wish.hold));
  }
  const size_t width = std::max(move.source.name.size(), move.target.name.size());
  out += BandLine(move.source.name, view.source, view.source_trouble, width, style);
  out += BandLine(move.target.name, view.target, view.target_trouble, width, style);
  AppendSpace(out, move.source.name, view.source_waits_for_space);
  AppendSpace(out, move.target.name, view.target_waits_for_space);
  AppendLine(out, "table", TableText(table));
  if (!view.other_tables.empty()) {
    AppendLine(out, "FILE", internal::Printable(view.other_tables));
  }
  AppendFigures(out, view);
  if (view.record) {
    const absl::Duration silent = view.record->silent;
    AppendLine(
        out, "runner",
        silent > kSilent
            ? std::string("none; what stands above may be old")
            : absl::StrCat(internal::Printable(view.record->runner), ", ",
                           absl::FormatDuration(absl::Floor(silent, absl::Milliseconds(100))),
                           " ago"));
  }
  AppendLine(out, "next", NextText(view, file));
  return out;
}

std::string StatusJson(const Move& move, const MoveView& view, const TableSight& table,
                       const std::string& file) {
  auto band = [](const std::optional<BandFence>& row, const std::string& trouble) {
    if (!row) return ordered_json{{"trouble", trouble}};
    return ordered_json{{"own_lo", row->own_lo}, {"own_hi", row->own_hi}, {"step", row->step}};
  };
  const std::string next = NextText(view, file);
  ordered_json vnodes = ordered_json::array();
  for (const FencedRange& range : move.ranges) vnodes.push_back({range.lo, range.hi});
  ordered_json result = {
      {"move", move.name},
      {"state", StateOf(view)},
      {"vnodes", vnodes},
      {"source",
       {{"id", move.source.id},
        {"name", move.source.name},
        {"fence", band(view.source, view.source_trouble)},
        {"waits_for_space", view.source_waits_for_space}}},
      {"target",
       {{"id", move.target.id},
        {"name", move.target.name},
        {"fence", band(view.target, view.target_trouble)},
        {"waits_for_space", view.target_waits_for_space}}},
      {"share", view.has_share() || view.standing().phase < Phase::kPrepared
                    ? ordered_json(view.fences.share)
                    : nullptr},
      {"table", TableText(table)},
      {"next", next},
      {"next_is_command", next.starts_with("locus ")},
      {"other_tables", view.other_tables},
  };
  if (view.record) {
    const internal::Wish& wish = view.record->wish;
    result["phase"] = std::string(ToString(view.record->phase));
    result["wish"] = {{"goal", wish.goal},
                      {"by", wish.by},
                      {"dwell_ms", absl::ToInt64Milliseconds(wish.dwell)},
                      {"hold", wish.hold},
                      {"ending", std::string(ToString(wish.ending))},
                      {"repair", internal::RepairText(wish.repair)}};
    result["runner"] = {{"name", view.record->runner},
                        {"silent_ms", view.record->silent == absl::InfiniteDuration()
                                          ? -1
                                          : absl::ToInt64Milliseconds(view.record->silent)}};
    result["figures"] = FiguresOf(view);
  }
  return result.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace locus::apps
