// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/stats_history.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "nlohmann/json.hpp"

namespace locus::locusd {
namespace {

using nlohmann::json;

IdParts Parts() {
  IdParts parts;
  OrderIdGenerator::Options options;
  options.create_space = true;
  parts.orders = OrderIdGenerator::Create(std::make_shared<MemorySegmentStore>(), options).value();
  return parts;
}

void Take(const IdParts& parts, int ids) {
  for (int i = 0; i < ids; ++i) {
    ASSERT_TRUE(parts.orders->Next(BuyerKey::Uint64(7), absl::Seconds(60)).ok());
  }
}

TEST(StatsHistoryTest, Rates_AreOfTheStep_AndTheFirstIsNotKnown) {
  const IdParts parts = Parts();
  StatsHistory history(absl::UnixEpoch());
  Take(parts, 5);
  const json first =
      json::parse(history.Sample(&parts, {}, 128, absl::FromUnixSeconds(10), absl::Seconds(10)));
  EXPECT_EQ(first["orders"]["ids"], 5);
  EXPECT_EQ(first["orders"]["ids_per_second"], 0);
  Take(parts, 40);
  const json second =
      json::parse(history.Sample(&parts, {}, 128, absl::FromUnixSeconds(12), absl::Seconds(12)));
  EXPECT_EQ(second["orders"]["ids_per_second"], 20);
  EXPECT_EQ(second["orders"]["most_lead_ms"], 1'024'000);
  const json series = json::parse(history.HistoryJson());
  EXPECT_EQ(series["at_ms"], json({10'000, 12'000}));
  EXPECT_EQ(series["orders_per_second"], json({nullptr, 20}));
  EXPECT_EQ(series["snowflakes_per_second"], json({nullptr, nullptr}));
  EXPECT_EQ(series["losses"], json({nullptr, 0}));
}

TEST(StatsHistoryTest, WithoutAnIdService_ThereIsNothingToCount) {
  StatsHistory history(absl::UnixEpoch());
  const json stats = json::parse(history.Sample(nullptr, {}, 1, absl::UnixEpoch(), {}));
  EXPECT_TRUE(stats["orders"].is_null());
  EXPECT_TRUE(stats["snowflake"].is_null());
  EXPECT_EQ(stats["sequences"].size(), 0u);
}

TEST(StatsHistoryTest, Points_AreBounded) {
  StatsHistory history(absl::UnixEpoch());
  for (size_t i = 0; i < 2 * StatsHistory::kPoints; ++i) {
    history.Sample(nullptr, {}, 1, absl::FromUnixSeconds(static_cast<int64_t>(i)),
                   absl::Seconds(i));
  }
  const json series = json::parse(history.HistoryJson());
  EXPECT_EQ(series["at_ms"].size(), StatsHistory::kPoints);
  EXPECT_EQ(series["at_ms"][0], 1000 * StatsHistory::kPoints);
}

// Another generator, as after a reload, counts from 0.
TEST(StatsHistoryTest, CounterThatBeganAnew_HasNoRate) {
  const IdParts before = Parts(), after = Parts();
  StatsHistory history(absl::UnixEpoch());
  Take(before, 100);
  history.Sample(&before, {}, 1, absl::UnixEpoch(), absl::Seconds(2));
  Take(after, 1);
  history.Sample(&after, {}, 1, absl::UnixEpoch(), absl::Seconds(4));
  EXPECT_EQ(json::parse(history.HistoryJson())["orders_per_second"], json({nullptr, nullptr}));
}

TEST(LoadWindowTest, IdsOfASection_AreDividedAmongItsVnodes) {
  LoadWindow window;
  EXPECT_TRUE(window.PerVnode().empty());
  std::vector<uint64_t> counts(256);
  window.Add(counts, absl::Seconds(0));
  EXPECT_TRUE(window.PerVnode().empty());
  counts[1] = 2560;
  window.Add(counts, absl::Seconds(10));
  const std::vector<double> load = window.PerVnode();
  ASSERT_EQ(load.size(), 65'536u);
  EXPECT_DOUBLE_EQ(load[255], 0);
  EXPECT_DOUBLE_EQ(load[256], 1);
  EXPECT_DOUBLE_EQ(load[511], 1);
  EXPECT_DOUBLE_EQ(load[512], 0);
}

TEST(LoadWindowTest, Window_MovesOn_AndSmallSectionsAreSummed) {
  LoadWindow window;
  std::vector<uint64_t> counts(65'536);
  for (int i = 0; i <= 100; ++i) {
    window.Add(counts, absl::Seconds(10 * i));
    counts[0] += 256 * 10;
  }
  EXPECT_EQ(window.window(), LoadWindow::kStep * LoadWindow::kSteps);
  EXPECT_DOUBLE_EQ(window.PerVnode()[255], 1);
}

TEST(LoadWindowTest, Ids_AreCountedBySection) {
  const IdParts parts = Parts();
  Take(parts, 10);
  const std::vector<uint64_t> ids = parts.orders->IdsBySection();
  ASSERT_EQ(ids.size(), 256u);
  const size_t section = ShardGene::Of(BuyerKey::Uint64(7)).value() / 256;
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], i == section ? 10u : 0u) << i;
}

}  // namespace
}  // namespace locus::locusd
