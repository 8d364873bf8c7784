// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PICTURE_SVG_CHECK_H_
#define LOCUS_TESTS_PICTURE_SVG_CHECK_H_

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/routing_table.h"
#include "routing/picture/svg_page.h"

// The rules for every picture of a ring, and tables to draw.

namespace locus {

inline Shard Named(uint32_t id, std::string name) {
  return {.id = id, .name = name, .endpoint = "h-" + name, .labels = {}};
}

inline size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// A reader of the XML that RingAsSvg may write: elements, quoted attributes, the five entities.
class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : rest_(text) {}

  // Why the text is no document, or nothing.
  std::string Problem() {
    while (!rest_.empty()) {
      std::string problem = rest_[0] == '<' ? ReadTag() : ReadText("<");
      if (!problem.empty()) return problem + " before: " + std::string(rest_.substr(0, 60));
      if (open_.empty() && rest_ == "\n") return "";
    }
    return open_.empty() ? "" : "not closed: " + open_.back();
  }

 private:
  std::string ReadText(std::string_view stop) {
    while (!rest_.empty() && stop.find(rest_[0]) == std::string_view::npos) {
      if (rest_[0] == '<') return "a bare <";
      if (rest_[0] == '&' && !SkipEntity()) return "a bare &";
      rest_.remove_prefix(1);
    }
    return "";
  }

  bool SkipEntity() {
    for (std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"}) {
      if (!rest_.starts_with(entity)) continue;
      rest_.remove_prefix(entity.size() - 1);
      return true;
    }
    return false;
  }

  std::string ReadName() {
    std::string name;
    for (; !rest_.empty() && (std::isalnum(rest_[0]) || rest_[0] == '-'); rest_.remove_prefix(1)) {
      name += rest_[0];
    }
    return name;
  }

  std::string ReadTag() {
    rest_.remove_prefix(1);
    bool closes = rest_.starts_with("/");
    if (closes) rest_.remove_prefix(1);
    std::string name = ReadName();
    if (name.empty()) return "a tag without a name";
    if (closes) {
      if (open_.empty() || open_.back() != name) return "closed but not open: " + name;
      open_.pop_back();
      return Take(">") ? "" : "a bad closing tag";
    }
    std::set<std::string> attributes;
    while (Take(" ") || Take("\n")) {
      std::string attribute = ReadName();
      if (!attributes.insert(attribute).second) return "twice: " + attribute;
      if (attribute.empty() || !Take("=\"")) return "a bad attribute";
      if (std::string problem = ReadText("\""); !problem.empty()) return problem;
      if (!Take("\"")) return "an open attribute";
    }
    if (Take("/>")) return "";
    open_.push_back(name);
    return Take(">") ? "" : "a bad tag";
  }

  bool Take(std::string_view what) {
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }

  std::string_view rest_;
  std::vector<std::string> open_;
};

inline size_t VnodesDrawn(const std::string& svg) {
  const std::string attribute = "data-vnodes=\"";
  size_t sum = 0;
  for (size_t at = svg.find(attribute); at != std::string::npos; at = svg.find(attribute, at + 1)) {
    sum += std::stoul(svg.substr(at + attribute.size()));
  }
  return sum;
}

inline void ExpectSound(const std::string& svg, size_t rings = 1) {
  EXPECT_EQ(XmlReader(svg).Problem(), "");
  EXPECT_EQ(VnodesDrawn(svg), rings * 65536);
  EXPECT_LT(svg.size(), 1u << 20);
  EXPECT_THAT(svg, testing::Not(testing::HasSubstr("nan")));
}

struct Drawn {
  std::string text;
  internal::Box box;
};

// The place of each text of the picture.
inline std::vector<Drawn> TextsOf(const std::string& svg) {
  static const std::regex element(
      "<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" font-size=\"([0-9.]+)\" "
      "text-anchor=\"([a-z]+)\"( font-weight=\"bold\")? fill=\"#[0-9a-f]+\">([^<]*)</text>");
  std::vector<Drawn> texts;
  for (std::sregex_iterator it(svg.begin(), svg.end(), element), end; it != end; ++it) {
    internal::TextLook look{.size = std::stod((*it)[3]), .bold = (*it)[5].matched};
    if ((*it)[4] == "middle") look.anchor = internal::Anchor::kMiddle;
    if ((*it)[4] == "end") look.anchor = internal::Anchor::kEnd;
    texts.push_back({(*it)[6], internal::TextBox(std::stod((*it)[1]), std::stod((*it)[2]), look,
                                                 (*it)[6].str())});
  }
  return texts;
}

inline internal::Box ViewBoxOf(const std::string& svg) {
  static const std::regex element("viewBox=\"([-0-9.]+) ([-0-9.]+) ([-0-9.]+) ([-0-9.]+)\"");
  std::smatch found;
  EXPECT_TRUE(std::regex_search(svg, found, element));
  double left = std::stod(found[1]);
  double top = std::stod(found[2]);
  return {left, top, left + std::stod(found[3]), top + std::stod(found[4])};
}

