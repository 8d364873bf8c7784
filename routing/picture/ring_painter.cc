// SPDX-License-Identifier: Apache-2.0
#include "routing/picture/ring_painter.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "routing/picture/ring_bands.h"
#include "routing/table/ring_runs.h"

namespace locus::internal {

namespace {

// The circles of a ring, from the inside out.
struct Circles {
  explicit Circles(const RingPlace& place)
      : x(place.x), y(place.y), load_inner(place.radius), load_outer(place.radius) {
    if (place.with_load) load_inner = 0.87 * place.radius;
    target_outer = load_inner - (place.with_load ? 5 : 0);
    target_inner = target_outer - 0.045 * place.radius;
    outer = target_inner - 4;
    inner = 0.66 * outer;
  }

  double x;
  double y;
  double inner;
  double outer;
  double target_inner;
  double target_outer;
  double load_inner;
  double load_outer;
};

// The point where `vnode` begins, clockwise from the top.
struct Point {
  double x;
  double y;
};
Point PointAt(const Circles& at, double vnode, double radius) {
  double angle = vnode * 2 * std::numbers::pi / ShardGene::kCount;
  return {at.x + radius * std::sin(angle), at.y - radius * std::cos(angle)};
}
std::string Coordinates(Point point) { return absl::StrCat(Pixels(point.x), " ", Pixels(point.y)); }

std::string ArcTo(const Circles& at, double vnode, double radius, bool more_than_half,
                  bool clockwise) {
  return absl::StrCat("A", Pixels(radius), " ", Pixels(radius), " 0 ", more_than_half ? 1 : 0, " ",
                      clockwise ? 1 : 0, " ", Coordinates(PointAt(at, vnode, radius)));
}

// A whole circle needs two arcs: an arc that ends where it begins is not drawn.
std::string Circle(const Circles& at, double radius) {
  return absl::StrCat("M", Coordinates(PointAt(at, 0, radius)),
                      ArcTo(at, ShardGene::kCount / 2, radius, false, true),
                      ArcTo(at, 0, radius, false, true), "Z");
}

// The outline of vnodes [first, end) between two radii.
std::string Outline(const Circles& at, size_t first, size_t end, double inner, double outer) {
  if (end - first == ShardGene::kCount) return Circle(at, outer) + Circle(at, inner);
  auto from = static_cast<double>(first);
  auto to = static_cast<double>(end);
  bool more_than_half = end - first > ShardGene::kCount / 2;
  return absl::StrCat(
      "M", Coordinates(PointAt(at, from, outer)), ArcTo(at, to, outer, more_than_half, true), "L",
      Coordinates(PointAt(at, to, inner)), ArcTo(at, from, inner, more_than_half, false), "Z");
}

double ArcPixels(size_t vnodes, double radius) {
  return static_cast<double>(vnodes) * 2 * std::numbers::pi * radius / ShardGene::kCount;
}

void PaintOwners(const RoutingTable& table, const Circles& at, ShardFills& fills, SvgPage& page) {
  double thickness = at.outer - at.inner;
  page.Append("<g fill-rule=\"evenodd\" stroke=\"#fff\" stroke-width=\"0\">\n");
  for (const OwnerBand& band : OwnerBandsOf(table)) {
    // A white line, but only between bands that are wide enough: it would hide a thin one.
    bool wide = ArcPixels(band.last - band.first + 1, at.inner) > 4;
    double inner = at.inner + band.inner * thickness;
    double outer = at.inner + band.outer * thickness;
    page.Append(absl::StrCat("<path data-vnodes=\"", band.vnodes, "\" fill=\"",
                             fills.Of(band.shard),
                             wide ? "\" stroke-width=\"1.5\" d=\"" : "\" d=\"",
                             Outline(at, band.first, band.last + 1, inner, outer), "\"/>\n"));
  }
  page.Append("</g>\n");
}

void PaintOwnerLabels(const RoutingTable& table, const Circles& at, ShardFills& fills,
                      SvgPage& page) {
  constexpr double kSize = 13;
  double radius = (at.inner + at.outer) / 2;
  for (const OwnerBand& band : OwnerBandsOf(table)) {
    bool whole = band.inner == 0 && band.outer == 1;
    if (!whole || band.shard == kSeveralShards) continue;
    std::string id = absl::StrCat(band.shard);
    double width = TextWidth(id, kSize, true) + 10;
    size_t vnodes = band.last - band.first + 1;
    if (ArcPixels(vnodes, at.inner) < std::max(width, 22.0) + 4) continue;
    Point middle =
        PointAt(at, static_cast<double>(band.first) + static_cast<double>(vnodes) / 2, radius);
    bool dark = fills.IsDark(band.shard);
    page.Rectangle(
        {middle.x - width / 2, middle.y - 11, middle.x + width / 2, middle.y + 11},
        dark ? "rx=\"4\" fill=\"#222\" stroke=\"#fff\"" : "rx=\"4\" fill=\"#fff\" stroke=\"#777\"");
    page.Text(middle.x, middle.y + 4.7, {kSize, Anchor::kMiddle, true, dark ? "#fff" : "#222"}, id);
  }
}

void PaintMoves(const RoutingTable& table, const Circles& at, ShardFills& fills, SvgPage& page) {
  if (table.moves().empty()) return;
  std::vector<TargetBand> bands = TargetBandsOf(table);
  page.Append(
      absl::StrCat("<g fill-rule=\"evenodd\" class=\"moves\" stroke=\"#222\" "
                   "stroke-width=\"0.6\" fill=\"",
                   kStripes, "\">\n"));
  for (const TargetBand& band : bands) {
    page.Append(absl::StrCat("<path d=\"",
                             Outline(at, band.first, band.last + 1, at.inner, at.outer), "\"/>\n"));
  }
  page.Append("</g>\n<g fill-rule=\"evenodd\" stroke=\"#555\" stroke-width=\"0.5\">\n");
  for (const TargetBand& band : bands) {
    page.Append(absl::StrCat(
        "<path fill=\"", fills.Of(band.target), "\" d=\"",
        Outline(at, band.first, band.last + 1, at.target_inner, at.target_outer), "\"/>\n"));
  }
  page.Append("</g>\n");
}

// A band around the vnodes of dark shards: these may be too few to be seen in the ring. Returns
// whether there are any.
bool PaintDarkShards(const RoutingTable& table, const Circles& at, ShardFills& fills,
                     SvgPage& page) {
  std::string bands;
  for (const OwnerBand& band : OwnerBandsOf(table)) {
    if (band.shard == kSeveralShards || !fills.IsDark(band.shard)) continue;
    absl::StrAppend(&bands, "<path fill=\"", fills.Of(band.shard), "\" d=\"",
                    Outline(at, band.first, band.last + 1, at.target_inner, at.target_outer),
                    "\"/>\n");
  }
  if (bands.empty()) return false;
  page.Append(absl::StrCat("<g fill-rule=\"evenodd\" stroke=\"#222\" stroke-width=\"0.5\">\n",
                           bands, "</g>\n"));
  return true;
}

void PaintScale(const Circles& at, SvgPage& page) {
  constexpr double kSize = 11;
  for (int quarter = 0; quarter < 4; ++quarter) {
    int vnode = quarter * ShardGene::kCount / 4;
    Point from = PointAt(at, vnode, at.inner - 2);
    Point to = PointAt(at, vnode, at.inner - 9);
    page.Append(absl::StrCat("<path stroke=\"#555\" d=\"M", Coordinates(from), "L", Coordinates(to),
                             "\"/>\n"));
    constexpr Anchor kAnchors[] = {Anchor::kMiddle, Anchor::kEnd, Anchor::kMiddle, Anchor::kStart};
    constexpr double kRight[] = {0, -4, 0, 4};
    constexpr double kLower[] = {12, 4, -5, 4};
    page.Text(to.x + kRight[quarter], to.y + kLower[quarter],
              {kSize, kAnchors[quarter], false, "#555"},
              WithThousands(static_cast<uint64_t>(vnode)));
  }
}

}  // namespace

void PaintRing(const RoutingTable& table, const RingPlace& place, ShardFills& fills,
               SvgPage& page) {
  Circles at(place);
  PaintOwners(table, at, fills, page);
  PaintMoves(table, at, fills, page);
  PaintOwnerLabels(table, at, fills, page);
  PaintScale(at, page);
  bool beyond = PaintDarkShards(table, at, fills, page) || !table.moves().empty();
  double radius = beyond || place.with_load ? place.radius : at.outer;
  page.Extend({at.x - radius, at.y - radius, at.x + radius, at.y + radius});
}

void PaintMoveProgress(const RoutingTable& table, const RingPlace& place, SvgPage& page) {
  constexpr size_t kCrowd = 100;
  constexpr double kSize = 12;
  std::vector<MovingRun> runs = MovingRunsOf(table);
  if (runs.size() > kCrowd) return;
  Circles at(place);
  std::vector<Box> taken;
  for (const MovingRun& run : runs) {
    std::string label = absl::StrCat("\xE2\x86\x92 ", run.to, ": ", AsPercent(run.permyriad), " %");
    Point point =
        PointAt(at, static_cast<double>(run.first + run.last + 1) / 2, at.target_outer + 6);
    double aside = (point.x - at.x) / place.radius;
    point.y += 5 + 8 * (point.y - at.y) / place.radius;
    TextLook look{.size = kSize, .anchor = Anchor::kMiddle};
    if (aside > 0.12) look.anchor = Anchor::kStart;
    if (aside < -0.12) look.anchor = Anchor::kEnd;
    Box box = TextBox(point.x, point.y, look, label);
    if (std::ranges::any_of(taken, [&](const Box& other) { return Overlap(box, other); })) continue;
    taken.push_back(box);
    page.Text(point.x, point.y, look, label);
  }
}

double PaintLoad(std::span<const double> load, const RingPlace& place, SvgPage& page) {
  constexpr size_t kSlices = 512;
  constexpr size_t kSliceVnodes = ShardGene::kCount / kSlices;
  std::vector<double> of_slice(kSlices);
  double sum = 0;
  for (size_t vnode = 0; vnode < load.size(); ++vnode) {
    of_slice[vnode / kSliceVnodes] += load[vnode];
    sum += load[vnode];
  }
  double most = std::ranges::max(of_slice);
  Circles at(place);
  auto radius = [&](double slice_load) {
    return at.load_inner + (at.load_outer - at.load_inner) * std::sqrt(slice_load / most);
  };
  std::string outline;
  for (size_t slice = 0; slice < kSlices; ++slice) {
    auto first = static_cast<double>(slice * kSliceVnodes);
    absl::StrAppend(&outline, slice == 0 ? "M" : "L",
                    Coordinates(PointAt(at, first, radius(of_slice[slice]))), "L",
                    Coordinates(PointAt(at, first + kSliceVnodes, radius(of_slice[slice]))));
  }
  page.Append(absl::StrCat("<path class=\"load\" fill=\"#8c8c8c\" fill-rule=\"evenodd\" d=\"",
                           outline, "Z", Circle(at, at.load_inner), "\"/>\n",
                           "<path fill=\"none\" stroke=\"#222\" stroke-width=\"0.8\" "
                           "stroke-dasharray=\"3 3\" d=\"",
                           Circle(at, radius(sum / kSlices)), "\"/>\n"));
  return most / sum * kSlices;
}

void PaintCenter(const std::vector<std::string>& lines, const RingPlace& place, SvgPage& page) {
  Circles at(place);
  constexpr double kTitleSize = 22;
  constexpr double kLineSize = 13;
  constexpr double kLineHeight = 19;
  double y = at.y - kLineHeight * static_cast<double>(lines.size() - 1) / 2 + 4;
  for (size_t i = 0; i < lines.size(); ++i) {
    TextLook look{.size = i == 0 ? kTitleSize : kLineSize, .anchor = Anchor::kMiddle};
    look.bold = i == 0;
    // Half the width that the hole has at this height, less the vnode numbers at its sides.
    double aside = y - at.y;
    double height = std::min(std::abs(aside) + look.size, at.inner);
    double half = std::sqrt(at.inner * at.inner - height * height) - 12;
    bool beside_numbers = aside < 0.78 * look.size + 8 && aside > -0.24 * look.size - 6;
    if (beside_numbers) half = std::min(half, at.inner - 62);
    std::string text = CutToWidth(lines[i], 2 * std::max(half, 20.0), look.size, look.bold);
    page.Text(at.x, y, look, text);
    y += i == 0 ? kLineHeight + 4 : kLineHeight;
  }
}

}  // namespace locus::internal
