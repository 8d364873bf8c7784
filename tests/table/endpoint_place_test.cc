// SPDX-License-Identifier: Apache-2.0
#include "routing/table/endpoint_place.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::internal {
namespace {

using ::testing::HasSubstr;

RoutingTable TableOf(const std::string& a, const std::string& b) {
  return RoutingTable::Make(1,
                            {{.id = 1, .name = "a", .endpoint = a, .labels = {}},
                             {.id = 2, .name = "b", .endpoint = b, .labels = {}}},
                            {{999, 1}, {65535, 2}})
      .value();
}

TEST(EndpointPlaceTest, SpellingsOfOneDatabase_AreOnePlace) {
  const std::string place = PlaceOfEndpoint("mysql://db1.example:3306/orders");
  for (const char* same :
       {"mysql://DB1.Example:3306/orders", "mysql://db1.example.:3306/orders",
        "mysql://db1.example/orders", "MySQL://db1.example./orders",
        "mysql://db1.example:3306/%6Frders", "mysql://db1.example:3306/orders?tls=on"}) {
    EXPECT_EQ(PlaceOfEndpoint(same), place) << same;
  }
  for (const char* other :
       {"mysql://db1.example:3307/orders", "mysql://db2.example/orders",
        "mysql://db1.example/Orders", "mysql://db1.example:3306/orders%2F", "db1", ""}) {
    EXPECT_NE(PlaceOfEndpoint(other), place) << other;
  }
  EXPECT_EQ(PlaceOfEndpoint("mysql://[FE80::1]/x"), PlaceOfEndpoint("mysql://[fe80::1]:3306/x"));
}

TEST(EndpointPlaceTest, TwoSpellingsInOneTable_AreRefusedWhereTheyAreNew) {
  const RoutingTable twice = TableOf("mysql://db/x", "mysql://DB.:3306/x");
  EXPECT_THAT(std::string(CheckPlaces(nullptr, twice).message()),
              HasSubstr("\"a\" and \"b\" have one endpoint in two spellings"));
  const RoutingTable once = TableOf("mysql://db/x", "mysql://db/y");
  EXPECT_FALSE(CheckPlaces(&once, twice).ok());
  EXPECT_TRUE(CheckPlaces(&twice, twice).ok()) << "it was so before";
  EXPECT_TRUE(CheckPlaces(&twice, once).ok());
}

RoutingTable TableNamed(const std::string& name) {
  return RoutingTable::Make(1, {{.id = 1, .name = name, .endpoint = "mysql://db/x", .labels = {}}},
                            {{65535, 1}})
      .value();
}

TEST(EndpointPlaceTest, ANameThatIsNotComposed_IsRefusedWhereItIsNew) {
  const RoutingTable composed = TableNamed("k\u00F6ln");
  const RoutingTable loose = TableNamed("ko\u0308ln");
  EXPECT_THAT(std::string(CheckPlaces(&composed, loose).message()), HasSubstr("has U+0308"));
  EXPECT_FALSE(CheckPlaces(nullptr, loose).ok());
  EXPECT_TRUE(CheckPlaces(&loose, loose).ok()) << "it was so before";
  EXPECT_TRUE(CheckPlaces(&loose, composed).ok());
}

}  // namespace
}  // namespace locus::internal
