// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
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

TEST(StrictSpreadTest, SectionsWithoutOwners_EachOwnerGetsItsPart) {
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

// The rule, step by step: all sections of the fullest owner are tried for the one with most room.
std::map<uint32_t, std::string> NaiveSpread(const StrictSpreadInput& input) {
  double load = 0;
  double weights = 0;
  for (const auto& section : input.sections) load += section.load;
  for (const auto& owner : input.owners) weights += owner.weight;
  const double least = load / 1e6 / static_cast<double>(input.sections.size());
  load += least * static_cast<double>(input.sections.size());
  std::map<std::string, double> part;
  std::map<std::string, double> has;
  for (const auto& owner : input.owners) part[owner.name] = load * owner.weight / weights;
  std::map<uint32_t, std::string> to;
  for (const auto& section : input.sections) {
    to[section.section] = section.owner;
    has[section.owner] += section.load + least;
  }
  for (size_t i = 0; i < input.sections.size(); ++i) {
    std::string from = part.begin()->first;
    std::string room = from;
    for (const auto& [name, of] : part) {
      if ((has[name] - of) / of > (has[from] - part[from]) / part[from]) from = name;
      if (of - has[name] > part[room] - has[room]) room = name;
    }
    const double too_much = has[from] - part[from];
    if (too_much <= input.tolerance * part[from]) break;
    double best = std::max(too_much, has[room] - part[room]) - 1e-9 * part[from];
    const StrictSpreadInput::SectionLoad* move = nullptr;
    for (const auto& section : input.sections) {
      if (to[section.section] != from) continue;
      const double of = section.load + least;
      const double after = std::max(too_much - of, has[room] - part[room] + of);
      if (after >= best) continue;
      best = after;
      move = &section;
    }
    if (move == nullptr) break;
    to[move->section] = room;
    has[from] -= move->load + least;
    has[room] += move->load + least;
  }
  return to;
}

TEST(StrictSpreadTest, RandomLoadsAndWeights_MoveAsByTryingAll) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 100; ++round) {
    StrictSpreadInput input = Input({"a", "b", "c", "d", "e"}, 60);
    for (auto& owner : input.owners) owner.weight = 1 + static_cast<double>(random() % 1000) / 100;
    for (auto& section : input.sections) {
      section.owner = input.owners[random() % (1 + round % 5)].name;
      // No two are alike, so that the rule says which one.
      section.load = std::exp(static_cast<double>(random() % 1'000'000'007) / 2e8);
    }
    const auto expected = NaiveSpread(input);
    Apply(input, *StrictSpread(input));
    for (const auto& section : input.sections) {
      EXPECT_EQ(section.owner, expected.at(section.section))
          << "round " << round << ", section " << section.section;
    }
  }
}

// To try all sections at each move would take minutes here.
TEST(StrictSpreadTest, SixtyFiveThousandSectionsOfOneOwner_AreSpreadAtOnce) {
  StrictSpreadInput input = Input({"a"}, 65'536, "a");
  for (int i = 1; i < 64; ++i) input.owners.push_back({absl::StrCat("owner-", i), 1});
  std::mt19937_64 random(4);
  for (auto& section : input.sections) section.load = 1 + static_cast<double>(random() % 1000);
  const auto begun = std::chrono::steady_clock::now();
  const auto moves = StrictSpread(input);
  const auto took = std::chrono::steady_clock::now() - begun;
  ASSERT_TRUE(moves.ok());
  EXPECT_GT(moves->size(), 50'000u);
  EXPECT_LT(took, std::chrono::seconds(20));
  Apply(input, *moves);
  const auto load = LoadOf(input);
  double all = 0;
  for (const auto& [owner, of] : load) all += of;
  ASSERT_EQ(load.size(), 64u);
  for (const auto& [owner, of] : load) EXPECT_LE(of, all / 64 * 1.1 + 1) << owner;
  EXPECT_TRUE(StrictSpread(input)->empty()) << "settled";
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
