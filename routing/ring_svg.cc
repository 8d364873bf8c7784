// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "locus/routing/ring_view.h"
#include "routing/printable_text.h"
#include "routing/ring_bands.h"
#include "routing/ring_runs.h"
#include "src/text.h"

namespace locus {
namespace {

// Pixels.
constexpr double kCenterX = 400;
constexpr double kCenterY = 340;
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
  return {kCenterX + radius * std::sin(angle), kCenterY - radius * std::cos(angle)};
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

// Draws one table.
class RingPainter {
 public:
  explicit RingPainter(const RoutingTable& table) : table_(table), owned_(OwnedVnodesOf(table)) {
    for (size_t i = 0; i < table.shards().size(); ++i) index_of_[table.shards()[i].id] = i;
  }

  std::string Paint();

 private:
  struct LegendShape {
    size_t columns;
    size_t rows;
    double width;  // of a column
    double row_height;
    double font_size;
    size_t name_columns;
  };

  std::string FillOf(uint32_t shard);
  void Text(double x, double y, std::string_view attributes, std::string_view text);
  void PaintTitle();
  void PaintOwners();
  void PaintOwnerLabels();
  void PaintMoves();
  void PaintMoveLabels();
  void PaintScale();
  void PaintLegend();
  void PaintNote(double y);
  void PaintLegendEntry(const Shard& shard, double x, double y, const LegendShape& shape);
  std::string Definitions() const;
  std::vector<const Shard*> ShardsToList(size_t room) const;

