// SPDX-License-Identifier: Apache-2.0
#include "routing/picture/svg_page.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "routing/table/printable_text.h"
#include "src/base/text/text.h"

namespace locus::internal {

namespace {

constexpr double kMargin = 12;

// Of the characters from the space to the tilde, in thousandths of the font size.
constexpr uint16_t kWidths[] = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838};
static_assert(std::size(kWidths) == '~' - ' ' + 1);
// Bold letters of DejaVu Sans are wider by up to this.
constexpr double kBold = 1.17;

}  // namespace

bool Overlap(const Box& a, const Box& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

double TextWidth(std::string_view text, double size, bool bold) {
  double width = 0;
  std::string others;
  for (char c : text) {
    if (c >= ' ' && c <= '~') {
      width += kWidths[c - ' '];
    } else {
      others += c;
    }
  }
  // Arrows and the like have 838, letters less; wide characters count as two columns.
  width += 850 * static_cast<double>(ColumnsOf(others));
  return width / 1000 * size * (bold ? kBold : 1);
}

std::string CutToWidth(std::string_view text, double width, double size, bool bold) {
  size_t columns = ColumnsOf(text);
  std::string cut(text);
  while (columns > 1 && TextWidth(cut, size, bold) > width) cut = CutMiddle(text, --columns, true);
  return cut;
}

Box TextBox(double x, double y, const TextLook& look, std::string_view text) {
  double width = TextWidth(text, look.size, look.bold);
  double left = x;
  if (look.anchor == Anchor::kMiddle) left = x - width / 2;
  if (look.anchor == Anchor::kEnd) left = x - width;
  return {left, y - look.size * 0.78, left + width, y + look.size * 0.24};
}

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

std::string Pixels(double value) {
  int64_t tenths = std::llround(value * 10);
  std::string sign = tenths < 0 ? "-" : "";
  tenths = std::abs(tenths);
  if (tenths % 10 == 0) return absl::StrCat(sign, tenths / 10);
  return absl::StrCat(sign, tenths / 10, ".", tenths % 10);
}

void SvgPage::Extend(const Box& box) {
  if (empty_) extent_ = box;
  empty_ = false;
  extent_.left = std::min(extent_.left, box.left);
  extent_.top = std::min(extent_.top, box.top);
  extent_.right = std::max(extent_.right, box.right);
  extent_.bottom = std::max(extent_.bottom, box.bottom);
}

void SvgPage::Text(double x, double y, const TextLook& look, std::string_view text) {
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  Extend(TextBox(x, y, look, text));
  absl::StrAppend(&body_, "<text x=\"", Pixels(x), "\" y=\"", Pixels(y), "\" font-size=\"",
                  Pixels(look.size), "\" text-anchor=\"", kAnchors[static_cast<int>(look.anchor)],
                  "\"", look.bold ? " font-weight=\"bold\"" : "", " fill=\"", look.colour, "\">",
                  EscapeXml(text), "</text>\n");
}

void SvgPage::Rectangle(const Box& box, std::string_view attributes) {
  Extend(box);
  absl::StrAppend(&body_, "<rect x=\"", Pixels(box.left), "\" y=\"", Pixels(box.top), "\" width=\"",
                  Pixels(box.right - box.left), "\" height=\"", Pixels(box.bottom - box.top), "\" ",
                  ToAbsl(attributes), "/>\n");
}

std::string SvgPage::Finish(std::string_view title, std::string_view definitions) const {
  double left = std::floor(extent_.left - kMargin);
  double top = std::floor(extent_.top - kMargin);
  double width = std::ceil(extent_.right + kMargin) - left;
  double height = std::ceil(extent_.bottom + kMargin) - top;
  std::string size = absl::StrCat("width=\"", Pixels(width), "\" height=\"", Pixels(height), "\"");
  return absl::StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" ", size, " viewBox=\"", Pixels(left), " ",
      Pixels(top), " ", Pixels(width), " ", Pixels(height),
      "\" role=\"img\" font-family=\"&quot;DejaVu Sans&quot;, Verdana, sans-serif\">\n<title>",
      EscapeXml(title), "</title>\n<defs>\n", ToAbsl(definitions), "</defs>\n<rect x=\"",
      Pixels(left), "\" y=\"", Pixels(top), "\" ", size, " fill=\"#fff\"/>\n", body_, "</svg>\n");
}

}  // namespace locus::internal
