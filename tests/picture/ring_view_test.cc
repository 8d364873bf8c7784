// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/ring_view.h"

#include <cmath>
#include <map>
#include <regex>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "routing/table/printable_text.h"
#include "tests/picture/svg_check.h"
#include "tests/table/random_table.h"

namespace locus {

using internal::ColumnsOf;
using internal::CutToColumns;

namespace {

using testing::HasSubstr;
using testing::Not;

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

id  name      vnodes  portion %
 1  orders-a  16,384      25.00  )",
                                            full.substr(0, 39), R"(▍
 3  none           0       0.00
20  订单      49,152      75.00  )",
                                            full, R"(
    total     65,536     100.00

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

TEST(RingViewTest, Endpoints_AreInTheLegendOfThePicture) {
  Shard shard = Named(1, "a");
  shard.endpoint = "mysql://inner-host";
  RoutingTable table = RoutingTable::Make(1, {shard}, {{100, 1}}).value();
  EXPECT_THAT(RingAsSvg(table), HasSubstr(">mysql://inner-host<"));
  EXPECT_THAT(RingAsText(table), Not(HasSubstr("inner-host")));
}

TEST(RingViewTest, FinestTables_StayBelowTheBound) {
  for (uint32_t shards : {2u, 7u, 10u, 12u, 60u, 65536u}) {
    SCOPED_TRACE(absl::StrCat(shards, " shards"));
    ExpectSound(RingAsSvg(Finest(shards, true)));
    ExpectSound(RingAsSvg(Finest(shards, false)));
  }
}

TEST(RingViewTest, EveryShard_IsInTheLegendUpToTheLimit) {
  for (uint32_t shards : {1u, 2u, 12u, 13u, 17u, 60u, 61u, 200u, 256u}) {
    std::string svg = RingAsSvg(Finest(shards, false));
    EXPECT_EQ(CountOf(svg, "class=\"swatch\""), shards);
    for (uint32_t id = 1; id <= shards; ++id) {
      EXPECT_THAT(svg, HasSubstr(absl::StrCat(">", id, " s", id, "<")));
    }
    EXPECT_THAT(svg, Not(HasSubstr(" more with ")));
  }
  std::string svg = RingAsSvg(Finest(1000, false));
  EXPECT_EQ(CountOf(svg, "class=\"swatch\""), 255u);
  EXPECT_THAT(svg, HasSubstr(">and 745 more with "));
}

TEST(RingViewTest, Legend_ListsTheLargestFirst) {
  RoutingTable table = RoutingTable::Make(1, {Named(1, "small"), Named(2, "big"), Named(3, "none")},
                                          {{99, 1}, {65535, 2}})
                           .value();
  std::string svg = RingAsSvg(table);
  EXPECT_LT(svg.find(">2 big<"), svg.find(">1 small<"));
  EXPECT_LT(svg.find(">1 small<"), svg.find(">3 none<"));
}

// The lightness (CIE L*) of a colour "#rrggbb".
double LightnessOf(const std::string& colour) {
  double luminance = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (size_t i = 0; i < 3; ++i) {
    double part = std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    luminance +=
        weights[i] * (part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
  }
  return 116 * std::cbrt(luminance) - 16;
}

TEST(RingViewTest, EighteenShards_DifferInBlackAndWhite) {
  std::string svg = RingAsSvg(Finest(18, false));
  static const std::regex pattern(
      "<pattern id=\"fill([0-9]+)\".*fill=\"(#[0-9a-f]+)\"/>(.*)</pattern>");
  std::map<size_t, std::pair<double, std::string>> fills;
  for (std::sregex_iterator it(svg.begin(), svg.end(), pattern), end; it != end; ++it) {
    fills[std::stoul((*it)[1])] = {LightnessOf((*it)[2]), (*it)[3]};
  }
  ASSERT_EQ(fills.size(), 18u);
  for (const auto& [i, fill] : fills) {
    EXPECT_GT(fill.first, 55) << "black text is legible";
    for (const auto& [j, other] : fills) {
      if (i >= j) continue;
      EXPECT_TRUE(fill.second != other.second || std::abs(fill.first - other.first) > 8)
          << i << " and " << j;
    }
    const auto& next = fills.at((i + 1) % 18);
    EXPECT_GT(std::abs(fill.first - next.first), 6) << i << " and its neighbour";
  }
}

TEST(RingViewTest, RandomTables_AreSound) {
  RandomTable random(11);
  for (uint64_t epoch = 1; epoch <= 40; ++epoch) {
    RoutingTable table = random.Next(epoch);
    SCOPED_TRACE(epoch);
    ExpectSound(RingAsSvg(table));
    EXPECT_THAT(RingAsText(table), HasSubstr("65,536     100.00"));
  }
}

TEST(TextWidthTest, Letters_AreAsWideAsThoseOfDejaVuSans) {
  EXPECT_DOUBLE_EQ(internal::TextWidth("m", 1000, false), 974);
  EXPECT_DOUBLE_EQ(internal::TextWidth("i1", 1000, false), 278 + 636);
  EXPECT_GE(internal::TextWidth("m", 1000, true), 1042);
  EXPECT_GE(internal::TextWidth("\xE2\x86\x92", 1000, false), 838);
}

TEST(RingViewTest, EveryNumberOfShards_IsLaidOutWell) {
  for (uint32_t shards : {1u, 2u, 12u, 13u, 17u, 60u, 61u, 200u, 1000u}) {
    SCOPED_TRACE(absl::StrCat(shards, " shards"));
    RoutingTable even = Even(shards);
    ExpectGoodLayout(RingAsSvg(even));
    if (shards < 2) continue;
    RoutingTable moving =
        RoutingTable::Make(1, even.shards(), even.ranges(), {{0, 20, shards, 500}}).value();
    ExpectGoodLayout(RingAsSvg(moving));
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
