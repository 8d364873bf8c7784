// SPDX-License-Identifier: Apache-2.0
#include "routing/picture/ring_painter.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "routing/picture/ring_bands.h"
#include "routing/table/printable_text.h"
#include "routing/table/ring_runs.h"
#include "src/base/text.h"

namespace locus {
namespace {

// Pixels.
constexpr double kInnerRadius = 160;
constexpr double kOuterRadius = 245;
constexpr double kTargetInnerRadius = 250;
constexpr double kTargetOuterRadius = 268;
constexpr double kMoveLabelRadius = 276;
constexpr double kLegendTop = 640;

// Okabe and Ito's colours that the colour-blind can tell apart, without black.
constexpr const char* kColours[] = {"#56B4E9", "#E69F00", "#009E73", "#F0E442",
                                    "#0072B2", "#D55E00", "#CC79A7", "#B0B0B0"};
// Drawn over the colour, within 12 x 12. Upright, level or round: a slanted one means a move.
constexpr const char* kMarks[] = {
    "",
    "<circle cx=\"6\" cy=\"6\" r=\"2.5\"/>",
    "<path d=\"M3 0h2v12h-2z\"/>",
    "<path d=\"M0 5h12v2h-12z\"/>",
    "<circle cx=\"3\" cy=\"3\" r=\"1.5\"/><circle cx=\"9\" cy=\"9\" r=\"1.5\"/>",
    "<path d=\"M0 5.3h12v1.4h-12zM5.3 0h1.4v12h-1.4z\"/>",
    "<path d=\"M6 1.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z\"/>",
    "<path d=\"M0 0h6v6h-6zM6 6h6v6h-6z\" opacity=\".45\"/>",
};
constexpr size_t kFills = std::size(kColours) * std::size(kMarks);
// Neighbours differ in both; each further turn of the colours begins one mark later.
size_t MarkOf(size_t fill) { return (fill + fill / std::size(kColours)) % std::size(kMarks); }

// Slanted stripes, black with a white edge.
constexpr char kMovingPattern[] = R"svg(<pattern id="moving" width="9" height="9"
patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path
fill="#fff" d="M0 0h4v9h-4z"/><path d="M1 0h2v9h-2z"/></pattern>
)svg";
constexpr char kStyle[] = R"svg(<style>
text { font-family: "DejaVu Sans", Verdana, sans-serif; font-size: 14px; fill: #000 }
.title { font-weight: bold; text-anchor: middle }
.middle { font-size: 16px; text-anchor: middle }
.note { font-size: 12px; text-anchor: middle; fill: #333 }
.scale { font-size: 12px; fill: #333 }
.id { font-weight: bold; text-anchor: middle }
.tag { fill: #fff; stroke: #000; rx: 4px }
.edge { stroke: #fff; stroke-width: 1.5 }
.target, .swatch { stroke: #000; stroke-width: 1 }
.tick { stroke: #333; stroke-width: 1.5 }
path { fill-rule: evenodd }
</style>
)svg";

std::string EscapeXml(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// With at most one decimal, whatever the locale.
std::string Pixels(double value) {
  int64_t tenths = std::llround(value * 10);
  std::string sign = tenths < 0 ? "-" : "";
  tenths = std::abs(tenths);
  if (tenths % 10 == 0) return absl::StrCat(sign, tenths / 10);
  return absl::StrCat(sign, tenths / 10, ".", tenths % 10);
}

// The point where `vnode` begins, clockwise from the top.
struct Point {
  double x;
  double y;
};
Point PointAt(double vnode, double radius) {
  double angle = vnode * 2 * std::numbers::pi / ShardGene::kCount;
  return {kRingCenterX + radius * std::sin(angle), kRingCenterY - radius * std::cos(angle)};
}
std::string Coordinates(Point point) { return absl::StrCat(Pixels(point.x), " ", Pixels(point.y)); }

std::string ArcTo(double vnode, double radius, bool more_than_half, bool clockwise) {
  return absl::StrCat("A", Pixels(radius), " ", Pixels(radius), " 0 ", more_than_half ? 1 : 0, " ",
                      clockwise ? 1 : 0, " ", Coordinates(PointAt(vnode, radius)));
}

// A whole circle has to be two arcs: one that ends where it begins is not drawn.
std::string Circle(double radius) {
  return absl::StrCat("M", Coordinates(PointAt(0, radius)),
                      ArcTo(ShardGene::kCount / 2, radius, false, true),
                      ArcTo(0, radius, false, true), "Z");
}

// The outline of vnodes [first, end) between two radii.
std::string Outline(size_t first, size_t end, double inner, double outer) {
  if (end - first == ShardGene::kCount) return Circle(outer) + Circle(inner);
  auto from = static_cast<double>(first);
  auto to = static_cast<double>(end);
  bool more_than_half = end - first > ShardGene::kCount / 2;
  return absl::StrCat("M", Coordinates(PointAt(from, outer)),
                      ArcTo(to, outer, more_than_half, true), "L", Coordinates(PointAt(to, inner)),
                      ArcTo(from, inner, more_than_half, false), "Z");
}

double ArcPixels(size_t vnodes, double radius) {
  return static_cast<double>(vnodes) * 2 * std::numbers::pi * radius / ShardGene::kCount;
}

struct Box {
  double left;
  double top;
  double right;
  double bottom;
};
bool Overlap(const Box& a, const Box& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

std::string FontSize(double pixels) {
  return absl::StrCat("style=\"font-size: ", Pixels(pixels), "px\"");
}

}  // namespace

RingPage::RingPage(const RoutingTable& table) {
  for (size_t i = 0; i < table.shards().size(); ++i) index_of_[table.shards()[i].id] = i;
}

std::string RingPage::FillOf(uint32_t shard) {
  if (shard == kSeveralShards) {
    several_shown_ = true;
    return "#404040";
  }
  size_t fill = index_of_.at(shard) % kFills;
  fills_used_.insert(fill);
  return absl::StrCat("url(#fill", fill, ")");
}

void RingPage::Text(double x, double y, std::string_view attributes, std::string_view text) {
  absl::StrAppend(&body_, "<text x=\"", Pixels(x), "\" y=\"", Pixels(y), "\" ", ToAbsl(attributes),
                  ">", EscapeXml(text), "</text>\n");
}

std::string RingPage::Finish(int width, int height, std::string_view title) const {
  std::string definitions = "<defs>\n";
  for (size_t fill : fills_used_) {
    absl::StrAppend(&definitions, "<pattern id=\"fill", fill,
                    "\" width=\"12\" height=\"12\" patternUnits=\"userSpaceOnUse\">"
                    "<rect width=\"12\" height=\"12\" fill=\"",
                    kColours[fill % std::size(kColours)], "\"/>", kMarks[MarkOf(fill)],
                    "</pattern>\n");
  }
  std::string size = absl::StrCat("width=\"", width, "\" height=\"", height, "\"");
  return absl::StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" ", size, " viewBox=\"0 0 ", width,
                      " ", height, "\" role=\"img\">\n<title>", EscapeXml(title), "</title>\n",
                      definitions, kMovingPattern, "</defs>\n", kStyle, "<rect ", size,
                      " fill=\"#fff\"/>\n", body_, "</svg>\n");
}

namespace {

void PaintOwners(const RoutingTable& table, RingPage& page) {
  double thickness = kOuterRadius - kInnerRadius;
  for (const OwnerBand& band : OwnerBandsOf(table)) {
    // Between bands that are wide enough a white line; a thin one would be nothing else.
    bool wide = ArcPixels(band.last - band.first + 1, kInnerRadius) > 4;
    page.Append(
        absl::StrCat("<path data-vnodes=\"", band.vnodes, "\" fill=\"", page.FillOf(band.shard),
                     wide ? "\" class=\"edge\" d=\"" : "\" d=\"",
                     Outline(band.first, band.last + 1, kInnerRadius + band.inner * thickness,
                             kInnerRadius + band.outer * thickness),
                     "\"/>\n"));
  }
}

void PaintOwnerLabels(const RoutingTable& table, RingPage& page) {
  constexpr double kRadius = (kInnerRadius + kOuterRadius) / 2;
  for (const OwnerBand& band : OwnerBandsOf(table)) {
    std::string id = absl::StrCat(band.shard);
    double width = 10 + 9 * static_cast<double>(id.size());
    size_t vnodes = band.last - band.first + 1;
    bool whole = band.inner == 0 && band.outer == 1;
    if (!whole || ArcPixels(vnodes, kRadius) < width + 8 || band.shard == kSeveralShards) continue;
    Point at = PointAt(static_cast<double>(band.first) + static_cast<double>(vnodes) / 2, kRadius);
    page.Append(absl::StrCat("<rect class=\"tag\" x=\"", Pixels(at.x - width / 2), "\" y=\"",
                             Pixels(at.y - 11), "\" width=\"", Pixels(width),
                             "\" height=\"22\"/>\n"));
    page.Text(at.x, at.y + 5, "class=\"id\"", id);
  }
}

void PaintMoves(const RoutingTable& table, RingPage& page) {
  for (const TargetBand& band : TargetBandsOf(table)) {
    page.Append(absl::StrCat(
        "<path fill=\"url(#moving)\" d=\"",
        Outline(band.first, band.last + 1, kInnerRadius, kOuterRadius), "\"/>\n",
        "<path class=\"target\" fill=\"", page.FillOf(band.target), "\" d=\"",
        Outline(band.first, band.last + 1, kTargetInnerRadius, kTargetOuterRadius), "\"/>\n"));
  }
}

// Where there is room: never one on another, and none at all for a crowd.
void PaintMoveLabels(const RoutingTable& table, RingPage& page) {
  constexpr size_t kCrowd = 100;
  std::vector<MovingRun> runs = MovingRunsOf(table);
  if (runs.size() > kCrowd) return;
  std::vector<Box> taken;
  for (const MovingRun& run : runs) {
    std::string label = absl::StrCat("\xE2\x86\x92 ", run.to, ": ", AsPercent(run.permyriad), " %");
    Point at = PointAt(static_cast<double>(run.first + run.last + 1) / 2, kMoveLabelRadius);
    at.y += 5 + 9 * (at.y - kRingCenterY) / kMoveLabelRadius;
    double aside = at.x - kRingCenterX;
    double width = 8.5 * static_cast<double>(ColumnsOf(label));
    double left = std::abs(aside) < 30 ? at.x - width / 2 : aside > 0 ? at.x : at.x - width;
    Box box{left, at.y - 12, left + width, at.y + 4};
    if (std::ranges::any_of(taken, [&](const Box& other) { return Overlap(box, other); })) continue;
    taken.push_back(box);
    const char* anchor = std::abs(aside) < 30 ? "middle" : aside > 0 ? "start" : "end";
    page.Text(at.x, at.y, absl::StrCat("text-anchor=\"", anchor, "\""), label);
  }
}

void PaintScale(RingPage& page) {
  for (int quarter = 0; quarter < 4; ++quarter) {
    int vnode = quarter * ShardGene::kCount / 4;
    Point from = PointAt(vnode, kInnerRadius - 2);
    Point to = PointAt(vnode, kInnerRadius - 10);
    page.Append(absl::StrCat("<path class=\"tick\" d=\"M", Coordinates(from), "L", Coordinates(to),
                             "\"/>\n"));
    constexpr const char* kAnchors[] = {"middle", "end", "middle", "start"};
    constexpr double kLower[] = {14, 4, -4, 4};
    page.Text(to.x + (quarter == 1   ? -4
                      : quarter == 3 ? 4
                                     : 0),
              to.y + kLower[quarter],
              absl::StrCat("class=\"scale\" text-anchor=\"", kAnchors[quarter], "\""),
              WithThousands(static_cast<uint64_t>(vnode)));
  }
}

// "16,384", or "16,384 → 13,108".
std::string VnodesOf(size_t vnodes, std::optional<size_t> after) {
  if (!after) return WithThousands(vnodes);
  return absl::StrCat(WithThousands(vnodes), " \xE2\x86\x92 ", WithThousands(*after));
}

std::string ShareOf(size_t vnodes, std::optional<size_t> after) {
  if (!after) return SharePercent(vnodes) + " %";
  return absl::StrCat(SharePercent(vnodes), " \xE2\x86\x92 ", SharePercent(*after), " %");
}

// All, or those with the most vnodes at either time; in the order they were in.
std::vector<LegendEntry> EntriesToList(std::vector<LegendEntry> entries, size_t room) {
  if (entries.size() <= room) return entries;
  std::ranges::stable_sort(entries, std::greater<>(), [](const LegendEntry& entry) {
    return std::max(entry.vnodes, entry.after.value_or(0));
  });
  entries.resize(room - 1);
  std::ranges::sort(entries, {}, [](const LegendEntry& entry) { return entry.shard->id; });
  return entries;
}

void PaintLegendEntry(const LegendEntry& entry, double x, double y, const LegendShape& shape,
                      RingPage& page) {
  double baseline = y + shape.font_size - 1;
  page.Append(absl::StrCat("<rect class=\"swatch\" x=\"", Pixels(x), "\" y=\"", Pixels(y),
                           "\" width=\"26\" height=\"", Pixels(shape.row_height - 4.5),
                           "\" fill=\"", page.FillOf(entry.shard->id), "\"/>\n"));
  std::string name = absl::StrCat(entry.shard->id, " ", entry.shard->name);
  page.Text(x + 34, baseline, FontSize(shape.font_size), CutToColumns(name, shape.name_columns));
  double right = x + shape.width - 24;
  std::string right_aligned = FontSize(shape.font_size) + " text-anchor=\"end\"";
  page.Text(right - shape.share_width * shape.font_size, baseline, right_aligned,
            VnodesOf(entry.vnodes, entry.after));
  page.Text(right, baseline, right_aligned, ShareOf(entry.vnodes, entry.after));
}

}  // namespace

void PaintRing(const RoutingTable& table, MoveLabels labels, RingPage& page) {
  PaintOwners(table, page);
  PaintMoves(table, page);
  PaintOwnerLabels(table, page);
  if (labels == MoveLabels::kShown) PaintMoveLabels(table, page);
  PaintScale(page);
}

void PaintCenter(const std::string& title, std::string_view second, std::string_view third,
                 RingPage& page) {
  double size = std::min(30.0, 400 / static_cast<double>(title.size()));  // fits into the ring
  page.Text(kRingCenterX, kRingCenterY - 12, absl::StrCat("class=\"title\" ", FontSize(size)),
            title);
  page.Text(kRingCenterX, kRingCenterY + 18, "class=\"middle\"", second);
  page.Text(kRingCenterX, kRingCenterY + 40, "class=\"middle\"", third);
}

double PaintLegend(const std::vector<LegendEntry>& entries, const LegendShape& shape,
                   double center_x, RingPage& page) {
  std::vector<LegendEntry> listed = EntriesToList(entries, shape.columns * shape.rows);
  double left = center_x - static_cast<double>(shape.columns) * shape.width / 2 + 12;
  auto x = [&](size_t i) { return left + static_cast<double>(i / shape.rows) * shape.width; };
  auto y = [&](size_t i) {
    return kLegendTop + static_cast<double>(i % shape.rows) * shape.row_height;
  };
  LegendEntry more{nullptr, ShardGene::kCount, ShardGene::kCount};
  for (size_t i = 0; i < listed.size(); ++i) {
    PaintLegendEntry(listed[i], x(i), y(i), shape, page);
    more.vnodes -= listed[i].vnodes;
    *more.after -= listed[i].after.value_or(0);
  }
  if (listed.size() < entries.size()) {
    if (!entries[0].after) more.after.reset();
    page.Text(x(listed.size()) + 34, y(listed.size()) + shape.font_size - 1,
              FontSize(shape.font_size),
              absl::StrCat("and ", WithThousands(entries.size() - listed.size()),
                           " more: ", VnodesOf(more.vnodes, more.after), " vnodes, ",
                           ShareOf(more.vnodes, more.after)));
  }
  return kLegendTop + static_cast<double>(shape.rows) * shape.row_height;
}

void PaintNote(double center_x, double y, std::string note, RingPage& page) {
  if (page.several_shown()) note += " Dark: shards too thin to draw.";
  page.Text(center_x, y, "class=\"note\"", note);
}

}  // namespace locus
