// SPDX-License-Identifier: Apache-2.0
#include "routing/picture/ring_legend.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "routing/table/ring_runs.h"

namespace locus::internal {

namespace {

// Pixels. Where there are many shards an entry is one line and has no bars.
struct Layout {
  size_t columns;
  double width;  // of a column
  double gap;    // between columns
  double row;    // height
  double size;   // of the first line's text
  double small;  // of the endpoint's and the second line's
  double swatch;
  double bar;  // 0: one line
};

Layout LayoutOf(const Legend& legend) {
  bool plan = legend.with_change;
  size_t shards = std::min(legend.entries.size(), kMostListed);
  if (shards <= 12) return {1, plan ? 940.0 : 600.0, 0, 38, 14, 11, 30, plan ? 230.0 : 110.0};
  if (shards <= 60) return {2, plan ? 560.0 : 430.0, 40, 33, 12, 10, 26, plan ? 90.0 : 60.0};
  return {3, plan ? 470.0 : 370.0, 30, 16, 9.5, 8.5, 18, 0};
}

struct Columns {
  double text;      // where the name begins
  double text_end;  // and must end
  double figures;   // where the figures end
  double change;
  double bar;
};

Columns ColumnsOf(const Legend& legend, const Layout& layout, double left) {
  Columns at{};
  at.text = left + layout.swatch + 8;
  at.bar = left + layout.width - layout.bar;
  at.change = layout.bar > 0 ? at.bar - 14 : left + layout.width;
  at.figures = legend.with_change ? at.change - 6.3 * layout.size : at.change;
  at.text_end = at.figures - (legend.with_change ? 13 : 9) * layout.size;
  return at;
}

void PaintBars(const LegendEntry& entry, const Legend& legend, const Layout& layout, double left,
               double top, SvgPage& page) {
  double height = layout.row - 14;
  auto bar = [&](double part, double from, double to, const char* attributes) {
    if (part <= 0) return;
    double width = std::max(1.0, part * layout.bar);
    page.Rectangle({left, top + from * height, left + width, top + to * height}, attributes);
  };
  if (legend.with_change) {
    bar(entry.before, 0, 0.45, "fill=\"#fff\" stroke=\"#777\" stroke-width=\"0.8\"");
    bar(entry.after, 0.55, 1, "fill=\"#555\"");
  } else {
    bar(entry.before, 0.2, 0.8, "fill=\"#999\"");
  }
  if (entry.portion <= 0) return;
  double x = left + entry.portion * layout.bar;
  page.Append(absl::StrCat("<path stroke=\"#222\" stroke-width=\"0.8\" d=\"M", Pixels(x), " ",
                           Pixels(top - 2), "V", Pixels(top + height + 2), "\"/>\n"));
}

void PaintBadge(std::string_view badge, double left, double baseline, double size, SvgPage& page) {
  Box box = TextBox(left + 5, baseline, {.size = size, .bold = true}, badge);
  page.Rectangle({left, box.top - 1.5, box.right + 5, box.bottom + 1.5},
                 "rx=\"3\" fill=\"#222\" class=\"badge\"");
  page.Text(left + 5, baseline, {size, Anchor::kStart, true, "#fff"}, badge);
}

void PaintEntry(const LegendEntry& entry, const Legend& legend, const Layout& layout, double left,
                double top, ShardFills& fills, SvgPage& page) {
  Columns at = ColumnsOf(legend, layout, left);
  bool two_lines = layout.bar > 0;
  double baseline = top + layout.size;
  double swatch_height = two_lines ? layout.row - 10 : layout.row - 4;
  page.Rectangle({left, top, left + layout.swatch, top + swatch_height},
                 absl::StrCat("class=\"swatch\" stroke=\"#555\" stroke-width=\"0.8\" fill=\"",
                              fills.Of(entry.shard->id), "\""));

  double badge_width = entry.badge.empty() ? 0 : TextWidth(entry.badge, layout.small, true) + 18;
  // On one line the name leaves room for the endpoint.
  double name_room =
      two_lines ? at.text_end - at.text - badge_width : 0.45 * (at.text_end - at.text);
  std::string name = CutToWidth(absl::StrCat(entry.shard->id, " ", entry.shard->name), name_room,
                                layout.size, true);
  page.Text(at.text, baseline, {.size = layout.size, .bold = true}, name);
  double name_end = at.text + TextWidth(name, layout.size, true);
  if (!entry.badge.empty()) {
    PaintBadge(entry.badge, name_end + 6, baseline, layout.small, page);
    name_end += badge_width;
  }
  page.Text(at.figures, baseline, {.size = layout.size, .anchor = Anchor::kEnd}, entry.figures);
  if (!entry.change.empty()) {
    page.Text(at.change, baseline, {layout.size, Anchor::kEnd, true}, entry.change);
  }

  TextLook endpoint_look{layout.small, Anchor::kStart, false, "#555"};
  const std::string& endpoint = entry.shard->endpoint;
  if (two_lines) {
    double second = baseline + layout.small + 4;
    double room = at.figures - TextWidth(entry.more, layout.small, false) - 10 - at.text;
    page.Text(at.text, second, endpoint_look, CutToWidth(endpoint, room, layout.small, false));
    page.Text(at.figures, second, {layout.small, Anchor::kEnd, false, "#555"}, entry.more);
    PaintBars(entry, legend, layout, at.bar, top + 2, page);
  } else {
    double from = std::max(at.text + 0.45 * (at.text_end - at.text), name_end) + 6;
    page.Text(from, baseline, endpoint_look,
              CutToWidth(endpoint, at.text_end - from, layout.small, false));
  }
}

}  // namespace

double WidthOf(const Legend& legend) {
  Layout layout = LayoutOf(legend);
  auto columns = static_cast<double>(layout.columns);
  return columns * layout.width + (columns - 1) * layout.gap;
}

bool HasBars(const Legend& legend) { return LayoutOf(legend).bar > 0; }

double PaintLegend(const Legend& legend, double left, double top, ShardFills& fills,
                   SvgPage& page) {
  Layout layout = LayoutOf(legend);
  size_t all = legend.entries.size();
  size_t listed = all <= kMostListed ? all : kMostListed - 1;
  size_t rows = ((all <= kMostListed ? all : kMostListed) + layout.columns - 1) / layout.columns;
  auto x = [&](size_t i) {
    return left + static_cast<double>(i / rows) * (layout.width + layout.gap);
  };
  auto y = [&](size_t i) { return top + static_cast<double>(i % rows) * layout.row; };
  for (size_t i = 0; i < listed; ++i) {
    PaintEntry(legend.entries[i], legend, layout, x(i), y(i), fills, page);
  }
  if (listed < all) {
    size_t vnodes = 0;
    for (size_t i = listed; i < all; ++i) vnodes += legend.entries[i].vnodes;
    page.Text(x(listed) + layout.swatch + 8, y(listed) + layout.size, {.size = layout.size},
              absl::StrCat("and ", WithThousands(all - listed), " more with ",
                           WithThousands(vnodes), " vnodes"));
  }
  return top + static_cast<double>(rows) * layout.row;
}

}  // namespace locus::internal
