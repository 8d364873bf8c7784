// SPDX-License-Identifier: Apache-2.0
// locus store, table and ring.
#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/table_source.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"

namespace locus {
namespace {

using nlohmann::json;
using testing::CommandTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::Outcome;
using testing::ReadFile;
using testing::RunLocus;
using ::testing::StartsWith;
using testing::WriteFile;

class StoreTest : public CommandTest {
 protected:
  // The number after `word` at the start of a line of `store show`.
  uint64_t Shown(const std::string& word) {
    Outcome outcome = RunLocus({"store", "show", store_});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    size_t begin = outcome.out.find("\n" + word + " ");
    EXPECT_NE(begin, std::string::npos) << outcome.out;
    if (begin == std::string::npos) return 0;
    return std::strtoull(outcome.out.c_str() + begin + word.size() + 2, nullptr, 10);
  }
};

TEST_F(StoreTest, Init_TwiceIsOnce) {
  EXPECT_EQ(RunLocus({"store", "show", store_}).exit, 1) << "there is none yet";
  EXPECT_EQ(directory_.Names(), (std::vector<std::string>{"keys.ring", "table.json"}));
  EXPECT_EQ(RunLocus({"store", "init", store_}).exit, 0);
  uint64_t base = Shown("base");
  Outcome again = RunLocus({"store", "init", store_});
  EXPECT_EQ(again.exit, 0) << again.err;
  EXPECT_EQ(Shown("base"), base);
  EXPECT_EQ(Shown("losses"), 1u) << "the creation";
  EXPECT_EQ(RunLocus({"store", "show", store_, "--space", "other"}).exit, 1);
  EXPECT_EQ(RunLocus({"store", "init", store_, "--space", "other"}).exit, 0);
  EXPECT_THAT(RunLocus({"store", "show", store_, "--space", "other"}).out,
              StartsWith("space other\n"));
}

TEST_F(StoreTest, Restored_RaisesBase) {
  ASSERT_EQ(RunLocus({"store", "init", store_}).exit, 0);
  uint64_t base = Shown("base");
  const Outcome restored = RunLocus({"store", "restored", store_});
  EXPECT_EQ(restored.exit, 0);
  EXPECT_THAT(restored.err, HasSubstr("repeat the command once for each of these times"));
  EXPECT_GT(Shown("base"), base);
  EXPECT_EQ(Shown("losses"), 2u);
}

TEST_F(StoreTest, Raise_KeepsSequencesOutOfUse) {
  ASSERT_EQ(RunLocus({"store", "init", store_}).exit, 0);
  uint64_t base = Shown("base");
  // MAX over a column of Snowflake IDs, as an operator may take it for N.
  Outcome far = RunLocus({"store", "raise", store_, "--to", "140737488355327"});
  EXPECT_EQ(far.exit, 2);
  EXPECT_THAT(far.err, HasSubstr("140737488355327"));
  EXPECT_THAT(far.err, HasSubstr("or confirm it with --anywhere\n"));
  EXPECT_EQ(Shown("base"), base);
  Outcome near = RunLocus({"store", "raise", store_, "--to", std::to_string(base + 1000)});
  EXPECT_EQ(near.exit, 0) << near.err;
  EXPECT_EQ(near.out, "space orders\nbase_before " + std::to_string(base) + "\nbase " +
                          std::to_string(base + 1000) + "\n");
  EXPECT_EQ(RunLocus({"store", "raise", store_, "--to", "72057594037927000", "--anywhere"}).exit,
            0);
  EXPECT_EQ(Shown("base"), 72057594037927000u);
  EXPECT_EQ(RunLocus({"store", "raise", store_, "--to", "5"}).exit, 0);
  EXPECT_EQ(Shown("base"), 72057594037927000u) << "base never falls";
}

TEST_F(StoreTest, Show_ListsTheSectionsThatLeased) {
  Outcome assign = RunLocus({"assign", "--buyer-column", "buyer", "--store", store_,
                             "--create-store", "--table", table_, "--keys", keys_},
                            "buyer\n1\n2\n");
  ASSERT_EQ(assign.exit, 0) << assign.err;
  // Genes 24031 and 60696 lie in sections 93 and 237.
  EXPECT_THAT(RunLocus({"store", "show", store_}).out,
              MatchesRegex("space orders\nbase [0-9]+\nfloor [0-9]+\nlosses 1\n"
                           "section  vnodes +head +lead_s  last_allocation\n"
                           " +93  23808-24063 +[0-9]+ +[0-9.]+  [-0-9]+T[:0-9]+Z\n"
                           " +237  60672-60927 +[0-9]+ +[0-9.]+  [-0-9]+T[:0-9]+Z\n"));
}

TEST_F(StoreTest, WhatIsNoStore_IsNamed) {
  Outcome outcome = RunLocus({"store", "show", "sqlite:" + table_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, StartsWith("locus store show: "));
  EXPECT_THAT(outcome.err, HasSubstr(table_));
}

using TableTest = CommandTest;

TEST_F(TableTest, New_DividesTheRingEvenly) {
  json table = json::parse(ReadFile(table_));
  EXPECT_EQ(table.at("epoch"), 1);
  EXPECT_EQ(table.at("shards").at(1),
            json({{"id", 2}, {"name", "b,c"}, {"endpoint", "mysql://db2/b"}, {"weight", 100}}));
  EXPECT_EQ(table.at("ranges"),
            json({{{"last", 32767}, {"shard", 1}}, {{"last", 65535}, {"shard", 2}}}));
  std::vector<std::string> words = {"table",   "new",     "--shard",
                                    "a=x://h", "b=x://i", "--shard=c=x://h?k=v"};
  json three = json::parse(RunLocus(words).out);
  EXPECT_EQ(three.at("shards").at(2).at("endpoint"), "x://h?k=v");
  EXPECT_EQ(three.at("ranges").at(0).at("last"), 21844);
}

TEST_F(TableTest, New_WithOneNameTwice_Fails) {
  Outcome outcome = RunLocus({"table", "new", "--shard", "a=x://h", "a=x://i"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("/shards/1"));
}

TEST_F(TableTest, Check_TellsEpochAndShards) {
  EXPECT_EQ(RunLocus({"table", "check", table_}).out, "ok epoch=1 shards=2\n");
  EXPECT_EQ(RunLocus({"table", "check", "-"}, ReadFile(table_)).out, "ok epoch=1 shards=2\n");
}

TEST_F(TableTest, Check_NamesTheOffendingValue) {
  json table = json::parse(ReadFile(table_));
  table["ranges"][1]["shard"] = 7;
  Outcome outcome = RunLocus({"table", "check", "-"}, table.dump());
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, StartsWith("locus table check: stdin: /ranges/1/shard: "));
  WriteFile(table_, table.dump());
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"table", "check", table_},
                                             {"ring", table_},
                                             {"inspect", "--table", table_, "1"},
                                             {"assign", "--buyer-column", "buyer", "--store",
                                              store_, "--table", table_, "--keys", keys_}}) {
    outcome = RunLocus(words);
    EXPECT_EQ(outcome.exit, 1) << words[0];
    EXPECT_THAT(outcome.err, HasSubstr(": " + table_ + ": /ranges/1/shard: ")) << words[0];
  }
  outcome = RunLocus({"table", "check", directory_ / "missing"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("missing"));
}

TEST_F(TableTest, Check_RefusesWhatRoutersRefuseForItsLength) {
  std::string longest = ReadFile(table_);
  longest.resize(TableSource::kMaxDocumentBytes, ' ');
  EXPECT_EQ(RunLocus({"table", "check", "-"}, longest).out, "ok epoch=1 shards=2\n");
  Outcome outcome = RunLocus({"table", "check", "-"}, longest + "\n");
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("stdin: it is 33554433 bytes long; at most 33554432"));
}

TEST_F(TableTest, Ring_AsTextAndAsPicture) {
  Outcome text = RunLocus({"ring", table_});
  EXPECT_EQ(text.exit, 0);
  EXPECT_THAT(text.out, HasSubstr("orders-a"));
  Outcome both = RunLocus({"ring", table_, "--svg", directory_ / "ring.svg"});
  EXPECT_EQ(both.exit, 0);
  EXPECT_EQ(both.out, text.out);
  std::string svg = ReadFile(directory_ / "ring.svg");
  EXPECT_THAT(svg, HasSubstr("<svg"));
  EXPECT_EQ(RunLocus({"ring", "-", "--svg", "-"}, ReadFile(table_)).out, svg);
  EXPECT_EQ(RunLocus({"ring", table_, "--svg", directory_ / "no/such/ring.svg"}).exit, 1);
}

}  // namespace
}  // namespace locus