  const RoutingTable& table_;
  std::map<uint32_t, size_t> owned_;
  std::unordered_map<uint32_t, size_t> index_of_;
  std::set<size_t> fills_used_;
  bool several_shown_ = false;
  std::string body_;
};

std::string RingPainter::FillOf(uint32_t shard) {
  if (shard == kSeveralShards) {
    several_shown_ = true;
    return "#404040";
  }
  size_t fill = index_of_.at(shard) % kFills;
  fills_used_.insert(fill);
  return absl::StrCat("url(#fill", fill, ")");
}

void RingPainter::Text(double x, double y, std::string_view attributes, std::string_view text) {
  absl::StrAppend(&body_, "<text x=\"", Pixels(x), "\" y=\"", Pixels(y), "\" ", ToAbsl(attributes),
                  ">", EscapeXml(text), "</text>\n");
}

void RingPainter::PaintTitle() {
  size_t moving = 0;
  for (const MovingRun& run : MovingRunsOf(table_)) moving += run.last - run.first + 1;
  std::string shards = absl::StrCat(WithThousands(table_.shards().size()),
                                    table_.shards().size() == 1 ? " shard" : " shards");
  std::string moves = moving == 0 ? "nothing moves" : WithThousands(moving) + " vnodes move";
  std::string epoch = absl::StrCat("epoch ", table_.epoch());
  double size = std::min(30.0, 400 / static_cast<double>(epoch.size()));  // fits into the ring
  Text(kCenterX, kCenterY - 12, absl::StrCat("class=\"title\" ", FontSize(size)), epoch);
  Text(kCenterX, kCenterY + 18, "class=\"middle\"", shards);
  Text(kCenterX, kCenterY + 40, "class=\"middle\"", moves);
}

void RingPainter::PaintOwners() {
  double thickness = kOuterRadius - kInnerRadius;
  for (const OwnerBand& band : OwnerBandsOf(table_)) {
    // Between bands that are wide enough a white line; a thin one would be nothing else.
    bool wide = ArcPixels(band.last - band.first + 1, kInnerRadius) > 4;
    absl::StrAppend(&body_, "<path data-vnodes=\"", band.vnodes, "\" fill=\"", FillOf(band.shard),
                    wide ? "\" class=\"edge\" d=\"" : "\" d=\"",
                    Outline(band.first, band.last + 1, kInnerRadius + band.inner * thickness,
                            kInnerRadius + band.outer * thickness),
                    "\"/>\n");
  }
}

void RingPainter::PaintOwnerLabels() {
  constexpr double kRadius = (kInnerRadius + kOuterRadius) / 2;
  for (const OwnerBand& band : OwnerBandsOf(table_)) {
    std::string id = absl::StrCat(band.shard);
    double width = 10 + 9 * static_cast<double>(id.size());
    size_t vnodes = band.last - band.first + 1;
    bool whole = band.inner == 0 && band.outer == 1;
    if (!whole || ArcPixels(vnodes, kRadius) < width + 8 || band.shard == kSeveralShards) continue;
    Point at = PointAt(static_cast<double>(band.first) + static_cast<double>(vnodes) / 2, kRadius);
    absl::StrAppend(&body_, "<rect class=\"tag\" x=\"", Pixels(at.x - width / 2), "\" y=\"",
                    Pixels(at.y - 11), "\" width=\"", Pixels(width), "\" height=\"22\"/>\n");
    Text(at.x, at.y + 5, "class=\"id\"", id);
  }
}

void RingPainter::PaintMoves() {
  for (const TargetBand& band : TargetBandsOf(table_)) {
    absl::StrAppend(&body_, "<path fill=\"url(#moving)\" d=\"",
                    Outline(band.first, band.last + 1, kInnerRadius, kOuterRadius), "\"/>\n",
                    "<path class=\"target\" fill=\"", FillOf(band.target), "\" d=\"",
                    Outline(band.first, band.last + 1, kTargetInnerRadius, kTargetOuterRadius),
                    "\"/>\n");
  }
}

// Where there is room: never one on another, and none at all for a crowd.
void RingPainter::PaintMoveLabels() {
  constexpr size_t kCrowd = 100;
  std::vector<MovingRun> runs = MovingRunsOf(table_);
  if (runs.size() > kCrowd) return;
  std::vector<Box> taken;
  for (const MovingRun& run : runs) {
    std::string label = absl::StrCat("\xE2\x86\x92 ", run.to, ": ", AsPercent(run.permyriad), " %");
    Point at = PointAt(static_cast<double>(run.first + run.last + 1) / 2, kMoveLabelRadius);
    at.y += 5 + 9 * (at.y - kCenterY) / kMoveLabelRadius;
    double aside = at.x - kCenterX;
    double width = 8.5 * static_cast<double>(ColumnsOf(label));
    double left = std::abs(aside) < 30 ? at.x - width / 2 : aside > 0 ? at.x : at.x - width;
    Box box{left, at.y - 12, left + width, at.y + 4};
    if (std::ranges::any_of(taken, [&](const Box& other) { return Overlap(box, other); })) continue;
    taken.push_back(box);
    const char* anchor = std::abs(aside) < 30 ? "middle" : aside > 0 ? "start" : "end";
    Text(at.x, at.y, absl::StrCat("text-anchor=\"", anchor, "\""), label);
  }
}

void RingPainter::PaintScale() {
  for (int quarter = 0; quarter < 4; ++quarter) {
    int vnode = quarter * ShardGene::kCount / 4;
    Point from = PointAt(vnode, kInnerRadius - 2);
    Point to = PointAt(vnode, kInnerRadius - 10);
    absl::StrAppend(&body_, "<path class=\"tick\" d=\"M", Coordinates(from), "L", Coordinates(to),
                    "\"/>\n");
    constexpr const char* kAnchors[] = {"middle", "end", "middle", "start"};
    constexpr double kLower[] = {14, 4, -4, 4};
    Text(to.x + (quarter == 1   ? -4
                 : quarter == 3 ? 4
                                : 0),
         to.y + kLower[quarter],
         absl::StrCat("class=\"scale\" text-anchor=\"", kAnchors[quarter], "\""),
         WithThousands(static_cast<uint64_t>(vnode)));
  }
}

// All, or those with the most vnodes; in the order of their ids.
std::vector<const Shard*> RingPainter::ShardsToList(size_t room) const {
  std::vector<const Shard*> listed;
  for (const Shard& shard : table_.shards()) listed.push_back(&shard);
  if (listed.size() <= room) return listed;
  std::ranges::stable_sort(listed, std::greater<>(),
                           [this](const Shard* shard) { return owned_.at(shard->id); });
  listed.resize(room - 1);
  std::ranges::sort(listed, {}, &Shard::id);
  return listed;
}

void RingPainter::PaintLegend() {
  size_t count = table_.shards().size();
  LegendShape shape = count <= 6 ? LegendShape{1, count, 480, 23, 15, 30}
                      : count <= 12
                          ? LegendShape{2, (count + 1) / 2, 385, 23, 14, 20}
                          : LegendShape{2, std::min<size_t>(8, (count + 1) / 2), 385, 16.5, 12, 26};
  std::vector<const Shard*> listed = ShardsToList(shape.columns * shape.rows);
  double left = kCenterX - static_cast<double>(shape.columns) * shape.width / 2 + 12;
  auto x = [&](size_t i) { return left + static_cast<double>(i / shape.rows) * shape.width; };
  auto y = [&](size_t i) {
    return kLegendTop + static_cast<double>(i % shape.rows) * shape.row_height;
  };
  size_t vnodes_listed = 0;
  for (size_t i = 0; i < listed.size(); ++i) {
    PaintLegendEntry(*listed[i], x(i), y(i), shape);
    vnodes_listed += owned_.at(listed[i]->id);
  }
  if (size_t more = count - listed.size(); more > 0) {
    size_t vnodes = ShardGene::kCount - vnodes_listed;
    Text(x(listed.size()) + 34, y(listed.size()) + shape.font_size - 1, FontSize(shape.font_size),
         absl::StrCat("and ", WithThousands(more), " more: ", WithThousands(vnodes), " vnodes, ",
                      SharePercent(vnodes), " %"));
  }
  PaintNote(kLegendTop + static_cast<double>(shape.rows) * shape.row_height + 16);
}

void RingPainter::PaintLegendEntry(const Shard& shard, double x, double y,
                                   const LegendShape& shape) {
  double baseline = y + shape.font_size - 1;
  size_t vnodes = owned_.at(shard.id);
  absl::StrAppend(&body_, "<rect class=\"swatch\" x=\"", Pixels(x), "\" y=\"", Pixels(y),
                  "\" width=\"26\" height=\"", Pixels(shape.row_height - 4.5), "\" fill=\"",
                  FillOf(shard.id), "\"/>\n");
  std::string name = absl::StrCat(shard.id, " ", shard.name);
  Text(x + 34, baseline, FontSize(shape.font_size), CutToColumns(name, shape.name_columns));
  double right = x + shape.width - 24;
  std::string right_aligned = FontSize(shape.font_size) + " text-anchor=\"end\"";
  Text(right - 5.5 * shape.font_size, baseline, right_aligned, WithThousands(vnodes));
  Text(right, baseline, right_aligned, SharePercent(vnodes) + " %");
}

void RingPainter::PaintNote(double y) {
  std::string note = "Clockwise from vnode 0 at the top.";
  if (!table_.moves().empty()) {
    note += " Hatched: moving to the shard of the outer band.";
  }
  if (several_shown_) note += " Dark: shards too thin to draw.";
  Text(kCenterX, y, "class=\"note\"", note);
}

std::string RingPainter::Definitions() const {
  std::string out = "<defs>\n";
  for (size_t fill : fills_used_) {
    absl::StrAppend(&out, "<pattern id=\"fill", fill,
                    "\" width=\"12\" height=\"12\" patternUnits=\"userSpaceOnUse\">"
                    "<rect width=\"12\" height=\"12\" fill=\"",
                    kColours[fill % std::size(kColours)], "\"/>", kMarks[MarkOf(fill)],
                    "</pattern>\n");
  }
  return out + kMovingPattern + "</defs>\n" + kStyle;
}

std::string RingPainter::Paint() {
  PaintOwners();
  PaintMoves();
  PaintOwnerLabels();
  PaintMoveLabels();
  PaintScale();
  PaintTitle();
  PaintLegend();
  return absl::StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"800\" "
      "viewBox=\"0 0 800 800\" role=\"img\">\n<title>Routing table, epoch ",
      table_.epoch(), "</title>\n", Definitions(),
      "<rect width=\"800\" height=\"800\" fill=\"#fff\"/>\n", body_, "</svg>\n");
}

}  // namespace

std::string RingAsSvg(const RoutingTable& table) { return RingPainter(table).Paint(); }

}  // namespace locus
