// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/ring_view.h"
#include "tests/picture/svg_check.h"

namespace locus {
namespace {

using testing::HasSubstr;
using testing::Not;

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

TEST(RebalanceViewTest, NewShard_IsLabelledAndLeadsTheLegend) {
  RoutingTable table = RoutingTable::MakeEven({{"a", "h1"}, {"b", "h2"}}).value();
  RebalanceRequest request;
  request.add.push_back({.name = "c", .endpoint = "new-host"});
  std::string svg = RebalanceAsSvg(PlanRebalance(table, request).value());
  ExpectSound(svg, 2);
  ExpectGoodLayout(svg);
  EXPECT_EQ(CountOf(svg, ">new<"), 1u);
  EXPECT_THAT(svg, HasSubstr(">new: 3 c<"));
  EXPECT_LT(svg.find(">3 c<"), svg.find(">1 a<"));
  EXPECT_THAT(svg, HasSubstr(">0 \xE2\x86\x92 21,845<"));
  EXPECT_THAT(svg, HasSubstr(">+21,845<"));
  EXPECT_THAT(svg, HasSubstr(">0.00 \xE2\x86\x92 33.33 %<"));
  EXPECT_THAT(svg, HasSubstr(">biggest: 50.00 %<"));
  EXPECT_THAT(svg, HasSubstr(">21,845 vnodes move (33.33 %) in "));
  EXPECT_THAT(svg, HasSubstr("class=\"moves\""));
  EXPECT_THAT(svg, HasSubstr(">new-host<"));
  EXPECT_THAT(svg, HasSubstr("url(#dark0)"));
  EXPECT_THAT(svg, Not(HasSubstr("class=\"load\"")));
}

TEST(RebalanceViewTest, RemovedShard_IsSaidToGiveAll) {
  RebalanceRequest request;
  request.remove = {"s2"};
  std::string svg = RebalanceAsSvg(PlanRebalance(Even(3), request).value());
  EXPECT_EQ(CountOf(svg, ">gives all<"), 1u);
  EXPECT_LT(svg.find(">2 s2<"), svg.find(">1 s1<")) << "it changes most";
}

TEST(RebalanceViewTest, PlannedByLoad_LoadIsDrawnAndLeads) {
  RebalanceRequest request;
  request.load.assign(65536, 1);
  std::fill(request.load.begin(), request.load.begin() + 8000, 5.0);
  RebalancePlan plan = PlanRebalance(Even(4), request).value();
  std::string svg = RebalanceAsSvg(plan, request.load);
  ExpectSound(svg, 2);
  ExpectGoodLayout(svg);
  EXPECT_EQ(CountOf(svg, "class=\"load\""), 2u) << "along each ring";
  // Shard 1 has 16,384 vnodes with a load of 16,384 + 4 * 8,000; in all there are 97,536.
  EXPECT_THAT(svg, HasSubstr(">49.61 \xE2\x86\x92 "));
  EXPECT_THAT(svg, HasSubstr(">peak: 1.984 x its portion<"));
  EXPECT_LT(svg.find(">1 s1<"), svg.find(">2 s2<")) << "its load changes most";
}

TEST(RebalanceViewTest, NothingToMove_IsTwoEqualRings) {
  RoutingTable table = RoutingTable::MakeEven({{"a", "h1"}, {"b", "h2"}}).value();
  std::string svg = RebalanceAsSvg(PlanRebalance(table, {}).value());
  ExpectSound(svg, 2);
  EXPECT_THAT(svg, HasSubstr(">0 vnodes move (0.00 %) in 0 moves<"));
  EXPECT_THAT(svg, Not(HasSubstr("class=\"moves\"")));
}

TEST(RebalanceViewTest, EveryNumberOfShards_IsLaidOutWellWithLoadAndWithout) {
  for (uint32_t shards : {1u, 2u, 11u, 12u, 17u, 59u, 60u, 200u}) {
    SCOPED_TRACE(absl::StrCat(shards, " shards"));
    RebalanceRequest request;
    request.add = {{.name = "new-1", .endpoint = "mysql://new-1"},
                   {.name = "new-2", .endpoint = "mysql://new-2", .weight = 300}};
    std::string svg = RebalanceAsSvg(PlanRebalance(Even(shards), request).value());
    ExpectSound(svg, 2);
    ExpectGoodLayout(svg);
    EXPECT_EQ(CountOf(svg, "class=\"swatch\""), shards + 2);
    EXPECT_EQ(CountOf(svg, ">new<"), 2u);
    std::mt19937_64 random(shards);
    for (int i = 0; i < 65536; ++i) request.load.push_back(static_cast<double>(random() % 100));
    svg = RebalanceAsSvg(PlanRebalance(Even(shards), request).value(), request.load);
    ExpectSound(svg, 2);
    ExpectGoodLayout(svg);
  }
}

TEST(RebalanceViewTest, FinestPlans_StayBelowTheBoundAndNoTextOverlaps) {
  for (uint32_t shards : {1u, 2u, 6u, 7u, 12u, 13u, 60u, 65536u}) {
    SCOPED_TRACE(absl::StrCat(shards, " shards"));
    std::string svg = RebalanceAsSvg(FinePlan(Finest(shards, false)));
    ExpectSound(svg, 2);
    ExpectGoodLayout(svg);
  }
}

TEST(RebalanceViewTest, LongNames_AreCutBeforeTheNumbers) {
  for (uint32_t shards : {6u, 12u, 13u}) {
    std::vector<Shard> all;
    for (uint32_t id = 1; id <= shards; ++id) {
      all.push_back(Named(id * 100000, std::string(58, 'm') + std::to_string(id)));
    }
    RoutingTable table = RoutingTable::Make(1, all, {{65535, 100000}}).value();
    ExpectGoodLayout(RebalanceAsSvg(FinePlan(table)));
  }
}

}  // namespace
}  // namespace locus
