// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/ring_view.h"

#include <cctype>
#include <map>
#include <regex>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "routing/table/printable_text.h"
#include "tests/table/random_table.h"

namespace locus {
namespace {

using testing::HasSubstr;
using testing::Not;

Shard Named(uint32_t id, std::string name) {
  return {.id = id, .name = name, .endpoint = "h-" + name, .labels = {}};
}

size_t CountOf(const std::string& text, const std::string& part) {
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

size_t VnodesDrawn(const std::string& svg) {
  const std::string attribute = "data-vnodes=\"";
  size_t sum = 0;
  for (size_t at = svg.find(attribute); at != std::string::npos; at = svg.find(attribute, at + 1)) {
    sum += std::stoul(svg.substr(at + attribute.size()));
  }
  return sum;
}

void ExpectSound(const std::string& svg, size_t rings = 1) {
  EXPECT_EQ(XmlReader(svg).Problem(), "");
  EXPECT_EQ(VnodesDrawn(svg), rings * 65536);
  EXPECT_LT(svg.size(), 1u << 20);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(XmlReaderTest, BrokenDocuments_AreSeen) {
  EXPECT_EQ(XmlReader("<a b=\"&lt;\"><c/>x &amp; y</a>\n").Problem(), "");
  for (const char* text : {"<a>", "<a></b>", "<a b=c/>", "<a b=\"<\"/>", "<a>&</a>", "<a>x & y</a>",
                           "<a b=\"1\" b=\"2\"/>", "</a>"}) {
    EXPECT_NE(XmlReader(text).Problem(), "") << text;
  }
}

TEST(RingViewTest, Text_ShowsShardsAndMovesAligned) {
  RoutingTable table =
      RoutingTable::Make(
          12, {Named(1, "orders-a"), Named(20, "\xE8\xAE\xA2\xE5\x8D\x95"), Named(3, "none")},
          {{16383, 1}, {65535, 20}}, {{16000, 16383, 20, 500}, {16384, 16400, 1, 10000}})
          .value();
  std::string full;
  for (int i = 0; i < 40; ++i) full += "\xE2\x96\x88";
  EXPECT_EQ(RingAsText(table), absl::StrCat(R"(epoch 12

id  name      vnodes  share %
 1  orders-a  16,384    25.00  )",
                                            full.substr(0, 39), R"(▍
 3  none           0     0.00
20  订单      49,152    75.00  )",
                                            full, R"(
    total     65,536   100.00

401 vnodes move
first   last  from      to        permyriad
16000  16383  orders-a  订单            500
16384  16400  订单      orders-a      10000
)"));
}

TEST(RingViewTest, MoveAcrossTwoOwners_IsTwoLines) {
  RoutingTable table = RoutingTable::Make(1, {Named(1, "a"), Named(2, "b"), Named(3, "c")},
                                          {{9, 1}, {19, 2}}, {{5, 12, 3, 7}, {13, 14, 3, 7}})
                           .value();
  std::string text = RingAsText(table);
  EXPECT_THAT(text, HasSubstr("\n    5     9  a     c           7\n"));
  EXPECT_THAT(text, HasSubstr("\n   10    14  b     c           7\n"));
}

TEST(RingViewTest, OneShard_IsAWholeCircle) {
  RoutingTable table = RoutingTable::Make(1, {Named(1, "all")}, {{100, 1}}).value();
  std::string svg = RingAsSvg(table);
  ExpectSound(svg);
  EXPECT_EQ(CountOf(svg, "data-vnodes=\"65536\""), 1u);
  EXPECT_THAT(svg, HasSubstr("100.00 %"));
  EXPECT_THAT(svg, HasSubstr("nothing moves"));
}

TEST(RingViewTest, WholeRingMoves_IsDrawn) {
  RoutingTable table =
      RoutingTable::Make(1, {Named(1, "a"), Named(2, "b")}, {{0, 1}}, {{0, 65535, 2, 1}}).value();
  std::string svg = RingAsSvg(table);
  ExpectSound(svg);
  EXPECT_THAT(svg, HasSubstr("65,536 vnodes move"));
}

TEST(RingViewTest, RangeThatWraps_IsOneArc) {
  RoutingTable table =
      RoutingTable::Make(1, {Named(1, "a"), Named(2, "b")}, {{99, 1}, {999, 2}}).value();
  std::string svg = RingAsSvg(table);
  ExpectSound(svg);
  EXPECT_EQ(CountOf(svg, "data-vnodes="), 2u);
  EXPECT_THAT(svg, HasSubstr("data-vnodes=\"64636\""));
}

TEST(RingViewTest, NamesWithMarkup_AreEscaped) {
  RoutingTable table = RoutingTable::Make(1, {Named(1, "<&\"'>")}, {{100, 1}}).value();
  std::string svg = RingAsSvg(table);
  ExpectSound(svg);
  EXPECT_THAT(svg, HasSubstr("1 &lt;&amp;&quot;&apos;&gt;<"));
}

TEST(RingViewTest, Endpoints_AreNotShown) {
  Shard shard = Named(1, "a");
  shard.endpoint = "mysql://inner-host";
  RoutingTable table = RoutingTable::Make(1, {shard}, {{100, 1}}).value();
  EXPECT_THAT(RingAsSvg(table), Not(HasSubstr("inner-host")));
  EXPECT_THAT(RingAsText(table), Not(HasSubstr("inner-host")));
}

// `shards` take turns, vnode by vnode, and every second vnode moves.
RoutingTable Finest(uint32_t shards, bool moving) {
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

TEST(RingViewTest, FinestTables_StayBelowTheBound) {
  for (uint32_t shards : {2u, 7u, 10u, 12u, 60u, 65536u}) {
    SCOPED_TRACE(absl::StrCat(shards, " shards"));
    ExpectSound(RingAsSvg(Finest(shards, true)));
    ExpectSound(RingAsSvg(Finest(shards, false)));
  }
}

TEST(RingViewTest, ManyShards_AreListedInPart) {
  std::string svg = RingAsSvg(Finest(60, false));
  EXPECT_THAT(svg, HasSubstr("and 45 more: "));
  EXPECT_EQ(CountOf(svg, "class=\"swatch\""), 15u);
  EXPECT_EQ(CountOf(RingAsSvg(Finest(16, false)), "class=\"swatch\""), 16u);
}

TEST(RingViewTest, RandomTables_AreSound) {
  RandomTable random(11);
  for (uint64_t epoch = 1; epoch <= 40; ++epoch) {
    RoutingTable table = random.Next(epoch);
    SCOPED_TRACE(epoch);
    ExpectSound(RingAsSvg(table));
    EXPECT_THAT(RingAsText(table), HasSubstr("65,536   100.00"));
  }
}

struct TextBox {
  std::string text;
  double left, top, right, bottom;
};

// Where each text of the picture stands, taking its letters to be as wide as those of DejaVu Sans
// are on average.
std::vector<TextBox> TextBoxesOf(const std::string& svg) {
  static const std::regex element(
      "<g transform=\"translate\\((-?[0-9]+) 0\\)\">|<(/g)>|"
      "<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" ([^>]*)>([^<]*)</text>");
  static const std::regex font("font-size: ([0-9.]+)px");
  std::vector<TextBox> boxes;
  double shift = 0;
  for (std::sregex_iterator it(svg.begin(), svg.end(), element), end; it != end; ++it) {
    if ((*it)[1].matched) shift = std::stod((*it)[1]);
    if ((*it)[2].matched) shift = 0;
    if (!(*it)[3].matched) continue;
    std::string attributes = (*it)[5];
    auto has = [&](const char* what) { return attributes.find(what) != std::string::npos; };
    double size = has("class=\"note\"") || has("class=\"scale\"") ? 12 : has("middle\"") ? 16 : 14;
    std::smatch own;
    if (std::regex_search(attributes, own, font)) size = std::stod(own[1]);
    double width = size * 0.62 * static_cast<double>(ColumnsOf((*it)[6].str()));
    bool middle = has("class=\"middle\"") || has("class=\"note\"") || has("class=\"title\"") ||
                  has("class=\"id\"") || has("text-anchor=\"middle\"");
    double x = std::stod((*it)[3]) + shift;
    double left = middle ? x - width / 2 : has("text-anchor=\"end\"") ? x - width : x;
    double y = std::stod((*it)[4]);
    boxes.push_back({(*it)[6], left, y - size * 0.75, left + width, y + size * 0.2});
  }
  return boxes;
}

void ExpectNoTextOnAnother(const std::string& svg, double width, double height) {
  std::vector<TextBox> boxes = TextBoxesOf(svg);
  EXPECT_EQ(boxes.size(), CountOf(svg, "<text "));
  for (size_t i = 0; i < boxes.size(); ++i) {
    const TextBox& a = boxes[i];
    EXPECT_TRUE(a.left >= 0 && a.right <= width && a.top >= 0 && a.bottom <= height) << a.text;
    for (size_t j = 0; j < i; ++j) {
      const TextBox& b = boxes[j];
      EXPECT_FALSE(a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
          << a.text << " on " << b.text;
    }
  }
}

// A plan by which each shard gives every fourth of its vnodes to the next one.
RebalancePlan FinePlan(const RoutingTable& table) {
  RebalancePlan plan = PlanRebalance(table, {}).value();
  plan.moves.clear();
  plan.moved_vnodes = 0;
  std::map<uint32_t, uint32_t> next;
  for (size_t i = 0; i < table.shards().size(); ++i) {
    next[table.shards()[i].id] = table.shards()[(i + 1) % table.shards().size()].id;
  }
  for (uint32_t vnode = 0; vnode < 65536; vnode += 4) {
    auto at = static_cast<uint16_t>(vnode);
    if (table.MoveOf(ShardGene::FromUint16(at)) != nullptr) continue;
    uint32_t from = table.OwnerOf(ShardGene::FromUint16(at)).id;
    if (next[from] == from) continue;
    plan.moves.push_back({at, at, from, next[from]});
    ++plan.moved_vnodes;
  }
  return plan;
}

TEST(RebalanceViewTest, NewShard_IsInTheLegendWithItsVnodesBeforeAndAfter) {
  RoutingTable table = RoutingTable::MakeEven({{"a", "h"}, {"b", "i"}}).value();
  RebalanceWish wish;
  wish.add.push_back({.name = "c", .endpoint = "inner-host"});
  std::string svg = RebalanceAsSvg(PlanRebalance(table, wish).value());
  ExpectSound(svg, 2);
  ExpectNoTextOnAnother(svg, 1200, 800);
  EXPECT_THAT(svg, HasSubstr(">3 c<"));
  EXPECT_THAT(svg, HasSubstr(">0 \xE2\x86\x92 21,845<"));
  EXPECT_THAT(svg, HasSubstr(">0.00 \xE2\x86\x92 33.33 %<"));
  EXPECT_THAT(svg, HasSubstr(">biggest: 50.00 %<"));
  EXPECT_THAT(svg, HasSubstr("Planned: 21,845 vnodes in "));
  EXPECT_THAT(svg, HasSubstr("Hatched"));
  EXPECT_THAT(svg, Not(HasSubstr("inner-host")));
}

TEST(RebalanceViewTest, NothingToMove_IsTwoEqualRings) {
  RoutingTable table = RoutingTable::MakeEven({{"a", "h"}, {"b", "i"}}).value();
  std::string svg = RebalanceAsSvg(PlanRebalance(table, {}).value());
  ExpectSound(svg, 2);
  EXPECT_THAT(svg, HasSubstr("Planned: 0 vnodes in 0 moves."));
  EXPECT_THAT(svg, Not(HasSubstr("Hatched")));
}

TEST(RebalanceViewTest, FinestPlans_StayBelowTheBoundAndNoTextStandsOnAnother) {
  for (uint32_t shards : {1u, 2u, 6u, 7u, 12u, 13u, 60u, 65536u}) {
    SCOPED_TRACE(absl::StrCat(shards, " shards"));
    std::string svg = RebalanceAsSvg(FinePlan(Finest(shards, false)));
    ExpectSound(svg, 2);
    ExpectNoTextOnAnother(svg, 1200, 800);
  }
}

TEST(RebalanceViewTest, LongNames_AreCutBeforeTheNumbers) {
  for (uint32_t shards : {6u, 12u, 13u}) {
    std::vector<Shard> all;
    for (uint32_t id = 1; id <= shards; ++id) {
      all.push_back(Named(id * 100000, std::string(58, 'm') + std::to_string(id)));
    }
    RoutingTable table = RoutingTable::Make(1, all, {{65535, 100000}}).value();
    ExpectNoTextOnAnother(RebalanceAsSvg(FinePlan(table)), 1200, 800);
  }
}

TEST(PrintableTextTest, CutToColumns_CountsWideCharactersTwice) {
  EXPECT_EQ(CutToColumns("abcdef", 6), "abcdef");
  EXPECT_EQ(CutToColumns("abcdefg", 6), "abcde\xE2\x80\xA6");
  EXPECT_EQ(CutToColumns("订单订单", 8), "订单订单");
  EXPECT_EQ(CutToColumns("订单订单", 6), "订单\xE2\x80\xA6");
  EXPECT_EQ(ColumnsOf("订a"), 3u);
}

}  // namespace
}  // namespace locus
