// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PICTURE_RING_PAINTER_H_
#define LOCUS_ROUTING_PICTURE_RING_PAINTER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "locus/routing/routing_table.h"

// The parts that pictures of rings are made of.

namespace locus {

// Where PaintRing draws, in pixels; another place is a group that is moved.
inline constexpr double kRingCenterX = 400;
inline constexpr double kRingCenterY = 340;

// An SVG document in the making: what is drawn so far, and which fills it needs. Shards have their
// fills by their place in the table.
class RingPage {
 public:
  explicit RingPage(const RoutingTable& table);

  // Of kSeveralShards too.
  std::string FillOf(uint32_t shard);
  // Whether FillOf(kSeveralShards) was asked for.
  bool several_shown() const { return several_shown_; }

  void Append(std::string_view svg) { body_ += svg; }
  void Text(double x, double y, std::string_view attributes, std::string_view text);
  std::string Finish(int width, int height, std::string_view title) const;

 private:
  std::unordered_map<uint32_t, size_t> index_of_;
  std::set<size_t> fills_used_;
  bool several_shown_ = false;
  std::string body_;
};

// Owners, hatches and targets of what moves, the ids of arcs that have room, vnode numbers.
enum class MoveLabels { kShown, kLeftOut };
void PaintRing(const RoutingTable& table, MoveLabels labels, RingPage& page);

// Three lines within the ring, the first one large.
void PaintCenter(const std::string& title, std::string_view second, std::string_view third,
                 RingPage& page);

// A shard's vnodes, in a picture of two rings also those afterwards.
struct LegendEntry {
  const Shard* shard;
  size_t vnodes;
  std::optional<size_t> after = {};
};

struct LegendShape {
  size_t columns;
  size_t rows;
  double width;  // of a column
  double row_height;
  double font_size;
  size_t name_columns;
  double share_width;  // in font sizes
};

// Centred on `center_x`. Where there is no room for all shards, those with the most vnodes and a
// line on the others. Returns where it ends.
double PaintLegend(const std::vector<LegendEntry>& entries, const LegendShape& shape,
                   double center_x, RingPage& page);

// A line below the legend.
void PaintNote(double center_x, double y, std::string note, RingPage& page);

}  // namespace locus

#endif  // LOCUS_ROUTING_PICTURE_RING_PAINTER_H_
