// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/move/move_report.h"

#include <algorithm>
#include <regex>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus::cli {
namespace {

// The heights of the line of a colour, from its bottom, in the picture of one move.
std::vector<double> HeightsOf(const std::string& svg, const std::string& colour) {
  const std::regex path("<path d=\"([^\"]*)\" fill=\"none\" stroke=\"" + colour + "\"");
  std::smatch line;
  if (!std::regex_search(svg, line, path)) return {};
  const std::string points = line[1];
  const std::regex point("[ML][0-9.]+ ([0-9.]+)");
  std::vector<double> ys;
  for (std::sregex_iterator at(points.begin(), points.end(), point), end; at != end; ++at) {
    ys.push_back(std::stod((*at)[1]));
  }
  return ys;
}

// A stop of ten minutes among lags of 20 to 60 ms: on a linear scale these were one line at 0.
TEST(MoveReportTest, OneLargeLag_LeavesTheOthersReadable) {
  MoveHistory history;
  history.move.name = "peak.1>2";
  history.move.ranges = {{0, 9}};
  int second = 0;
  for (double lag : {20.0, 60.0, 600'000.0, 20.0}) {
    history.events.push_back({absl::FromUnixSeconds(1'800'000'000 + ++second), "sample", 500,
                              absl::StrCat("{\"share\":500,\"forth_ms\":", lag, "}")});
  }
  const std::string svg = ReportSvg({history});
  const std::vector<double> ys = HeightsOf(svg, "#2f855a");
  ASSERT_EQ(ys.size(), 4u) << svg;
  EXPECT_EQ(ys[0], ys[3]);
  EXPECT_GT(ys[0] - ys[1], 5) << "20 and 60 ms differ by some pixels";
  EXPECT_GT(ys[1] - ys[2], 30) << "and are far below the stop";
  for (const char* tick : {">100<", ">1000<", ">100000<", ">1000000<"}) {
    EXPECT_NE(svg.find(tick), svg.npos) << tick;
  }
}

}  // namespace
}  // namespace locus::cli
