// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/routing_table.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"

namespace locus {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::ReadFile;
using testing::RunLocus;
using ::testing::StartsWith;
using testing::TemporaryDirectory;
using testing::WriteFile;

class PlanTest : public ::testing::Test {
 protected:
  // Four shards of a quarter each.
  void SetUp() override {
    WriteFile(table_, RoutingTable::MakeEven({{"a", "mysql://h1/o"},
                                              {"b", "mysql://h2/o"},
                                              {"c", "mysql://h3/o"},
                                              {"d", "mysql://h4/o"}})
                          .value()
                          .ToJson());
  }

  Outcome Plan(std::vector<std::string> words) {
    words.insert(words.begin(), {"plan", "--table", table_});
    return RunLocus(words);
  }
  json PlanJson(std::vector<std::string> words) {
    words.push_back("--json");
    Outcome outcome = Plan(words);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return json::parse(outcome.out);
  }
  // All moves that `plan apply` wrote into the table are done, one after the other.
  void EndMoves() {
    RoutingTable table = RoutingTable::Parse(ReadFile(table_)).value();
    std::vector<VnodeRange> ranges;
    for (int vnode = 0; vnode < ShardGene::kCount; ++vnode) {
      ShardGene gene = ShardGene::FromUint16(static_cast<uint16_t>(vnode));
      const VnodeMove* move = table.MoveOf(gene);
      ranges.push_back({gene.value(), move == nullptr ? table.OwnerOf(gene).id : move->to});
    }
    WriteFile(table_, RoutingTable::Make(table.epoch() + 1, table.shards(), ranges)->ToJson());
  }
  std::map<std::string, size_t> VnodesOfTable() {
    RoutingTable table = RoutingTable::Parse(ReadFile(table_)).value();
    std::map<std::string, size_t> vnodes;
    for (int vnode = 0; vnode < ShardGene::kCount; ++vnode) {
      ++vnodes[table.OwnerOf(ShardGene::FromUint16(static_cast<uint16_t>(vnode))).name];
    }
    return vnodes;
  }

