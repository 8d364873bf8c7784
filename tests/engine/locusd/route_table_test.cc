// SPDX-License-Identifier: Apache-2.0
#include "src/http/api/route_table.h"

#include "gtest/gtest.h"

namespace locus::http_api {
namespace {

constexpr RouteTo<int> kRoutes[] = {
    {{"POST", "/a", {Scope::kIds}, "postA"}, 1},
    {{"GET", "/a", {Scope::kRead}, "getA"}, 2},
    {{"PUT", "/a/{id}", {Scope::kIds}, "putA"}, 3},
    {{"POST", "/a/{id}:do", {Scope::kOperate}, "doA"}, 4},
    {{"GET", "/b/{name}/next", {}, "nextB"}, 5},
};

int Called(std::string_view method, std::string_view path, std::string_view* parameter = nullptr) {
  static const RouteTable table(kRoutes);
  const RouteTo<int>* const route = FindRoute<int>(table, method, path, parameter);
  return route == nullptr ? 0 : route->handler;
}

TEST(RouteTableTest, PathAndMethod_ChooseTheHandler) {
  EXPECT_EQ(Called("POST", "/a"), 1);
  EXPECT_EQ(Called("GET", "/a"), 2);
  EXPECT_EQ(Called("PUT", "/a"), 0);
  EXPECT_EQ(Called("GET", "/"), 0);
  EXPECT_EQ(Called("GET", "/a/"), 0);
}

TEST(RouteTableTest, Parameter_IsOneSegmentOrWhatStandsBeforeItsSuffix) {
  std::string_view parameter;
  EXPECT_EQ(Called("PUT", "/a/7", &parameter), 3);
  EXPECT_EQ(parameter, "7");
  EXPECT_EQ(Called("POST", "/a/7:do", &parameter), 4) << "also /a/{id}, but longer";
  EXPECT_EQ(parameter, "7");
  EXPECT_EQ(Called("PUT", "/a/7:do"), 0);
  EXPECT_EQ(Called("PUT", "/a/7/8"), 0);
  EXPECT_EQ(Called("PUT", "/a/{id}", &parameter), 3);
  EXPECT_EQ(parameter, "{id}");
  EXPECT_EQ(Called("GET", "/b/x/next", &parameter), 5);
  EXPECT_EQ(parameter, "x");
  EXPECT_EQ(Called("GET", "/b//next"), 0);
  EXPECT_EQ(Called("GET", "/b/next"), 0);
}

TEST(RouteTableTest, Allow_ListsTheMethodsOfAPath) {
  const RouteTable table(kRoutes);
  EXPECT_EQ(table.Find("/a").path->allow, "POST, GET, HEAD, OPTIONS");
  EXPECT_EQ(table.Find("/a/1:do").path->allow, "POST, OPTIONS");
  EXPECT_EQ(table.Find("/c").path, nullptr);
}

TEST(RouteTableDeathTest, OnePathAndMethodTwice_Aborts) {
  static constexpr RouteTo<int> kTwice[] = {{{"GET", "/a", {}, "one"}, 1},
                                            {{"GET", "/a", {}, "other"}, 2}};
  EXPECT_DEATH(RouteTable{kTwice}, "");
}

}  // namespace
}  // namespace locus::http_api
