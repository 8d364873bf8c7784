// SPDX-License-Identifier: Apache-2.0
// Sections that are drawn from more than others, on real nodes.
#include <thread>

#include "tests/locusd/strict_nodes.h"

namespace locus {
namespace {

class LocusdStrictLoadTest : public StrictNodesTest {
 protected:
  // By the table of the first node; "": nobody.
  std::string OwnerOf(uint32_t section) const {
    const auto table = nodes_[0]->Good("GET", "/v1/strict/table");
    for (const auto& range : table["ranges"]) {
      if (range["first"] <= section && section <= range["last"]) {
        return table["owners"][range["owner"].get<size_t>()]["name"];
      }
    }
    return "";
  }
};

// Two sections of one node are as hot as each other: one of them goes to the other node, which has
// next to nothing to do, while the numbers of all users rise.
TEST_F(LocusdStrictLoadTest, OneOfTwoHotSections_MovesToTheIdleNode) {
  Start(2);
  ASSERT_TRUE(Spread({0, 1}));
  std::vector<uint32_t> hot;
  for (uint32_t section = 0; section < kStrictSections && hot.size() < 2; ++section) {
    if (OwnerOf(section) == "n1") hot.push_back(section);
  }
  ASSERT_EQ(hot.size(), 2u);

  std::vector<std::unique_ptr<StrictClient>> clients;
  clients.push_back(Client(1));
  StrictCallers callers(clients);
  const auto of_hot = Client(0);
  std::atomic<bool> ends = false;
  std::thread draws([&] {
    std::vector<uint64_t> uids(1000);
    for (size_t i = 0; i < uids.size(); ++i) uids[i] = hot[i % 2] * 100 + 50 + i % 2;
    std::vector<uint64_t> numbers(uids.size());
    uint64_t before[2] = {};
    while (!ends) {
      const absl::Status drawn = of_hot->NextBatch(
          uids, numbers, std::chrono::steady_clock::now() + std::chrono::minutes(1));
      ASSERT_TRUE(drawn.ok()) << drawn;
      for (size_t i = 0; i < numbers.size(); ++i) {
        ASSERT_GT(numbers[i], before[i % 2]);
        before[i % 2] = numbers[i];
      }
    }
  });
  EXPECT_TRUE(WaitUntil([&] {
    const std::string one = OwnerOf(hot[0]);
    const std::string other = OwnerOf(hot[1]);
    return one != other && !one.empty() && !other.empty();
  })) << nodes_[0]->LogText();
  EXPECT_TRUE(MoreCalls(callers, 200));
  ends = true;
  draws.join();
  callers.End();
  EXPECT_TRUE(WaitUntil([&] { return Owned(0) + Owned(1) == kStrictSections; }));
}

}  // namespace
}  // namespace locus
