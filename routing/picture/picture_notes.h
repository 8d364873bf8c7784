// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PICTURE_PICTURE_NOTES_H_
#define LOCUS_ROUTING_PICTURE_PICTURE_NOTES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "routing/picture/svg_page.h"

namespace locus::internal {

// "1 vnode", "2,000 vnodes".
std::string Counted(size_t count, std::string_view one, std::string_view many);

// The things that the lines below a picture explain.
struct PictureNotes {
  bool moves = false;                    // stripes and target bands
  bool several = false;                  // shards too thin to draw
  bool bars = false;                     // before and after, in the legend
  std::optional<double> load_most = {};  // the grey band, and its height over the mean
};

// With the upper left corner at (left, top).
void PaintNotes(const PictureNotes& notes, double left, double top, SvgPage& page);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PICTURE_PICTURE_NOTES_H_
