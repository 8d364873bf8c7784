// SPDX-License-Identifier: Apache-2.0
// The peers that docs/inside/routing.md compares locus with do what those they stand for do.
#include "bench/planner/placement_peers.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus::peers {
namespace {

TEST(JumpHashTest, AnswersOfOthers_AreTheSame) {
  // Guava's Hashing.consistentHash and its tests.
  const uint32_t of_100[] = {0,  55, 62, 8,  45, 59, 86, 97, 82, 59,
                             73, 37, 17, 56, 86, 21, 90, 37, 38, 83};
  for (uint64_t key = 0; key < std::size(of_100); ++key) {
    EXPECT_EQ(JumpHash(key, 100), of_100[key]) << key;
  }
  EXPECT_EQ(JumpHash(10863919174838991u, 11), 6u);
  EXPECT_EQ(JumpHash(2016238256797177309u, 11), 3u);
  EXPECT_EQ(JumpHash(1673758223894951030u, 11), 5u);
  EXPECT_EQ(JumpHash(2, 100001), 80343u);
  EXPECT_EQ(JumpHash(2201, 100001), 22152u);
  EXPECT_EQ(JumpHash(2202, 100001), 15018u);
}

TEST(JumpHashTest, OneBucketMore_OnlyItIsMovedTo) {
  for (uint64_t key = 0; key < 10000; ++key) {
    uint32_t before = JumpHash(key, 8);
    uint32_t after = JumpHash(key, 9);
    EXPECT_TRUE(after == before || after == 8) << key;
  }
}

TEST(KetamaTest, KeysOfTwoServers_LieWhereTheRulesPutThem) {
  Ketama circle({{"a", 1}, {"b", 1}});
  EXPECT_EQ(circle.points(), 320u);
  // By Python's hashlib and bisect: the servers of the keys "0" to "63".
  std::string servers;
  for (int key = 0; key < 64; ++key) servers += circle.ServerOf(absl::StrCat(key)) == 0 ? 'a' : 'b';
  EXPECT_EQ(servers, "babbbbbabaababbbaabbaabbaabaabbaaaabababbaaababaabbaabaaaabbaaba");
}

TEST(KetamaTest, KeyThatIsAPoint_GoesToItsServer) {
  Ketama circle({{"a", 1}, {"b", 1}});
  for (int k = 0; k < 40; ++k) {
    EXPECT_EQ(circle.ServerOf(absl::StrCat("a-", k)), 0u);
    EXPECT_EQ(circle.ServerOf(absl::StrCat("b-", k)), 1u);
  }
}

TEST(KetamaTest, Weights_ArePointsRoundedDown) {
  EXPECT_EQ(Ketama({{"a", 1}, {"b", 2}}).points(), (26u + 53u) * 4);
  EXPECT_EQ(Ketama({{"a", 1}, {"b", 1}, {"c", 2}}).points(), (30u + 30u + 60u) * 4);
}

TEST(KetamaTest, ServerThatGoes_MovesOnlyItsOwnKeys) {
  Ketama three({{"a", 1}, {"b", 1}, {"c", 1}});
  Ketama two({{"a", 1}, {"b", 1}});
  for (int i = 0; i < 10000; ++i) {
    std::string key = absl::StrCat(i);
    uint32_t before = three.ServerOf(key);
    EXPECT_TRUE(before == 2 || two.ServerOf(key) == before) << key;
  }
}

TEST(Crc16Test, CheckValue_IsThatOfXmodem) {
  EXPECT_EQ(Crc16("123456789"), 0x31C3);
  EXPECT_EQ(Crc16(""), 0);
  EXPECT_EQ(RedisSlotOf("123456789"), 12739u);  // CLUSTER KEYSLOT 123456789
}

// First to last slot, as CLUSTER NODES prints them.
using Ranges = std::vector<std::pair<size_t, size_t>>;
std::map<uint32_t, Ranges> RangesOf(const RedisSlots& slots) {
  std::map<uint32_t, Ranges> ranges;
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    if (slot == 0 || slots[slot] != slots[slot - 1]) ranges[slots[slot]].emplace_back(slot, slot);
    ranges[slots[slot]].back().second = slot;
  }
  return ranges;
}

// The steps of redis-cli 7.0.15 with four servers, in order.
TEST(RedisRebalanceTest, StepsOfRedisCli_AreTheSame) {
  RedisSlots slots = CreateRedisCluster(3);
  EXPECT_EQ(RangesOf(slots), (std::map<uint32_t, Ranges>{
                                 {0, {{0, 5460}}}, {1, {{5461, 10922}}}, {2, {{10923, 16383}}}}));

  slots = RebalanceRedisCluster(slots, {1, 1, 1, 1});
  EXPECT_EQ(RangesOf(slots),
            (std::map<uint32_t, Ranges>{{0, {{1365, 5460}}},
                                        {1, {{6827, 10922}}},
                                        {2, {{12288, 16383}}},
                                        {3, {{0, 1364}, {5461, 6826}, {10923, 12287}}}}));

  slots = RebalanceRedisCluster(slots, {2, 1, 1, 1});
  EXPECT_EQ(RangesOf(slots),
            (std::map<uint32_t, Ranges>{{0, {{0, 819}, {1365, 5460}, {6827, 7646}, {12288, 13107}}},
                                        {1, {{7647, 10922}}},
                                        {2, {{13108, 16383}}},
                                        {3, {{820, 1364}, {5461, 6826}, {10923, 12287}}}}));

  slots = RebalanceRedisCluster(slots, {1.5, 1, 0, 1});
  EXPECT_EQ(RangesOf(slots),
            (std::map<uint32_t, Ranges>{
                {0, {{0, 819}, {1365, 5460}, {6827, 7646}, {12288, 13107}, {15918, 16383}}},
                {1, {{7647, 10922}, {13108, 14512}}},
                {3, {{820, 1364}, {5461, 6826}, {10923, 12287}, {14513, 15917}}}}));
}

TEST(RedisRebalanceTest, NodesWithinTwoPercent_StayAsTheyAre) {
  RedisSlots slots = CreateRedisCluster(3);
  EXPECT_EQ(RebalanceRedisCluster(slots, {1, 1, 1.02F}), slots);
  EXPECT_NE(RebalanceRedisCluster(slots, {1, 1, 1.05F}), slots);
}

}  // namespace
}  // namespace locus::peers
