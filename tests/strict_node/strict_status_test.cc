// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_status.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace locus::locusd {
namespace {

using nlohmann::json;
using ::testing::SizeIs;

StrictStatus Of(uint32_t sections) {
  StrictStatus status;
  status.options.section_size = 100;
  status.options.uids = uint64_t{sections} * 100;
  status.self = {"one", "10.0.0.1:7070", 100};
  status.table = std::make_shared<const StrictTable>(sections);
  return status;
}

TEST(StrictStatusTest, BeforeAnythingIsKnown_TheNodeAndItsOptions) {
  const json said = json::parse(ToJson(Of(10)));
  EXPECT_EQ(said["node"], "one");
  EXPECT_EQ(said["sections"], 10);
  EXPECT_EQ(said["open"], false);
  for (const char* const unknown : {"looked_ms", "losses", "ownership_left_ms"}) {
    EXPECT_TRUE(said[unknown].is_null()) << unknown;
  }
  EXPECT_EQ(said["nodes"], json::parse(R"([{"name": "one", "address": "10.0.0.1:7070",
      "weight": 100, "self": true, "heard": true, "sections": 0, "numbers_per_second": 0,
      "ranges": []}])"));
  EXPECT_EQ(said["free"], json::parse(R"({"sections": 10, "ranges": [{"first": 0, "last": 9}]})"));
}

TEST(StrictStatusTest, SectionsAndLoads_AreThoseOfTheirNodes) {
  StrictStatus status = Of(10);
  auto table = std::make_shared<StrictTable>(10);
  const StrictTable::Owner one = {"one", "10.0.0.1:7070"}, two = {"two", "10.0.0.2:7070"},
                           gone = {"gone", "10.0.0.3:7070"};
  table->Set(std::vector<uint32_t>{0, 1, 4}, &one, 5);
  table->Set(std::vector<uint32_t>{2, 3, 5}, &two, 6);
  table->Set(std::vector<uint32_t>{6, 7}, &gone, 7);
  status.table = table;
  status.open = true;
  status.live = {{"two", "10.0.0.2:7070", 50}};
  status.loads = {{0, 7}, {2, 40}, {5, 2}, {9, 1}};
  status.moving = {{5, "one"}};
  status.losses = 2;
  status.looked = absl::Milliseconds(1500);
  status.rests = absl::Seconds(3);
  status.left = absl::Seconds(8);
  const json said = json::parse(ToJson(status));
  EXPECT_EQ(said["table_version"], "7");
  EXPECT_EQ(said["looked_ms"], 1500);
  EXPECT_EQ(said["rests_ms"], 3000);
  EXPECT_EQ(said["losses"], 2);
  EXPECT_EQ(said["ownership_left_ms"], 8000);
  ASSERT_THAT(said["nodes"], SizeIs(3));
  const json &of_gone = said["nodes"][0], &of_one = said["nodes"][1], &of_two = said["nodes"][2];
  EXPECT_EQ(of_gone["heard"], false);
  EXPECT_EQ(of_gone["sections"], 2);
  EXPECT_EQ(of_one["self"], true);
  EXPECT_EQ(of_one["numbers_per_second"], 7);
  EXPECT_EQ(of_one["ranges"], json::parse(R"([{"first": 0, "last": 1}, {"first": 4, "last": 4}])"));
  EXPECT_EQ(of_two["self"], false);
  EXPECT_EQ(of_two["weight"], 50);
  EXPECT_EQ(of_two["sections"], 2);  // one of its three is handed over
  EXPECT_EQ(of_two["numbers_per_second"], 40);
  EXPECT_EQ(said["handed_over"],
            json::parse(R"([{"to": "one", "sections": 1, "ranges": [{"first": 5, "last": 5}]}])"));
  EXPECT_EQ(said["free"], json::parse(R"({"sections": 2, "ranges": [{"first": 8, "last": 9}]})"));
}

TEST(StrictStatusTest, ScatteredSections_AreCountedAndTheFirstListed) {
  StrictStatus status = Of(2000);
  auto table = std::make_shared<StrictTable>(2000);
  const StrictTable::Owner one = {"one", "10.0.0.1:7070"};
  std::vector<uint32_t> even;
  for (uint32_t section = 0; section < 2000; section += 2) even.push_back(section);
  table->Set(even, &one, 1);
  status.table = table;
  const json said = json::parse(ToJson(status));
  EXPECT_EQ(said["nodes"][0]["sections"], 1000);
  EXPECT_THAT(said["nodes"][0]["ranges"], SizeIs(StrictStatus::kMostRanges));
  EXPECT_EQ(said["free"]["sections"], 1000);
  EXPECT_THAT(said["free"]["ranges"], SizeIs(StrictStatus::kMostRanges));
}

// It is made on a thread that also answers with numbers.
TEST(StrictStatusTest, LargestSet_IsLookedThroughOnce) {
  constexpr uint32_t kSections = 1 << 20;
  StrictStatus status = Of(kSections);
  auto table = std::make_shared<StrictTable>(kSections);
  const StrictTable::Owner one = {"one", "10.0.0.1:7070"}, two = {"two", "10.0.0.2:7070"};
  std::vector<uint32_t> even, odd;
  for (uint32_t section = 0; section < kSections; section += 2) {
    even.push_back(section);
    odd.push_back(section + 1);
    status.loads[section] = 2;
  }
  table->Set(even, &one, 1);
  table->Set(odd, &two, 1);
  status.table = table;
  const json said = json::parse(ToJson(status));
  EXPECT_EQ(said["nodes"][0]["numbers_per_second"], kSections);
  EXPECT_EQ(said["nodes"][1]["sections"], kSections / 2);
  EXPECT_EQ(said["nodes"][1]["numbers_per_second"], 0);
  EXPECT_EQ(said["free"]["sections"], 0);
}

}  // namespace
}  // namespace locus::locusd
