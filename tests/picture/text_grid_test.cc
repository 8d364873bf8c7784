// SPDX-License-Identifier: Apache-2.0
#include "routing/picture/text_grid.h"

#include <set>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "routing/table/printable_text.h"

namespace locus {

using internal::Align;
using internal::ColumnsOf;
using internal::CutMiddle;
using internal::IsPrintableUtf8;
using internal::TextGrid;
using internal::TextStyleOf;
using internal::ToAscii;

namespace {

TEST(TextStyleOfTest, Columns_AreTheVariableThenTheTerminalThenUnlimited) {
  EXPECT_EQ(TextStyleOf({.columns = "72", .width = 120}).columns, 72u);
  EXPECT_EQ(TextStyleOf({.width = 120}).columns, 120u);
  EXPECT_EQ(TextStyleOf({}).columns, 0u);
  for (const char* wrong : {"", "0", "-5", "many", "99999999999999999999999"}) {
    EXPECT_EQ(TextStyleOf({.columns = wrong, .width = 120}).columns, 120u) << wrong;
  }
}

TEST(TextStyleOfTest, Utf8_FollowsTheFirstSetVariable) {
  EXPECT_TRUE(TextStyleOf({.lang = "en_US.UTF-8"}).utf8);
  EXPECT_TRUE(TextStyleOf({.lc_ctype = "C.utf8"}).utf8);
  EXPECT_FALSE(TextStyleOf({}).utf8);
  EXPECT_FALSE(TextStyleOf({.lc_all = "C", .lang = "en_US.UTF-8"}).utf8);
  EXPECT_TRUE(TextStyleOf({.lc_all = "", .lang = "en_US.UTF-8"}).utf8);
  EXPECT_FALSE(TextStyleOf({.lang = "de_DE.ISO-8859-1"}).utf8);
}

std::vector<std::string> LinesOf(const TextGrid& grid, TextStyle style) {
  std::string out;
  grid.AppendTo(out, style);
  EXPECT_TRUE(out.ends_with('\n'));
  out.pop_back();
  return absl::StrSplit(out, '\n');
}

TextGrid Sample() {
  TextGrid grid({Align::kRight, Align::kLeft, Align::kRight});
  grid.AddWithBar({"1", "orders-production-eu-west-1-shard-0017", "65,536"}, 1);
  grid.AddWithBar({"200", "订单订单订单订单订单订单", "1"}, 0.001);
  return grid;
}

TEST(TextGridTest, NoLimit_NothingIsCut) {
  EXPECT_EQ(LinesOf(Sample(), {})[0].substr(0, 56),
            "  1  orders-production-eu-west-1-shard-0017  65,536  \xE2\x96\x88");
}

TEST(TextGridTest, EveryWidth_IsKeptDownToTheLeastAndNumbersStayWhole) {
  for (bool utf8 : {true, false}) {
    for (size_t columns = 21; columns < 120; ++columns) {
      for (const std::string& line : LinesOf(Sample(), {columns, utf8})) {
        EXPECT_LE(ColumnsOf(line), columns) << line;
        EXPECT_TRUE(IsPrintableUtf8(line)) << line;
      }
      EXPECT_NE(LinesOf(Sample(), {columns, utf8})[0].find("  65,536"), std::string::npos);
    }
  }
}

TEST(TextGridTest, NarrowLine_CutsNamesInTheirMiddle) {
  std::vector<std::string> lines = LinesOf(Sample(), {.columns = 30, .utf8 = true});
  EXPECT_EQ(lines[0], "  1  orders-p…ard-0017  65,536");
  lines = LinesOf(Sample(), {.columns = 30, .utf8 = false});
  EXPECT_EQ(lines[0], "  1  orders-p..rd-0017  65,536");
}

TEST(TextGridTest, NarrowLine_NamesStayDistinctAndMomentsWhole) {
  TextGrid grid({Align::kLeft, Align::kLeftWhole, Align::kRight});
  grid.Add({"orders-production-a-eu-west-1", "2026-11-22T18:00:00Z", "65,536"});
  grid.Add({"orders-production-b-eu-west-1", "0-255", "1"});
  grid.Add({"orders-production-c-us-west-1", "256-511", "2"});
  for (bool utf8 : {true, false}) {
    for (size_t columns = 1; columns < 70; ++columns) {
      std::vector<std::string> lines = LinesOf(grid, {columns, utf8});
      std::set<std::string> names;
      for (const std::string& line : lines) names.insert(line.substr(0, line.find(' ')));
      EXPECT_EQ(names.size(), 3u) << columns;
      EXPECT_NE(lines[0].find("2026-11-22T18:00:00Z  65,536"), std::string::npos) << lines[0];
      EXPECT_NE(lines[1].find("  0-255 "), std::string::npos) << lines[1];
    }
    EXPECT_LT(ColumnsOf(LinesOf(grid, {1, utf8})[0]), ColumnsOf(LinesOf(grid, {})[0]));
  }
}

TEST(TextGridTest, WithoutUtf8_OnlyAsciiIsPrinted) {
  std::vector<std::string> lines = LinesOf(Sample(), {.columns = 0, .utf8 = false});
  EXPECT_TRUE(lines[0].ends_with("  65,536  " + std::string(40, '#'))) << lines[0];
  EXPECT_TRUE(lines[1].find("\\u8ba2\\u5355") != std::string::npos) << lines[1];
  EXPECT_TRUE(lines[1].ends_with(" 1  #")) << "little is more than nothing: " << lines[1];
  for (char c : lines[1]) EXPECT_TRUE(c >= ' ' && c < 127);
}

TEST(PrintableTextTest, ToAscii_EscapesAsJsonDoes) {
  EXPECT_EQ(ToAscii("a-1"), "a-1");
  EXPECT_EQ(ToAscii("订a"), "\\u8ba2a");
  EXPECT_EQ(ToAscii("\xF0\x9F\x98\x80"), "\\ud83d\\ude00");
}

TEST(PrintableTextTest, CutMiddle_KeepsBothEndsAndNeverTakesMoreColumns) {
  EXPECT_EQ(CutMiddle("abcdefghij", 10, true), "abcdefghij");
  EXPECT_EQ(CutMiddle("abcdefghij", 8, true), "abcd…hij");
  EXPECT_EQ(CutMiddle("abcdefghij", 8, false), "abc..hij");
  EXPECT_EQ(CutMiddle("订单订单订单", 6, true), "订…单");
  for (size_t columns = 2; columns < 14; ++columns) {
    EXPECT_LE(ColumnsOf(CutMiddle("订单abc订单x订", columns, false)), columns);
  }
}

}  // namespace
}  // namespace locus
