// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/net_effect.h"

#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus::internal {
namespace {

// A row of two columns: the key, and a value; the version stands beside it.
stream::Row RowOf(uint64_t key, uint64_t value) { return {key, value}; }

RowMap MapOf() {
  RowMap map;
  map.key = {0};
  map.key_columns.resize(1);
  map.others = {1};
  return map;
}

// What a shard has of a key: state and value.
struct Local {
  RowState state;
  uint64_t value = 0;
};
using Shard = std::map<uint64_t, Local>;
using Change = std::tuple<uint64_t, uint64_t, RowState>;  // key, value, state

// One change after the other, as the rule says; false: a conflict.
bool ApplyNaively(Shard& shard, const std::vector<Change>& changes, uint64_t& written,
                  uint64_t& skipped) {
  for (const auto& [key, value, state] : changes) {
    Local& local = shard[key];
    switch (JudgeIncoming(state, local.state, local.value == value)) {
      case ApplyVerdict::kConflict:
        return false;
      case ApplyVerdict::kSkip:
        ++skipped;
        break;
      case ApplyVerdict::kWrite:
        ++written;
        local = {state, value};
    }
  }
  return true;
}

bool ApplyFolded(Shard& shard, const std::vector<Change>& changes, uint64_t& written,
                 uint64_t& skipped) {
  const RowMap map = MapOf();
  NetEffect effect(map);
  for (const auto& [key, value, state] : changes) effect.Add(RowOf(key, value), state);
  for (const RowHistory& history : effect.Sorted()) {
    Local& local = shard[std::get<uint64_t>(history.last().row[0])];
    const IncomingRow* compared = StateToCompare(history, local.state);
    const bool same = compared != nullptr && std::get<uint64_t>(compared->row[1]) == local.value;
    const HistoryVerdict verdict = JudgeHistory(history, local.state, same);
    if (verdict.verdict == ApplyVerdict::kConflict) return false;
    written += verdict.written;
    skipped += verdict.skipped;
    if (verdict.verdict == ApplyVerdict::kWrite) {
      local = {history.last().state, std::get<uint64_t>(history.last().row[1])};
    }
  }
  return true;
}

TEST(NetEffectTest, RandomChanges_AreAsIfAppliedOneByOne) {
  std::mt19937_64 random(20261123);
  uint64_t conflicts = 0, folded = 0;
  for (int round = 0; round < 20'000; ++round) {
    Shard shard;
    for (uint64_t key = 0; key < 3; ++key) {
      if (random() % 3 != 0) shard[key] = {{random() % 6, random() % 3 == 0}, random() % 2};
    }
    std::vector<Change> changes;
    for (uint64_t i = random() % 8; i > 0; --i) {
      changes.push_back({random() % 3, random() % 2, {1 + random() % 6, random() % 3 == 0}});
    }
    Shard naive = shard, batch = shard;
    uint64_t naive_counts[2] = {}, batch_counts[2] = {};
    const bool naive_ok = ApplyNaively(naive, changes, naive_counts[0], naive_counts[1]);
    const bool batch_ok = ApplyFolded(batch, changes, batch_counts[0], batch_counts[1]);
    ASSERT_EQ(batch_ok, naive_ok) << "round " << round;
    conflicts += naive_ok ? 0 : 1;
    if (!naive_ok) continue;
    folded += changes.size() > 3 ? 1 : 0;
    for (const auto& [key, local] : naive) {
      ASSERT_EQ(batch[key].state, local.state) << "round " << round << " key " << key;
      if (local.state.deleted) continue;
      ASSERT_EQ(batch[key].value, local.value) << "round " << round;
    }
    ASSERT_EQ(batch_counts[0], naive_counts[0]) << "round " << round;
    ASSERT_EQ(batch_counts[1], naive_counts[1]) << "round " << round;
  }
  EXPECT_GT(conflicts, 1000u);
  EXPECT_GT(folded, 1000u);
}

TEST(NetEffectTest, Histories_ComeInTheOrderOfTheIndex) {
  RowMap map;
  map.key = {0, 1};
  map.key_columns.resize(2);
  NetEffect effect(map);
  const auto text = [](const char* bytes) { return stream::Value(stream::Bytes{bytes}); };
  const std::vector<stream::Row> sorted = {{int64_t{-10}, text("b")}, {int64_t{-9}, text("")},
                                           {int64_t{2}, text("a")},   {int64_t{2}, text("ab")},
                                           {int64_t{2}, text("b")},   {int64_t{10}, text("a")}};
  for (size_t i : {5u, 0u, 3u, 1u, 4u, 2u}) effect.Add(sorted[i], {1, false});
  EXPECT_GT(effect.bytes(), 0u);
  const auto& histories = effect.Sorted();
  ASSERT_EQ(histories.size(), sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(histories[i].last().row, sorted[i]) << i;
  effect.Clear();
  EXPECT_TRUE(effect.empty());
  EXPECT_EQ(effect.bytes(), 0u);
}

}  // namespace
}  // namespace locus::internal
