// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/table_change.h"

#include "gtest/gtest.h"
#include "tests/source/table_place.h"
#include "tests/table/random_table.h"

namespace locus {
namespace {

Shard Orders(uint32_t id, std::string name) {
  return {.id = id, .name = name, .endpoint = "mysql://" + name, .labels = {}};
}

RoutingTable Table(uint64_t epoch, std::vector<VnodeRange> ranges,
                   std::vector<VnodeMove> moves = {}) {
  return RoutingTable::Make(epoch, {Orders(1, "a"), Orders(2, "b"), Orders(3, "c")},
                            std::move(ranges), std::move(moves))
      .value();
}

TEST(WithEpochTest, AnyTable_DiffersByTheEpochAlone) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RoutingTable table = RandomTable(seed).Next(seed);
    RoutingTable changed = WithEpoch(table, seed + 1000).value();
    EXPECT_EQ(changed.epoch(), seed + 1000);
    EXPECT_EQ(WithEpoch(changed, seed).value(), table);
  }
}

TEST(WithEpochTest, EpochOutOfRange_IsInvalid) {
  RoutingTable table = Table(1, {{65535, 1}});
  EXPECT_TRUE(absl::IsInvalidArgument(WithEpoch(table, 0).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(WithEpoch(table, RoutingTable::kMaxEpoch + 1).status()));
  EXPECT_TRUE(WithEpoch(table, RoutingTable::kMaxEpoch).ok());
}

TEST(TableDifferenceTest, SameButForTheEpoch_IsNoDifference) {
  EXPECT_EQ(TableDifference(Table(1, {{65535, 1}}), Table(2, {{65535, 1}})), "no difference\n");
  // The same said by other ranges.
  EXPECT_EQ(TableDifference(Table(1, {{65535, 1}}), Table(2, {{9, 1}, {65535, 1}})),
            "no difference\n");
}

TEST(TableDifferenceTest, RunsThatChangedHands_AreALineEachAndCounted) {
  EXPECT_EQ(TableDifference(Table(1, {{32767, 1}, {65535, 2}}),
                            Table(2, {{16383, 1}, {40000, 3}, {65534, 2}, {65535, 1}})),
            "vnodes 16384..32767: a -> c\n"
            "vnodes 32768..40000: b -> c\n"
            "vnode 65535: b -> a\n"
            "23,618 of 65,536 vnodes got another owner (36.04 %)\n");
}

TEST(TableDifferenceTest, Shards_ComeGoAndChange) {
  Shard changed = Orders(1, "a");
  changed.endpoint = "mysql://elsewhere";
  changed.weight = 50;
  changed.labels = {{"tier", "hot"}, {"zone", "1"}};
  Shard fresh = Orders(4, "d");
  fresh.labels = {{"tier", "cold"}};
  RoutingTable after =
      RoutingTable::Make(2, {changed, Orders(3, "c"), fresh}, {{65535, 1}}).value();
  EXPECT_EQ(TableDifference(Table(1, {{65535, 1}}), after),
            "~ shard 1 a: endpoint mysql://a -> mysql://elsewhere; weight 100 -> 50; labels none "
            "-> tier=hot,zone=1\n"
            "- shard 2 b, mysql://b, weight 100\n"
            "+ shard 4 d, mysql://d, weight 100, labels tier=cold\n"
            "0 of 65,536 vnodes got another owner (0.00 %)\n");
}

TEST(TableDifferenceTest, TableIdAndSteps_AreShown) {
  RoutingTable old = Table(1, {{65535, 1}}, {{0, 9, 2, 500, 1}});
  RoutingTable now =
      RoutingTable::Make(2, old.shards(), old.ranges(), {{0, 9, 2, 500, 2}}, "0123456789abcdef")
          .value();
  EXPECT_EQ(TableDifference(old, now),
            "table_id none -> 0123456789abcdef\n"
            "move of vnodes 0..9 to b went on, 5.00 % -> 5.00 %, step 1 -> 2\n"
            "0 of 65,536 vnodes got another owner (0.00 %)\n");
}

TEST(TableDifferenceTest, Moves_BeginContinueEndAndAreDropped) {
  RoutingTable before = Table(
      1, {{65535, 1}}, {{0, 9, 2, 500}, {10, 19, 2, 500}, {20, 29, 2, 10000}, {30, 39, 2, 7}});
  RoutingTable after =
      Table(2, {{19, 1}, {29, 2}, {65535, 1}}, {{0, 9, 2, 600}, {30, 39, 3, 0}, {50, 50, 3, 1}});
  EXPECT_EQ(TableDifference(before, after),
            "vnodes 20..29: a -> b\n"
            "move of vnodes 0..9 to b went on, 5.00 % -> 6.00 %\n"
            "move of vnodes 10..19 to b was dropped at 5.00 %\n"
            "move of vnodes 20..29 to b ended at 100.00 %\n"
            "move of vnodes 30..39 to b was dropped at 0.07 %\n"
            "move of vnodes 30..39 to c began, 0.00 %\n"
            "move of vnode 50 to c began, 0.01 %\n"
            "10 of 65,536 vnodes got another owner (0.02 %)\n");
}

// The naive twin counts by OwnerOf.
TEST(TableDifferenceTest, RandomTables_CountAsTheTablesSay) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RandomTable random(seed);
    RoutingTable before = random.Next(1);
    RoutingTable after = random.Next(2);
    size_t changed = 0;
    for (int vnode = 0; vnode < ShardGene::kCount; ++vnode) {
      auto gene = ShardGene::FromUint16(static_cast<uint16_t>(vnode));
      changed += before.OwnerOf(gene).id != after.OwnerOf(gene).id;
    }
    std::string text = TableDifference(before, after);
    std::string count = text.substr(text.rfind('\n', text.size() - 2) + 1);
    count.resize(count.find(' '));
    std::erase(count, ',');
    EXPECT_EQ(count, absl::StrCat(changed)) << "seed " << seed;
    EXPECT_EQ(TableDifference(before, before), "no difference\n");
  }
}

}  // namespace
}  // namespace locus
