// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/peer_bands.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::internal {
namespace {

using ::testing::HasSubstr;
using Ranges = std::vector<FencedRange>;

TEST(PeerBandsTest, RangeOfAVnode_IsTheOneThatHasIt) {
  const Ranges ranges = {{3, 3}, {5, 9}, {65535, 65535}};
  const std::vector<std::pair<uint32_t, std::optional<size_t>>> expected = {
      {0, {}}, {2, {}}, {3, 0}, {4, {}}, {5, 1}, {9, 1}, {10, {}}, {65534, {}}, {65535, 2}};
  for (const auto& [gene, range] : expected) EXPECT_EQ(RangeOf(ranges, gene), range) << gene;
  EXPECT_EQ(RangeAt(ranges, 5, 9), 1u);
  for (const auto& [lo, hi] : {std::pair{5, 8}, {6, 9}, {0, 9}, {65536 + 3, 3}}) {
    EXPECT_EQ(RangeAt(ranges, static_cast<uint64_t>(lo), static_cast<uint64_t>(hi)), std::nullopt);
  }
}

TEST(PeerBandsTest, RangesThatNoMoveHas_AreRefused) {
  EXPECT_TRUE(CheckRanges("x", {{0, 0}, {1, 65535}}).ok());
  EXPECT_TRUE(CheckRanges("x", Ranges()).code() == absl::StatusCode::kInvalidArgument);
  for (const Ranges& bad :
       {Ranges{{1, 0}}, Ranges{{0, 5}, {5, 6}}, Ranges{{7, 8}, {1, 2}}, Ranges{{65000, 65536}}}) {
    const absl::Status status = CheckRanges("option ranges", bad);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("option ranges has"));
  }
  Ranges many;
  for (uint32_t i = 0; i <= kMostRanges; ++i) many.push_back({2 * i, 2 * i});
  EXPECT_THAT(std::string(CheckRanges("x", many).message()), HasSubstr("has 1025 ranges"));
}

TEST(PeerBandsTest, Text_IsReadAsWritten) {
  const Ranges ranges = {{0, 9}, {20, 29}, {30, 30}, {40, 49}};
  const std::vector<std::pair<Bands, std::string>> cases = {
      {{{0, 10000}, {0, 10000}, {0, 10000}, {0, 10000}}, "[[0,49,0,10000]]"},
      {{{0, 1}, {0, 2}, {0, 2}, {0, 1}}, "[[0,9,0,1],[20,30,0,2],[40,49,0,1]]"},
      {{{0, 0}, {1, 1}, {2, 9999}, {0, 10000}},
       "[[0,9,0,0],[20,29,1,1],[30,30,2,9999],[40,49,0,10000]]"}};
  for (const auto& [bands, text] : cases) {
    EXPECT_EQ(BandsText(ranges, bands), text);
    EXPECT_EQ(BandsIn(text, ranges).value(), bands);
  }
  for (const char* text :
       {"", "[]", "[[]]", "[[0,49,0,10000]", "[[0,49,0,10001]]", "[[0,49,5,4]]", "[[0,48,0,1]]",
        "[[1,49,0,1]]", "[[0,9,0,1]]", "[[0,9,0,1],[20,49,0,1],[50,59,0,1]]", "[[0,49,0]]",
        "[[0,49,0,1,2]]", "[[0,49,0,x]]", "[[0,9,0,1],[0,49,0,1]]"}) {
    EXPECT_TRUE(absl::IsDataLoss(BandsIn(text, ranges).status())) << text;
  }
}

}  // namespace
}  // namespace locus::internal