// The area of all texts, rectangles and points of paths. An arc goes beyond its ends, but the ends
// of a ring's arcs and its quarters come near enough.
inline internal::Box ExtentOf(const std::string& svg) {
  static const std::regex rectangle(
      "<rect x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" width=\"([0-9.]+)\" height=\"([0-9.]+)\" "
      "(?!fill=\"#fff\"/>)");
  static const std::regex point(
      "[ML]([-0-9.]+) ([-0-9.]+)|A[0-9.]+ [0-9.]+ 0 [01] [01] "
      "([-0-9.]+) ([-0-9.]+)");
  internal::Box extent{1e9, 1e9, -1e9, -1e9};
  auto add = [&](const internal::Box& box) {
    extent = {std::min(extent.left, box.left), std::min(extent.top, box.top),
              std::max(extent.right, box.right), std::max(extent.bottom, box.bottom)};
  };
  for (const Drawn& text : TextsOf(svg)) add(text.box);
  for (std::sregex_iterator it(svg.begin(), svg.end(), rectangle), end; it != end; ++it) {
    double left = std::stod((*it)[1]);
    double top = std::stod((*it)[2]);
    add({left, top, left + std::stod((*it)[3]), top + std::stod((*it)[4])});
  }
  std::string body = svg.substr(svg.find("</defs>"));
  for (std::sregex_iterator it(body.begin(), body.end(), point), end; it != end; ++it) {
    int first = (*it)[1].matched ? 1 : 3;
    double x = std::stod((*it)[first]);
    double y = std::stod((*it)[first + 1]);
    add({x, y, x, y});
  }
  // A whole circle is two arcs from its top and back, whose ends do not show its width.
  static const std::regex circle(
      "M([-0-9.]+) ([-0-9.]+)A([0-9.]+) [0-9.]+ 0 0 1 ([-0-9.]+) [-0-9.]+A");
  for (std::sregex_iterator it(body.begin(), body.end(), circle), end; it != end; ++it) {
    if ((*it)[1] != (*it)[4]) continue;
    double x = std::stod((*it)[1]);
    double top = std::stod((*it)[2]);
    double radius = std::stod((*it)[3]);
    add({x - radius, top, x + radius, top + 2 * radius});
  }
  return extent;
}

// No text stands on another one, and the page is as large as what is drawn.
inline void ExpectGoodLayout(const std::string& svg) {
  std::vector<Drawn> texts = TextsOf(svg);
  EXPECT_EQ(texts.size(), CountOf(svg, "<text "));
  internal::Box page = ViewBoxOf(svg);
  internal::Box extent = ExtentOf(svg);
  EXPECT_GE(extent.left, page.left);
  EXPECT_GE(extent.top, page.top);
  EXPECT_LE(extent.right, page.right);
  EXPECT_LE(extent.bottom, page.bottom);
  // The margin, and the band of a ring that has none at the quarter nearest to the edge.
  constexpr double kMost = 20;
  EXPECT_LE(extent.left - page.left, kMost);
  EXPECT_LE(extent.top - page.top, kMost);
  EXPECT_LE(page.right - extent.right, kMost);
  EXPECT_LE(page.bottom - extent.bottom, kMost);
  std::ranges::sort(texts, {}, [](const Drawn& text) { return text.box.top; });
  for (size_t i = 0; i < texts.size(); ++i) {
    for (size_t j = i + 1; j < texts.size() && texts[j].box.top < texts[i].box.bottom; ++j) {
      EXPECT_FALSE(internal::Overlap(texts[i].box, texts[j].box))
          << texts[i].text << " on " << texts[j].text;
    }
  }
}

// Each of `shards` has one range.
inline RoutingTable Even(uint32_t shards) {
  std::vector<std::pair<std::string, std::string>> names;
  for (uint32_t i = 1; i <= shards; ++i) {
    names.emplace_back(absl::StrCat("s", i), absl::StrCat("mysql://db-", i, ".example.com/orders"));
  }
  return RoutingTable::MakeEven(names).value();
}

// `shards` take turns, vnode by vnode, and every second vnode moves.
inline RoutingTable Finest(uint32_t shards, bool moving) {
  std::vector<Shard> all;
  for (uint32_t id = 1; id <= shards; ++id) all.push_back(Named(id, absl::StrCat("s", id)));
  std::vector<VnodeRange> ranges;
  std::vector<VnodeMove> moves;
  for (uint32_t vnode = 0; vnode < 65536; ++vnode) {
    auto last = static_cast<uint16_t>(vnode);
    ranges.push_back({last, 1 + vnode * 40503 / 64 % shards});
    uint32_t to = 1 + ranges.back().shard % shards;
    if (moving && vnode % 2 == 0) moves.push_back({last, last, to, vnode % 10001});
  }
  return RoutingTable::Make(INT64_MAX, all, ranges, moves).value();
}

}  // namespace locus

#endif  // LOCUS_TESTS_PICTURE_SVG_CHECK_H_
