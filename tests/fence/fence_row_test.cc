// SPDX-License-Identifier: Apache-2.0
// What a fence row accepts, and what is made of a routing table and options.
#include "routing/fence/fence_row.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/migration/fence.h"

namespace locus {
namespace {

using internal::FenceRow;
using internal::FenceVerdict;
using internal::JudgeFence;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = FenceVerdict::Kind;

ShardGene Gene(uint32_t value) { return ShardGene::FromUint16(static_cast<uint16_t>(value)); }

TEST(FenceRowTest, Band_IsWhatIsAccepted) {
  const FenceRow row{10, 20, 500, 10000, 7, 3, "orders-b"};
  struct Case {
    uint32_t gene, cohort, server;
    Kind kind;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {10, 500, 3, Kind::kAccepted, ""},
           {20, 9999, 3, Kind::kAccepted, ""},
           {15, 499, 3, Kind::kRefused, "LOCUS_FENCED 7 orders-b"},
           {15, 0, 3, Kind::kRefused, "LOCUS_FENCED 7 orders-b"},
           {21, 500, 3, Kind::kRefused, "LOCUS_FENCED 0 "},
           {15, 500, 4, Kind::kUnbound, "LOCUS_UNBOUND 3 4"},
       }) {
    const FenceVerdict verdict = JudgeFence(row, c.server, Gene(c.gene), c.cohort);
    EXPECT_EQ(verdict.kind, c.kind) << c.gene << " " << c.cohort;
    EXPECT_EQ(verdict.message, c.message);
  }
  EXPECT_EQ(JudgeFence(std::nullopt, 0, Gene(5), 5).message, "LOCUS_FENCED 0 ");
}

// Every cohort has exactly one owner while no token is on its way.
TEST(FenceRowTest, TwoRowsOfOneStep_ShareTheCohorts) {
  for (uint32_t p : {0u, 1u, 2500u, 9999u, 10000u}) {
    const FenceRow donor{0, 0, p, 10000, 1, 1, "t"}, recipient{0, 0, 0, p, 1, 1, "s"};
    for (uint32_t cohort = 0; cohort < 10000; ++cohort) {
      const bool by_donor = JudgeFence(donor, 1, Gene(0), cohort).kind == Kind::kAccepted;
      const bool by_recipient = JudgeFence(recipient, 1, Gene(0), cohort).kind == Kind::kAccepted;
      ASSERT_NE(by_donor, by_recipient) << p << " " << cohort;
    }
  }
}

TEST(FenceRowTest, RangesOfAShard_AreJoinedAndComplete) {
  std::vector<Shard> shards;
  for (uint32_t id = 1; id <= 3; ++id) {
    shards.push_back({.id = id,
                      .name = std::string(1, static_cast<char>('a' + id)),
                      .endpoint = "mysql://h" + std::to_string(id) + "/o",
                      .labels = {}});
  }
  // Above 60,000 the ring goes on with the first range.
  auto table =
      RoutingTable::Make(1, shards, {{99, 1}, {199, 2}, {299, 1}, {399, 1}, {60000, 2}}).value();
  EXPECT_THAT(FencedRangesOf(table, 1),
              ElementsAre(FencedRange{0, 99}, FencedRange{200, 399}, FencedRange{60001, 65535}));
  EXPECT_THAT(FencedRangesOf(table, 2),
              ElementsAre(FencedRange{100, 199}, FencedRange{400, 60000}));
  EXPECT_TRUE(FencedRangesOf(table, 3).empty());
}

TEST(FenceOptionsTest, WhatCannotBe_IsRefusedByName) {
  FenceOptions good;
  good.tables = {{.name = "orders"}};
  good.movers = {"mover@10.0.0.1"};
  EXPECT_TRUE(good.Check().ok()) << good.Check();
  auto refusal = [&](auto change) {
    FenceOptions options = good;
    change(options);
    const absl::Status status = options.Check();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal([](auto& o) { o.tables.clear(); }), HasSubstr("tables"));
  EXPECT_THAT(refusal([](auto& o) { o.movers.clear(); }), HasSubstr("movers"));
  EXPECT_THAT(refusal([](auto& o) { o.tables[0].name = ""; }), HasSubstr("tables.name"));
  EXPECT_THAT(refusal([](auto& o) { o.tables[0].name = std::string(46, 'x'); }),
              HasSubstr("1 to 45 bytes"));
  EXPECT_THAT(refusal([](auto& o) { o.tables[0].order_id = ""; }), HasSubstr("tables.order_id"));
  EXPECT_THAT(refusal([](auto& o) { o.tables.push_back({.name = "orders"}); }), HasSubstr("twice"));
  for (const char* mover : {"mover", "mover@", "@h", "mover@%", "mover@10.%"}) {
    EXPECT_THAT(refusal([&](auto& o) { o.movers = {mover}; }), HasSubstr(mover));
  }
}

TEST(FenceOptionsTest, Triggers_AreThreeATable) {
  FenceOptions options;
  options.tables = {{.name = "orders"}, {.name = "o`dd"}};
  options.movers = {"mover@127.0.0.1"};
  std::vector<std::string> names;
  for (const GuardTrigger& trigger : GuardTriggersOf(options)) {
    names.push_back(trigger.name + " " + trigger.event);
  }
  EXPECT_THAT(names,
              ElementsAre("locus_guard_orders_insert INSERT", "locus_guard_orders_update UPDATE",
                          "locus_guard_orders_delete DELETE", "locus_guard_o`dd_insert INSERT",
                          "locus_guard_o`dd_update UPDATE", "locus_guard_o`dd_delete DELETE"));
}

}  // namespace
}  // namespace locus
