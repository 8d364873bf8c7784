// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/router.h"

#include <set>

#include "gtest/gtest.h"
#include "locus/routing/table_publisher.h"
#include "tests/router/naive_router.h"
#include "tests/support/stringified.h"
#include "tests/table/random_table.h"

namespace locus {
namespace {

Shard TestShard(uint32_t id, std::string endpoint) {
  return {.id = id, .name = absl::StrCat("s", id), .endpoint = std::move(endpoint), .labels = {}};
}

// Shards 1 and 2 own a half each.
RoutingTable Halves(uint64_t epoch, std::vector<VnodeMove> moves = {}, std::string first = "a",
                    std::string second = "b") {
  return RoutingTable::Make(epoch, {TestShard(1, first), TestShard(2, second)},
                            {{32767, 1}, {65535, 2}}, std::move(moves))
      .value();
}

ShardGene Gene(int value) { return ShardGene::FromUint16(static_cast<uint16_t>(value)); }
OrderId Id(int gene, uint64_t sequence) { return OrderId::FromParts(Gene(gene), sequence).value(); }

void ExpectEqual(const Router& router, NaiveRouter& naive, RandomTable& random) {
  for (int vnode = 0; vnode < ShardGene::kCount; ++vnode) {
    GeneRoute route = router.Route(Gene(vnode));
    NaiveRouter::Answer expected = naive.Route(Gene(vnode));
    ASSERT_EQ(*route.owner, expected.owner) << "vnode " << vnode;
    ASSERT_EQ(route.target != nullptr, expected.target.has_value()) << "vnode " << vnode;
    if (expected.target) {
      ASSERT_EQ(*route.target, *expected.target) << "vnode " << vnode;
    }
    ASSERT_EQ(route.permyriad, expected.permyriad) << "vnode " << vnode;
  }
  for (int i = 0; i < 20000; ++i) {
    uint64_t sequence = random.Below(OrderId::kMaxSequence + 1) >> random.Below(57);
    OrderId id = Id(random.Vnode(), sequence);
    ASSERT_EQ(router.Route(id), naive.Route(id)) << id;
  }
}

TEST(RouterTest, RandomInstallHistories_AnswerLikeTheNaiveTwin) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomTable random(seed);
    RoutingTable table = random.Next(1);
    Router router(table);
    NaiveRouter naive(table);
    for (uint64_t epoch = 2; epoch < 10; ++epoch) {
      ASSERT_NO_FATAL_FAILURE(ExpectEqual(router, naive, random)) << table.ToJson();
      // As a source brings it.
      table = RoutingTable::Parse(random.Next(epoch).ToJson()).value();
      ASSERT_TRUE(router.Install(table).ok());
      naive.Install(table);
      EXPECT_EQ(router.epoch(), epoch);
    }
  }
}

// Each in a router of its own: nothing of a table before can hide what is missing.
TEST(RouterTest, RandomTablesThroughTheirDocument_AnswerLikeTheNaiveTwin) {
  for (uint64_t seed = 101; seed <= 140; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomTable random(seed);
    RoutingTable table = random.Next(seed);
    RoutingTable read = RoutingTable::Parse(table.ToJson()).value();
    ASSERT_EQ(read, table);
    Router router(read);
    NaiveRouter naive(table);
    for (int vnode = 0; vnode < ShardGene::kCount; ++vnode) {
      GeneRoute route = router.Route(Gene(vnode));
      NaiveRouter::Answer expected = naive.Route(Gene(vnode));
      ASSERT_EQ(*route.owner, expected.owner) << "vnode " << vnode;
      ASSERT_EQ(route.target != nullptr, expected.target.has_value()) << "vnode " << vnode;
      ASSERT_TRUE(!expected.target || *route.target == *expected.target) << "vnode " << vnode;
      ASSERT_EQ(route.permyriad, expected.permyriad) << "vnode " << vnode;
    }
  }
}

TEST(RouterTest, MovingVnode_SplitsOrdersByCohort) {
  Router router(Halves(1, {{0, 255, 2, 500}}));
  int moved = 0;
  for (uint64_t sequence = 0; sequence < 10000; ++sequence) {
    OrderId id = Id(7, sequence);
    uint32_t shard = router.Route(id).id;
    EXPECT_EQ(shard, id.cohort() < 500 ? 2u : 1u);
    moved += shard == 2;
  }
  EXPECT_EQ(moved, 500);
}

