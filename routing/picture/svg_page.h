// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_PICTURE_SVG_PAGE_H_
#define LOCUS_ROUTING_PICTURE_SVG_PAGE_H_

#include <string>
#include <string_view>

namespace locus::internal {

struct Box {
  double left;
  double top;
  double right;
  double bottom;
};
bool Overlap(const Box& a, const Box& b);

enum class Anchor { kStart, kMiddle, kEnd };

struct TextLook {
  double size = 13;  // pixels
  Anchor anchor = Anchor::kStart;
  bool bold = false;
  const char* colour = "#222";
};

// In pixels, by the widths of DejaVu Sans, which Verdana shares and Arial stays below. `text` is as
// IsPrintableUtf8 accepts.
double TextWidth(std::string_view text, double size, bool bold);

// `text`, or its beginning and its end with U+2026 between them, at most `width` pixels wide.
std::string CutToWidth(std::string_view text, double width, double size, bool bold);

// The place of a text: its baseline begins, has its middle or ends at (x, y).
Box TextBox(double x, double y, const TextLook& look, std::string_view text);

std::string EscapeXml(std::string_view text);

// With at most one decimal, in every locale.
std::string Pixels(double value);

// An SVG document in the making. Its size is that of what was drawn, with a narrow margin.
class SvgPage {
 public:
  // `svg` lies within boxes that are given to Extend.
  void Append(std::string_view svg) { body_ += svg; }
  void Extend(const Box& box);
  void Text(double x, double y, const TextLook& look, std::string_view text);
  // `attributes` without x, y, width and height.
  void Rectangle(const Box& box, std::string_view attributes);

  // The lowest point of what was drawn.
  double bottom() const { return extent_.bottom; }

  // `definitions` are the patterns that the body uses.
  std::string Finish(std::string_view title, std::string_view definitions) const;

 private:
  std::string body_;
  bool empty_ = true;
  Box extent_ = {0, 0, 0, 0};
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_PICTURE_SVG_PAGE_H_
