// SPDX-License-Identifier: Apache-2.0
// Holds the map that each store keeps of its set to tests/golden/store_set_map.json.
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/segment_store_set.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

TEST(StoreSetMapGoldenTest, EstablishedSet_KeepsTheMapOfEachMember) {
  nlohmann::json sets = golden::Load("store_set_map.json")["sets"];
  ASSERT_FALSE(sets.empty());
  for (const nlohmann::json& set : sets) {
    std::vector<SegmentStoreSet::Member> members;
    for (const nlohmann::json& member : set["members"]) {
      members.push_back({member["last_section"].get<uint16_t>(),
                         std::make_shared<MemorySegmentStore>(), member["name"]});
    }
    absl::StatusOr<SegmentStoreSet> made = SegmentStoreSet::Create(members, set["layout"]);
    ASSERT_TRUE(made.ok()) << made.status();
    absl::Time now = absl::Now();
    absl::Status established =
        made->Establish(SpaceName(), SpaceOptions(), now, SegmentStoreSet::Earlier::kNothingInUse);
    ASSERT_TRUE(established.ok()) << established;
    SpaceName space = SpaceName::Parse(set["space"].get<std::string>()).value();
    for (size_t i = 0; i < members.size(); ++i) {
      const nlohmann::json& map = set["maps"][i];
      absl::StatusOr<SpaceView> view = members[i].store->Show(space, now);
      ASSERT_TRUE(view.ok()) << view.status();
      EXPECT_EQ(view->options.section_size, map["section_size"]);
      EXPECT_EQ(absl::ToUnixSeconds(view->options.floor_epoch), map["floor_epoch_s"]);
      EXPECT_EQ(view->options.floor_rate, map["floor_rate"]);
      EXPECT_EQ(view->options.max_lead, map["max_lead"]);
      EXPECT_EQ(view->base, (uint64_t{1} << 56) - 1) << "the map is complete";
    }
  }
}

}  // namespace
}  // namespace locus