TEST(RouterTest, PermyriadZero_GivesNoOrderToTheTargetButShowsTheMove) {
  Router router(Halves(1, {{9, 9, 2, 0}}));
  for (uint64_t n = 0; n < 10000; ++n) ASSERT_EQ(router.Route(Id(9, n)).id, 1u);
  GeneRoute route = router.Route(Gene(9));
  ASSERT_NE(route.target, nullptr);
  EXPECT_EQ(route.target->id, 2u);
  EXPECT_EQ(route.permyriad, 0u);
}

TEST(RouterTest, PermyriadFull_GivesEveryOrderToTheTarget) {
  Router router(Halves(1, {{9, 9, 2, 10000}}));
  for (uint64_t n = 0; n < 10000; ++n) ASSERT_EQ(router.Route(Id(9, n)).id, 2u);
  EXPECT_EQ(router.Route(Gene(9)).owner->id, 1u);
}

TEST(RouterTest, OrderNo_IsRoutedByItsGene) {
  Router router(Halves(1, {{256, 511, 2, 1}}));
  std::string bytes("\x00\x80\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 16);
  OrderNo number = OrderNo::FromBytes(bytes).value();
  EXPECT_EQ(router.Route(number), router.Route(number.gene()));
  EXPECT_EQ(router.Route(number).target->id, 2u);
}

TEST(RouterTest, EpochNotGreater_IsAbortedAndTheTableStays) {
  Router router(Halves(5));
  for (uint64_t epoch : {5, 4, 1}) {
    absl::Status status = router.Install(Halves(epoch, {{0, 0, 2, 10000}}, "c", "d"));
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
    EXPECT_EQ(router.epoch(), 5u);
    EXPECT_EQ(router.Route(Gene(0)).target, nullptr);
    EXPECT_EQ(router.Route(Gene(0)).owner->endpoint, "a");
  }
  EXPECT_EQ(router.Install(Halves(5)).message(),
            "epoch 5 is not greater than epoch 5, which is in force");
}

TEST(RouterTest, DescriptionSeenBefore_IsTheSameObject) {
  Router router(Halves(1));
  const RoutedShard* first = router.Route(Gene(0)).owner;
  ASSERT_TRUE(router.Install(Halves(2, {}, "elsewhere")).ok());
  const RoutedShard* second = router.Route(Gene(0)).owner;
  EXPECT_NE(second, first);
  EXPECT_EQ(first->endpoint, "a");
  EXPECT_EQ(second->endpoint, "elsewhere");
  ASSERT_TRUE(router.Install(Halves(3)).ok());
  EXPECT_EQ(router.Route(Gene(0)).owner, first);
}

TEST(RouterTest, AnswersOfLongAgo_StayValid) {
  Router router(Halves(1));
  std::vector<const RoutedShard*> answers;
  for (uint64_t epoch = 2; epoch < 1000; ++epoch) {
    answers.push_back(router.Route(Gene(0)).owner);
    ASSERT_TRUE(router.Install(Halves(epoch, {}, absl::StrCat("host-", epoch))).ok());
  }
  for (size_t i = 1; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i]->endpoint, absl::StrCat("host-", i + 1));
  }
}

TEST(RouterTest, TooManyDescriptions_AreOutOfRangeAndTheTableStays) {
  std::vector<std::pair<std::string, std::string>> names;
  for (size_t i = 0; i < RoutingTable::kMaxShards; ++i) {
    names.emplace_back(absl::StrCat(i), absl::StrCat("h", i));
  }
  RoutingTable full = RoutingTable::MakeEven(names).value();
  Router router(full);
  EXPECT_EQ(router.Route(Gene(65535)).owner->id, 65536u);

  absl::Status status = router.Install(Halves(2));
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
  EXPECT_EQ(router.epoch(), 1u);
  EXPECT_EQ(router.Route(Gene(0)).owner->name, "0");
  EXPECT_EQ(router.Route(Gene(65535)).owner->name, "65535");
  // A table that needs no new description is still installed.
  RoutingTable one = RoutingTable::Make(3, {full.shards()[9]}, {{0, 10}}).value();
  EXPECT_TRUE(router.Install(one).ok());
  EXPECT_EQ(router.Route(Gene(65535)).owner->id, 10u);
}

// A table of `count` shards whose weights and labels are functions of the epoch.
RoutingTable ReweightedTable(uint64_t epoch, size_t count, const std::string& suffix = "") {
  std::vector<Shard> shards;
  std::vector<VnodeRange> ranges;
  for (size_t i = 0; i < count; ++i) {
    auto id = static_cast<uint32_t>(i + 1);
    Shard shard = TestShard(id, absl::StrCat("mysql://host-", id, suffix));
    shard.weight = static_cast<uint32_t>(100 + epoch);
    shard.labels = {{"epoch", absl::StrCat(epoch)}};
    shards.push_back(std::move(shard));
    ranges.push_back({static_cast<uint16_t>((i + 1) * ShardGene::kCount / count - 1), id});
  }
  return RoutingTable::Make(epoch, std::move(shards), std::move(ranges)).value();
}

