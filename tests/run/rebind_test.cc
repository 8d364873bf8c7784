// SPDX-License-Identifier: Apache-2.0
#include "migration/run/rebind.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::mysql {
namespace {

using internal::FenceRow;
using ::testing::HasSubstr;

RoutingTable Table(std::vector<VnodeMove> moves) {
  return RoutingTable::Make(5,
                            {{.id = 1, .name = "a", .endpoint = "mysql://h:1/d", .labels = {}},
                             {.id = 2, .name = "b", .endpoint = "mysql://h:2/d", .labels = {}}},
                            {{999, 1}, {65535, 2}}, std::move(moves))
      .value();
}

std::string Refusal(const FenceRow& row, const RoutingTable& table) {
  std::string why;
  return MayBindAtRest(row, 1, table, why) ? "" : why;
}

TEST(RebindTest, RowAtRest_BindsWhereItAgreesWithTheTable) {
  EXPECT_EQ(Refusal({0, 999, 0, 10000, 3, 9, ""}, Table({})), "");
  EXPECT_EQ(Refusal({1000, 1999, 10000, 10000, 3, 9, ""}, Table({})), "");
  // From a backup that is older than a move which has ended.
  EXPECT_THAT(Refusal({1000, 1999, 0, 10000, 3, 9, ""}, Table({})), HasSubstr("shard 2"));
  EXPECT_THAT(Refusal({500, 1000, 0, 10000, 3, 9, ""}, Table({})), HasSubstr("vnode 1000"));
  EXPECT_THAT(Refusal({0, 999, 10000, 10000, 3, 9, ""}, Table({})), HasSubstr("no cohorts"));
}

TEST(RebindTest, RowOfAMove_IsLeft) {
  EXPECT_THAT(Refusal({0, 99, 500, 10000, 3, 9, ""}, Table({})), HasSubstr("a part"));
  EXPECT_THAT(Refusal({0, 99, 0, 10000, 3, 9, ""}, Table({{50, 60, 2, 0, 0}})),
              HasSubstr("moves vnode 50"));
}

}  // namespace
}  // namespace locus::mysql
