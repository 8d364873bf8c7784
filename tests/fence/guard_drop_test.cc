// SPDX-License-Identifier: Apache-2.0
// What keeps the guards of a shard.
#include "migration/fence/guard_drop.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus {
namespace {

using internal::GuardDropFacts;
using internal::Phase;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

RoutingTable TableWith(std::vector<VnodeMove> moves) {
  std::vector<Shard> shards;
  for (uint32_t id = 1; id <= 3; ++id) {
    shards.push_back({.id = id,
                      .name = "orders-" + std::to_string(id),
                      .endpoint = "mysql://h" + std::to_string(id) + "/o",
                      .labels = {}});
  }
  return RoutingTable::Make(7, shards, {{999, 1}, {1999, 2}, {65535, 3}}, std::move(moves)).value();
}

GuardDropFacts FactsOf(uint32_t shard) {
  GuardDropFacts facts;
  facts.shard = shard;
  facts.published = kNow - absl::Hours(25);
  return facts;
}

std::vector<std::string> Reasons(const GuardDropFacts& facts,
                                 const RoutingTable& table = TableWith({}),
                                 absl::Duration grace = absl::Hours(24)) {
  return internal::ReasonsToKeepGuards(table, facts, grace, kNow);
}

TEST(GuardDropTest, ShardAtRestAndOldTable_NothingKeepsThem) {
  EXPECT_THAT(Reasons(FactsOf(1)), IsEmpty());
}

TEST(GuardDropTest, MoveInTheTable_KeepsThoseOfItsSourceAndTarget) {
  for (const uint32_t share : {0u, 5000u, 10000u}) {
    const RoutingTable table = TableWith({{0, 49, 2, share, share == 0 ? 0u : 1u}});
    EXPECT_THAT(Reasons(FactsOf(1), table),
                ElementsAre(AllOf(HasSubstr("moves vnodes 0-49 from this shard"),
                                  HasSubstr(absl::StrCat("share ", share)))));
    EXPECT_THAT(Reasons(FactsOf(2), table), ElementsAre(HasSubstr("to this shard")));
    EXPECT_THAT(Reasons(FactsOf(3), table), IsEmpty());
  }
}

TEST(GuardDropTest, RememberedMove_KeepsThemUntilItIsDoneOrAborted) {
  for (int i = 0; i <= static_cast<int>(Phase::kAborted); ++i) {
    const auto phase = static_cast<Phase>(i);
    const bool over = phase == Phase::kDone || phase == Phase::kAborted;
    for (const uint32_t shard : {1u, 2u, 3u}) {
      GuardDropFacts facts = FactsOf(shard);
      facts.moves = {{"peak.1>2", phase, 1, 2}};
      EXPECT_EQ(Reasons(facts).empty(), over || shard == 3) << ToString(phase) << " " << shard;
    }
  }
  GuardDropFacts facts = FactsOf(2);
  facts.moves = {{"peak.1>2", Phase::kFinalized, 1, 2}};
  EXPECT_THAT(Reasons(facts), ElementsAre(HasSubstr("peak.1>2 is FINALIZED")));
}

TEST(GuardDropTest, ShardThatCannotBeAsked_KeepsThem) {
  GuardDropFacts facts = FactsOf(1);
  facts.unheard = {"shard \"orders-3\": no answer", "a record"};
  EXPECT_THAT(Reasons(facts), ElementsAre(HasSubstr("orders-3"), HasSubstr("a record")));
}

TEST(GuardDropTest, TableYoungerThanTheGrace_KeepsThem) {
  GuardDropFacts facts = FactsOf(1);
  facts.published = kNow - absl::Hours(24);
  EXPECT_THAT(Reasons(facts), IsEmpty());
  facts.published = kNow - absl::Hours(24) + absl::Milliseconds(1);
  EXPECT_THAT(Reasons(facts), ElementsAre(HasSubstr("published 23h59m59s ago")));
  EXPECT_THAT(Reasons(facts, TableWith({}), absl::Hours(23)), IsEmpty());
  facts.published = kNow - absl::Milliseconds(5);
  EXPECT_THAT(Reasons(facts), ElementsAre(HasSubstr("published just now; wait for --grace 24h")));
  facts.published = kNow + absl::Minutes(3);
  EXPECT_THAT(Reasons(facts), ElementsAre(HasSubstr("3m after this host's time")));
  EXPECT_THAT(Reasons(facts, TableWith({}), absl::ZeroDuration()), IsEmpty());
}

TEST(GuardDropTest, TableOfUnknownAge_KeepsThemWithoutGraceZero) {
  GuardDropFacts facts = FactsOf(1);
  facts.published = std::nullopt;
  EXPECT_THAT(Reasons(facts), ElementsAre(HasSubstr("no time is known")));
  EXPECT_THAT(Reasons(facts, TableWith({}), absl::ZeroDuration()), IsEmpty());
}

}  // namespace
}  // namespace locus