  TemporaryDirectory directory_;
  std::string table_ = directory_ / "table.json";
  std::string plan_ = directory_ / "plan.json";
  std::string load_ = directory_ / "load.csv";
};

TEST_F(PlanTest, PlaceThatDoesNotAnswer_IsNamed) {
  Outcome outcome = RunLocus({"plan", "--table", "etcd://127.0.0.1:1/shop", "--remove", "a"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("etcd at 127.0.0.1:1"));
}

TEST_F(PlanTest, NewShard_TakesItsShareAndNothingElseMoves) {
  json plan = PlanJson({"--add", "e=mysql://h5/o"});
  EXPECT_EQ(plan["moved_vnodes"], 13107);
  EXPECT_EQ(plan["before"],
            json({{"a", 16384}, {"b", 16384}, {"c", 16384}, {"d", 16384}, {"e", 0}}));
  EXPECT_EQ(plan["after"]["e"], 13107);
  EXPECT_FALSE(plan.contains("peak_before"));
  size_t moved = 0;
  for (const json& move : plan["moves"]) {
    EXPECT_EQ(move["to"], "e");
    moved += move["last"].get<size_t>() - move["first"].get<size_t>() + 1;
  }
  EXPECT_EQ(moved, 13107u);
  EXPECT_EQ(ReadFile(table_).find("\"e\""), std::string::npos) << "plan changes nothing";
}

TEST_F(PlanTest, TextForPeople_SaysBeforeAfterAndWhereItGoes) {
  Outcome outcome = Plan({"--add", "e=mysql://inner/o"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("plan from epoch 1\n\nid  name   weight  vnodes  portion %"));
  EXPECT_THAT(outcome.out,
              HasSubstr("\n 5  e         100       0       0.00  13,107      20.00  +13,107"));
  EXPECT_THAT(outcome.out,
              HasSubstr("\n    total          65,536     100.00  65,536     100.00\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n13,107 vnodes move, 20.00 %, in "));
  EXPECT_THAT(
      outcome.out,
      HasSubstr("\nlargest shard before: a with 25.00 %\nlargest shard after: a with 20.00 %\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nfrom  to  vnodes  moves\na     e    3,276      1\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("inner")));
}

TEST_F(PlanTest, WeightsAndRemovals_AreSharesOfTheRing) {
  json plan = PlanJson(
      {"--remove", "d", "--weight", "a=200", "--add", "e=mysql://h5/o", "--weight", "e=100"});
  EXPECT_EQ(plan["after"]["d"], 0);
  EXPECT_EQ(plan["after"]["a"], 26214);
  EXPECT_EQ(plan["after"]["e"], 13107);
}

TEST_F(PlanTest, NameWithAnEqualsSign_TakesAWeight) {
  WriteFile(table_, RoutingTable::MakeEven({{"x=y", "h"}, {"z", "i"}})->ToJson());
  EXPECT_EQ(PlanJson({"--weight", "x=y=300"})["after"]["x=y"], 49152);
}

TEST_F(PlanTest, Load_IsWhatSharesAreOf) {
  // Vnodes of shard a have three times the load of the others.
  std::string csv = "vnode,load\r\n";
  for (int vnode = 0; vnode < 65536; ++vnode) {
    absl::StrAppend(&csv, vnode, ",", vnode < 16384 ? "1.5" : "5e-1", "\n");
  }
  WriteFile(load_, csv);
  json plan = PlanJson({"--load", load_});
  EXPECT_NEAR(plan["peak_before"].get<double>(), 2, 1e-6);
  EXPECT_LT(plan["peak_after"].get<double>(), 1.02);
  EXPECT_GE(plan["peak_after"].get<double>(), 1);
  std::string text = Plan({"--load", load_}).out;
  EXPECT_THAT(text, HasSubstr("load %"));
  EXPECT_THAT(text, HasSubstr("\nmost loaded shard over its portion: before 2.000, after 1.0"));
}

TEST_F(PlanTest, Tolerance_LeavesShardsWithinItAlone) {
  std::string csv = "vnode,load\n";  // shard a has 1.15 times the mean
  for (int vnode = 0; vnode < 65536; ++vnode) {
    absl::StrAppend(&csv, vnode, ",", vnode < 16384 ? "1.2105" : "1", "\n");
  }
  WriteFile(load_, csv);
  EXPECT_GT(PlanJson({"--load", load_})["moved_vnodes"], 0);
  EXPECT_GT(PlanJson({"--load", load_, "--tolerance", "0.1"})["moved_vnodes"], 0);
  EXPECT_EQ(PlanJson({"--load", load_, "--tolerance", "0.2"})["moved_vnodes"], 0);
  Outcome outcome = Plan({"--tolerance", "0.2"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--load"));
  outcome = Plan({"--load", load_, "--tolerance", "20"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--tolerance: \"20\" is not a number from 0 to 1"));
}

TEST_F(PlanTest, LoadOnStdin_IsRead) {
  Outcome outcome =
      RunLocus({"plan", "--table", table_, "--load", "-", "--json"}, "65535,1\n\n0,1\n");
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_TRUE(json::parse(outcome.out).contains("peak_after"));
}

TEST_F(PlanTest, BadLoads_AreRefusedWithTheirLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"vnode,load\n1,2\n\n1,3\n", "line 4: vnode 1 has its load on line 2 already"},
      {"65536,1\n", "line 1: vnode \"65536\" is not 0..65535"},
      {"01,1\n", "line 1: vnode \"01\""},
      {"1,2\nvnode,load\n", "line 2: vnode \"vnode\""},
      {"1\n", "line 1: has 1 fields"},
      {"1,2,3\n", "line 1: has 3 fields"},
      {"1,-1\n", "line 1: load \"-1\" is not a finite number from 0 on"},
      {"1,-0\n", "load \"-0\""},
      {"1,nan\n", "load \"nan\""},
      {"1,inf\n", "load \"inf\""},
      {"1,1e999\n", "load \"1e999\""},
      {"1, 2\n", "load \" 2\""},
      {"1,2x\n", "load \"2x\""},
      {"1,\n", "load \"\""},
      {"vnode,load\n1,0\n", "no vnode has any load"},
      {"", "no vnode has any load"},
  };
  for (auto [csv, message] : cases) {
    WriteFile(load_, csv);
    Outcome outcome = Plan({"--load", load_});
    EXPECT_EQ(outcome.exit, 1) << csv;
    EXPECT_THAT(outcome.err, StartsWith("locus plan: " + load_ + ": "));
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(PlanTest, HotVnodes_GoToShardsOfTheirTier) {
  std::vector<Shard> shards = {
      {.id = 1, .name = "cold", .endpoint = "h", .labels = {}},
      {.id = 2, .name = "fast", .endpoint = "i", .labels = {{"tier", "hot"}}}};
  WriteFile(table_, RoutingTable::Make(1, shards, {{65535, 1}})->ToJson());
  std::string csv;
  for (int vnode = 0; vnode < 65536; ++vnode) {
    absl::StrAppend(&csv, vnode, ",", vnode >= 100 && vnode < 110 ? 1000 : 1, "\n");
  }
  WriteFile(load_, csv);
  json plan = PlanJson({"--load", load_, "--hot-above", "50"});
  EXPECT_EQ(plan["after"], json({{"cold", 65526}, {"fast", 10}}));
  EXPECT_EQ(plan["moves"], json::parse(R"([{"first":100,"last":109,"from":"cold","to":"fast"}])"));
}

TEST_F(PlanTest, Svg_IsWrittenBesideTheTextOrInItsPlace) {
  std::string svg = directory_ / "plan.svg";
  Outcome outcome = Plan({"--add", "e=mysql://h5/o", "--svg", svg});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("plan from epoch 1\n"));
  EXPECT_THAT(ReadFile(svg), StartsWith("<svg "));
  Outcome only = Plan({"--add", "e=mysql://h5/o", "--svg", "-"});
  EXPECT_EQ(only.out, ReadFile(svg));
  EXPECT_THAT(PlanJson({"--svg", svg}), Not(json()));
}

TEST_F(PlanTest, SvgOfAPlanByLoad_DrawsTheLoad) {
  WriteFile(load_, "0,1\n1,2\n65535,1\n");
  Outcome outcome = Plan({"--load", load_, "--svg", "-"});
  EXPECT_THAT(outcome.out, HasSubstr("class=\"load\""));
  EXPECT_THAT(Plan({"--add", "e=mysql://h5/o", "--svg", "-"}).out,
              Not(HasSubstr("class=\"load\"")));
}

TEST_F(PlanTest, Ring_IsPrintedAsTextJsonAndPicture) {
  EXPECT_THAT(RunLocus({"ring", table_}).out, HasSubstr("total"));
  json ring = json::parse(RunLocus({"ring", table_, "--json"}).out);
  EXPECT_EQ(ring["shards"].size(), 4u);
  EXPECT_EQ(ring["shards"][0]["vnodes"], 16384);
  std::string svg = directory_ / "ring.svg";
  json again = json::parse(RunLocus({"ring", table_, "--json", "--svg", svg}).out);
  EXPECT_EQ(again, ring);
  EXPECT_THAT(ReadFile(svg), StartsWith("<svg "));
  EXPECT_EQ(RunLocus({"ring", table_, "--json", "--svg", "-"}).exit, 2);
}

TEST_F(PlanTest, WrongUsage_NamesTheWord) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--add", "e"}, "--add: \"e\" is not NAME=ENDPOINT"},
      {{"--add", "=h"}, "--add: \"=h\""},
      {{"--add", "e=h"}, "--add: \"h\" is no endpoint"},
      {{"--weight", "a"}, "--weight: \"a\" is not NAME=W"},
      {{"--weight", "a=-1"}, "--weight: \"a=-1\""},
      {{"--weight", "a=1000001"}, "--weight: \"a=1000001\""},
      {{"--weight", "a=1", "--weight", "a=2"}, "\"a\" twice"},
      {{"--weight", "nobody=1"}, "nobody"},
      {{"--remove", "nobody"}, "nobody"},
      {{"--remove", "a", "--remove", "b", "--remove", "c", "--remove", "d"}, "weight"},
      {{"--hot-above", "2"}, "--hot-above needs --load"},
      {{"--load", load_, "--hot-above", "0"}, "--hot-above: \"0\" is not a number above 0"},
      {{"--json", "--svg", "-"}, "--json and --svg -"},
      {{"nonsense"}, "nonsense"},
  };
  WriteFile(load_, "1,1\n");
  for (const auto& [words, message] : cases) {
    Outcome outcome = Plan(words);
    EXPECT_EQ(outcome.exit, 2) << message;
    EXPECT_THAT(outcome.err, StartsWith("locus plan: "));
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_EQ(RunLocus({"plan", "--table", "-", "--load", "-"}).exit, 2);
  EXPECT_EQ(RunLocus({"plan", "--table", directory_ / "none"}).exit, 1);
}

TEST_F(PlanTest, AppliedUntilNothingIsLeft_OwnersAreThoseOfThePlan) {
  Outcome planned = Plan({"--add", "e=mysql://h5/o", "--remove", "b", "--json"});
  ASSERT_EQ(planned.exit, 0) << planned.err;
  WriteFile(plan_, planned.out);
  json after = json::parse(planned.out)["after"];
  for (int round = 0;; ++round) {
    ASSERT_LT(round, 20);
    RoutingTable before = RoutingTable::Parse(ReadFile(table_)).value();
    Outcome outcome =
        RunLocus({"plan", "apply", "--table", table_, "--plan", plan_, "--most-per-shard", "2"});
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
    RoutingTable next = RoutingTable::Parse(outcome.out).value();
    if (next == before) {
      EXPECT_EQ(outcome.err,
                "locus plan apply: every move of the plan has begun or ended; the table is "
                "unchanged\n");
      break;
    }
    EXPECT_EQ(next.epoch(), before.epoch() + 1);
    EXPECT_EQ(next.ranges(), before.ranges()) << "no owner changes";
    EXPECT_FALSE(next.moves().empty());
    std::map<uint32_t, int> takes_part;
    for (const VnodeMove& move : next.moves()) {
      EXPECT_EQ(move.permyriad, 0u);
      ++takes_part[move.to];
      ++takes_part[next.OwnerOf(ShardGene::FromUint16(move.first)).id];
    }
    for (auto [shard, moves] : takes_part) EXPECT_LE(moves, 2) << "shard " << shard;
    EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat("epoch ", next.epoch(), ": ")));
    WriteFile(table_, outcome.out);
    EndMoves();
  }
  std::map<std::string, size_t> vnodes = VnodesOfTable();
  for (auto& [name, count] : after.items()) EXPECT_EQ(vnodes[name], count) << name;
  EXPECT_EQ(vnodes["b"], 0u);
}

TEST_F(PlanTest, MovesThatWaitForOthers_AreCounted) {
  WriteFile(plan_, Plan({"--add", "e=mysql://h5/o", "--json"}).out);
  const size_t moves = json::parse(ReadFile(plan_))["moves"].size();
  ASSERT_GT(moves, 2u);
  auto apply = [&] { return RunLocus({"plan", "apply", "--table", table_, "--plan", plan_}); };
  WriteFile(table_, apply().out);
  const size_t begun = RoutingTable::Parse(ReadFile(table_))->moves().size();
  Outcome outcome = apply();
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_EQ(outcome.out, ReadFile(table_));
  EXPECT_EQ(outcome.err,
            absl::StrCat("locus plan apply: ", moves - begun,
                         " moves wait: their shards take part in other moves; run it again when "
                         "one ends, or raise --most-per-shard\n"));
}

TEST_F(PlanTest, ApplyToAFile_WritesTheNextTable) {
  const std::string next = directory_ / "next.json";
  WriteFile(plan_, Plan({"--weight", "a=50", "--json"}).out);
  Outcome outcome = RunLocus({"plan", "apply", "--table", table_, "--plan", plan_, "--out", next});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(RoutingTable::Parse(ReadFile(next))->epoch(), 2u);
  EXPECT_EQ(RoutingTable::Parse(ReadFile(next))->FindShard(1)->weight, 50u);
}

TEST_F(PlanTest, PlanOfAnotherTable_IsRefused) {
  WriteFile(plan_, Plan({"--add", "e=mysql://h5/o", "--json"}).out);
  WriteFile(table_, RoutingTable::MakeEven({{"other", "h"}})->ToJson());
  Outcome outcome = RunLocus({"plan", "apply", "--table", table_, "--plan", plan_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, StartsWith("locus plan apply: " + plan_ + ": /"));
  EXPECT_EQ(outcome.out, "");
}

// The same shards, ranges and epoch: only the table_id says that it is another place.
TEST_F(PlanTest, PlanOfATableWithAnotherId_IsRefused) {
  json table = json::parse(ReadFile(table_));
  table["table_id"] = "0123456789abcdef";
  WriteFile(table_, table.dump());
  WriteFile(plan_, Plan({"--add", "e=mysql://h5/o", "--json"}).out);
  EXPECT_EQ(RunLocus({"plan", "apply", "--table", table_, "--plan", plan_}).exit, 0);
  table["table_id"] = "00000000000000ff";
  WriteFile(table_, table.dump());
  Outcome outcome = RunLocus({"plan", "apply", "--table", table_, "--plan", plan_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("/table_id: the plan is for table 0123456789abcdef, and this "
                                     "is table 00000000000000ff"));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(PlanTest, EndpointChangedSincePlanning_IsRefused) {
  WriteFile(plan_, Plan({"--add", "e=mysql://h5/o", "--json"}).out);
  json table = json::parse(ReadFile(table_));
  std::swap(table["shards"][0]["endpoint"], table["shards"][1]["endpoint"]);
  WriteFile(table_, table.dump());
  Outcome outcome = RunLocus({"plan", "apply", "--table", table_, "--plan", plan_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("shard 1 \"a\" is at \"mysql://h2/o\", not at the planned "
                                     "\"mysql://h1/o\"; plan again"));
}

TEST_F(PlanTest, ApplyWithWrongUsage_NamesTheWord) {
  for (const char* most : {"0", "-1", "x", "65537"}) {
    Outcome outcome =
        RunLocus({"plan", "apply", "--table", table_, "--plan", plan_, "--most-per-shard", most});
    EXPECT_EQ(outcome.exit, 2);
    EXPECT_THAT(outcome.err, HasSubstr("--most-per-shard: "));
  }
  EXPECT_EQ(RunLocus({"plan", "apply", "--table", "-", "--plan", "-"}).exit, 2);
  EXPECT_EQ(RunLocus({"plan", "apply", "--table", table_}).exit, 2);
  EXPECT_EQ(RunLocus({"plan", "apply", "--table", table_, "--plan", plan_}).exit, 1);
  WriteFile(plan_, "{}");
  Outcome outcome = RunLocus({"plan", "apply", "--table", table_, "--plan", plan_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, StartsWith("locus plan apply: " + plan_ + ": "));
}

TEST(PlanHelpTest, VerbOfOneWordAndOfTwo_AreToldApart) {
  EXPECT_THAT(RunLocus({"plan", "--help"}).out, HasSubstr("--hot-above"));
  EXPECT_THAT(RunLocus({"plan", "apply", "--help"}).out, HasSubstr("--most-per-shard"));
  EXPECT_EQ(RunLocus({"plan", "nonsense"}).exit, 2);
}

}  // namespace
}  // namespace locus
