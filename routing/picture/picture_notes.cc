// SPDX-License-Identifier: Apache-2.0
#include "routing/picture/picture_notes.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "routing/picture/shard_fills.h"
#include "routing/table/ring_runs.h"

namespace locus::internal {

std::string Counted(size_t count, std::string_view one, std::string_view many) {
  return WithThousands(count) + std::string(count == 1 ? one : many);
}

void PaintNotes(const PictureNotes& notes, double left, double top, SvgPage& page) {
  constexpr double kSize = 11;
  constexpr double kLine = 17;
  double y = top;
  auto note = [&](const std::string& sample, const std::string& text) {
    page.Rectangle({left, y + 1, left + 18, y + 12},
                   absl::StrCat("stroke=\"#555\" stroke-width=\"0.8\" fill=\"", sample, "\""));
    page.Text(left + 26, y + kSize - 1, {kSize, Anchor::kStart, false, "#444"}, text);
    y += kLine;
  };
  if (notes.moves) note(kStripes, "moving to the shard of the outer band");
  if (notes.several) note("url(#several)", "shards too thin to draw one by one");
  if (notes.bars)
    note("#fff", "before; the dark bar is after, the line across is the portion by weight");
  if (notes.load_most) {
    std::string times = absl::StrCat(std::llround(*notes.load_most * 10));
    if (times.size() < 2) times.insert(0, 1, '0');
    times.insert(times.size() - 1, 1, '.');
    note("#8c8c8c", absl::StrCat("load along the ring, as a square root; the dashed line is the "
                                 "mean, the highest point is ",
                                 times, " times it"));
  }
  page.Text(left, y + kSize - 1, {kSize, Anchor::kStart, false, "#444"},
            "Vnodes run clockwise from 0 at the top.");
}

}  // namespace locus::internal
