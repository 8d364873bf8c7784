// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/move/move_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/shared/moves/move_text.h"
#include "routing/picture/svg_page.h"
#include "src/base/text/text.h"

namespace locus::cli {

using apps::VnodesText;
using internal::Anchor;
using internal::Box;
using internal::Pixels;
using internal::SvgPage;
using internal::TextLook;
using mysql::MoveEvent;
using nlohmann::json;

namespace {

constexpr double kLeft = 90, kWidth = 780, kPanel = 130, kGap = 34;
constexpr char kShareColour[] = "#2b6cb0", kForthColour[] = "#2f855a", kBackColour[] = "#b7791f",
               kWaitColour[] = "#6b46c1", kHoldColour[] = "#c53030";

struct Sample {
  absl::Time at;
  double share = 0;  // percent
  double forth_ms = -1, back_ms = -1;
};

std::vector<Sample> SamplesOf(const MoveHistory& history) {
  std::vector<Sample> samples;
  for (const MoveEvent& event : history.events) {
    if (event.kind != "sample") continue;
    const json read = json::parse(event.text, nullptr, false);
    if (!read.is_object()) continue;
    auto number = [&](const char* name) {
      return read.contains(name) && read[name].is_number() ? read[name].get<double>() : -1.0;
    };
    samples.push_back({event.at, number("share") / 100, number("forth_ms"), number("back_ms")});
  }
  return samples;
}

// The panels of one move, one below the other, over one axis of time.
class MovePicture {
 public:
  MovePicture(const MoveHistory& history, double top, SvgPage& page)
      : history_(history), samples_(SamplesOf(history)), page_(page), top_(top) {
    begin_ = history.events.empty() ? absl::UnixEpoch() : history.events.front().at;
    end_ = history.events.empty() ? begin_ : history.events.back().at;
    if (end_ - begin_ < absl::Seconds(1)) end_ = begin_ + absl::Seconds(1);
  }

  void Draw() {
    page_.Text(
        kLeft, top_, {.size = 15, .bold = true},
        absl::StrCat(history_.move.name, ": ", history_.move.source.name, " to ",
                     history_.move.target.name, ", vnodes ", VnodesText(history_.move.ranges)));
    double top = top_ + 16;
    Share(top);
    Lags(top += kPanel + kGap);
    Waits(top += kPanel + kGap);
    Axis(top + kPanel);
  }

