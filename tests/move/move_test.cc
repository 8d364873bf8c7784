// SPDX-License-Identifier: Apache-2.0
#include "locus/migration/move.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RoutingTable TableOf(const std::vector<VnodeMove>& moves) {
  return RoutingTable::Make(3,
                            {{.id = 1, .name = "a", .endpoint = "mysql://a/o", .labels = {}},
                             {.id = 2, .name = "b", .endpoint = "mysql://b/o", .labels = {}},
                             {.id = 3, .name = "c", .endpoint = "mysql://c/o", .labels = {}}},
                            {{999, 1}, {1999, 2}, {65535, 1}}, moves)
      .value();
}

TEST(MoveLegsTest, NothingMoves_NoLegs) {
  EXPECT_THAT(MoveLegsOf(TableOf({})).value(), ElementsAre());
}

TEST(MoveLegsTest, VnodesThatAreLeftOut_AreInNoLeg) {
  const RoutingTable table = TableOf(
      {{.first = 0, .last = 99, .to = 3, .permyriad = 500}, {.first = 200, .last = 299, .to = 3}});
  EXPECT_FALSE(MoveLegsOf(table).ok()) << "two shares";
  const auto legs = MoveLegsOf(table, {{0, 99}, {210, 219}, {250, 299}});
  ASSERT_TRUE(legs.ok()) << legs.status();
  ASSERT_EQ(legs->size(), 1u);
  EXPECT_THAT(legs->front().ranges, ElementsAre(FencedRange{200, 209}, FencedRange{220, 249}));
}

TEST(MoveLegsTest, MovesOfOnePair_AreOneLegWithJoinedRanges) {
  const auto legs = MoveLegsOf(TableOf({{.first = 0, .last = 99, .to = 3, .permyriad = 500},
                                        {.first = 100, .last = 199, .to = 3, .permyriad = 500},
                                        {.first = 300, .last = 300, .to = 3, .permyriad = 500}}));
  ASSERT_TRUE(legs.ok()) << legs.status();
  EXPECT_THAT(*legs, ElementsAre(MoveLeg{1, 3, {{0, 199}, {300, 300}}}));
}

TEST(MoveLegsTest, MoveOverTwoOwners_IsALegForEach) {
  const auto legs = MoveLegsOf(TableOf({{.first = 900, .last = 2099, .to = 3}}));
  ASSERT_TRUE(legs.ok()) << legs.status();
  EXPECT_THAT(
      *legs, ElementsAre(MoveLeg{1, 3, {{900, 999}, {2000, 2099}}}, MoveLeg{2, 3, {{1000, 1999}}}));
}

TEST(MoveLegsTest, SplitAndMerge_AreOrderedBySourceAndTarget) {
  const auto legs = MoveLegsOf(TableOf({{.first = 0, .last = 9, .to = 3},
                                        {.first = 10, .last = 19, .to = 2},
                                        {.first = 1000, .last = 1009, .to = 3}}));
  ASSERT_TRUE(legs.ok()) << legs.status();
  EXPECT_THAT(*legs, ElementsAre(MoveLeg{1, 2, {{10, 19}}}, MoveLeg{1, 3, {{0, 9}}},
                                 MoveLeg{2, 3, {{1000, 1009}}}));
}

TEST(MoveLegsTest, OnePairAtTwoShares_IsRefused) {
  const auto legs = MoveLegsOf(TableOf({{.first = 0, .last = 9, .to = 3, .permyriad = 500},
                                        {.first = 20, .last = 29, .to = 3, .permyriad = 0}}));
  EXPECT_TRUE(absl::IsFailedPrecondition(legs.status()));
  EXPECT_THAT(std::string(legs.status().message()),
              HasSubstr("epoch 3: the moves of vnodes 0-9 and 20-29 go from shard 1 to shard 3"));
  // Of another pair, any share may stand.
  EXPECT_TRUE(MoveLegsOf(TableOf({{.first = 0, .last = 9, .to = 3, .permyriad = 500},
                                  {.first = 20, .last = 29, .to = 2, .permyriad = 0}}))
                  .ok());
}

TEST(MoveLegsTest, OnePairAtTwoSteps_IsRefused) {
  EXPECT_FALSE(MoveLegsOf(TableOf({{.first = 0, .last = 9, .to = 3, .permyriad = 5, .step = 1},
                                   {.first = 20, .last = 29, .to = 3, .permyriad = 5, .step = 2}}))
                   .ok());
}

Move SomeMove() {
  Move move;
  move.name = "peak.1>2";
  move.source = {1, "a", {}};
  move.target = {2, "b", {}};
  for (MoveShard* shard : {&move.source, &move.target}) {
    shard->server.hosts = {{shard->name, 3306}};
    shard->server.user = "mover";
    shard->server.database = "shop";
  }
  move.ranges = {{0, 9}, {20, 29}};
  MovedTable table;
  table.guard.name = "orders";
  move.tables = {table};
  move.movers = {"mover@10.0.0.5"};
  return move;
}

