// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/query.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::locusd {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(std::string_view text) {
  return std::string(Query::Parse(text).status().message());
}

TEST(IdQueryTest, Parameters_AreRead) {
  const Query query = Query::Parse("a=1&b=x%20y%3D%26&c=&d=%2B").value();
  EXPECT_EQ(query.size(), 4u);
  EXPECT_EQ(*query.Find("a"), "1");
  EXPECT_EQ(*query.Find("b"), "x y=&");
  EXPECT_EQ(*query.Find("c"), "");
  EXPECT_EQ(*query.Find("d"), "+");
  EXPECT_EQ(query.Find("e"), nullptr);
  EXPECT_EQ(Query::Parse("").value().size(), 0u);
}

TEST(IdQueryTest, WhatIsNotExactlyAQuery_IsRefused) {
  EXPECT_THAT(ErrorOf("a"), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(ErrorOf("=1"), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(ErrorOf("a=1&"), "");
  EXPECT_THAT(ErrorOf("a=1&&b=2"), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(ErrorOf("a=1&a=2"), HasSubstr("given twice"));
  EXPECT_THAT(ErrorOf("a=1&%61=2"), HasSubstr("given twice"));
  for (const char* const bad : {"a=%", "a=%4", "a=%4g", "a=%g4", "%=1"}) {
    EXPECT_THAT(ErrorOf(bad), HasSubstr("two hex digits")) << bad;
  }
}

// A form writes + for a blank: taken as a plus, one key would count in two counters.
TEST(IdQueryTest, RawPlus_IsRefusedAndToldHowToWriteIt) {
  for (const char* const bad : {"a=+", "a=x+y", "+=1", "a=1&b+c=2", "a=%20+"}) {
    EXPECT_THAT(ErrorOf(bad), HasSubstr("%20 for a blank, %2B for a plus")) << bad;
  }
}

TEST(IdQueryTest, Counts_AreWithinTheirLimits) {
  const Query query = Query::Parse("n=10&zero=0&long=10001&sign=-1&text=x&empty=").value();
  EXPECT_EQ(query.Count("n", 1, 10).value(), 10u);
  EXPECT_EQ(query.Count("none", 7, 10).value(), 7u);
  for (const char* const bad : {"zero", "long", "sign", "text", "empty"}) {
    EXPECT_THAT(std::string(query.Count(bad, 1, 10'000).status().message()),
                HasSubstr("1 to 10000"))
        << bad;
  }
}

TEST(IdQueryTest, UnknownParameters_AreRefusedWithTheKnownOnes) {
  const Query query = Query::Parse("n=1&m=2").value();
  EXPECT_TRUE(query.Only({"m", "n"}).ok());
  EXPECT_THAT(std::string(query.Only({"n", "x"}).message()), HasSubstr("\"m\" is unknown"));
  EXPECT_THAT(std::string(query.Only({"n", "x"}).message()), HasSubstr("n, x"));
  EXPECT_THAT(std::string(query.Only({}).message()), HasSubstr("there are none here"));
}

}  // namespace
}  // namespace locus::locusd