TEST(RouterTest, TwoThousandShardsReweightedAHundredTimes_NeedNoNewDescription) {
  constexpr size_t kShards = 2000;
  Router router(ReweightedTable(1, kShards));
  const RoutedShard* first = router.Route(Gene(0)).owner;
  for (uint64_t epoch = 2; epoch <= 101; ++epoch) {
    ASSERT_TRUE(router.Install(ReweightedTable(epoch, kShards)).ok()) << epoch;
  }
  EXPECT_EQ(router.Stats().descriptions, kShards);
  EXPECT_EQ(router.Route(Gene(0)).owner, first);
  const Shard* shard = router.Table()->FindShard(first->id);
  ASSERT_NE(shard, nullptr);
  EXPECT_EQ(shard->weight, 201u);
  EXPECT_EQ(shard->labels.at("epoch"), "101");
}

TEST(RouterTest, EndpointsThatChangeWithoutEnd_StopAtTheLimitWithARemedy) {
  constexpr size_t kShards = 2000;
  constexpr uint64_t kFit = Router::kMaxDescriptions / kShards;
  Router router(ReweightedTable(1, kShards));
  uint64_t epoch = 1;
  absl::Status status;
  while (status.ok()) {
    ++epoch;
    status = router.Install(ReweightedTable(epoch, kShards, absl::StrCat("/", epoch)));
  }
  EXPECT_EQ(epoch, kFit + 1);
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_EQ(status.message(),
            "epoch 33 has 2000 new shards or endpoints; this router has kept all 64000 that it has "
            "seen, and at most 65536: restart the process to follow this table and later ones");
  RouterStats stats = router.Stats();
  EXPECT_EQ(stats.descriptions, kFit * kShards);
  EXPECT_EQ(stats.max_descriptions, Router::kMaxDescriptions);
  EXPECT_EQ(router.epoch(), kFit);
  EXPECT_EQ(router.Route(Gene(0)).owner->endpoint, absl::StrCat("mysql://host-1/", kFit));
}

TEST(RouterTest, Table_IsThatInForceAndOutlivesTheNext) {
  Router router(Halves(1));
  std::shared_ptr<const RoutingTable> one = router.Table();
  ASSERT_TRUE(router.Install(Halves(2, {}, "elsewhere")).ok());
  EXPECT_EQ(*one, Halves(1));
  EXPECT_EQ(*router.Table(), Halves(2, {}, "elsewhere"));
}

TEST(RouterTest, TableWithAnotherId_IsRefused) {
  auto with_id = [](uint64_t epoch, std::string table_id) {
    RoutingTable table = Halves(epoch);
    return RoutingTable::Make(epoch, table.shards(), table.ranges(), {}, std::move(table_id))
        .value();
  };
  Router router(Halves(1));
  EXPECT_TRUE(router.Install(with_id(2, "00000000000000a1")).ok()) << "a table may get an ID";
  absl::Status status = router.Install(with_id(3, "00000000000000b2"));
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(router.Install(with_id(4, "00000000000000a1")).ok());
}

TEST(RouterTest, Enums_AreWords) {
  using Kind = RouterEvent::Kind;
  EXPECT_EQ(Stringified(Kind::kInstalled), "installed");
  EXPECT_EQ(Stringified(Kind::kRefused), "refused");
  EXPECT_EQ(Stringified(Kind::kStartedFromFile), "started_from_file");
  EXPECT_EQ(Stringified(Kind::kLastGoodFileIgnored), "last_good_file_ignored");
  EXPECT_EQ(Stringified(Kind::kSourceFailed), "source_failed");
  EXPECT_EQ(Stringified(Kind::kSourceRecovered), "source_recovered");
  EXPECT_EQ(Stringified(Kind::kLastGoodFileFailed), "last_good_file_failed");
  EXPECT_EQ(Stringified(Kind::kDescriptionsNearlyFull), "descriptions_nearly_full");
  EXPECT_EQ(Stringified(RouterStats::Source::kNone), "none");
  EXPECT_EQ(Stringified(RouterStats::Source::kFollowing), "following");
  EXPECT_EQ(Stringified(RouterStats::Source::kRefused), "refused");
  EXPECT_EQ(Stringified(RouterStats::Source::kFailing), "failing");
  EXPECT_EQ(Stringified(Publication::kNeeded), "needed");
  EXPECT_EQ(Stringified(Publication::kIsNewest), "is_newest");
}

}  // namespace
}  // namespace locus