TEST(MoveTest, WhatCannotBe_IsRefusedWithItsValueAndLimit) {
  EXPECT_TRUE(SomeMove().Check().ok()) << SomeMove().Check();
  auto refusal = [](const std::function<void(Move&)>& change) {
    Move move = SomeMove();
    change(move);
    const absl::Status status = move.Check();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal([](Move& m) { m.name = "Peak"; }), HasSubstr("name is \"Peak\""));
  EXPECT_THAT(refusal([](Move& m) { m.name = ""; }), HasSubstr("1 to 64 bytes"));
  EXPECT_THAT(refusal([](Move& m) { m.name = std::string(65, 'x'); }), HasSubstr("1 to 64 bytes"));
  EXPECT_THAT(refusal([](Move& m) { m.source.id = 0; }), HasSubstr("id of a shard is 0"));
  EXPECT_THAT(refusal([](Move& m) { m.target.id = 1; }), HasSubstr("target is shard 1"));
  EXPECT_THAT(refusal([](Move& m) { m.target.name = ""; }), HasSubstr("name of a shard"));
  EXPECT_THAT(refusal([](Move& m) { m.target.server.hosts.clear(); }), HasSubstr("hosts"));
  EXPECT_THAT(refusal([](Move& m) { m.ranges.clear(); }), HasSubstr("number of ranges is 0"));
  EXPECT_THAT(refusal([](Move& m) { m.ranges = {{0, 9}, {10, 29}}; }), HasSubstr("is 10-29"));
  EXPECT_THAT(refusal([](Move& m) { m.ranges = {{20, 29}, {0, 9}}; }), HasSubstr("is 0-9"));
  EXPECT_THAT(refusal([](Move& m) { m.ranges = {{9, 0}}; }), HasSubstr("is 9-0"));
  EXPECT_THAT(refusal([](Move& m) { m.ranges = {{0, 65536}}; }), HasSubstr("at most 65535"));
  EXPECT_THAT(refusal([](Move& m) { m.tables.clear(); }), HasSubstr("tables is empty"));
  EXPECT_THAT(refusal([](Move& m) { m.tables.push_back(m.tables[0]); }), HasSubstr("twice"));
  EXPECT_THAT(refusal([](Move& m) { m.movers = {"mover@%"}; }), HasSubstr("exact host"));
}

TEST(MovePaceTest, OutOfRange_IsNamed) {
  EXPECT_TRUE(MovePace().Check().ok());
  auto refusal = [](const std::function<void(MovePace&)>& change) {
    MovePace pace;
    change(pace);
    EXPECT_TRUE(absl::IsInvalidArgument(pace.Check()));
    return std::string(pace.Check().message());
  };
  EXPECT_THAT(refusal([](MovePace& p) { p.by = 0; }), HasSubstr("1 to 10000 permyriad"));
  EXPECT_THAT(refusal([](MovePace& p) { p.by = 10001; }), HasSubstr("is 10001"));
  EXPECT_THAT(refusal([](MovePace& p) { p.dwell = -absl::Seconds(1); }), HasSubstr("dwell is -1s"));
  EXPECT_THAT(refusal([](MovePace& p) { p.accept_within = absl::Minutes(2); }),
              HasSubstr("accept_within is 2m"));
  EXPECT_THAT(refusal([](MovePace& p) { p.fence_wait = absl::Seconds(6); }),
              HasSubstr("10ms to 5s"));
  EXPECT_THAT(refusal([](MovePace& p) { p.chunk_time = absl::InfiniteDuration(); }),
              HasSubstr("chunk_time"));
}

TEST(MoveGatesTest, OutOfRange_IsNamed) {
  EXPECT_TRUE(MoveGates().Check().ok());
  auto refusal = [](const std::function<void(MoveGates&)>& change) {
    MoveGates gates;
    change(gates);
    EXPECT_TRUE(absl::IsInvalidArgument(gates.Check()));
    return std::string(gates.Check().message());
  };
  EXPECT_THAT(refusal([](MoveGates& g) { g.lag = absl::Hours(1); }), HasSubstr("gate lag is 1h"));
  EXPECT_THAT(refusal([](MoveGates& g) { g.oldest_transaction = absl::ZeroDuration(); }),
              HasSubstr("gate oldest_transaction"));
  EXPECT_THAT(refusal([](MoveGates& g) { g.patience = absl::Hours(25); }), HasSubstr("24h"));
  EXPECT_THAT(refusal([](MoveGates& g) { g.command = std::string("a\0b", 3); }),
              HasSubstr("without zero bytes"));
}

}  // namespace
}  // namespace locus