 private:
  double X(absl::Time at) const {
    return kLeft + kWidth * absl::FDivDuration(at - begin_, end_ - begin_);
  }
  void Frame(double top, const std::string& title, const std::string& highest) {
    page_.Rectangle({kLeft, top, kLeft + kWidth, top + kPanel}, "fill=\"#fafafa\" stroke=\"#ccc\"");
    page_.Text(kLeft + 4, top + 14, {.size = 12, .colour = "#555"}, title);
    page_.Text(kLeft - 6, top + 10, {.size = 11, .anchor = Anchor::kEnd}, highest);
    page_.Text(kLeft - 6, top + kPanel, {.size = 11, .anchor = Anchor::kEnd}, "0");
  }
  // How high a time stands in a panel that ends at `most`, 0 to 1: by its logarithm, so that one
  // large value does not press all others to the floor.
  static double HeightOf(double milliseconds, double most) {
    return std::log10(1 + std::min(milliseconds, most)) / std::log10(1 + most);
  }
  // Of such a panel; with a line at each power of ten below `most`, which is one.
  void TimeFrame(double top, const std::string& title, double most) {
    Frame(top, title, absl::StrFormat("%.0f", most));
    for (double at = 10; at < most; at *= 10) {
      const double y = top + kPanel - kPanel * HeightOf(at, most);
      page_.Append(absl::StrCat("<line x1=\"", Pixels(kLeft), "\" y1=\"", Pixels(y), "\" x2=\"",
                                Pixels(kLeft + kWidth), "\" y2=\"", Pixels(y),
                                "\" stroke=\"#e2e2e2\"/>\n"));
      page_.Text(kLeft - 6, y + 4, {.size = 9, .anchor = Anchor::kEnd},
                 absl::StrFormat("%.0f", at));
    }
  }
  static double PowerOfTen(double most) { return std::pow(10, std::ceil(std::log10(most))); }
  // Points joined by lines; a value below 0 leaves a gap.
  template <typename Value>
  void Line(double top, double most, const char* colour, bool stairs, Value value) {
    std::string path;
    bool open = false;
    double last = 0;
    for (const Sample& sample : samples_) {
      const double now = value(sample);
      if (now < 0) {
        open = false;
        continue;
      }
      const double y = top + kPanel - kPanel * std::min(now, most) / most;
      if (open && stairs) absl::StrAppend(&path, " L", Pixels(X(sample.at)), " ", Pixels(last));
      absl::StrAppend(&path, open ? " L" : " M", Pixels(X(sample.at)), " ", Pixels(y));
      open = true;
      last = y;
    }
    if (path.empty()) return;
    page_.Append(absl::StrCat("<path d=\"", path, "\" fill=\"none\" stroke=\"", colour,
                              "\" stroke-width=\"1.6\"/>\n"));
  }
  void Share(double top) {
    Frame(top, "share of the target, percent (red: held, orange: taken back or rolled back)",
          "100");
    for (const MoveEvent& event : history_.events) {
      const bool holds = event.kind == "hold";
      if (!holds && event.kind != "roll back" && event.kind != "rollback" &&
          event.kind != "taken back")
        continue;
      const std::string x = Pixels(X(event.at));
      page_.Append(absl::StrCat("<line x1=\"", x, "\" y1=\"", Pixels(top), "\" x2=\"", x,
                                "\" y2=\"", Pixels(top + kPanel), "\" stroke=\"",
                                holds ? kHoldColour : "#dd6b20", "\" stroke-dasharray=\"3 3\">",
                                "<title>", internal::EscapeXml(internal::Printable(event.text)),
                                "</title></line>\n"));
    }
    Line(top, 100, kShareColour, true, [](const Sample& sample) { return sample.share; });
  }
  void Lags(double top) {
    double most = 10;
    for (const Sample& sample : samples_) {
      most = std::max({most, sample.forth_ms, sample.back_ms});
    }
    most = PowerOfTen(most);
    TimeFrame(top,
              "lag of the streams, milliseconds (green: from the source, ochre: from the target)",
              most);
    auto height = [most](double lag) { return lag < 0 ? -1 : HeightOf(lag, most); };
    Line(top, 1, kForthColour, false, [&](const Sample& each) { return height(each.forth_ms); });
    Line(top, 1, kBackColour, false, [&](const Sample& each) { return height(each.back_ms); });
  }
  void Waits(double top) {
    double most = 10;
    std::vector<std::pair<absl::Time, double>> waits;
    for (const MoveEvent& event : history_.events) {
      double wait = 0;
      if (event.kind == "waited" && absl::SimpleAtod(event.text, &wait) && std::isfinite(wait)) {
        waits.emplace_back(event.at, wait);
        most = std::max(most, wait);
      }
    }
    most = PowerOfTen(most);
    TimeFrame(top, "what writers of each band waited at its step, milliseconds", most);
    for (const auto& [at, wait] : waits) {
      const double height = kPanel * HeightOf(wait, most);
      page_.Rectangle({X(at) - 2, top + kPanel - height, X(at) + 2, top + kPanel},
                      absl::StrCat("fill=\"", kWaitColour, "\""));
    }
  }
  void Axis(double y) {
    for (int i = 0; i <= 4; ++i) {
      const absl::Time at = begin_ + (end_ - begin_) * i / 4;
      page_.Text(kLeft + kWidth * i / 4, y + 16,
                 {.size = 11,
                  .anchor = i == 0   ? Anchor::kStart
                            : i == 4 ? Anchor::kEnd
                                     : Anchor::kMiddle},
                 absl::FormatTime("%H:%M:%S UTC", at, absl::UTCTimeZone()));
    }
  }

  const MoveHistory& history_;
  const std::vector<Sample> samples_;
  SvgPage& page_;
  const double top_;
  absl::Time begin_, end_;
};

}  // namespace

std::string ReportText(const std::vector<MoveHistory>& histories) {
  std::string out;
  for (const MoveHistory& history : histories) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", "move ", history.move.name, ": ",
                    history.move.source.name, " to ", history.move.target.name, ", vnodes ",
                    VnodesText(history.move.ranges), "\n");
    for (const MoveEvent& event : history.events) {
      if (event.kind == "sample") continue;
      absl::StrAppend(
          &out, "  ", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", event.at, absl::UTCTimeZone()), " ",
          absl::StrFormat("%6.2f %%  %-10s ", event.share / 100.0, internal::Printable(event.kind)),
          internal::Printable(event.text), "\n");
    }
  }
  return out;
}

std::string ReportSvg(const std::vector<MoveHistory>& histories) {
  SvgPage page;
  double top = 24;
  for (const MoveHistory& history : histories) {
    MovePicture(history, top, page).Draw();
    top = page.bottom() + 40;
  }
  return page.Finish("A move of orders over time", "");
}

}  // namespace locus::cli
