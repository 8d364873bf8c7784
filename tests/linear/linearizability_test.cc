// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/linear/linearizability.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus::linear {
namespace {

struct RegisterModel {
  struct Operation {
    bool write = false;
    int value = 0;
  };
  using State = int;
  static bool Step(State& state, const Operation& operation, bool answered) {
    if (!operation.write) return !answered || state == operation.value;
    state = operation.value;
    return true;
  }
  static std::string Key(const State& state) { return absl::StrCat(state); }
  static bool Same(const Operation& one, const Operation& other) {
    return one.write == other.write && one.value == other.value;
  }
};
using History = std::vector<Call<RegisterModel::Operation>>;

Call<RegisterModel::Operation> Write(int64_t called, std::optional<int64_t> returned, int value) {
  return {called, returned, {true, value}};
}
Call<RegisterModel::Operation> Read(int64_t called, std::optional<int64_t> returned, int value) {
  return {called, returned, {false, value}};
}
Verdict VerdictOf(const History& history) { return Check<RegisterModel>(history).verdict; }

TEST(LinearizabilityTest, OneAfterTheOther) {
  EXPECT_EQ(VerdictOf({}), Verdict::kLinearizable);
  EXPECT_EQ(VerdictOf({Write(0, 1, 5), Read(2, 3, 5), Write(4, 5, 6), Read(6, 7, 6)}),
            Verdict::kLinearizable);
  const Report stale = Check<RegisterModel>({Write(0, 1, 5), Write(2, 3, 6), Read(4, 5, 5)});
  EXPECT_EQ(stale.verdict, Verdict::kNotLinearizable);
  EXPECT_EQ(stale.stuck, 2u);
  EXPECT_EQ(stale.order, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(VerdictOf({Read(0, 1, 5), Write(2, 3, 5)}), Verdict::kNotLinearizable) << "the future";
}

TEST(LinearizabilityTest, Overlapping_MayTakeEffectInAnyOrder) {
  EXPECT_EQ(VerdictOf({Write(0, 10, 5), Read(1, 2, 0), Read(3, 4, 5)}), Verdict::kLinearizable);
  // The second read may not go back.
  EXPECT_EQ(VerdictOf({Write(0, 10, 5), Read(1, 2, 5), Read(3, 4, 0)}), Verdict::kNotLinearizable);
  EXPECT_EQ(VerdictOf({Write(0, 10, 5), Write(0, 10, 6), Read(11, 12, 5)}), Verdict::kLinearizable);
  EXPECT_EQ(VerdictOf({Write(0, 10, 5), Write(0, 10, 6), Read(11, 12, 5), Read(13, 14, 6)}),
            Verdict::kNotLinearizable);
  // A return and a call at the same time overlap.
  EXPECT_EQ(VerdictOf({Write(0, 2, 5), Read(2, 3, 0)}), Verdict::kLinearizable);
}

TEST(LinearizabilityTest, WithoutAnAnswer_TakesEffectLateOrNever) {
  EXPECT_EQ(VerdictOf({Write(0, std::nullopt, 5), Read(10, 11, 0)}), Verdict::kLinearizable);
  EXPECT_EQ(VerdictOf({Write(0, std::nullopt, 5), Read(10, 11, 0), Read(12, 13, 5)}),
            Verdict::kLinearizable);
  EXPECT_EQ(VerdictOf({Write(0, std::nullopt, 5), Read(10, 11, 5), Read(12, 13, 0)}),
            Verdict::kNotLinearizable);
  EXPECT_EQ(VerdictOf({Read(1, 2, 5), Write(3, std::nullopt, 5)}), Verdict::kNotLinearizable)
      << "not before it was called";
  EXPECT_EQ(VerdictOf({Write(0, std::nullopt, 5), Write(1, 2, 6), Read(3, 4, 5), Read(5, 6, 6)}),
            Verdict::kNotLinearizable)
      << "once only";
}

// Clients at a real register: each call takes effect at a moment between its ends.
History Recorded(uint64_t seed, size_t calls, int clients) {
  std::mt19937_64 random(seed);
  struct Moment {
    int64_t at;
    size_t call;
  };
  History history;
  std::vector<Moment> moments;
  std::vector<int64_t> free_at(static_cast<size_t>(clients), 0);
  for (size_t i = 0; i < calls; ++i) {
    int64_t& free = free_at[random() % free_at.size()];
    const auto called = free + static_cast<int64_t>(random() % 20);
    const auto effect = called + static_cast<int64_t>(random() % 50);
    const auto returned = effect + static_cast<int64_t>(random() % 50);
    free = returned + 1;
    const bool lost = random() % 50 == 0;
    const bool write = random() % 2 == 0;
    history.push_back({called,
                       lost ? std::nullopt : std::optional<int64_t>(returned),
                       {write, write ? static_cast<int>(random() % 8) : 0}});
    if (!lost || random() % 2 == 0) moments.push_back({effect, i});
  }
  std::stable_sort(moments.begin(), moments.end(),
                   [](const Moment& one, const Moment& other) { return one.at < other.at; });
  int value = 0;
  for (const Moment& moment : moments) {
    RegisterModel::Operation& operation = history[moment.call].operation;
    if (operation.write) value = operation.value;
    operation.value = operation.write ? operation.value : value;
  }
  return history;
}

// All orders of a small history, tried without any memory.
bool NaivelyLinearizable(const History& history, std::vector<bool>& placed, int value) {
  int64_t first_return = INT64_MAX;
  for (size_t i = 0; i < history.size(); ++i) {
    if (!placed[i] && history[i].returned) {
      first_return = std::min(first_return, *history[i].returned);
    }
  }
  if (first_return == INT64_MAX) return true;
  for (size_t i = 0; i < history.size(); ++i) {
    int after = value;
    if (placed[i] || history[i].called > first_return ||
        !RegisterModel::Step(after, history[i].operation, history[i].returned.has_value())) {
      continue;
    }
    placed[i] = true;
    const bool found = NaivelyLinearizable(history, placed, after);
    placed[i] = false;
    if (found) return true;
  }
  return false;
}

TEST(LinearizabilityTest, RandomHistories_AgreeWithTheNaiveTwin) {
  int refused = 0;
  for (uint64_t seed = 1; seed <= 5000; ++seed) {
    std::mt19937_64 random(seed);
    History history = Recorded(seed, 7, 3);
    Call<RegisterModel::Operation>& bent = history[random() % history.size()];
    if (seed % 2 == 0) bent.operation.value = static_cast<int>(random() % 8);
    std::vector<bool> placed(history.size());
    const bool expected = NaivelyLinearizable(history, placed, 0);
    ASSERT_EQ(VerdictOf(history) == Verdict::kLinearizable, expected) << "seed " << seed;
    ASSERT_TRUE(expected || seed % 2 == 0) << "seed " << seed;
    refused += expected ? 0 : 1;
  }
  EXPECT_GT(refused, 500);
}

TEST(LinearizabilityTest, TenThousandCalls_AreCheckedInSteps) {
  const History history = Recorded(1, 10'000, 8);
  const Report report = Check<RegisterModel>(history);
  EXPECT_EQ(report.verdict, Verdict::kLinearizable);
  EXPECT_LT(report.steps, 30'000'000u);  // below a second
  std::printf("%llu steps\n", static_cast<unsigned long long>(report.steps));
}

TEST(LinearizabilityTest, MostSteps_AreKept) {
  EXPECT_EQ(Check<RegisterModel>(Recorded(1, 100, 8), 50).verdict, Verdict::kGaveUp);
}

}  // namespace
}  // namespace locus::linear
