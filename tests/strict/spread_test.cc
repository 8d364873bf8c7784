// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <random>

#include "gtest/gtest.h"
#include "locus/strict_sequencer.h"

namespace locus {
namespace {

StrictSpreadInput Input(std::vector<std::string> owners, uint32_t sections,
                        const std::string& owner = "") {
  StrictSpreadInput input;
  for (std::string& name : owners) input.owners.push_back({std::move(name), 1});
  for (uint32_t section = 0; section < sections; ++section) {
    input.sections.push_back({section, 1, owner});
  }
  return input;
}

void Apply(StrictSpreadInput& input, const std::vector<StrictMove>& moves) {
  for (const StrictMove& move : moves) input.sections[move.section].owner = move.to;
}
std::map<std::string, double> LoadOf(const StrictSpreadInput& input) {
  std::map<std::string, double> load;
  for (const auto& section : input.sections) load[section.owner] += section.load;
  return load;
}

TEST(StrictSpreadTest, NobodyHasAny_EachOwnerGetsItsPart) {
  StrictSpreadInput input = Input({"a", "b", "c"}, 30);
  input.owners[0].weight = 3;
  auto moves = StrictSpread(input);
  ASSERT_TRUE(moves.ok()) << moves.status();
  EXPECT_EQ(moves->size(), 30u);
  Apply(input, *moves);
  auto load = LoadOf(input);
  EXPECT_EQ(load["a"], 18);
  EXPECT_EQ(load["b"], 6);
  EXPECT_EQ(load["c"], 6);
  EXPECT_TRUE(StrictSpread(input)->empty()) << "settled";
}

TEST(StrictSpreadTest, OwnerJoins_OnlyItsPartMoves) {
  StrictSpreadInput input = Input({"a", "b"}, 30);
  Apply(input, *StrictSpread(input));
  input.owners.push_back({"c", 1});
  auto moves = StrictSpread(input);
  ASSERT_TRUE(moves.ok());
  EXPECT_GE(moves->size(), 8u);
  EXPECT_LE(moves->size(), 10u);
  for (const StrictMove& move : *moves) EXPECT_EQ(move.to, "c");
}

TEST(StrictSpreadTest, OwnerDies_OnlyItsSectionsMove) {
  StrictSpreadInput input = Input({"a", "b", "c"}, 30);
  Apply(input, *StrictSpread(input));
  input.owners.erase(input.owners.begin());
  auto moves = StrictSpread(input);
  ASSERT_TRUE(moves.ok());
  EXPECT_EQ(moves->size(), 10u);
  for (const StrictMove& move : *moves) EXPECT_EQ(move.from, "");
}

TEST(StrictSpreadTest, OneHotSection_IsMovedAlone) {
  StrictSpreadInput input = Input({"a", "b"}, 10, "a");
  input.sections[4].load = 1000;
  auto moves = StrictSpread(input);
  ASSERT_TRUE(moves.ok());
  EXPECT_EQ(*moves, (std::vector<StrictMove>{{4, "a", "b"}}));
  Apply(input, *moves);
  EXPECT_TRUE(StrictSpread(input)->empty()) << "settled";
}

TEST(StrictSpreadTest, RandomLoads_EndWithinTheToleranceAndASection) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    StrictSpreadInput input = Input({"a", "b", "c", "d"}, 200, round % 2 == 0 ? "a" : "");
    double most = 0;
    double all = 0;
    for (auto& section : input.sections) {
      section.load = static_cast<double>(random() % 100);
      most = std::max(most, section.load);
      all += section.load;
    }
    Apply(input, *StrictSpread(input));
    for (const auto& [owner, load] : LoadOf(input)) EXPECT_LE(load, all / 4 * 1.1 + most) << owner;
    EXPECT_TRUE(StrictSpread(input)->empty()) << "round " << round;
  }
}

TEST(StrictSpreadTest, BadInput_IsRefusedByName) {
  EXPECT_EQ(StrictSpread(Input({}, 3)).status().message(), "there are no owners to spread over");
  StrictSpreadInput input = Input({"a"}, 3);
  input.sections[2].section = 1;
  EXPECT_EQ(StrictSpread(input).status().message(), "section 1 is named twice");
  input = Input({"a"}, 3);
  input.owners[0].weight = 0;
  EXPECT_EQ(StrictSpread(input).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace locus
